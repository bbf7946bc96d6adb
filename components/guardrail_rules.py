"""The ValidatingAdmissionPolicies and bindings of pools, as plain manifests.

Each pool has two policies: *containment*, which refuses (or, in audit mode, warns), and *advice*, which only warns.
A third, *unsized*, is about pods of all pools that a webhook should have sized.
All complaints about a pod stand in one message, since the API server shows only the first refusal of a request.

Figures and names are rendered into the expressions instead of a ConfigMap behind `paramRef`. With a parameter object
the API server looks it up before it looks at a pod's own conditions, so a ConfigMap that is missing for a moment, in an
informer's lag or while a stack is deleted, would refuse every pod of the cluster (parameterNotFoundAction Deny) or none
(Allow). Rendered, a policy and its figures change in one write, and cost and messages are the same.
"""

from __future__ import annotations

from typing import Any

from floodplain.pools import DOMAIN, POOL_LABEL

from . import guardrail_unsized
from .guardrail_advice import advice_rules
from .guardrail_containment import HOST_PATH, Rule, containment_rules, overhead_paid
from .guardrail_figures import FIGURES, Variable
from .guardrail_match import Placement, match_conditions, match_constraints
from .guardrail_settings import KUBE_SYSTEM, GuardrailsSettings, PoolGuardrail
from .pool_choices import GuardrailMode

API_VERSION = "admissionregistration.k8s.io/v1"
POLICY_KIND = "ValidatingAdmissionPolicy"
BINDING_KIND = "ValidatingAdmissionPolicyBinding"

_MODE = f"{DOMAIN}/guardrails"
_ADVISE = ["Warn", "Audit"]
_ACTIONS = {GuardrailMode.ENFORCE: ["Deny"], GuardrailMode.AUDIT: ["Audit", "Warn"]}


def manifests(settings: GuardrailsSettings) -> list[dict[str, Any]]:
    """Every policy, each followed by its binding, pool by pool. What is off has none."""
    found: list[dict[str, Any]] = []
    for pool in settings.guardrails:
        if pool.mode is not GuardrailMode.OFF:
            found += _containment(pool, settings)
            found += _advice(pool, settings)
    if settings.unsized is not GuardrailMode.OFF:
        found += _unsized(settings.unsized, settings)
    return found


def _containment(pool: PoolGuardrail, settings: GuardrailsSettings) -> list[dict[str, Any]]:
    rules = containment_rules(pool)
    place = Placement(pool, settings.judge_node_names)
    return _policy_and_binding(
        pool,
        settings,
        suffix="containment",
        # Rules that only warn must not stop pods when they cannot be evaluated.
        failure_policy="Fail" if pool.mode is GuardrailMode.ENFORCE else "Ignore",
        actions=_ACTIONS[pool.mode],
        variables=[
            overhead_paid(pool, place.names_runtime_class),
            *(rule.variable for rule in rules),
            # A debug container changes nothing that was judged when the pod was made.
            Variable("problems", f"variables.debugging ? variables.{HOST_PATH.name} : {_joined(rules)}"),
        ],
        fallback=f"the pod breaks rules of pool {pool.pool}; there are too many to list",
        intro=_intro(pool, place),
    )


def _advice(pool: PoolGuardrail, settings: GuardrailsSettings) -> list[dict[str, Any]]:
    rules = advice_rules(pool)
    return _policy_and_binding(
        pool,
        settings,
        suffix="advice",
        failure_policy="Ignore",
        actions=_ADVISE,
        variables=[*(rule.variable for rule in rules), Variable("problems", _joined(rules))],
        fallback=f"the pod is allowed on pool {pool.pool}, but may not behave as meant",
        intro=f"\"on pool '{pool.pool}': \"",
    )


def _unsized(mode: GuardrailMode, settings: GuardrailsSettings) -> list[dict[str, Any]]:
    return _with_binding(
        {"name": guardrail_unsized.NAME, "annotations": {_MODE: mode.value}},
        guardrail_unsized.spec(mode, settings.all_exempt_namespaces),
        _ACTIONS[mode],
    )


def _joined(rules: tuple[Rule, ...]) -> str:
    return " + ".join(f"variables.{rule.name}" for rule in rules)


def _intro(pool: PoolGuardrail, place: Placement) -> str:
    """Why the pod is looked at, when it does not name the pool outright, and how to take it out of sight."""
    key, _ = pool.node_label
    taint = pool.node_taint
    elsewhere = f"if it is meant to run elsewhere, require node affinity {key} DoesNotExist"
    return (
        f"\"not fit for pool '{pool.pool}'\" + ({place.names_runtime_class} || {place.selects_nodes} ? ''"
        f" : {place.tolerates} ? ', whose taint {taint.key}={taint.value} it tolerates ({elsewhere})'"
        f" : ', whose nodes spec.nodeName could reach in spite of the taint ({elsewhere};"
        f" to debug a node, use namespace {KUBE_SYSTEM})') + ': '"
    )


def _policy_and_binding(
    pool: PoolGuardrail,
    settings: GuardrailsSettings,
    *,
    suffix: str,
    failure_policy: str,
    actions: list[str],
    variables: list[Variable],
    fallback: str,
    intro: str,
) -> list[dict[str, Any]]:
    metadata = {
        "name": f"floodplain-{pool.pool}-{suffix}",
        "labels": {POOL_LABEL: pool.pool},
        "annotations": {_MODE: pool.mode.value},
    }
    place = Placement(pool, settings.judge_node_names)
    spec = {
        "failurePolicy": failure_policy,
        "matchConstraints": match_constraints(settings.all_exempt_namespaces),
        "matchConditions": match_conditions(place, settings.daemon_set_controllers),
        "variables": [variable.manifest() for variable in (*FIGURES, *variables)],
        "validations": [
            {
                "expression": "variables.problems.size() == 0",
                "message": fallback,
                "messageExpression": f"{intro} + variables.problems.join('; ')",
                "reason": "Forbidden",
            }
        ],
    }
    return _with_binding(metadata, spec, actions)


def _with_binding(metadata: dict[str, Any], spec: dict[str, Any], actions: list[str]) -> list[dict[str, Any]]:
    binding = {"policyName": metadata["name"], "validationActions": actions}
    return [
        {"apiVersion": API_VERSION, "kind": POLICY_KIND, "metadata": metadata, "spec": spec},
        {"apiVersion": API_VERSION, "kind": BINDING_KIND, "metadata": metadata, "spec": binding},
    ]
