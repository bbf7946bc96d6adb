"""The webhook configuration of sizing: which pods and Jobs the API server shows to admission, and what when it is down.

Two entries, by the label of the namespace. *observe* never stands in anybody's way. *enforce* fails closed, which is
safe only because it sees so little: annotated pods and Jobs of namespaces that asked for it.
"""

from __future__ import annotations

from typing import Any

from floodplain.pools import DOMAIN

from .guardrail_unsized import annotated
from .sizing_installation import SizingInstallation
from .sizing_names import ADMISSION, ENGINE_ANNOTATION, SIZING, SIZING_LABEL
from .sizing_workloads import labels

SERVICE_PORT = 443
MODES = ("observe", "enforce")

CA_BUNDLE_PATHS = [f"webhooks[{index}].clientConfig.caBundle" for index in range(len(MODES))]
"""Admission makes its own authority and writes it there. It is left out of what we apply, and server-side apply leaves
fields alone that another manager owns and an applier does not name: that is what keeps it. The provider itself does
not follow such a path into a list (pulumi-kubernetes, await.go, handleSSAIgnoreFields); the engine does, so that a
value that came into the state by an import or a refresh is no change. The number of entries is part of the paths: the
engine refuses one that the old state lacks."""


def webhook_configuration(plan: SizingInstallation) -> dict[str, Any]:
    """The MutatingWebhookConfiguration."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": SIZING, "labels": labels(ADMISSION)},
        "webhooks": [_webhook(plan, mode) for mode in MODES],
    }


def _webhook(plan: SizingInstallation, mode: str) -> dict[str, Any]:
    return {
        "name": f"{mode}.sizing.{DOMAIN}",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "namespace": plan.sizing.namespace,
                "name": ADMISSION,
                "path": f"/{mode}",
                "port": SERVICE_PORT,
            }
        },
        "rules": [_rule("", "pods"), _rule("batch", "jobs")],
        "namespaceSelector": {"matchLabels": {SIZING_LABEL: mode}},
        "objectSelector": {},
        "matchConditions": [{"name": "asks-to-be-sized", "expression": asks_to_be_sized()}],
        "matchPolicy": "Equivalent",
        "failurePolicy": "Fail" if mode == "enforce" else "Ignore",
        # Another webhook may add a sidecar, which then counts too.
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "timeoutSeconds": 5,
    }


def asks_to_be_sized() -> str:
    """CEL over a pod or a Job: whether it, or a Job's template, is annotated. True or false, never an error, since an
    error counts as a failed call: it would refuse the pod in the one mode and pass it by in the other."""
    template = "object.spec.template"
    return f"{_holds('object')} || (has(object.spec) && has({template}) && {_holds(template)})"


def _holds(holder: str) -> str:
    return f"(has({holder}.metadata) && {annotated(f'{holder}.metadata', ENGINE_ANNOTATION)})"


def _rule(group: str, resource: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": [resource],
        "scope": "Namespaced",
    }
