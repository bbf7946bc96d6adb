"""The API server's words: an AdmissionReview (admission.k8s.io/v1) in, one out, whatever was sent. Pure.

What is decided is `decide`'s. Here is what holds for every question: the answer repeats its uid, and a fault of ours
never becomes an exception. In observe it lets the object pass; in enforce it refuses, since a job that was to be sized
and is not would take its node down with it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from floodplain.admission.decide import decide
from floodplain.admission.decision import Decision, Mode, Outcome
from floodplain.admission.subject import Kind, at, mapping
from floodplain.pools import PoolDocument
from floodplain.sizing.settings import SizingSettings

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"
LONGEST_WARNING = 120
"""As admission/v1 asks for; API servers cut longer ones themselves and drop many."""
_MOST_WARNINGS = 8
_REASONS = {400: "BadRequest", 422: "Invalid", 500: "InternalError", 503: "ServiceUnavailable"}
"""Clients look at these to see whether trying again may help; Argo Workflows does."""
_KINDS = {("", "v1", "Pod"): Kind.POD, ("batch", "v1", "Job"): Kind.JOB}


@dataclass(frozen=True)
class Answer:
    """What to send back, and what to log and count."""

    review: dict[str, Any]
    decision: Decision
    uid: str = ""
    namespace: str = ""
    name: str = ""
    kind: str = ""
    dry_run: bool = False
    error: Exception | None = None
    """A fault of the program, for the log."""

    @property
    def body(self) -> bytes:
        """The review as ASCII, which any text fits in."""
        return json.dumps(self.review, separators=(",", ":")).encode("ascii")


def answer(
    body: bytes | Mapping[str, Any], pools: Sequence[PoolDocument], settings: SizingSettings, mode: Mode
) -> Answer:
    """The answer to a review. Never raises."""
    try:
        sent = json.loads(body) if isinstance(body, bytes) else body
    except (ValueError, RecursionError):
        return _answer({}, _unread("the body is not JSON", mode))
    request = mapping(at(sent, "request"))
    try:
        return _answer(request, _decision(sent, request, pools, settings, mode))
    except Exception as error:
        return _answer(request, _fault(error, mode), error)


def _decision(
    sent: Any,
    request: Mapping[str, Any],
    pools: Sequence[PoolDocument],
    settings: SizingSettings,
    mode: Mode,
) -> Decision:
    version, kind = at(sent, "apiVersion"), at(sent, "kind")
    if (version, kind) != (API_VERSION, KIND):
        told = f"{_text(version)[:60]!r} {_text(kind)[:60]!r}"
        return _unread(f"it is {told} and only {API_VERSION} {KIND} is read", mode)
    if not request:
        return _unread("it has no request", mode)
    if request.get("operation") != "CREATE" or request.get("subResource"):
        return Decision(True, Outcome.IGNORED)
    group, name = _text(at(request, "kind", "group")), _text(at(request, "kind", "kind"))
    known = _KINDS.get((group, _text(at(request, "kind", "version")), name))
    if known is None:
        return Decision(True, Outcome.IGNORED, warnings=(f"floodplain sizes pods and Jobs, not {name[:60]!r}",))
    thing = request.get("object")
    if not isinstance(thing, Mapping):
        return _unread("it has no object", mode)
    return decide(thing, known, pools, settings, mode)


def _unread(why: str, mode: Mode) -> Decision:
    message = f"floodplain cannot read the admission review: {why}; check the webhook configuration floodplain-sizing"
    if mode is Mode.OBSERVE:
        return Decision(True, Outcome.ERROR, message, 400, warnings=(message,))
    return Decision(False, Outcome.ERROR, message, 400)


def _fault(error: Exception, mode: Mode) -> Decision:
    message = (
        f"floodplain failed on this object ({type(error).__name__}), which is a fault of floodplain: its log has more."
        " To go on without it, label the namespace floodplain.dev/sizing=observe"
    )
    if mode is Mode.OBSERVE:
        return Decision(True, Outcome.ERROR, message, 500, warnings=(message,))
    return Decision(False, Outcome.ERROR, message, 500)


def _answer(request: Mapping[str, Any], decision: Decision, error: Exception | None = None) -> Answer:
    uid = _text(request.get("uid"))
    response: dict[str, Any] = {"uid": uid, "allowed": decision.allowed}
    if not decision.allowed:
        reason = _REASONS[decision.code]
        response["status"] = {"code": decision.code, "reason": reason, "message": _printable(decision.message)}
    elif decision.patch:
        text = json.dumps(decision.patch, separators=(",", ":"))
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(text.encode()).decode()}
    if decision.warnings:
        response["warnings"] = warnings(decision.warnings)
    return Answer(
        review={"apiVersion": API_VERSION, "kind": KIND, "response": response},
        decision=decision,
        uid=uid,
        namespace=_text(request.get("namespace")),
        name=_text(request.get("name")) or _text(at(request, "object", "metadata", "generateName")),
        kind=_text(at(request, "kind", "kind")),
        dry_run=request.get("dryRun") is True,
        error=error,
    )


def warnings(texts: Sequence[str]) -> list[str]:
    """As many as are shown, each on one line of printable characters and no longer than the API wants."""
    return [_line(text) for text in texts[:_MOST_WARNINGS]]


def _line(text: str) -> str:
    plain = _printable(text)
    return plain if len(plain) <= LONGEST_WARNING else f"{plain[: LONGEST_WARNING - 3]}..."


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
