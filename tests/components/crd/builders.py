"""Specs from flat arguments and whole objects around them, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.crd import EC2NodeClassSpec, NodePoolSpec

VERSIONS = {"NodePool": "karpenter.sh/v1", "EC2NodeClass": "karpenter.k8s.aws/v1"}


def need(key: str, operator: str, *values: str, **others: Any) -> dict[str, Any]:
    """A requirement."""
    return {"key": key, "operator": operator, **({"values": values} if values else {}), **others}


def pool_spec(node_class: str, requirements: Sequence[dict[str, Any]], **arguments: Any) -> NodePoolSpec:
    """A spec whose template holds what belongs there. Raises ValidationError with every broken rule."""
    labels = arguments.pop("labels", None)
    template = {key: arguments.pop(key, None) for key in ("taints", "expire_after", "termination_grace_period")}
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": node_class}
    spec = {"node_class_ref": reference, "requirements": requirements, **template}
    return NodePoolSpec.model_validate({"template": {"metadata": {"labels": labels}, "spec": spec}, **arguments})


def manifest(spec: NodePoolSpec | EC2NodeClassSpec, name: str, **metadata: dict[str, str]) -> dict[str, Any]:
    """The whole object."""
    kind = type(spec).__name__.removesuffix("Spec")
    return {
        "apiVersion": VERSIONS[kind],
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec.fragment(),
    }
