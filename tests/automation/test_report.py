"""The one report over all stacks: failures first, and never longer than a comment may be."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_failures_come_first_and_every_stack_is_there(report: ModuleType) -> None:
    parts = [
        report.Part("dev", "## Preview of dev\n\ntwo pools", True),
        report.Part("prod", "- error: no limits", False),
    ]
    assert report.assemble(parts, "origin/main") == (
        "<!-- floodplain-preview -->\n"
        "# Offline preview against `origin/main`\n\n"
        "**Does not pass: prod.** Rendered from the stack files; no cluster was asked.\n\n"
        "## prod: does not pass\n\n- error: no limits\n\n"
        "## Preview of dev\n\ntwo pools\n"
    )


def test_without_failures_it_says_so(report: ModuleType) -> None:
    text = report.assemble([report.Part("dev", "x", True)], None)
    assert text.splitlines()[1:4] == [
        "# Offline preview",
        "",
        "Every stack passes its checks. Rendered from the stack files; no cluster was asked.",
    ]


def test_a_long_stack_is_cut_at_a_line_and_closes_what_it_opened(report: ModuleType) -> None:
    markdown = "<details><summary>all</summary>\n\n```diff\n" + "+ line\n" * 1000 + "```\n</details>\n"
    text = report.cut(markdown, 500)
    assert len(text) <= 500
    assert text.endswith(
        "+ line\n```\n</details>\n\n_Cut here: the whole, 7,056 characters, is in the run's artifact `preview`._"
    )


lines = st.sampled_from(["plain", "```", "<details><summary>x</summary>", "</details>", "", "a" * 90])
texts = st.lists(lines, max_size=40).map("\n".join)


@settings(max_examples=60)
@given(parts=st.lists(st.tuples(texts, st.booleans()), min_size=1, max_size=5), limit=st.integers(1500, 6000))
def test_it_fits_and_a_short_stack_is_never_cut_for_a_long_one(
    report: ModuleType, parts: list[tuple[str, bool]], limit: int
) -> None:
    named = [report.Part(f"s{number}", text, passed) for number, (text, passed) in enumerate(parts)]
    whole = report.assemble(named, "main", limit)
    assert len(whole) <= limit
    assert len(re.findall(r"^## s\d: (?:passes|does not pass)$", whole, re.MULTILINE)) == len(named)
    shortest = min(named, key=lambda part: len(part.markdown))
    if len(shortest.markdown) < (limit - 400) // len(named):
        assert shortest.markdown in whole


def test_stacks_are_found_by_their_files(report: ModuleType, tmp_path: Path) -> None:
    for name in ("Pulumi.prod.yaml", "Pulumi.dev.yaml", "Pulumi.eu.prod.yaml", "schema.json", "__init__.py"):
        (tmp_path / name).touch()
    assert report.stacks(tmp_path) == ["dev", "eu.prod", "prod"]


@pytest.mark.parametrize("said", ["x\n```\n# heading\n[a](b)", "`````", "plain", "~~~\n``` ```"])
def test_nothing_that_a_preview_says_ends_the_block_it_is_shown_in(
    report: ModuleType, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    done = subprocess.CompletedProcess([], 1, stdout="## dev\n", stderr=f"{said}\n")
    monkeypatch.setattr(report.subprocess, "run", lambda *args, **more: done)
    head, _, *block = report.render("dev", None).markdown.splitlines()
    fence = block[0].removesuffix("text")
    assert (head, block[-1], "\n".join(block[1:-1])) == ("## dev", fence, said)
    assert set(fence) == {"`"} and len(fence) >= 3 and fence not in said


def test_a_cut_closes_a_long_fence_with_one_as_long(report: ModuleType) -> None:
    markdown = report.fenced("a\n````\n```text\n" + "line\n" * 1000)
    text = report.cut(markdown, 400)
    assert len(text) <= 400
    assert text.split("\n\n")[0].splitlines()[-1] == "`````"
