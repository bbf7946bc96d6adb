"""The text of every case, browsable under golden/."""

from collections.abc import Callable
from typing import Any


def test_text_is_the_committed_one(case: str, render: Callable[..., str], golden: Any) -> None:
    golden.check(f"nodeconfig/golden/{case}.txt", render(case))


def test_second_rendering_is_the_same(case: str, render: Callable[..., str]) -> None:
    assert render(case) == render(case)


def test_root_is_the_only_thing_that_changes_under_a_root(case: str, render: Callable[..., str]) -> None:
    assert render(case, "/some/where").replace("/some/where", "") == render(case)
