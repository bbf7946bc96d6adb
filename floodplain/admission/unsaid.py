"""Options that a container gives to ODM and that its annotation keeps from the plan. Told, never refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from floodplain.admission.annotations import OPTIONS
from floodplain.admission.odm_command import odm_command
from floodplain.sizing.odm.options import KINDS, OdmOptions

_LEFT_ALONE = ("max-concurrency",)
"""Beside a CPU limit the plan adds it itself."""


def unsaid(container: Mapping[str, Any], options: OdmOptions) -> tuple[str, ...]:
    """A sentence for each option that moves the peak and that the plan does not know of, once however often given."""
    found = odm_command(container)
    if found is None:
        return ()
    told = []
    for name, value in dict.fromkeys(_given(found.words)):
        field = name.replace("-", "_")
        known = getattr(options, field, None)
        if field not in OdmOptions.model_fields or name in _LEFT_ALONE:
            continue
        if known is None or known is False or (value is not None and str(known) != value and known is not True):
            text = name if value is None else f"{name}={value}"
            told.append(
                f"the container is given --{text[:60]} and {OPTIONS} does not say so: the plan is for another job"
            )
    return tuple(told)


def _given(words: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    """Options by their full names, with their values where they take one."""
    for position, word in enumerate(words):
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in KINDS:
            continue
        if equals:
            yield name, None if KINDS[name] == "flag" else value
        elif KINDS[name] == "flag":
            yield name, None
        elif position + 1 < len(words):
            yield name, words[position + 1]
