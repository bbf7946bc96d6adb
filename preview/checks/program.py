"""What concerns the program as a whole: it renders alike each time, and what it says itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from floodplain.problem import Problem

from ..finding import Finding, Severity
from ..render import OUTPUT_IN_TEXT, Rendering

_SETTING = re.compile(r"([a-z][A-Za-z0-9]*(?:\[\d+\]|\.[A-Za-z0-9]+)*): ")


def check(rendering: Rendering) -> Iterator[Finding]:
    yield from stable(rendering)
    yield from messages(rendering)
    yield from environments(rendering)


def stable(rendering: Rendering) -> Iterator[Finding]:
    """A program that renders differently each time shows a change on every preview."""
    for place in rendering.unstable:
        mode, _, urn = place.partition(" ")
        rule = f"comes out differently when rendered again ({mode})"
        remedy = "take out what is random, the time, or the order of a set"
        yield Finding("error", "stable", Problem(urn, rule, remedy), urn if urn.startswith("urn:") else "")


def messages(rendering: Rendering) -> Iterator[Finding]:
    """Warnings the program or the SDK logs."""
    for message in rendering.apply.messages:
        if message.severity in ("warning", "error") and OUTPUT_IN_TEXT not in message.text:
            severity: Severity = "error" if message.severity == "error" else "warning"
            yield Finding(severity, "program", _problem(rendering, " ".join(message.text.split())), message.urn)


def _problem(rendering: Rendering, text: str) -> Problem:
    """The platform names settings as they stand in the stack file: `pools[0].limits: ...`."""
    file, said = rendering.stackfile, _SETTING.match(text)
    if said is None:
        return Problem(file.path, text)
    return Problem(f"{file.path}: {file.project}:{said.group(1)}", text[said.end() :])


def environments(rendering: Rendering) -> Iterator[Finding]:
    """Pulumi ESC environments are read by the CLI only."""
    for name in rendering.stackfile.environments:
        place = f"{rendering.stackfile.path}: environment"
        yield Finding("warning", "offline", Problem(place, "cannot be read offline, its values are missing", "", name))
