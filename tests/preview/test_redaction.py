"""What a program marks as secret is printed nowhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from floodplain.problem import Problem
from preview import jsonform, markdown, show, terminal
from preview.checks import check
from preview.diff import compare
from preview.dump import concealed
from preview.finding import Finding
from preview.recording import Recorded, Recording
from preview.redaction import Redactor
from preview.render import Rendering
from preview.report import build

URN = "urn:pulumi:dev::test::a:b:C::one"


def redactor(secret: object, **clear: object) -> Redactor:
    return Redactor([Recording((Recorded(URN, "a:b:C", "one", inputs={"hidden": {"<secret>": secret}, **clear}),))])


@pytest.mark.parametrize(
    ("secret", "said", "told"),
    [
        ("hunter2", "is 'hunter2' there", "is '<secret>' there"),
        ("hunter2", "hunter22 is another word", "hunter22 is another word"),
        ("ab", "cab ab", "cab ab"),
        ("correct horse", "xcorrect horsex", "x<secret>x"),
        ("a\nb c d", "'a\\nb c d'", "'<secret>'"),
        ("token=SUPERSECRET1 end", "has SUPERSECRET1", "has <secret>"),
        ("token=SUPERSECRET1 end", "has SUPERSECR...", "has <secret>..."),
        ("pw: !!@@##$$%%&&", "says '!!@@##$$%%&&'", "says '<secret>'"),
        ("a=hunter2", "has hunter2 and `hunter`", "has <secret> and `hunter`"),
        ("a is not here", "it is not there, 'not' so", "it is not there, '<secret>' so"),
        ({"deep": ["verysecret"]}, "verysecret", "<secret>"),
        (123456, "is 123456, not 1234567", "is <secret>, not 1234567"),
        (12, "is 12", "is 12"),
        (True, "is True", "is True"),
        ("<computed>", "is <computed>", "is <computed>"),
        ("placeholder-of-the-secret-test:token", "test:token", "test:token"),
        ("<secret>", "is <secret>", "is <secret>"),
    ],
)
def test_secrets_and_their_pieces_become_the_mark(secret: object, said: str, told: str) -> None:
    assert redactor(secret).text(said) == told
    assert redactor(secret).text(told) == told


def test_a_piece_that_stands_in_clear_elsewhere_stays_and_a_whole_secret_never_does() -> None:
    knows = redactor("evictionHard: SUPERSECRET1", evictionHard="SUPERSECRET2")
    assert knows.text("evictionHard: is SUPERSECRET1") == "evictionHard: is <secret>"
    assert redactor("SUPERSECRET1", clear="SUPERSECRET1").text("is SUPERSECRET1") == "is <secret>"


def test_values_are_compared_before_they_are_cut() -> None:
    text = "x" * 70 + "SUPERSECRET1" + "y" * 70
    finding = Finding("error", "c", Problem("p", "is wrong", "", [text, 123456, {"a": "SUPERSECRET1"}]))
    told = redactor([text, 123456]).finding(finding)
    assert str(told.problem) == "p: ['<secret>', '<secret>', {'a': '<secret>'}] is wrong"


def test_without_secrets_everything_stays_the_same_object() -> None:
    knows = Redactor([Recording((Recorded(URN, "a:b:C", "one", inputs={"a": "b"}),))])
    finding = Finding("error", "c", Problem("p", "is wrong"))
    assert (bool(knows), knows.finding(finding) is finding, knows.text("abc")) == (False, True, "abc")


def test_no_form_of_a_report_tells_a_secret(rendered: Callable[..., Rendering]) -> None:
    rendering = rendered("secret_texts")
    assert any("SUPERSECRET1" in str(finding.problem) for finding in check(rendering))
    base = Recording(
        tuple(
            replace(one, inputs={**one.inputs, "policy": "SUPERSECRET1"}) if one.name == "queue" else one
            for one in rendering.apply.resources
            if one.name != "policy"
        )
    )
    diff = compare(concealed(base), concealed(rendering.apply), name="base")
    report = build(rendering, check(rendering), diff)
    assert {"crd", "user-data"} <= {finding.check for finding in report.findings}
    for text in (terminal.text(report, width=200), markdown.text(report), jsonform.text(report)):
        assert "<secret>" in text or "&lt;secret&gt;" in text
        assert "SUPERSE" not in text


def test_nothing_that_is_shown_tells_a_secret(
    rendered: Callable[..., Rendering], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = rendered("secret_texts").apply
    monkeypatch.setattr(show, "pool_names", lambda recording: ["small"])
    assert show.user_data(recording, "small") == b"<secret>"
    assert "cpu: <secret>" in show.node_pool(recording, "small")
    texts = (show.policies(recording), show.node_class(recording, "small"), show.node_pool(recording, "small"))
    for text in texts:
        assert "<secret>" in text
        assert "SUPERSE" not in text
