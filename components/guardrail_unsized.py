"""The policy about pods that ask to be sized and were not: the webhook that sizes them did not see them.

Policies run after webhooks, so that a pod without a plan here has been missed for good: the webhook configuration is
gone, or was made after the pod's namespace was labelled. Such a pod would run with whatever it requests, often nothing.
Only at creation: a plan cannot be made later. Not about how well a pod is sized, which is for the rules of its pool.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .guardrail_containment import Rule
from .guardrail_figures import Variable
from .guardrail_match import NOT_BY_KUBELET, text
from .pool_choices import GuardrailMode
from .sizing_names import ADMISSION, ENGINE_ANNOTATION, PLAN_ANNOTATION, SIZING, SIZING_LABEL

NAME = "floodplain-unsized"
ENFORCED = "enforce"
"""Value of the label on namespaces whose pods are sized. In `observe` a plan is only written down."""


def annotated(holder: str, annotation: str) -> str:
    """CEL: whether an object's metadata has an annotation. True or false, never an error."""
    return f"(has({holder}.annotations) && {text(annotation)} in {holder}.annotations)"


UNSIZED = Rule(
    "unsized",
    f"!{annotated('object.metadata', PLAN_ANNOTATION)}",
    # The annotation's value stays out: it may be long, and have line ends, at which the server drops the message.
    f'"it asks to be sized ({ENGINE_ANNOTATION}) and has no {PLAN_ANNOTATION}, so no webhook has sized it:'
    f" see that MutatingWebhookConfiguration '{SIZING}' is there and the pods of '{ADMISSION}' run, then create it"
    f" anew. To run it as it is, take its annotation {ENGINE_ANNOTATION} away, or label its namespace"
    f' {SIZING_LABEL}=observe"',
)


def match_constraints(exempt_namespaces: tuple[str, ...]) -> dict[str, Any]:
    """New pods in namespaces whose pods are sized, outside the exempt ones."""
    return {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(exempt_namespaces)},
                {"key": SIZING_LABEL, "operator": "In", "values": [ENFORCED]},
            ]
        },
        "objectSelector": {},
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods"],
                "scope": "Namespaced",
            }
        ],
    }


def spec(mode: GuardrailMode, exempt_namespaces: tuple[str, ...]) -> dict[str, Any]:
    """The policy itself."""
    return {
        # Only annotated pods of labelled namespaces match, so that failing closed stops nobody else.
        "failurePolicy": "Fail" if mode is GuardrailMode.ENFORCE else "Ignore",
        "matchConstraints": match_constraints(exempt_namespaces),
        "matchConditions": [
            NOT_BY_KUBELET,
            {"name": "asks-to-be-sized", "expression": annotated("object.metadata", ENGINE_ANNOTATION)},
        ],
        "variables": [variable.manifest() for variable in _variables()],
        "validations": [
            {
                "expression": "variables.problems.size() == 0",
                "message": f"the pod asks to be sized and has no {PLAN_ANNOTATION}",
                "messageExpression": "'not sized: ' + variables.problems.join('; ')",
                "reason": "Forbidden",
            }
        ],
    }


def _variables() -> Iterator[Variable]:
    yield UNSIZED.variable
    yield Variable("problems", f"variables.{UNSIZED.name}")
