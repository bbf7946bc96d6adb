"""The three forms of one report: for a terminal, for a pull request, for machines."""

from __future__ import annotations

import io
import json
from typing import Any

import jsonschema
import pytest

from preview import jsonform, markdown, terminal
from preview.change_text import lines
from preview.model import (
    Diff,
    FindingEntry,
    FleetRoll,
    PropertyChange,
    Report,
    ResourceChange,
    ResourceNode,
    UnknownEntry,
)

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"


def finding(severity: Any = "error", place: str = "stacks/Pulumi.dev.yaml: p:pools[0].limits") -> FindingEntry:
    return FindingEntry(severity=severity, check="limits", place=place, message=f"{place}: are missing; set them")


def change(action: Any, name: str, *properties: PropertyChange, reason: str = "") -> ResourceChange:
    urn = f"urn:pulumi:dev::p::{NODE_POOL}::{name}"
    return ResourceChange(action=action, urn=urn, type=NODE_POOL, name=name, properties=properties, reason=reason)


def changed(path: str, before: Any, after: Any, **more: Any) -> PropertyChange:
    return PropertyChange(path=path, change="changed", before=before, after=after, **more)


def report(**more: Any) -> Report:
    tree = ResourceNode(
        urn="urn:pulumi:dev::p::a:b:C::box",
        type="a:b:C",
        name="box",
        children=(ResourceNode(urn="u", type=NODE_POOL, name="box-pool", detail="pool"),),
    )
    values = {"project": "p", "stack": "dev", "file": "stacks/Pulumi.dev.yaml", "resources": 2, "tree": (tree,)}
    return Report(**{**values, "pools": (), "unknowns": (), "findings": (), **more})


FULL = report(
    findings=(finding(), finding("warning")),
    unknowns=(
        UnknownEntry(type="aws:sqs/queuePolicy:QueuePolicy", property="queueUrl", why="drawn by AWS", resources=1),
    ),
    diff=Diff(
        base="main (0123456789ab)",
        changes=(
            change(
                "replace",
                "one",
                changed("metadata.name", "a", "b", effect="replace"),
                reason="replaced because of metadata.name",
            ),
            change("delete", "two"),
            change("create", "three"),
            change("update", "four", changed("spec.userData", "a\nb\nc\n", "a\nB\nc\n", drift=True)),
        ),
        rolls=(
            FleetRoll(
                pool="four", fields=("EC2NodeClass spec.userData",), nodes_at_most=9, at_a_time=1, within_schedules=1
            ),
        ),
        same=7,
    ),
)


def test_the_terminal_form_reads_from_tree_to_verdict(golden: Any) -> None:
    golden.check("preview/golden/forms/full.txt", terminal.text(FULL, width=80))


def test_the_markdown_form_puts_the_verdict_errors_replaces_and_deletes_first(golden: Any) -> None:
    text = markdown.text(FULL)
    golden.check("preview/golden/forms/full.md", text)
    assert text.startswith("<!-- floodplain preview p/dev -->\n")
    order = [
        "### Errors",
        "### Nodes that will",
        "### Replaced (1)",
        "### Deleted (1)",
        "### Added (1)",
        "### Changed (1)",
    ]
    assert sorted(order, key=text.index) == order


def test_the_same_report_makes_the_same_text() -> None:
    assert markdown.text(FULL) == markdown.text(FULL.model_copy(deep=True))
    assert jsonform.text(FULL) == jsonform.text(FULL.model_copy(deep=True))


def test_the_json_form_keeps_to_its_documented_schema(golden: Any) -> None:
    schema = jsonform.schema()
    golden.check("preview/golden/report.schema.json", schema)
    content = json.loads(jsonform.text(FULL))
    jsonschema.validate(content, json.loads(schema))
    assert content["schemaVersion"] == 1
    assert content["diff"]["changes"][0]["properties"][0]["effect"] == "replace"


