"""Which pools, and which of their nodes, a pod may go to by what its user has written. Not which one is best.

Read are the RuntimeClass, the node selector and required node affinity, as far as a pool document knows the labels of
its nodes. A label it does not know may be there or not: such a term keeps no pool out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floodplain.admission.subject import Subject, at, mapping
from floodplain.pools import DOMAIN, PoolDocument
from floodplain.problem import Problem
from floodplain.sizing.workload import CapacityType

CAPACITY_LABEL = "karpenter.sh/capacity-type"
_NODEPOOL, _ARCH, _OS = "karpenter.sh/nodepool", "kubernetes.io/arch", "kubernetes.io/os"
_INSTANCE_TYPE = "node.kubernetes.io/instance-type"

Labels = Mapping[str, frozenset[str]]
"""What a node's labels may be; an empty set where the label is surely absent."""


def narrowed(subject: Subject, pools: Sequence[PoolDocument]) -> tuple[tuple[PoolDocument, ...], Problem | None]:
    """The pools, each with the types and capacity types that the pod may have; a problem where none is left."""
    spec = subject.spec
    named = spec.get("runtimeClassName")
    left = [pool for pool in pools if named in (None, "", pool.runtime_class)]
    if not left:
        classes = ", ".join(sorted({pool.runtime_class for pool in pools}))
        remedy = f"leave it out, or write one of {classes}"
        return (), Problem(subject.path("spec", "runtimeClassName"), "is the RuntimeClass of no pool", remedy, named)
    selector, terms = _selector(spec), _terms(spec)
    if not selector and terms == _ANY:
        return tuple(left), None
    keys = {key for pool in pools for key in pool.node_selector}
    reachable = tuple(filter(None, (_reachable(pool, keys, selector, terms) for pool in left)))
    if reachable:
        return reachable, None
    names = ", ".join(pool.name for pool in left)
    path = f"{subject.path('spec', 'nodeSelector')} and {subject.path('spec', 'affinity')}"
    remedy = f"leave them out, or select nodes that one of the pools has: {names}"
    return (), Problem(path, "select no node that a pool can have", remedy)


def contradiction(subject: Subject, asked: CapacityType | None) -> Problem | None:
    """A node selector for one capacity type beside an annotation that asks for another."""
    selected = mapping(subject.spec.get("nodeSelector")).get(CAPACITY_LABEL)
    if asked is None or selected in (None, asked.value):
        return None
    path = subject.path("spec", f"nodeSelector[{CAPACITY_LABEL}]")
    rule = f"contradicts the annotation {DOMAIN}/capacity-type, which asks for {asked.value}"
    return Problem(path, rule, "write the same in both, or leave one out", selected)


def _reachable(pool: PoolDocument, keys: set[str], selector: list[Any], terms: list[list[Any]]) -> PoolDocument | None:
    pairs = {
        (kind, capacity)
        for kind in pool.types
        for capacity in pool.capacity_types
        if _may_go(_labels(pool, kind.name, capacity, keys), selector, terms)
    }
    types = tuple(kind for kind in pool.types if any(kind == found for found, _ in pairs))
    capacities = tuple(capacity for capacity in pool.capacity_types if any(capacity == found for _, found in pairs))
    if not pairs:
        return None
    if (types, capacities) == (pool.types, pool.capacity_types):
        return pool
    return pool.model_copy(update={"types": types, "capacity_types": capacities})


def _labels(pool: PoolDocument, kind: str, capacity: str, keys: set[str]) -> Labels:
    labels = {key: frozenset[str]() for key in keys}
    labels |= {
        _NODEPOOL: frozenset({pool.name}),
        _ARCH: frozenset({pool.architecture}),
        _OS: frozenset({"linux"}),
        _INSTANCE_TYPE: frozenset({kind}),
        CAPACITY_LABEL: frozenset({capacity}),
    }
    return {**labels, **{key: frozenset({value}) for key, value in pool.node_selector.items()}}


_ANY: list[list[Any]] = [[]]
"""One alternative that asks for nothing."""


def _selector(spec: Mapping[str, Any]) -> list[Any]:
    """The node selector as expressions, which must all hold."""
    return [
        {"key": key, "operator": "In", "values": [value]} for key, value in mapping(spec.get("nodeSelector")).items()
    ]


def _terms(spec: Mapping[str, Any]) -> list[list[Any]]:
    """Required node affinity: alternatives, each a list of expressions that must all hold.

    An empty alternative selects no node (core/v1 NodeSelectorTerm).
    """
    required = at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    listed = mapping(required).get("nodeSelectorTerms")
    if not isinstance(listed, list) or not listed:
        return _ANY
    alternatives = []
    for term in listed:
        expressions = mapping(term).get("matchExpressions")
        if expressions or mapping(term).get("matchFields"):
            alternatives.append(expressions if isinstance(expressions, list) else [])
    return alternatives


def _may_go(labels: Labels, selector: list[Any], terms: list[list[Any]]) -> bool:
    return all(_may_hold(one, labels) for one in selector) and any(
        all(_may_hold(one, labels) for one in term) for term in terms
    )


def _may_hold(expression: Any, labels: Labels) -> bool:
    """Whether an expression can hold on a node with such labels (core/v1 NodeSelectorRequirement)."""
    one = mapping(expression)
    key, operator, values = one.get("key"), one.get("operator"), one.get("values")
    if not isinstance(key, str) or key not in labels:
        return True
    found = labels[key]
    wanted = {value for value in values if isinstance(value, str)} if isinstance(values, list) else set()
    answers = {
        "In": bool(found & wanted),
        "NotIn": not found or bool(found - wanted),
        "Exists": bool(found),
        "DoesNotExist": not found,
    }
    return answers.get(str(operator), True)
