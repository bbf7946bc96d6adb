"""What the CLI says it does or has done, as data: `preview --json` and the event log. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One resource and what happens to it: same, create, update, replace, delete, or one of the parts of a replace."""

    op: str
    urn: str
    type: str
    old: Mapping[str, Any] = field(default_factory=dict)
    new: Mapping[str, Any] = field(default_factory=dict)
    diff: tuple[str, ...] = ()
    """Properties that differ."""
    replaces: tuple[str, ...] = ()
    """Those of them that make it another object."""


@dataclass(frozen=True)
class Diagnostic:
    """A line for a person. `severity` is info, info#err, warning or error."""

    severity: str
    message: str
    urn: str = ""


@dataclass(frozen=True)
class Violation:
    """What a policy pack says of a resource."""

    policy: str
    level: str
    message: str
    urn: str


@dataclass(frozen=True)
class Outcome:
    """A preview, or an update that was carried out, in the order of its steps."""

    steps: tuple[Step, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    violations: tuple[Violation, ...] = ()
    seconds: float = 0.0

    def ops(self) -> dict[str, str]:
        """URN to what happens, for all that do not stay the same; the parts of a replace count as `replace`."""
        return {
            step.urn: "replace" if "replace" in step.op else step.op
            for step in self.steps
            if step.op not in ("same", "read", "refresh")
        }

    def order(self, op: str) -> list[str]:
        """URNs in the order in which `op` came to its end."""
        return [step.urn for step in self.steps if step.op == op]

    def step(self, urn_end: str) -> Step:
        """The only step whose URN ends so. Raises LookupError."""
        found = [step for step in self.steps if step.urn.endswith(urn_end)]
        if len(found) != 1:
            raise LookupError(f"{len(found)} steps end with {urn_end}: {sorted(step.urn for step in self.steps)}")
        return found[0]


def preview_steps(document: Mapping[str, Any]) -> tuple[Step, ...]:
    """Of what `pulumi preview --json` prints."""
    return tuple(
        Step(
            op=step["op"],
            urn=step["urn"],
            type=(step.get("newState") or step.get("oldState") or {}).get("type", ""),
            old=step.get("oldState") or {},
            new=step.get("newState") or {},
            diff=tuple(step.get("diffReasons") or ()),
            replaces=tuple(step.get("replaceReasons") or ()),
        )
        for step in document.get("steps") or ()
    )


def events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The entries of an event log; a last line that was cut off is left out."""
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            return


def outcome(found: Sequence[Mapping[str, Any]], seconds: float) -> Outcome:
    """Of the events of an update: a step stands where it ended."""
    return Outcome(
        steps=tuple(_step(event["resOutputsEvent"]["metadata"]) for event in found if "resOutputsEvent" in event),
        diagnostics=tuple(
            Diagnostic(one["severity"], one["message"].strip(), one.get("urn", ""))
            for event in found
            if (one := event.get("diagnosticEvent")) and one["severity"] != "debug" and not one.get("ephemeral")
        ),
        violations=tuple(
            Violation(one["policyName"], one["enforcementLevel"], one["message"].strip(), one.get("resourceUrn", ""))
            for event in found
            if (one := event.get("policyEvent"))
        ),
        seconds=seconds,
    )


def _step(metadata: Mapping[str, Any]) -> Step:
    return Step(
        op=metadata["op"],
        urn=metadata["urn"],
        type=metadata["type"],
        old=metadata.get("old") or {},
        new=metadata.get("new") or {},
        diff=tuple(metadata.get("diffs") or ()),
        replaces=tuple(metadata.get("keys") or ()),
    )
