"""Sizing settings as a file holds them: one JSON map with camelCase keys. Pure: takes bytes."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from floodplain.problem import Problem, ProblemsError, problems_of
from floodplain.sizing.settings import SizingSettings


class SizingSettingsError(ProblemsError):
    """Settings that cannot be read. `problems` lists everything wrong, each with its key."""


def read(content: bytes) -> SizingSettings:
    """The settings in JSON bytes. Raises SizingSettingsError with every problem."""
    try:
        loaded: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SizingSettingsError([Problem("", f"are not JSON ({error})", "write one map, such as {}")]) from error
    if not isinstance(loaded, dict):
        raise SizingSettingsError([Problem("", "are no map", 'write one, such as {"onDemandFromImages": 5000}')])
    try:
        return SizingSettings.model_validate(loaded)
    except ValidationError as error:
        raise SizingSettingsError(problems_of(error, SizingSettings)) from error
