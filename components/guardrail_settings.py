"""The settings of guardrails: for each pool the facts that its admission rules need, and what to do on a breach.

The facts of a pool that floodplain makes are derived from its settings; nobody writes them a second time.
Not the rules: those are CEL, in `guardrail_match`, `guardrail_figures`, `guardrail_containment`, `guardrail_advice`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from floodplain.pools import POOL_LABEL, PoolDocument
from floodplain.problem import RuleError
from floodplain.quantity import QuantityText, from_bytes, to_bytes
from floodplain.rules import RuledSettings, rule
from floodplain.settings_path import Location

from .described_pools import DescribedPools
from .pool_choices import GuardrailMode
from .pool_names import LabelKey, LabelValue, PoolName, Taint
from .swap_pool import SwapPool

KUBE_SYSTEM = "kube-system"

DAEMON_SET_CONTROLLERS = (
    "system:serviceaccount:kube-system:daemon-set-controller",
    "system:kube-controller-manager",
)
"""Who creates the pods of DaemonSets: Kubernetes' own controller, with and without a service account of its own."""


def _user_name(name: str) -> str:
    if not name or any(mark in name for mark in "'\"\\\n"):
        raise RuleError("is not a user name", "write it as audit logs do, such as system:serviceaccount:NAMESPACE:NAME")
    return name


UserName = Annotated[str, AfterValidator(_user_name)]


class PoolGuardrail(RuledSettings):
    """What admission must know of one pool.

    `largest_allocatable` is the allocatable memory of the largest node the pool may launch and `headroom` what its
    DaemonSets take of it; `overhead` is the RuntimeClass's; `ephemeral_per_memory` is the most disk a pod may use, in
    bytes per byte of its memory request. A pool without swap (`swap` false) keeps the rules of containment and disk.
    """

    pool: PoolName
    largest_allocatable: QuantityText
    headroom: QuantityText = "0"
    overhead: QuantityText = "16Mi"
    ephemeral_per_memory: float = Field(default=1.0, gt=0, le=64)
    taint: Taint | None = None
    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict, max_length=1)
    runtime_class: str = Field(default="", pattern=r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$")
    swap: bool = True
    mode: GuardrailMode = GuardrailMode.ENFORCE

    @rule("largest_allocatable", "headroom")
    def _room_is_left(self) -> Iterator[RuleError]:
        if self.room_bytes <= 0:
            yield RuleError(
                "leaves no memory for pods beside the headroom",
                "write the allocatable memory of the pool's largest node",
                ("largest_allocatable",),
                self.largest_allocatable,
            )

    @property
    def node_taint(self) -> Taint:
        """The taint as set, or `floodplain.dev/pool=<pool>:NoSchedule`."""
        return self.taint or Taint(value=self.pool)

    @property
    def node_label(self) -> tuple[str, str]:
        """Key and value of the label that the pool's nodes carry, by default `floodplain.dev/pool` and the pool."""
        return next(iter(self.node_selector.items()), (POOL_LABEL, self.pool))

    @property
    def runtime_class_name(self) -> str:
        """The RuntimeClass as set, or `floodplain-<pool>`."""
        return self.runtime_class or f"floodplain-{self.pool}"

    @property
    def room_bytes(self) -> int:
        """Most memory that one pod's requests and overhead may have: the largest node less its headroom."""
        return to_bytes(self.largest_allocatable) - to_bytes(self.headroom)


class GuardrailsSettings(DescribedPools):
    """What `Guardrails` takes: pools as `SwapNodePool` takes them, and facts about others that something else makes.

    `unsized` says what to do about a pod of any pool that should have been sized and was not.
    """

    others: tuple[PoolGuardrail, ...] = ()
    exempt_namespaces: tuple[Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")], ...] = ()
    daemon_set_controllers: tuple[UserName, ...] = Field(default=DAEMON_SET_CONTROLLERS, min_length=1)
    judge_node_names: bool = True
    unsized: GuardrailMode = GuardrailMode.OFF

    @property
    def all_exempt_namespaces(self) -> tuple[str, ...]:
        """The namespaces that no rule looks at, kube-system always among them."""
        return tuple(sorted({KUBE_SYSTEM, *self.exempt_namespaces}))

    @property
    def guardrails(self) -> tuple[PoolGuardrail, ...]:
        """What admission must know of every pool: the derived ones first, each list in its order."""
        made = zip(self.derived_documents, self.pools, strict=False)
        return (*(guardrail_of(document, pool.guardrails) for document, pool in made), *self.others)

    @rule("pools", "others", "unsized")
    def _something_is_guarded(self) -> Iterator[RuleError]:
        if not self.pools and not self.others and self.unsized is GuardrailMode.OFF:
            remedy = "list the pools as SwapNodePool takes them; under others those that something else makes"
            yield RuleError("is empty, as is others, so nothing would be guarded", remedy, ("pools",))

    @rule("pools", "others")
    def _pools_differ(self) -> Iterator[RuleError]:
        yield from _twins(self.pools, self.others)


def _twins(pools: tuple[SwapPool, ...], others: tuple[PoolGuardrail, ...]) -> Iterator[RuleError]:
    """Pools of either list that share a name, or a taint or RuntimeClass that does not just follow from the name."""
    places = [*(("pools", index) for index in range(len(pools))), *(("others", index) for index in range(len(others)))]
    names = [*(one.name for one in pools), *(one.pool for one in others)]
    taints = [f"{one.key}={one.value}" for one in (*(p.node_taint for p in pools), *(o.node_taint for o in others))]
    classes = [*(one.runtime_class for one in pools), *(one.runtime_class_name for one in others)]
    for key, values in (("name", names), ("taint", taints), ("runtime_class", classes)):
        for position, value in enumerate(values):
            first = values.index(value)
            if first == position or (key != "name" and names[first] == names[position]):
                continue
            kind, index = places[position]
            path: Location = (kind, index, "pool" if (kind, key) == ("others", "name") else key)
            yield RuleError(f"is used by {_text(places[first])} too", "give each pool its own", path, value)


def _text(place: tuple[str, int]) -> str:
    kind, index = place
    return f"{kind}[{index}]"


def guardrail_of(document: PoolDocument, mode: GuardrailMode = GuardrailMode.ENFORCE) -> PoolGuardrail:
    """The guardrail of a pool that is described by its document."""
    return PoolGuardrail(
        pool=document.name,
        largest_allocatable=from_bytes(document.largest_allocatable_memory_bytes),
        headroom=from_bytes(document.headroom_bytes),
        overhead=from_bytes(document.overhead_bytes),
        ephemeral_per_memory=document.ephemeral_bytes_per_memory_byte,
        taint=Taint.model_validate(document.taint.model_dump()),
        node_selector=dict(document.node_selector),
        runtime_class=document.runtime_class,
        swap=document.swap_ratio > 0,
        mode=mode,
    )