def test_a_comment_that_would_be_too_long_leaves_out_the_least_important_and_counts_it() -> None:
    many = tuple(change("create", f"new-{number}") for number in range(2000))
    updates = tuple(change("update", f"old-{number}", changed("spec.a", "x" * 90, "y" * 90)) for number in range(2000))
    gone = tuple(change("delete", f"gone-{number}") for number in range(50))
    diff = Diff(base="main", changes=(*gone, *many, *updates), same=0)
    text = markdown.text(FULL.model_copy(update={"diff": diff}))
    assert len(text) <= markdown.MOST_CHARACTERS
    assert text.count("**- `kubernetes") == 50
    assert "### Errors" in text
    assert "more left out to stay within the size of a comment; the JSON form has all" in text
    assert "box-pool" not in text


def test_even_errors_alone_are_cut_to_the_size_of_a_comment() -> None:
    errors = tuple(finding(place=f"stacks/Pulumi.dev.yaml: p:pools[{number}].limits") for number in range(3000))
    text = markdown.text(report(findings=errors))
    assert len(text) <= markdown.MOST_CHARACTERS
    assert text.count("are missing; set them") > 300


@pytest.mark.parametrize("text", ["<script>", "a @someone #12", "`code` *bold* | cell", "line\nbreak"])
def test_what_is_shown_is_never_markup(text: str) -> None:
    place = f"place {text}"
    entry = FindingEntry(severity="error", check="x", place=place, message=f"{place}: rule {text}")
    shown = next(line for line in markdown.text(report(findings=(entry,))).splitlines() if line.startswith("- "))
    assert "<" not in shown.replace("`place <script>`", "")
    assert " @someone" not in shown.split("`: ")[-1]


def test_nothing_to_compare_with_says_why() -> None:
    diff = Diff(base="main", note=("That revision has no stack dev.",), changes=(change("create", "x"),))
    told = report(diff=diff)
    assert "That revision has no stack dev." in terminal.text(told)
    assert "> That revision has no stack dev." in markdown.text(told)
    assert "### Added" not in markdown.text(told)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (changed("a", 1, 2), ["- a: 1", "+ a: 2"]),
        (PropertyChange(path="a", change="added", after={"b": 1}), ['+ a: {"b": 1}']),
        (PropertyChange(path="a", change="removed", before="x\ny"), ["- a:", "-   x", "-   y"]),
        (
            changed("a", "1\n2\n3\n4\n5\n", "1\n2\nx\n4\n5\n"),
            ["@ a", "@@ -1,5 +1,5 @@", " 1", " 2", "-3", "+x", " 4", " 5"],
        ),
        (changed("a", "b", "b\n"), ["@ a", "@@ -1 +1 @@", '-"b"', "+b"]),
        (changed("a", "b\n", "b\n\n"), ["@ a", "@@ -1 +1,2 @@", " b", "+"]),
        (
            changed("policy", '{"a":1,"b":2}', '{"a":1,"b":3}'),
            ["@ policy", "@@ -1,4 +1,4 @@", " {", '   "a": 1,', '-  "b": 2', '+  "b": 3', " }"],
        ),
    ],
)
def test_a_property_s_change_is_shown_as_few_lines(one: PropertyChange, expected: list[str]) -> None:
    assert list(lines(one)) == expected


def test_a_long_text_is_cut_and_says_so() -> None:
    before, after = "\n".join(f"old {n}" for n in range(300)), "\n".join(f"new {n}" for n in range(300))
    shown = list(lines(changed("a", before, after)))
    assert len(shown) == 82
    assert shown[-1].endswith("more lines; the JSON form has them all)")
    [first, _] = lines(changed("a", "x" * 1000, "y" * 1000))
    assert first.endswith("... (1002 characters)")


def test_a_stream_that_cannot_write_the_lines_gets_plain_ones() -> None:
    buffer = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    terminal.show(FULL, buffer)
    buffer.flush()
    assert b"`-- C box" in buffer.buffer.getvalue()


def test_a_terminal_gets_colours() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    buffer = Terminal()
    terminal.show(FULL, buffer)
    assert "\x1b[" in buffer.getvalue()
    assert "\x1b[" not in terminal.text(FULL)
