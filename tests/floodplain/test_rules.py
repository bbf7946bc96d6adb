"""Rules between keys run whenever the keys they need are sound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import Field, ValidationError

from floodplain.problem import RuleError, problems_of
from floodplain.rules import RuledSettings, rule


class Part(RuledSettings):
    size: int
    step: int = 1

    @rule("size", "step")
    def _whole_steps(self) -> Iterator[RuleError]:
        if self.size % self.step:
            yield RuleError("is no multiple of step", "change one", ("size",), self.size)


class Whole(RuledSettings):
    most: int = Field(default=10, ge=0)
    name: str = "x"
    parts: tuple[Part, ...] = ()

    @rule("most", each="parts")
    def _small_enough(self, part: Part) -> Iterator[RuleError]:
        if part.size > self.most:
            yield RuleError(f"is above most ({self.most})", "lower it", ("size",), part.size)

    @rule("parts", "name")
    def _named_parts(self) -> Iterator[RuleError]:
        if self.parts and self.name == "x":
            yield RuleError("must be set when there are parts", "name it", ("name",), self.name)


def told(data: Any) -> list[str]:
    try:
        Whole.model_validate(data)
    except ValidationError as error:
        return [str(problem) for problem in problems_of(error, Whole)]
    return []


CASES: dict[str, tuple[Any, list[str]]] = {
    "nothing wrong": ({"name": "y", "parts": [{"size": 4, "step": 2}]}, []),
    "a rule of a part": (
        {"name": "y", "parts": [{"size": 3, "step": 2}]},
        ["parts[0].size: 3 is no multiple of step; change one"],
    ),
    "a rule over one item of a list": (
        {"name": "y", "most": 2, "parts": [{"size": 1}, {"size": 3}]},
        ["parts[1].size: 3 is above most (2); lower it"],
    ),
    "a rule beside a fault elsewhere": (
        {"most": -1, "parts": [{"size": 3, "step": 2}], "nmae": "y"},
        [
            "most: -1 should be greater than or equal to 0",
            "parts[0].size: 3 is no multiple of step; change one",
            "nmae: is not a known key; did you mean `name`?",
        ],
    ),
    "a rule over the sound items only": (
        {"name": "y", "most": 2, "parts": [{"size": "big"}, {"size": 3}]},
        [
            "parts[0].size: 'big' should be a whole number; write digits without quotes",
            "parts[1].size: 3 is above most (2); lower it",
        ],
    ),
    "no rule over a list with a faulty item": (
        {"parts": [{"size": "big"}]},
        ["parts[0].size: 'big' should be a whole number; write digits without quotes"],
    ),
    "a rule over sound keys beside a missing one": (
        {"parts": [{"step": 2}], "name": "y"},
        ["parts[0].size: is required; set it"],
    ),
    "no map at all": (["x"], ["the settings: ['x'] should be a map of settings; write key: value lines below it"]),
}


@pytest.mark.parametrize("case", CASES)
def test_faults_of_keys_and_of_rules_come_together(case: str) -> None:
    data, lines = CASES[case]
    assert told(data) == lines


def test_a_model_built_in_python_is_held_to_its_rules() -> None:
    with pytest.raises(ValidationError):
        Part(size=3, step=2)
