"""Which edits make Karpenter replace a pool's nodes, and how many of them at most at a time.

The rules are those of `components.crd`; here they are applied to two recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components import crd

from . import wire
from .model import FleetRoll
from .pools import ceiling, pool_documents
from .recording import Recorded

NODE_POOL = "karpenter.sh/v1:NodePool"
NODE_CLASS = "karpenter.k8s.aws/v1:EC2NodeClass"


def drifting_fields(old: Recorded, new: Recorded) -> tuple[str, ...]:
    """Paths of edits that make nodes of a NodePool or EC2NodeClass drift."""
    return tuple(field.path for field in _drift(old, new))


def _drift(old: Recorded, new: Recorded) -> list[crd.DriftedField]:
    if not new.type.endswith((NODE_POOL, NODE_CLASS)):
        return []
    return crd.drift_fields(_manifest(old), _manifest(new))


def rolls(
    before: Mapping[str, Recorded], after: Mapping[str, Recorded], former: Mapping[str, str]
) -> tuple[FleetRoll, ...]:
    """Every pool that is in both and whose nodes drift, with the edits that do it."""
    drifting: dict[str, list[str]] = {}
    for urn, resource in after.items():
        old = before.get(former.get(urn, urn))
        if old is not None and _name(old) == _name(resource):
            fields = drifting_fields(old, resource)
            if fields:
                kind = resource.type.rsplit(":", 1)[-1]
                drifting.setdefault(f"{kind}/{_name(resource)}", []).extend(fields)
    documents = {document.name: document for document in pool_documents(after.values())}
    found: list[FleetRoll] = []
    for urn, pool in after.items():
        if not pool.type.endswith(NODE_POOL) or former.get(urn, urn) not in before:
            continue
        own = [f"NodePool {field}" for field in drifting.get(f"NodePool/{_name(pool)}", [])]
        of_class = [f"EC2NodeClass {field}" for field in drifting.get(f"EC2NodeClass/{_class(pool)}", [])]
        if own or of_class:
            document = documents.get(_name(pool))
            nodes = ceiling(document) if document else 0
            budgets = _manifest(pool).get("spec", {}).get("disruption", {}).get("budgets")
            rolling = crd.nodes_at_most(budgets, nodes)
            found.append(
                FleetRoll(
                    pool=_name(pool),
                    fields=(*own, *of_class),
                    nodes_at_most=nodes,
                    at_a_time=rolling.at_most,
                    within_schedules=rolling.within_schedules,
                    schedules=rolling.schedules,
                )
            )
    return tuple(sorted(found, key=lambda roll: roll.pool))


def _manifest(resource: Recorded) -> dict[str, Any]:
    return dict(wire.reveal(dict(resource.inputs)))


def _name(resource: Recorded) -> str:
    metadata = resource.inputs.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def _class(pool: Recorded) -> str:
    try:
        return str(pool.inputs["spec"]["template"]["spec"]["nodeClassRef"]["name"])
    except (KeyError, TypeError):
        return ""
