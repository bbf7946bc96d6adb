"""Can every instance type that a swap pool admits hold the swap?

Karpenter has no requirement for disk per memory, so a pool that only asks for local NVMe admits machines on
which the swap file fails or pods starve, and spinning disks. A list of families, looked up in the catalogue,
settles it. The disk rule here is the least that must hold: swap file within 85 % of the disk. Ephemeral storage
and images, which only the pool's settings know, are checked where the pool is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from pulumi_policy import Policy, PolicyResource, ResourceValidationArgs, StackValidationArgs

from floodplain import catalogue
from floodplain.catalogue import InstanceType, Requirement
from floodplain.catalogue.requirements import OPERATORS
from floodplain.problem import RuleError, did_you_mean
from floodplain.quantity import GIB
from floodplain.swap.families import type_fit

from .kinds import is_node_pool
from .proxies import Unknowns, get, shown, text, texts
from .rule import About, of_type, resource_rule, resources_of, stack_rule
from .swap_pools import (
    RATIO_SCHEMA,
    annotated_ratio,
    asks_for_swap,
    boot_text_by_class,
    class_of,
    ratio_or_default,
    requirements,
)

_FAMILY = "karpenter.k8s.aws/instance-family"
_TYPE = "node.kubernetes.io/instance-type"


@cache
def _known() -> dict[str, frozenset[str]]:
    types = catalogue.load()
    return {
        _FAMILY: frozenset(kind.family for kind in types),
        _TYPE: frozenset(kind.name for kind in types),
    }


def _listed(props: object, key: str, unknowns: Unknowns) -> tuple[str, ...]:
    """The values of `In` requirements with this key, as far as they are known."""
    found: list[str] = []
    with unknowns:
        for requirement in requirements(props):
            with unknowns:
                if text(get(requirement, "key")) == key and text(get(requirement, "operator")) == "In":
                    found += texts(get(requirement, "values"))
    return tuple(found)


def unlisted_families(args: ResourceValidationArgs) -> Iterator[str]:
    """A swap pool that names neither families nor types, or some without instance storage."""
    if not asks_for_swap(args.props):
        return
    unknowns = Unknowns()
    listed = {key: _listed(args.props, key, unknowns) for key in (_FAMILY, _TYPE)}
    if not any(listed.values()) and not unknowns:
        yield (
            f"spec.template.spec.requirements: names no families, so a node whose disk cannot hold the swap may come; "
            f"add {_FAMILY} In [...]"
        )
    for key, values in listed.items():
        known = _known()[key]
        for value in values:
            if value not in known:
                yield (
                    f"spec.template.spec.requirements: {shown(value)} has no instance storage, or is not in the "
                    f"catalogue; {did_you_mean(value, known) or 'remove it'}"
                )
    unknowns.raise_first()


def _read_requirements(props: object) -> tuple[tuple[Requirement, ...], Unknowns]:
    """The requirements as the catalogue takes them; those with something unknown are left out."""
    found: list[Requirement] = []
    unknowns = Unknowns()
    with unknowns:
        for requirement in requirements(props):
            with unknowns:
                key, operator = text(get(requirement, "key")), text(get(requirement, "operator"))
                values = texts(get(requirement, "values"))
                if key and operator in OPERATORS:
                    found.append(Requirement(key, operator, values))  # type: ignore[arg-type]
    return tuple(found), unknowns


def _admitted(found: Sequence[Requirement]) -> tuple[InstanceType, ...]:
    """What the catalogue says they admit. A requirement that it cannot judge narrows nothing."""
    kinds = catalogue.load()
    # The list of families first: it leaves few types for the rest to be asked of.
    for requirement in sorted(found, key=lambda one: one.key not in (_FAMILY, _TYPE)):
        try:
            kinds = catalogue.select(kinds, [requirement])
        except RuleError:
            continue
    return kinds


def too_small_disks(args: StackValidationArgs) -> Iterator[tuple[str, str | None]]:
    """Types that a swap pool admits and that cannot hold its swap."""
    boots = boot_text_by_class(args)
    default = ratio_or_default(args.get_config().get("swapRatio"))
    unknowns = Unknowns()
    for pool in resources_of(args, is_node_pool):
        with unknowns:
            boot = boots.get(class_of(pool) or "")
            if not (asks_for_swap(pool.props) or (boot is not None and boot.sets_up_swap)):
                continue
            shown_ratio = annotated_ratio(pool.props) or (boot.swap_ratio if boot else None)
            yield from ((message, pool.urn) for message in _unfit(pool, shown_ratio or default))
    unknowns.raise_first()


def _unfit(pool: PolicyResource, ratio: float) -> Iterator[str]:
    found, unread = _read_requirements(pool.props)
    listed = [item for item in found if item.key in (_FAMILY, _TYPE) and item.operator == "In"]
    if not listed:
        unread.raise_first()
        yield f"the pool names no instance families, so swap of {ratio:g} x memory may not fit; list those that hold it"
        return
    kinds = _admitted(found)
    for family in sorted({kind.family for kind in kinds}):
        for kind in (one for one in kinds if one.family == family):
            fit = type_fit(kind, ratio=ratio, ephemeral_per_memory=0, images_bytes=0)
            if fit.spinning:
                yield f"family {family} has spinning disks, too slow for swap; remove it"
            elif fit.shortfall_bytes:
                yield (
                    f"family {family} cannot hold swap of {ratio:g} x memory: {kind.name} lacks "
                    f"{fit.shortfall_bytes / GIB:,.0f} GiB of disk; remove it, or use a ratio of at most "
                    f"{float(fit.largest_ratio):.2f}"
                )
            else:
                continue
            break
    if not kinds:
        yield "no instance type meets all requirements; see what `floodplain catalogue show` lists"
    unread.raise_first()


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="swap-pool-lists-its-families",
            description="A NodePool for swap names the instance families (or types) it admits; each has local NVMe.",
            remedy="Add a requirement karpenter.k8s.aws/instance-family In [...].",
        ),
        of_type(is_node_pool),
        unlisted_families,
    ),
    stack_rule(
        About(
            name="swap-pool-families-hold-the-swap",
            description="Every instance type that a swap pool admits has SSDs that hold k times its memory within 85 % "
            "of the disk. k is read from the pool's annotation or its boot text, else taken from swapRatio.",
            remedy="List families with enough disk, or lower the swap ratio.",
            config=RATIO_SCHEMA,
        ),
        too_small_disks,
    ),
]
