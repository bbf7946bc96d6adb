"""Which edits make Karpenter replace a pool's nodes, and how many of them at most at a time.

The rules are those of `components.crd`; here they are applied to two recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components import crd

from . import wire
from .karpenter_objects import NODE_CLASS, NODE_POOL, class_name, object_name
from .model import FleetRoll
from .pools import ceiling, pool_documents
from .recording import Recorded

_REACH = {"all": "", "some": " (nodes that no longer fit)", "resolved": " (if other ones are found in the account)"}


def drifting_fields(old: Recorded, new: Recorded) -> tuple[str, ...]:
    """Paths of edits that make nodes of a NodePool or EC2NodeClass drift."""
    return tuple(field.path for field in _drift(old, new))


def refused_fields(old: Recorded, new: Recorded) -> tuple[str, ...]:
    """Paths of edits that the CRDs' own immutability rules refuse."""
    if not new.type.endswith((NODE_POOL, NODE_CLASS)):
        return ()
    return tuple(violation.path for violation in crd.changed_immutably(_manifest(old), _manifest(new)))


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
        if old is not None and object_name(old) == object_name(resource):
            kind = resource.type.rsplit(":", 1)[-1]
            spoken = [f"{kind} {field.path}{_REACH[field.reach]}" for field in _drift(old, resource)]
            drifting.setdefault(f"{kind}/{object_name(resource)}", []).extend(spoken)
    found: list[FleetRoll] = []
    for urn, pool in after.items():
        if not pool.type.endswith(NODE_POOL) or former.get(urn, urn) not in before:
            continue
        keys = (f"NodePool/{object_name(pool)}", f"EC2NodeClass/{class_name(pool)}")
        fields = tuple(field for key in keys for field in drifting.get(key, ()))
        if fields:
            nodes = nodes_at_most(pool, after)
            budgets = _manifest(pool).get("spec", {}).get("disruption", {}).get("budgets")
            rolling = crd.nodes_at_most(budgets, nodes)
            found.append(
                FleetRoll(
                    pool=object_name(pool),
                    fields=fields,
                    nodes_at_most=nodes,
                    at_a_time=rolling.at_most,
                    within_schedules=rolling.within_schedules,
                    schedules=rolling.schedules,
                )
            )
    return tuple(sorted(found, key=lambda roll: roll.pool))


def nodes_at_most(pool: Recorded, resources: Mapping[str, Recorded]) -> int:
    """The ceiling of a NodePool's nodes by its document; 0 for a pool without one."""
    return next((ceiling(one) for one in pool_documents(resources.values()) if one.name == object_name(pool)), 0)


def _manifest(resource: Recorded) -> dict[str, Any]:
    return dict(wire.reveal(dict(resource.inputs)))
