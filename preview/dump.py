"""A rendering as JSON for another process: how a diff learns what the base revision wants.

    python -m preview dump --stack prod

`format` says how to read it. A reader of a later version reads what an earlier one wrote, or says that it cannot.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from . import document
from .recording import Recorded, Recording
from .render import Rendering

FORMAT = 1


def write(rendering: Rendering, *, plan: bool = False) -> str:
    """The update's requests, and if asked for the plan's too; secrets concealed."""
    content = {"format": FORMAT, "stack": rendering.stack, "apply": document.of(rendering.apply)}
    return json.dumps({**content, "plan": document.of(rendering.plan)} if plan else content)


def read(text: str) -> Recording:
    """Raises ValueError when it was written in another format."""
    content = json.loads(text)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("its format is another one")
    apply = content["apply"]
    return Recording(
        resources=tuple(_recorded(entry) for entry in apply["resources"]), outputs=apply.get("outputs", {})
    )


def concealed(recording: Recording) -> Recording:
    """The same as another process would read it."""
    return read(json.dumps({"format": FORMAT, "apply": document.of(recording)}))


def _recorded(entry: Mapping[str, Any]) -> Recorded:
    known = {field.name for field in fields(Recorded)}
    values: dict[str, Any] = {key: value for key, value in entry.items() if key in known}
    for key in ("depends_on", "aliases"):
        values[key] = tuple(values.get(key, ()))
    return Recorded(**values)
