"""The base of every settings model: camelCase in YAML, snake_case in Python, nothing unknown, frozen.

Also what holds for every text of every model: no control characters, which no name, address or size has and which
break out of the YAML, shell or log that a text ends up in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel

from floodplain.problem import RuleError, raise_rules
from floodplain.settings_path import Location

SEVERAL_LINES = "several lines"
"""Mark of a field (`Annotated[str, SEVERAL_LINES]`) whose texts may have line ends and tabs: scripts, chart values."""

# C0, DEL and C1, Unicode's line ends, and halves of surrogate pairs, which cannot be written as UTF-8.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_CONTROL_IN_LINES = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class Settings(BaseModel):
    """A frozen model that reads `camelCase` or `snake_case` keys and refuses keys it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        validate_default=True,
        use_enum_values=False,
    )

    not_settable: ClassVar[Mapping[str, str]] = {}
    """Keys that somebody may look for here and why there are none; told instead of what is known."""

    plain_texts: ClassVar[bool] = True
    """Whether control characters are refused. Not in what other programs define and check."""

    def __hash__(self) -> int:
        """Settings are values: equal ones hash alike, maps in them included, so that what follows can be cached."""
        return hash(self.model_dump_json())

    @field_validator("*")
    @classmethod
    def _no_control_characters(cls, value: Any, info: ValidationInfo) -> Any:
        if not cls.plain_texts:
            return value
        lines = SEVERAL_LINES in cls.model_fields[str(info.field_name)].metadata
        raise_rules(_control_characters(value, _CONTROL_IN_LINES if lines else _CONTROL, ()))
        return value


def _control_characters(value: Any, forbidden: re.Pattern[str], path: Location) -> Iterator[RuleError]:
    if isinstance(value, str):
        found = forbidden.search(value)
        if found:
            yield RuleError(f"has the control character U+{ord(found[0]):04X}", "remove it", path, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            found = _CONTROL.search(key) if isinstance(key, str) else None
            if found:
                yield RuleError(f"is a key with the control character U+{ord(found[0]):04X}", "remove it", path, key)
            else:
                yield from _control_characters(item, forbidden, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _control_characters(item, forbidden, (*path, index))
