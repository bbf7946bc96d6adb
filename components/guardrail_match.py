"""Which pods a pool's guardrails look at: CEL for `matchConditions`, which must never end in an error.

A pod is looked at when it could run on the pool's nodes, whoever wrote it. Three ways lead there: a toleration of the
taint (an `Exists` without a key tolerates every taint), the node label or RuntimeClass, or `spec.nodeName`, which
passes by the scheduler and so by a NoSchedule taint (kubelet itself refuses for NoExecute only, in
kubernetes/pkg/kubelet/lifecycle/predicate.go). A required node affinity against the pool's label, or the label with
another value, keeps a pod away for good: kubelet checks both, and neither can be loosened after creation.

Out of sight of admission: binding a pod through `pods/binding` (a scheduler's right), removing a node's taint or
label, and what a privileged container does to its node. Those are questions of RBAC and pod security.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .guardrail_settings import PoolGuardrail
from .pool_choices import TaintEffect

# Kubelets create no pods but mirrors of their static ones, which run whatever is said here.
NOT_BY_KUBELET = {
    "name": "not-by-kubelet",
    "expression": "!has(request.userInfo.groups) || !('system:nodes' in request.userInfo.groups)",
}

_POD_RULES = (("CREATE", "UPDATE"), ("pods",)), (("UPDATE",), ("pods/resize", "pods/ephemeralcontainers"))


def text(value: str) -> str:
    """A CEL string literal. The settings admit no quotes, backslashes or line ends in names."""
    return f"'{value}'"


def names(values: tuple[str, ...]) -> str:
    """A CEL list of strings."""
    return "[" + ", ".join(text(value) for value in values) + "]"


def match_constraints(exempt_namespaces: tuple[str, ...]) -> dict[str, Any]:
    """Pods and the two subresources that change their containers, outside the exempt namespaces.

    Every namespace carries the label `kubernetes.io/metadata.name`, and the API server does not let it be changed.
    """
    return {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(exempt_namespaces)}
            ]
        },
        "objectSelector": {},
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": list(operations),
                "resources": list(resources),
                "scope": "Namespaced",
            }
            for operations, resources in _POD_RULES
        ],
    }


@dataclass(frozen=True)
class Placement:
    """CEL about where a pod may run, for one pool. Each expression is true, false, never an error."""

    pool: PoolGuardrail
    judge_node_names: bool = True

    @property
    def names_runtime_class(self) -> str:
        return (
            "(has(object.spec.runtimeClassName)"
            f" && object.spec.runtimeClassName == {text(self.pool.runtime_class_name)})"
        )

    @property
    def selects_nodes(self) -> str:
        return self._selects("==")

    @property
    def tolerates(self) -> str:
        """The toleration rule of Kubernetes (api/core/v1/toleration.go).

        The comparisons Lt and Gt, new in Kubernetes 1.35, count as a match for the key: they are for numbers, and a
        wrong guess here only means that a pod is looked at.
        """
        taint = self.pool.node_taint
        return (
            "(has(object.spec.tolerations) && object.spec.tolerations.exists(t,"
            f" (!has(t.effect) || t.effect in ['', {text(taint.effect.value)}])"
            f" && (!has(t.key) || t.key in ['', {text(taint.key)}])"
            " && (has(t.operator) && !(t.operator in ['', 'Equal'])"
            f" || (has(t.value) ? t.value : '') == {text(taint.value)})))"
        )

    @property
    def kept_away(self) -> str:
        """By the node label with another value, or by a required affinity whose every term excludes the pool."""
        key, value = (text(part) for part in self.pool.node_label)
        required = "object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        return (
            f"({self._selects('!=')}"
            " || has(object.spec.affinity) && has(object.spec.affinity.nodeAffinity)"
            f" && has({required}) && {required}.nodeSelectorTerms.size() > 0"
            f" && {required}.nodeSelectorTerms.all(term, has(term.matchExpressions)"
            f" && term.matchExpressions.exists(e, e.key == {key} && (e.operator == 'DoesNotExist'"
            f" || e.operator == 'NotIn' && has(e.values) && {value} in e.values"
            f" || e.operator == 'In' && has(e.values) && !({value} in e.values)))))"
        )

    @property
    def sets_node_name(self) -> str:
        """Only at creation: later every placed pod has one."""
        if not self.judge_node_names or self.pool.node_taint.effect is TaintEffect.NO_EXECUTE:
            return "false"
        return "(request.operation == 'CREATE' && has(object.spec.nodeName) && object.spec.nodeName != '')"

    @property
    def may_run_here(self) -> str:
        return (
            f"{self.names_runtime_class} || {self.selects_nodes}"
            f" || ({self.tolerates} || {self.sets_node_name}) && !{self.kept_away}"
        )

    def _selects(self, comparison: str) -> str:
        key, value = (text(part) for part in self.pool.node_label)
        return (
            f"(has(object.spec.nodeSelector) && {key} in object.spec.nodeSelector"
            f" && object.spec.nodeSelector[{key}] {comparison} {value})"
        )


def match_conditions(place: Placement, daemon_set_controllers: tuple[str, ...]) -> list[dict[str, str]]:
    """The conditions under which a request is judged, cheapest first. All must hold."""
    return [
        {
            # Status, labels and finalizers of a pod that came before the rules must stay changeable, or its Job
            # could never end.
            "name": "new-or-changed",
            "expression": "request.operation == 'CREATE' || object.spec != oldObject.spec",
        },
        NOT_BY_KUBELET,
        {"name": "could-run-on-the-pool", "expression": place.may_run_here},
        {"name": "not-of-a-daemonset", "expression": f"!{_of_daemon_set(place, daemon_set_controllers)}"},
    ]


def _of_daemon_set(place: Placement, controllers: tuple[str, ...]) -> str:
    """Anybody can write an owner reference, so a DaemonSet's pod is known by who creates it.

    Later it is known by running already without the pool's RuntimeClass: a pod that was admitted under the rules has
    the RuntimeClass for good, and one that is not placed yet could still be steered to the pool.
    """
    return (
        "(has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o,"
        " o.kind == 'DaemonSet' && has(o.controller) && o.controller)"
        " && (request.operation == 'CREATE'"
        f" ? has(request.userInfo.username) && request.userInfo.username in {names(controllers)}"
        f" : has(oldObject.spec.nodeName) && !{place.names_runtime_class}))"
    )
