"""karpenter.sh/v1 NodePool, as the CRD of Karpenter 1.14.1 for AWS has it, and what Karpenter checks after it.

Not floodplain's own demands (limits, a taint, budgets): those are in `swap_pool` and `policies`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from floodplain.catalogue.requirements import ALIASES, AWS_DOMAIN
from floodplain.problem import RuleError, did_you_mean

from .admitted import admitted, contradictions
from .amounts import duration, duration_or_never, limit
from .disruption import Disruption
from .metadata import name_of_nodes
from .model import CrdModel, Raw, counted, has
from .names import label_text, object_name, qualified, reserved_label
from .requirement import Requirement
from .scalars import listed, not_empty, text, text_map, whole
from .taint import Taint, no_taint_twice
from .violation import RuntimeRuleError

API_VERSION = "karpenter.sh/v1"
KIND = "NodePool"
REQUIREMENTS_MOST = 100
LABELS_MOST = 100
COUNTED = ("cpu", "memory", "ephemeral-storage", "pods", "nodes")
"""Resources that Karpenter counts against a pool's limits, besides extended ones (domain/name)."""


def _labels(labels: Mapping[str, Any]) -> Iterator[RuleError]:
    if len(labels) > LABELS_MOST:
        yield RuleError(f"has {len(labels)} entries and may have {LABELS_MOST}", "leave some out")
    for key in labels:
        for error in (*reserved_label(key), *qualified(key)):
            yield type(error)(error.rule, error.remedy, (key,))


class TemplateMetadata(CrdModel):
    """Labels and annotations of the nodes."""

    labels: Annotated[dict[str, str] | None, text_map(_labels, value=label_text)] = None
    annotations: Annotated[dict[str, str] | None, text_map()] = None


def _group(value: str) -> Iterator[RuleError]:
    yield from not_empty(value)
    if "/" in value:
        yield RuleError("may not hold a slash", f"write the group without version: {AWS_DOMAIN}", value=value)


def _aws_node_class(raw: Raw) -> Iterator[RuleError]:
    for key, wanted in (("group", AWS_DOMAIN), ("kind", "EC2NodeClass")):
        if raw.get(key) and "/" not in raw[key] and raw[key] != wanted:
            yield RuntimeRuleError(
                "is not what Karpenter for AWS looks after, and it passes the pool over in silence",
                f"write {wanted}",
                (key,),
                raw[key],
            )


def _class_name(value: str) -> Iterator[RuleError]:
    yield from not_empty(value)
    if value and object_name(value):
        yield RuntimeRuleError("is a name that no EC2NodeClass can have", "correct it", value=value)
    yield from name_of_nodes(value)


class NodeClassRef(CrdModel):
    """The EC2NodeClass that a pool's nodes are made from."""

    rules = (_aws_node_class,)
    elsewhere = {"apiVersion": "group and kind took its place with karpenter.sh/v1"}

    group: Annotated[str, text(_group)]
    kind: Annotated[str, text(not_empty)]
    name: Annotated[str, text(_class_name)]


class NodeTemplateSpec(CrdModel):
    """What every node of the pool is like."""

    rules = (counted("requirements", REQUIREMENTS_MOST), no_taint_twice)
    elsewhere = {
        "kubelet": "it stands in the EC2NodeClass, spec.kubelet, since karpenter.sh/v1",
        "resources": "only NodeClaims have it",
    }

    node_class_ref: NodeClassRef
    requirements: Annotated[tuple[Requirement, ...], listed]
    taints: Annotated[tuple[Taint, ...] | None, listed] = None
    startup_taints: Annotated[tuple[Taint, ...] | None, listed] = None
    expire_after: Annotated[str | None, text(duration_or_never)] = None
    termination_grace_period: Annotated[str | None, text(duration)] = None


def _something_is_left(raw: Raw) -> Iterator[RuleError]:
    """Karpenter reads template labels as requirements too; contradictions launch nothing, with a vague event."""
    labels = (raw.get("metadata") or {}).get("labels") or {}
    requirements = raw["spec"]["requirements"]
    left = admitted(requirements)
    for key, value in labels.items():
        if value not in left.get(ALIASES.get(key, key), (value,)):
            yield RuntimeRuleError(
                f"is not among what the requirements on {key} admit, so that no node can have both",
                "make the two agree",
                ("metadata", "labels", key),
                value,
            )
    for key in contradictions(requirements):
        yield RuntimeRuleError(
            f"contradict each other on {key}, so that no node can satisfy them",
            "correct or drop one",
            ("spec", "requirements"),
        )


class NodeTemplate(CrdModel):
    """What Karpenter makes nodes from."""

    rules = (_something_is_left,)

    metadata: TemplateMetadata | None = None
    spec: NodeTemplateSpec


def _counted_resources(limits: Mapping[str, Any]) -> Iterator[RuleError]:
    for key in limits:
        if key not in COUNTED and not re.fullmatch(r"[^/]+/[^/]+", key):
            yield RuntimeRuleError(
                "is not a resource that Karpenter counts, so that the limit never binds",
                did_you_mean(key, COUNTED) or f"counted: {', '.join(COUNTED)}, or domain/name",
                (key,),
                limits[key],
            )


def _static_pool(raw: Raw) -> Iterator[RuleError]:
    if not has(raw, "replicas"):
        return
    for key, value in (raw.get("limits") or {}).items():
        if key != "nodes" and value is not None:
            yield RuleError("cannot be limited in a pool with replicas", "only nodes can", ("limits", key), value)
    if has(raw, "weight"):
        yield RuleError("cannot stand beside replicas", "leave one of the two out", ("weight",), raw["weight"])


class NodePoolSpec(CrdModel):
    """The spec of a NodePool."""

    rules = (_static_pool,)
    elsewhere = {
        "ttlSecondsAfterEmpty": "use disruption.consolidateAfter with consolidationPolicy WhenEmpty",
        "ttlSecondsUntilExpired": "use template.spec.expireAfter",
        "consolidation": "use disruption.consolidationPolicy",
    }

    template: NodeTemplate
    disruption: Disruption | None = None
    limits: Annotated[dict[str, str | int] | None, text_map(_counted_resources, value=limit, numbers=True)] = None
    weight: Annotated[int | None, whole(1, 100)] = None
    # 64 bits in the schema, 32 in the scale subresource, which the API server checks as well.
    replicas: Annotated[int | None, whole(0)] = None
