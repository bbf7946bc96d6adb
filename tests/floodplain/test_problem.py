"""Errors of settings: each once, at its path, with the rule and what to do."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator

from floodplain.problem import ABSENT, BrokenRulesError, Problem, RuleError, problems_of, raise_rules
from floodplain.quantity import QuantityText
from floodplain.settings import Settings


class Limits(Settings):
    memory: QuantityText
    max_cpu: Annotated[int, Field(gt=0)] = 1


class ByAlias(Settings):
    alias_name: str


class ById(Settings):
    image_id: str


class Pool(Settings):
    name: str
    limits: Limits
    capacity_types: tuple[Literal["spot", "on-demand"], ...] = ("spot",)
    image: ByAlias | ById | None = None
    either: int | list[str] = 3
    labels: dict[str, str] = {}
    by_zone: dict[str, Limits] = {}
    families: list[str] = []
    enabled: bool = False
    share: float = 0.2

    @model_validator(mode="after")
    def _rules(self) -> Pool:
        broken = [
            RuleError("is a bad name", "choose another", ("name",), self.name),
            RuleError("is too many", "ask for fewer", ("limits", "max_cpu"), self.limits.max_cpu),
        ]
        raise_rules(broken if self.name == "bad" else [])
        return self


class Stack(Settings):
    pools: list[Pool]
    spare: Pool | None = None


LIMITS = {"memory": "1Gi"}


def told(data: Any, model: type[BaseModel] = Stack, **options: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(data)
    return [str(problem) for problem in problems_of(caught.value, model, **options)]


def pool(**settings: Any) -> dict[str, Any]:
    return {"name": "x", "limits": LIMITS, **settings}


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("a.b", "is wrong"), "a.b: is wrong"),
        (Problem("a.b", "is wrong", "mend it"), "a.b: is wrong; mend it"),
        (Problem("a.b", "is wrong", "mend it", None), "a.b: None is wrong; mend it"),
        (Problem("", "is wrong", value="x"), "the settings: 'x' is wrong"),
        (Problem("a", "is long", value="x" * 100), f"a: '{'x' * 76}... is long"),
    ],
)
def test_a_problem_is_one_line_of_path_value_rule_and_remedy(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_absent_is_false_and_says_its_name() -> None:
    assert not ABSENT
    assert repr(ABSENT) == "absent"


def test_every_error_of_nested_settings_is_told_once_with_its_path() -> None:
    wrong = {
        "pools": [
            pool(limits={"memory": "10GB", "maxCpu": 0}, capacityTypes=["spott"], familes=["a"]),
            {"limits": []},
            7,
        ],
        "pool": 3,
    }
    assert told(wrong) == [
        "pools[0].limits.memory: '10GB' is not a quantity; write 10G (decimal) or 10Gi (binary)",
        "pools[0].limits.maxCpu: 0 should be greater than 0",
        "pools[0].capacityTypes[0]: 'spott' should be 'spot' or 'on-demand'; did you mean `spot`?",
        "pools[0].familes: is not a known key; did you mean `families`?",
        "pools[1].name: is required; set it",
        "pools[1].limits: [] should be a map of settings; write key: value lines below it",
        "pools[2]: 7 should be a map of settings; write key: value lines below it",
        "pool: is not a known key; did you mean `pools`?",
    ]


def test_paths_are_snake_case_for_python_with_a_prefix_before_them() -> None:
    wrong = {"pools": [pool(limits={"memory": "1", "maxCpu": 0}, capacityTypes=[1], families="a")]}
    assert told(wrong, snake=True, prefix="args") == [
        "args.pools[0].limits.max_cpu: 0 should be greater than 0",
        "args.pools[0].capacity_types[0]: 1 should be 'spot' or 'on-demand'",
        "args.pools[0].families: 'a' should be a list",
    ]


def test_both_spellings_are_read_but_not_together() -> None:
    assert Limits.model_validate({"memory": "1", "maxCpu": 2}) == Limits.model_validate({"memory": "1", "max_cpu": 2})
    assert told({"memory": "1", "maxCpu": 2, "max_cpu": 3}, Limits) == [
        "maxCpu: is spelt another way, or twice; write `maxCpu`, once"
    ]


@pytest.mark.parametrize(
    ("key", "remedy"),
    [
        ("familes", "did you mean `families`?"),
        ("capacity-types", "did you mean `capacityTypes`?"),
        ("CAPACITY_TYPES", "did you mean `capacityTypes`?"),
        ("capacitytypes", "did you mean `capacityTypes`?"),
        (
            "zzz",
            "known here: byZone, capacityTypes, either, enabled, families, image, labels, limits, name, share",
        ),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest_key_of_that_very_model(key: str, remedy: str) -> None:
    assert told({"pools": [pool(**{key: 1})]}) == [f"pools[0].{key}: is not a known key; {remedy}"]


def test_unknown_keys_in_optional_settings_and_maps_find_their_model() -> None:
    wrong = {"pools": [pool(byZone={"a-1": {"memory": "1", "maxCPUs": 2}})], "spare": pool(limit=1)}
    assert told(wrong) == [
        "pools[0].byZone.a-1.maxCPUs: is not a known key; did you mean `maxCpu`?",
        "spare.limit: is not a known key; did you mean `limits`?",
    ]


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ({"name": 5}, "name: 5 should be text; put it in quotes"),
        ({"name": []}, "name: [] should be text"),
        ({"enabled": "maybe"}, "enabled: 'maybe' should be true or false; write true or false without quotes"),
        ({"share": "x"}, "share: 'x' should be a number; write digits without quotes"),
        ({"labels": {"a": 1}}, "labels.a: 1 should be text; put it in quotes"),
        ({"labels": {1: "a"}}, "labels.1: 1 should be text; put it in quotes"),
        ({"labels": []}, "labels: [] should be a map; write key: value lines below it"),
        ({"families": "a"}, "families: 'a' should be a list; write each entry on a line with a dash, or in [ ]"),
        (
            {"limits": {"memory": "1", "maxCpu": 1.5}},
            "limits.maxCpu: 1.5 should be a whole number; leave the fraction out",
        ),
        ({"either": "x"}, "either: 'x' should be a whole number or a list"),
    ],
)
def test_a_wrong_type_is_told_in_words_for_people(setting: dict[str, Any], line: str) -> None:
    assert told({"pools": [pool(**setting)]}) == [f"pools[0].{line}"]


def test_alternatives_of_a_union_do_not_appear_in_paths() -> None:
    assert told({"pools": [pool(image={"aliasName": 1})]}) == [
        "pools[0].image.aliasName: 1 should be text; put it in quotes",
        "pools[0].image.imageId: is required; set it",
        "pools[0].image.aliasName: is not a known key; known here: imageId",
    ]


def test_rules_over_several_fields_name_the_field_they_mean() -> None:
    assert told({"pools": [pool(name="bad")], "spare": pool(name="bad")}) == [
        "pools[0].name: 'bad' is a bad name; choose another",
        "pools[0].limits.maxCpu: 1 is too many; ask for fewer",
        "spare.name: 'bad' is a bad name; choose another",
        "spare.limits.maxCpu: 1 is too many; ask for fewer",
    ]


def test_the_same_error_twice_is_told_once() -> None:
    class Twice(Settings):
        name: str

        @model_validator(mode="after")
        def _rules(self) -> Twice:
            raise BrokenRulesError([RuleError("is bad", "mend it", ("name",))] * 2)

    assert told({"name": "x"}, Twice) == ["name: is bad; mend it"]


def test_no_broken_rule_raises_nothing_and_several_are_raised_together() -> None:
    raise_rules([])
    with pytest.raises(BrokenRulesError, match="a; b / c") as caught:
        raise_rules(iter([RuleError("a", "b"), RuleError("c")]))
    assert [error.rule for error in caught.value.errors] == ["a", "c"]


@pytest.mark.parametrize("data", [7, None, [], "text"])
def test_what_is_no_map_at_all_is_told_at_the_top(data: object) -> None:
    assert told(data) == [f"the settings: {data!r} should be a map of settings; write key: value lines below it"]


def test_settings_are_frozen() -> None:
    settings = Limits(memory="1")
    with pytest.raises(ValidationError, match="frozen"):
        settings.memory = "2"  # type: ignore[misc]


def test_a_list_with_a_fault_in_its_only_item_is_not_also_called_too_short() -> None:
    class Pool(Settings):
        name: str

    class Stack(Settings):
        pools: tuple[Pool, ...] = Field(min_length=1)

    with pytest.raises(ValidationError) as caught:
        Stack.model_validate({"pools": [{}]})
    assert [str(problem) for problem in problems_of(caught.value, Stack)] == ["pools[0].name: is required; set it"]
    with pytest.raises(ValidationError) as empty:
        Stack.model_validate({"pools": []})
    assert [problem.path for problem in problems_of(empty.value, Stack)] == ["pools"]
