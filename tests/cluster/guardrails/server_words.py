"""What the API server says to a client when an admission policy refuses or warns, word for word. Pure."""

from __future__ import annotations

from testbed.cluster.api import Answer
from tests.components.guardrails.api_server import Verdict

_DENIED = "denied request: "
_WARNED = "Validation failed for ValidatingAdmissionPolicy"


def refusals(pod: str, verdict: Verdict) -> set[str]:
    """The answers that fit our verdict: the server gives the first complaint that it comes upon."""
    return {
        f"pods \"{pod}\" is forbidden: ValidatingAdmissionPolicy '{one.policy}' with binding '{one.policy}' "
        f"{_DENIED}{one.message}"
        for one in verdict.complaints
        if "Deny" in one.actions
    }


def warnings(verdict: Verdict) -> list[str]:
    """The warnings that our verdict means."""
    return sorted(
        f"{_WARNED} '{one.policy}' with binding '{one.policy}': {one.message}"
        for one in verdict.complaints
        if "Warn" in one.actions
    )


def warned(answer: Answer) -> list[str]:
    """The warnings that policies gave. The server has some of its own, about fractions of bytes and the like."""
    return sorted(text for text in answer.warnings if text.startswith(_WARNED))


def audited(verdict: Verdict) -> list[tuple[str, str, list[str]]]:
    """Policy, message and actions of what goes to the audit log."""
    return sorted((one.policy, one.message, list(one.actions)) for one in verdict.complaints if "Audit" in one.actions)


def outcome(answer: Answer) -> str:
    """allow, deny (by a policy) or server (by whatever else the server checks)."""
    return "allow" if answer.ok else "deny" if _DENIED in answer.message else "server"


def fits(answer: Answer, pod: str, verdict: Verdict) -> bool:
    """Whether the server says exactly what our verdict says."""
    denied = refusals(pod, verdict)
    return warned(answer) == warnings(verdict) and (answer.message in denied if denied else answer.ok)
