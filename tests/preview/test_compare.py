from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preview.compare import changes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", "c\nd"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["key", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def short(before: Any, after: Any) -> list[tuple[str, str]]:
    return [(change.path, change.change) for change in changes(before, after)]


@settings(max_examples=80)
@given(VALUES)
def test_a_value_does_not_differ_from_itself(value: Any) -> None:
    assert list(changes(value, value)) == []


@settings(max_examples=80)
@given(VALUES, VALUES)
def test_something_is_told_when_and_only_when_two_values_differ(before: Any, after: Any) -> None:
    same = json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)
    assert bool(list(changes(before, after))) is not same


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 2, "b": 3}, [("a", "changed"), ("b", "added")]),
        ({"a": {"b.c": 1}}, {"a": {}}, [('a["b.c"]', "removed")]),
        ({"a": ["x"]}, {"a": ["x", "y"]}, [("a", "changed")]),
        (
            {"a": [{"key": "k", "v": 1}]},
            {"a": [{"key": "j", "v": 0}, {"key": "k", "v": 2}]},
            [("a.j", "added"), ("a.k.v", "changed")],
        ),
        ({"a": [{"x": 1}]}, {"a": [{"x": 1}, {"x": 2}]}, [("a[1]", "added")]),
        (
            {"a": [{"name": "p", "v": 1}, {"name": "q", "v": 2}]},
            {"a": [{"name": "q", "v": 2}, {"name": "p", "v": 1}]},
            [("a[0].name", "changed"), ("a[0].v", "changed"), ("a[1].name", "changed"), ("a[1].v", "changed")],
        ),
        ({"a": 1}, {"a": True}, [("a", "changed")]),
        ({"a": 1}, {"a": "1"}, [("a", "changed")]),
    ],
)
def test_changes_are_told_by_place(before: Any, after: Any, expected: list[tuple[str, str]]) -> None:
    assert short(before, after) == expected
