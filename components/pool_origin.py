"""Which of a pool's settings stands behind a property of its objects, so that a fault is told by the key to change.

Not the rules of the objects themselves: those are in `crd`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from floodplain.problem import RuleError
from floodplain.settings_path import Location

from . import crd, pool_objects
from .cluster import ClusterVersions

if TYPE_CHECKING:
    from .swap_pool import SwapPool

SETTINGS: Mapping[str, str] = {
    "spec.amiSelectorTerms": "ami",
    "spec.blockDeviceMappings": "rootVolume",
    "spec.disruption": "disruption",
    "spec.kubelet": "kubelet",
    "spec.limits": "limits",
    "spec.securityGroupSelectorTerms": "securityGroups",
    "spec.subnetSelectorTerms": "subnets",
    "spec.tags": "tags",
    "spec.template.metadata.labels": "labels",
    "spec.template.spec.expireAfter": "disruption.expireAfter",
    "spec.template.spec.requirements": "families",
    "spec.template.spec.taints": "taint",
    "spec.template.spec.terminationGracePeriod": "disruption.terminationGracePeriod",
    "spec.userData": "swap",
    "spec.weight": "weight",
    "overhead": "overhead",
    "value": "priority.value",
}
"""Property of a NodePool, EC2NodeClass or other object of a pool, and the pool's setting."""

# Any cluster will do: its name stands only in the terms that select by tag.
_SOME_CLUSTER = ClusterVersions(name="cluster", kubernetes_version="1.34")


# Below these the keys are the same on both sides.
_SAME_BELOW = frozenset({"disruption", "kubelet", "labels", "limits", "tags"})
_STEP = re.compile(r'\["(?P<text>[^"]*)"\]|\[(?P<index>\d+)\]|\.(?P<key>[^.\[]+)')


def setting_behind(property_path: str) -> Location:
    """Where the pool's setting stands, or () where none is known. The longest prefix wins."""
    fitting = [
        prefix
        for prefix in SETTINGS
        if property_path == prefix or property_path.startswith((f"{prefix}.", f"{prefix}["))
    ]
    if not fitting:
        return ()
    prefix = max(fitting, key=len)
    setting: Location = tuple(SETTINGS[prefix].split("."))
    if SETTINGS[prefix] not in _SAME_BELOW:
        return setting
    steps = _STEP.finditer(property_path.removeprefix(prefix))
    return (*setting, *(int(step["index"]) if step["index"] else step["text"] or step["key"] for step in steps))


@lru_cache(maxsize=256)
def object_problems(pool: SwapPool) -> tuple[RuleError, ...]:
    """What Karpenter's definitions refuse of the objects that the pool becomes, by the pool's keys."""
    return tuple(_object_problems(pool))


def _object_problems(pool: SwapPool) -> Iterator[RuleError]:
    objects = (pool_objects.node_pool(pool), pool_objects.node_class(pool, _SOME_CLUSTER, "some-role"))
    for manifest in objects:
        for violation in crd.violations(manifest):
            path = setting_behind(violation.path)
            rule = violation.rule if path else f"{violation.rule} ({manifest['kind']} {violation.path})"
            yield RuleError(rule, violation.remedy, path, violation.value)


# EC2 allows 50 tags a resource; Karpenter and EKS put up to ten of their own.
TAGS_MOST = 40


def tag_problems(tags: Mapping[str, str]) -> Iterator[RuleError]:
    """What Karpenter or EC2 would refuse of tags of instances, at `tags`."""
    manifest = {"apiVersion": pool_objects.NODE_CLASS_API, "kind": "EC2NodeClass", "spec": {"tags": dict(tags)}}
    for violation in crd.violations(manifest):
        if violation.path.startswith("spec.tags"):
            yield RuleError(violation.rule, violation.remedy, setting_behind(violation.path), violation.value)
