"""What depends on what: providers are named and a destroy goes through the stack in an order that ends.

Deletion is the reverse of the dependencies, so the order can be read from what was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from floodplain.problem import Problem

from .. import wire
from ..finding import Finding
from ..karpenter_objects import NODE_CLASS, NODE_POOL, class_name, object_name
from ..origin import place
from ..recording import Recorded, Recording
from ..render import Applied

# What the controller needs while it drains nodes and ends instances. Event rules may go at any time.
_CONTROLLER_NEEDS = (
    "aws:iam/role:Role",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/policy:Policy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:eks/podIdentityAssociation:PodIdentityAssociation",
    "aws:eks/accessEntry:AccessEntry",
    "aws:sqs/queue:Queue",
)


def check(rendering: Applied) -> Iterator[Finding]:
    yield from explicit_providers(rendering)
    yield from deletion_order(rendering)


def explicit_providers(rendering: Applied) -> Iterator[Finding]:
    """What the policies cannot see: components made by a provider, look-ups and function calls.

    Without a provider of their own package they use the default one: another cluster, another account.
    """
    recording = rendering.apply
    for resource in recording.resources:
        package = resource.type.split(":", 1)[0]
        if resource.remote and not (resource.provider or resource.providers.get(package)):
            path = place(rendering.stackfile, resource, "") or resource.name
            yield _default_provider(path, resource.type, package, resource.urn)
    for read in recording.reads:
        if not read.provider and not read.type.startswith("pulumi:"):
            yield _default_provider(read.name, read.type, read.type.split(":", 1)[0], read.urn)
    for invoke in recording.invokes:
        if not invoke.provider:
            arguments = json.dumps(wire.conceal(dict(invoke.arguments)), sort_keys=True)
            yield _default_provider(f"{invoke.token} {arguments}", "the call", invoke.token.split(":", 1)[0], "")


def _default_provider(path: str, what: str, package: str, urn: str) -> Finding:
    remedy = "pass a provider, or a parent that has one"
    return Finding("error", "provider", Problem(path, f"{what} uses the default provider of {package}", remedy), urn)


def deletion_order(rendering: Applied) -> Iterator[Finding]:
    """Pools before classes, classes before the controller, the controller before what it needs itself.

    Karpenter ends the instances and takes its finalizers off, so it and its permissions go last.
    """
    recording = rendering.apply
    reach = Reach(recording)
    pools = recording.of(NODE_POOL)
    classes = recording.of(NODE_CLASS)
    controllers = [one for one in recording.of(":Release") if _chart(one) == "karpenter"]
    crds = [one for one in recording.of(":Release") if _chart(one) == "karpenter-crd"]
    for pool in pools:
        named = [one for one in classes if object_name(one) == class_name(pool)]
        yield from _missing(rendering, reach, pool, [*named, *controllers])
    for node_class in classes:
        yield from _missing(rendering, reach, node_class, controllers)
    for controller in controllers:
        beside = [one for one in recording.resources if one.parent == controller.parent]
        needed = [one for one in beside if one.type in _CONTROLLER_NEEDS]
        yield from _missing(rendering, reach, controller, [*crds, *needed])


def _missing(rendering: Applied, reach: Reach, first: Recorded, then: Iterable[Recorded]) -> Iterator[Finding]:
    for later in then:
        if later.urn not in reach.of(first.urn):
            rule = f"may be deleted after {later.name} ({later.type}), so a destroy can hang"
            problem = Problem(f"{first.name} ({first.type})", rule, f"let {first.name} depend on {later.name}")
            yield Finding("error", "deletion-order", problem, first.urn)


def _chart(release: Recorded) -> str:
    """The last part of the chart's name or address."""
    return str(release.inputs.get("chart", "")).rstrip("/").rsplit("/", 1)[-1]


class Reach:
    """What a resource needs, directly or through others: its dependencies, provider, parent, and their own.

    A dependency on a component is one on everything in it; the SDK has put those on the wire already.
    """

    def __init__(self, recording: Recording) -> None:
        self._direct = {one.urn: self._needs(one) for one in recording.resources}
        self._known: dict[str, frozenset[str]] = {}

    @staticmethod
    def _needs(resource: Recorded) -> set[str]:
        through_properties = {urn for urns in resource.property_depends_on.values() for urn in urns}
        others = {resource.provider, resource.parent, str(resource.options.get("deletedWith", ""))}
        return ({*resource.depends_on, *through_properties, *others}) - {"", resource.urn}

    def of(self, urn: str) -> frozenset[str]:
        """Everything that is deleted after `urn`."""
        if urn not in self._known:
            found: set[str] = set()
            open_ends = [urn]
            while open_ends:
                for needed in self._direct.get(open_ends.pop(), ()):
                    if needed not in found:
                        found.add(needed)
                        open_ends.append(needed)
            self._known[urn] = frozenset(found)
        return self._known[urn]
