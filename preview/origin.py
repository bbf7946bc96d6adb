"""Which key of the stack file is behind a property of a resource?

By names: an entry of a list in the stack file makes the resources that bear its `name`. Where nothing is found
the answer is "", and a finding then names the property only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .recording import Recorded
from .stackfile import StackFile
from .urn import parse

# Property of a NodePool, EC2NodeClass or other object of a pool -> the pool's setting. The longest prefix wins.
_POOL_SETTINGS: Mapping[str, str] = {
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

_COMPONENT_KEYS: Mapping[str, str] = {
    "floodplain:index:KarpenterController": "karpenter",
    "floodplain:index:Controllers": "controllers",
    "floodplain:index:Guardrails": "guardrails",
}


def place(stackfile: StackFile, resource: Recorded, property_path: str = "") -> str:
    """`stacks/Pulumi.prod.yaml: floodplain:pools[0].limits`, or ""."""
    names = set(_names(resource))
    found = ""
    for path, entry in stackfile.named:
        if entry["name"] in names:
            found = path + _setting(property_path, entry)
            break
    if not found:
        found = _of_component(stackfile, resource)
    return f"{stackfile.path}: {found}" if found else ""


def _names(resource: Recorded) -> Iterator[str]:
    """Names the resource goes by. Children are called after their component: `spill-nodepool`."""
    yield resource.name
    if resource.parent:
        yield parse(resource.parent).name
    metadata = resource.inputs.get("metadata")
    if isinstance(metadata, Mapping):
        name = str(metadata.get("name", ""))
        yield name
        # The objects of a pool beside its NodePool: RuntimeClass, PriorityClass, headroom.
        yield name.removeprefix("floodplain-").removeprefix("headroom-")
    pool = resource.outputs.get("poolName")
    if isinstance(pool, str):
        yield pool


def _setting(property_path: str, entry: Mapping[str, Any]) -> str:
    fitting = [prefix for prefix in _POOL_SETTINGS if _starts(property_path, prefix)]
    if not fitting:
        return ""
    prefix = max(fitting, key=len)
    setting = _POOL_SETTINGS[prefix]
    # Below `limits` and `kubelet` the names are the same on both sides.
    if setting in ("limits", "kubelet", "disruption"):
        rest = property_path.removeprefix(prefix)
        if setting in entry and rest.startswith(".") and "[" not in rest:
            return f".{setting}{rest}"
    return f".{setting}"


def _starts(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))


def _of_component(stackfile: StackFile, resource: Recorded) -> str:
    for type_token in reversed(parse(resource.urn).types):
        key = f"{stackfile.project}:{_COMPONENT_KEYS.get(type_token, '')}"
        if key in stackfile.values:
            return key
    return ""
