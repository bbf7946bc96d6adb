"""Whole objects: which rules a manifest breaks, and which of its changes the API server refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import ValidationError

from floodplain.problem import ABSENT, RuleError

from . import nodeclass, nodepool
from .metadata import ObjectMetadata
from .model import MANIFEST, CrdModel, Raw, has
from .nodeclass import EC2NodeClassSpec
from .nodepool import NodePoolSpec
from .scalars import one_of
from .violation import RuntimeRuleError, Violation, violations_of


class NodePool(CrdModel):
    """A whole NodePool."""

    api_version: Annotated[str, one_of(nodepool.API_VERSION)]
    kind: Annotated[str, one_of(nodepool.KIND)]
    metadata: ObjectMetadata
    spec: NodePoolSpec
    status: Any = None


def _a_spec(raw: Raw) -> Iterator[RuleError]:
    if not has(raw, "spec"):
        yield RuntimeRuleError("is missing, which the CRD forgets to refuse", "write it", ("spec",))


class EC2NodeClass(CrdModel):
    """A whole EC2NodeClass."""

    rules = (_a_spec,)

    api_version: Annotated[str, one_of(nodeclass.API_VERSION)]
    kind: Annotated[str, one_of(nodeclass.KIND)]
    metadata: ObjectMetadata
    spec: EC2NodeClassSpec | None = None
    status: Any = None


_START_AFRESH = "give the pool a new name, then drain and delete the old one"

_MODELS: Mapping[tuple[str, str], type[CrdModel]] = {
    (nodepool.API_VERSION.split("/")[0], nodepool.KIND): NodePool,
    (nodeclass.API_VERSION.split("/")[0], nodeclass.KIND): EC2NodeClass,
}


def model_of(manifest: Mapping[str, Any]) -> type[CrdModel] | None:
    """The model of a manifest's kind, whatever its version; None for a kind that is not known here."""
    group = str(manifest.get("apiVersion")).split("/")[0]
    return _MODELS.get((group, str(manifest.get("kind"))))


def violations(manifest: Mapping[str, Any]) -> list[Violation]:
    """Every rule that a NodePool or EC2NodeClass breaks, `crd` rules and `runtime` rules, in the order found.

    `status` is not looked at. An empty list for any other kind.
    """
    model = model_of(manifest)
    if model is None:
        return []
    try:
        model.model_validate(manifest, context=MANIFEST)
    except ValidationError as error:
        return violations_of(error)
    return []


def changed_immutably(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Violation]:
    """Changes from `old` to `new` (of one name) that the API server refuses: the object must be made anew.

    EC2NodeClass has none in Karpenter 1.14.1; not even its role is fixed.
    """
    if model_of(old) is not NodePool or model_of(new) is not NodePool:
        return []
    found: list[Violation] = []
    before, after = _class_ref(old), _class_ref(new)
    for key in ("group", "kind"):
        if has(before, key) and has(after, key) and before[key] != after[key]:
            path = f"spec.template.spec.nodeClassRef.{key}"
            found.append(Violation(path, f"is immutable and was {before[key]!r}", _START_AFRESH, after[key]))
    was, is_now = (has(pool.get("spec"), "replicas") for pool in (old, new))
    if was != is_now:
        told = "cannot be taken from a pool that has them" if was else "cannot be given to a pool that has none"
        value = new["spec"]["replicas"] if is_now else ABSENT
        found.append(Violation("spec.replicas", told, _START_AFRESH, value))
    return found


def _class_ref(pool: Mapping[str, Any]) -> Mapping[str, Any]:
    part: Any = pool
    for key in ("spec", "template", "spec", "nodeClassRef"):
        part = part.get(key) if isinstance(part, Mapping) else None
    return part if isinstance(part, Mapping) else {}
