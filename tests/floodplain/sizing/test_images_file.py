"""Lines of jobs: what each of them means, and what is said of those that mean nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.sizing.images_file import LONGEST_LINE_BYTES, LineError, job_of_line
from floodplain.sizing.workload import MOST_IMAGES, CapacityType, Workload

DEFAULTS: dict[str, Any] = {"options": ["dsm"], "megapixels": "20", "capacity_type": "spot"}


def job(text: str, **defaults: Any) -> Workload | None:
    return job_of_line(text.encode(), 2, defaults)


def told(line: str | bytes) -> list[str]:
    with pytest.raises(LineError) as caught:
        job_of_line(line.encode() if isinstance(line, str) else line, 7, {})
    assert str(caught.value) == "\n".join(str(problem) for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("text", ["500", "500\n", " 500\r\n", '{"images": 500}', '{"images": "500"}'])
def test_a_count_alone_takes_the_rest_from_the_defaults(text: str) -> None:
    assert job(text, **DEFAULTS) == Workload(
        images=500, options=["dsm"], megapixels=20, capacity_type=CapacityType.SPOT
    )


@pytest.mark.parametrize("text", ["", "\n", "  \t\n", "# 500", "  # a comment"])
def test_a_line_without_words_and_a_comment_say_nothing(text: str) -> None:
    assert job(text) is None


@pytest.mark.parametrize("key", ["capacityType", "capacity_type"])
def test_an_object_overrides_what_it_names_in_either_spelling(key: str) -> None:
    text = f'{{"images": 9, "{key}": "on-demand", "options": "dtm,pc-quality=low", "megapixels": null}}'
    assert job(text, **DEFAULTS) == Workload(
        images=9, options="dtm,pc-quality=low", capacity_type=CapacityType.ON_DEMAND
    )


def test_a_mark_of_byte_order_begins_a_file_and_nothing_else() -> None:
    line = b"\xef\xbb\xbf500\n"
    assert job_of_line(line, 1, {}) == Workload(images=500)
    with pytest.raises(LineError, match=r"^line 2: '\\ufeff500' is not a count of images"):
        job_of_line(line, 2, {})


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        ("-5", ["line 7: '-5' is not a count of images; write a whole number from 1 to 1000000"]),
        ("0", ["line 7: 0 is not from 1 to 1000000; write how many images the job reads"]),
        ("5000.5", ["line 7: '5000.5' is not a count of images; write a whole number from 1 to 1000000"]),
        ("1000001", ["line 7: 1000001 is not from 1 to 1000000; write how many images the job reads"]),
        ("5\u0660", ["line 7: '5\u0660' is not a count of images; write a whole number from 1 to 1000000"]),
        ("500,dsm", ["line 7: '500,dsm' is not a count of images; write a whole number from 1 to 1000000"]),
        ('{"images": 5.5}', ["line 7, images: 5.5 is not a whole number; leave the fraction out"]),
        ('{"images": true}', ["line 7, images: True should be a whole number; write digits without quotes"]),
        (
            '{"megapixels": 20}',
            [
                "line 7, images: is required;"
                ' write a count of images, or an object such as {"images": 500, "options": "dsm"}'
            ],
        ),
        ('{"images": 5, "imags": 6}', ["line 7, imags: is not a known key; did you mean `images`?"]),
        ('{"images": 5, "images": 6}', ["line 7: 'images' is given twice; keep one of them"]),
        (
            '{"images": 0, "options": "dsmm,pc-quality=ulta"}',
            [
                "line 7, images: 0 is not from 1 to 1000000; write how many images the job reads",
                "line 7, options[0]: 'dsmm' is no option of ODM; did you mean `dsm`?",
                "line 7, options[1]: 'pc-quality=ulta' is no quality of ODM;"
                " write one of ultra, high, medium, low, lowest",
            ],
        ),
        (
            '{"images": 5',
            [
                "line 7: '{\"images\": 5' is not JSON (Expecting ',' delimiter: line 1 column 13 (char 12));"
                ' write a count of images, or an object such as {"images": 500, "options": "dsm"}'
            ],
        ),
        (b"5\xff", ["line 7: is not UTF-8 (byte 1); write the file as UTF-8"]),
    ],
)
def test_what_is_wrong_with_a_line_is_told_with_its_number(line: str | bytes, problems: list[str]) -> None:
    assert told(line) == problems


@pytest.mark.parametrize("text", ['{"images":' * 5000, '{"images": ' + "9" * 5000 + "}", '{"images": 1e999}', "{[]}"])
def test_json_that_breaks_a_reader_is_told(text: str) -> None:
    (problem,) = told(text)
    assert problem.startswith("line 7")


def test_a_line_that_is_too_long_is_told_and_not_shown() -> None:
    (problem,) = told(b"5" * (LONGEST_LINE_BYTES + 1))
    assert problem == (
        "line 7: is longer than 65,536 bytes;"
        ' write a count of images, or an object such as {"images": 500, "options": "dsm"}'
    )
    assert job_of_line(b"5" + b" " * (LONGEST_LINE_BYTES - 1), 1, {}) == Workload(images=5)


@given(st.integers(1, MOST_IMAGES))
def test_every_count_that_a_job_may_have_is_a_line(images: int) -> None:
    assert job(str(images)) == Workload(images=images)


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: b'{"images": 5, "options": ' + text.encode()))
def test_no_line_ends_in_another_error(line: bytes) -> None:
    try:
        found = job_of_line(line, 3, DEFAULTS)
    except LineError as error:
        assert error.problems
        assert all(str(problem).startswith("line 3") for problem in error.problems)
    else:
        assert found is None or found.image_count >= 1
