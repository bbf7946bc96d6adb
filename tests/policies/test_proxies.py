"""Reading properties behind the proxy: what is known comes first, what is unknown is told at the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from policies.rules.proxies import Unknowns, each, entries, get, known_leaves, leaves, place, shown, texts


def proxied(value: Any) -> Any:
    return unknown_checking_proxy(value)


def drained(items: Iterator[Any]) -> tuple[list[Any], str]:
    """What comes out before the unknown is raised, and where the unknown is."""
    found: list[Any] = []
    try:
        for item in items:
            found.append(item)
    except UnknownValueError as error:
        return found, ".".join(error.props)
    return found, ""


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("a", "b"), 1),
        (("a", "missing"), None),
        (("a", "b", "deeper"), None),
        (("list", 0, "c"), 2),
        (("list", -1, "c"), 2),
        (("list", 5), None),
        (("list", "c"), None),
        (("a", 0), None),
        (("text", 0), None),
        ((), ...),
    ],
)
def test_get_finds_what_is_there_and_none_otherwise(path: tuple[str | int, ...], found: Any) -> None:
    value = proxied({"a": {"b": 1}, "list": [{"c": 2}], "text": "abc", "elsewhere": UNKNOWN})
    assert get(value, *path) is value if found is ... else get(value, *path) == found


def test_get_raises_only_for_an_unknown_on_its_way() -> None:
    value = proxied({"known": {"here": 1, "there": UNKNOWN}, "unknown": UNKNOWN})
    assert get(value, "known", "here") == 1
    with pytest.raises(UnknownValueError):
        get(value, "unknown", "below")
    with pytest.raises(UnknownValueError):
        get(value, "known", "there")


def test_items_after_an_unknown_one_are_seen_before_it_is_told() -> None:
    assert drained(each(proxied([1, UNKNOWN, 3, UNKNOWN]))) == ([1, 3], "1")
    assert drained(entries(proxied({"a": UNKNOWN, "b": 2}))) == ([("b", 2)], "a")


def test_leaves_come_with_their_paths_and_unknowns_last() -> None:
    value = proxied({"a": UNKNOWN, "b": [{"c": 1}, UNKNOWN, "d"], "e": {"f": {}, "g": None}})
    assert drained(leaves(value)) == ([(("b", 0, "c"), 1), (("b", 2), "d"), (("e", "g"), None)], "a")
    assert [item for _, item in known_leaves(value)] == [1, "d", None]


def test_a_value_nested_without_end_is_read_to_a_bounded_depth() -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"next": deep}
    assert list(known_leaves(proxied(deep))) == []


@pytest.mark.parametrize(
    ("value", "found"), [("one", ("one",)), (["a", 1, "b"], ("a", "b")), ({"a": "b"}, ()), (None, ()), (1.0, ())]
)
def test_one_text_and_many_texts_read_alike(value: Any, found: tuple[str, ...]) -> None:
    assert texts(proxied(value)) == found


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (288.0, "288"),
        (0.5, "0.5"),
        ("a", "'a'"),
        (None, "None"),
        ({"a": 1}, "a map"),
        ([1], "a list"),
        ("x" * 200, "'" + "x" * 76 + "..."),
    ],
)
def test_values_in_messages_are_short_and_as_they_were_written(value: Any, words: str) -> None:
    assert shown(proxied(value)) == words


def test_a_path_is_written_as_people_write_it() -> None:
    assert place(("spec", "containers", 0, "image")) == "spec.containers[0].image"
    assert place(()) == ""


def test_unknowns_keep_the_first_and_let_other_errors_pass() -> None:
    unknowns = Unknowns()
    for key in ("first", "second"):
        with unknowns:
            proxied({key: UNKNOWN})[key]
    with pytest.raises(UnknownValueError) as caught:
        unknowns.raise_first()
    assert caught.value.props == ["first"]
    with pytest.raises(ZeroDivisionError), Unknowns():
        1 / 0  # noqa: B018


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just(UNKNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_known_leaves_never_raise_and_never_show_an_unknown(value: dict[str, Any]) -> None:
    assert all(item != UNKNOWN for _, item in known_leaves(proxied(value)))
