"""Patches make the one object of the other, for a stranger's implementation of RFC 6902 as well."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from floodplain.admission.patch import patch

leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "16Gi"])
keys = st.sampled_from(["a", "b", "", "a/b", "~", "~1", "/", "floodplain.dev/plan", "-", "0"])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)
objects = st.dictionaries(keys, values, max_size=4)


@given(before=objects, after=objects)
def test_a_patch_makes_the_one_of_the_other(before: Any, after: Any) -> None:
    untouched = copy.deepcopy(before)
    made = jsonpatch.apply_patch(before, list(patch(before, after)))
    assert repr(_sorted(made)) == repr(_sorted(after))
    assert before == untouched


@given(before=objects)
def test_equal_objects_need_no_patch(before: Any) -> None:
    assert patch(before, copy.deepcopy(before)) == ()


def _sorted(value: Any) -> Any:
    """By `repr`, true and 1 differ."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


def test_slashes_and_tildes_in_keys_are_escaped() -> None:
    before = {"annotations": {"a/b": "1", "c~1d": "2"}}
    after = {"annotations": {"a/b": "2", "floodplain.dev/plan": "{}"}}
    assert patch(before, after) == (
        {"op": "remove", "path": "/annotations/c~01d"},
        {"op": "replace", "path": "/annotations/a~1b", "value": "2"},
        {"op": "add", "path": "/annotations/floodplain.dev~1plan", "value": "{}"},
    )


def test_items_of_a_list_are_patched_one_by_one_and_a_list_that_grows_as_a_whole() -> None:
    before = {"containers": [{"name": "a", "args": ["x"]}, {"name": "b"}]}
    after = {"containers": [{"name": "a", "args": ["x", "y"]}, {"name": "b", "image": "c"}]}
    assert patch(before, after) == (
        {"op": "replace", "path": "/containers/0/args", "value": ["x", "y"]},
        {"op": "add", "path": "/containers/1/image", "value": "c"},
    )
