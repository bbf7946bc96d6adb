"""Can an admission webhook that is down stop more than it is for? One that fails closed is the cluster's to lose."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulumi_policy import Policy, ResourceValidationArgs

from .kinds import is_kubernetes
from .proxies import Unknowns, each, get, mapping, sequence, shown, text
from .rule import About, of_type, resource_rule

_GROUP = "admissionregistration.k8s.io"
_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_LONGEST_SECONDS = 10
"""Kubernetes' own default. Every request that matches waits so long for a webhook that does not answer."""


def _is_configuration(resource_type: str) -> bool:
    return is_kubernetes(resource_type, _GROUP, *_KINDS, *(f"{kind}Patch" for kind in _KINDS))


def _webhooks(args: ResourceValidationArgs) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Place and body of every entry; unknown ones raise last."""
    for index, webhook in enumerate(each(get(args.props, "webhooks"))):
        yield f"webhooks[{index}]", mapping(webhook)


def fails_closed_for_all(args: ResourceValidationArgs) -> Iterator[str]:
    """Entries that fail closed without a selector of namespaces and a condition on objects."""
    unknowns = Unknowns()
    for place, webhook in _webhooks(args):
        with unknowns:
            # Without a policy a v1 webhook fails closed.
            if text(webhook.get("failurePolicy")) == "Ignore":
                continue
        with unknowns:
            selector = mapping(webhook.get("namespaceSelector"))
            if not mapping(selector.get("matchLabels")) and not sequence(selector.get("matchExpressions")):
                yield (
                    f"{place}.namespaceSelector: is empty and the webhook fails closed: when it is down nothing can be"
                    " made in any namespace, its own among them; select namespaces by a label"
                )
        with unknowns:
            chosen = mapping(webhook.get("objectSelector"))
            conditions = sequence(webhook.get("matchConditions"))
            if (
                not conditions
                and not mapping(chosen.get("matchLabels"))
                and not sequence(chosen.get("matchExpressions"))
            ):
                yield (
                    f"{place}.matchConditions: is empty and the webhook fails closed: when it is down it stops objects"
                    " that it has nothing to say about; add a condition, or an objectSelector"
                )
    unknowns.raise_first()


def holds_up(args: ResourceValidationArgs) -> Iterator[str]:
    """Entries that let requests wait long, or that keep dry runs from working."""
    unknowns = Unknowns()
    for place, webhook in _webhooks(args):
        with unknowns:
            seconds = webhook.get("timeoutSeconds")
            if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > _LONGEST_SECONDS:
                yield f"{place}.timeoutSeconds: {shown(seconds)} holds requests up; write {_LONGEST_SECONDS} or less"
        with unknowns:
            effects = text(webhook.get("sideEffects"))
            if effects not in ("None", "NoneOnDryRun"):
                yield (
                    f"{place}.sideEffects: {shown(effects)} makes the API server refuse dry runs, and with them"
                    " `pulumi preview`; write None, or NoneOnDryRun"
                )
    unknowns.raise_first()


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="webhooks-fail-closed-for-few",
            description="An admission webhook that fails closed selects its namespaces by a label and its objects by a "
            "condition; every webhook answers soon and works with dry runs.",
            remedy="Set namespaceSelector and matchConditions, or failurePolicy: Ignore.",
        ),
        of_type(_is_configuration),
        fails_closed_for_all,
        holds_up,
    ),
]
