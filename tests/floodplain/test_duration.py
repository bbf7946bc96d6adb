"""Durations as Karpenter takes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from floodplain import duration
from floodplain.duration import Duration, DurationError, DurationOrNever
from floodplain.problem import problems_of


class Timed(BaseModel):
    longest: Duration = "48h"
    expire: DurationOrNever = "Never"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("48h", 172800), ("1h30m", 5400), ("90s", 90), ("0s", 0), ("1m1m", 120), ("1s2h", 7201), ("007m", 420)],
)
def test_hours_minutes_and_seconds_are_added(text: str, seconds: int) -> None:
    assert duration.parse(text) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1d", "'1d' is not a duration; write 24h"),
        ("2 days", "'2 days' is not a duration; write 48h"),
        ("48", "'48' is not a duration; add a unit: 48h, 48m or 48s"),
        ("90 min", "'90 min' is not a duration; write 90m"),
        ("1.5h", "'1.5h' is not a duration; write whole hours, minutes and seconds, such as 1h30m"),
        ("500ms", "'500ms' is not a duration; write whole hours, minutes and seconds, such as 1h30m"),
        ("", "'' is not a duration; write hours, minutes and seconds, such as 48h, 1h30m or 90s"),
        ("-1h", "'-1h' is not a duration; write hours, minutes and seconds, such as 48h, 1h30m or 90s"),
        ("48h\n", "'48h\\n' is not a duration; write 48h"),
        ("3000000h", "'3000000h' is longer than Go's durations (about 292 years); write less"),
        (48, "48 is not a duration; add a unit: 48h, 48m or 48s"),
        (True, "True is not a duration; write hours, minutes and seconds, such as 48h, 1h30m or 90s"),
    ],
)
def test_a_refused_duration_is_named_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(DurationError) as caught:
        duration.parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (172800, "48h"), (5400, "1h30m"), (3661, "1h1m1s"), (59, "59s")]
)
def test_seconds_are_written_shortly(seconds: int, text: str) -> None:
    assert duration.text(seconds) == text


def test_negative_seconds_are_refused() -> None:
    with pytest.raises(DurationError, match="negative"):
        duration.text(-1)


@given(st.integers(min_value=0, max_value=10**9))
def test_seconds_survive_writing_and_reading(seconds: int) -> None:
    assert duration.parse(duration.text(seconds)) == seconds


@given(st.text(max_size=12))
def test_any_text_gives_seconds_or_a_duration_error(text: str) -> None:
    try:
        assert duration.parse(text) >= 0
    except DurationError as error:
        assert error.rule


def test_fields_keep_the_text_as_written() -> None:
    timed = Timed(longest="60m", expire="720h")
    assert (timed.longest, timed.expire, Timed().expire) == ("60m", "720h", duration.NEVER)


def test_never_is_no_number_of_seconds() -> None:
    assert duration.seconds_or_never("Never") is None
    assert duration.seconds_or_never("1m") == 60


def test_fields_report_rule_and_remedy() -> None:
    with pytest.raises(ValidationError) as caught:
        Timed.model_validate({"longest": "Never", "expire": "never"})
    assert [str(problem) for problem in problems_of(caught.value, Timed)] == [
        "longest: 'Never' is not a duration; write hours, minutes and seconds, such as 48h, 1h30m or 90s",
        "expire: 'never' is not a duration; write Never",
    ]


def test_numbers_of_very_many_digits_are_read_or_refused_as_any_other() -> None:
    assert duration.parse("0" * 5000 + "1h") == 3600
    with pytest.raises(DurationError, match="is longer than Go's durations"):
        duration.parse("9" * 5000 + "h")
