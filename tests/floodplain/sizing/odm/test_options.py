"""How people write ODM's options, what is made of them, and what they are told when it cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from floodplain.problem import problems_of
from floodplain.sizing.odm.options import KINDS, OdmOptions, Quality
from floodplain.sizing.workload import Workload

VALUES = {"flag": "true", "count": "7", "number": "0.5", "quality": "low", "text": "some text.json"}


def read(given_options: Any) -> OdmOptions:
    return OdmOptions.model_validate(given_options)


def told(given_options: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        Workload(images=1, options=given_options)
    return [str(problem) for problem in problems_of(caught.value, Workload)]


@pytest.mark.parametrize(
    "written",
    [
        "dsm,pc-quality=high,split=400",
        " dsm , pc-quality = high , split = 400 ",
        "dsm=true\n--pc-quality=HIGH\n--split=400",
        "--dsm --pc-quality high --split 400",
        ["--dsm", "--pc_quality=high", "split 400"],
        ("dsm", "dsm=yes", "pc-quality=high", "pc-quality=High", "split=400", "split=0400"),
        {"dsm": True, "pc-quality": "high", "split": 400, "dtm": False, "fast_orthophoto": None},
        {"dsm": "true", "pc_quality": "high", "split": "400", "dtm": "false"},
        OdmOptions(dsm=True, pc_quality=Quality.HIGH, split=400),
    ],
    ids=str,
)
def test_options_are_the_same_however_they_are_written(written: Any) -> None:
    assert read(written) == OdmOptions(dsm=True, pc_quality=Quality.HIGH, split=400)


@pytest.mark.parametrize("nothing", ["", " ", ",\n,", [], {}, {"dsm": False}, {"dsm": None}, "dsm=false,dtm=0"])
def test_what_is_off_is_as_if_it_were_not_written(nothing: Any) -> None:
    assert read(nothing) == OdmOptions()


def test_options_that_do_not_move_the_peak_are_kept() -> None:
    options = read("min-num-features=15000,cog,tiles=false,auto-boundary,boundary=area.json,pc-filter=auto")
    assert options == OdmOptions(
        boundary=True, others=("auto-boundary", "cog", "min-num-features=15000", "pc-filter=auto")
    )
    assert options.texts == ("auto-boundary", "boundary", "cog", "min-num-features=15000", "pc-filter=auto")


def test_a_boundary_may_be_a_whole_geojson() -> None:
    assert read(['boundary={"type": "Polygon", "coordinates": [[[1, 2], [3, 4]]]}']) == OdmOptions(boundary=True)
    assert read({"boundary": {"type": "Polygon"}}) == OdmOptions(boundary=True)


@pytest.mark.parametrize(
    ("written", "problems"),
    [
        ("splitt=4", ["options.0: 'splitt=4' is no option of ODM; did you mean `split`?"]),
        ("zzz", ["options.0: 'zzz' is no option of ODM; see `odm --help` for the options there are"]),
        ("--", ["options.0: '--' is no option of ODM; see `odm --help` for the options there are"]),
        ("dsm=maybe", ["options.0: 'dsm=maybe' takes no value; write its name alone"]),
        ("pc-quality", ["options.0: 'pc-quality' needs a value; write name=value"]),
        (
            "pc-quality=best",
            ["options.0: 'pc-quality=best' is no quality of ODM; write one of ultra, high, medium, low, lowest"],
        ),
        ("split=many", ["options.0: 'split=many' is not a whole number; write digits"]),
        ("split=1.5", ["options.0: 'split=1.5' is not a whole number; write digits"]),
        ("split=\u0661", ["options.0: 'split=\u0661' is not a whole number; write digits"]),
        ("split=" + "9" * 13, ["options.0: 'split=9999999999999' has more than 12 digits; write a smaller number"]),
        ("split=0", ["options.split: 0 should be greater than or equal to 1"]),
        ("crop=nan", ["options.0: 'crop=nan' is not a number; write digits"]),
        ("dsm,dsm=false", ["options.1: 'dsm=false' is given twice with different values; keep one of them"]),
        ("split=4,split=5", ["options.1: 'split=5' is given twice with different values; keep one of them"]),
        ([5, "x"], [
            "options.0: 5 is not an option; write its name, or name=value",
            "options.1: 'x' is no option of ODM; see `odm --help` for the options there are",
        ]),
        (5, ["options: 5 is not a list of options; write dsm,pc-quality=high or a list of such texts"]),
        ({"others": ["rm"]}, ["options.0: 'rm' is no option of ODM; see `odm --help` for the options there are"]),
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_option_is_told_with_its_place_and_what_to_do(written: Any, problems: list[str]) -> None:
    assert told(written) == problems


def test_a_very_long_text_is_refused_unread() -> None:
    (problem,) = told("dsm," * 5000)
    assert problem.endswith("is longer than 10,000 characters; write fewer options")


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_option_is_read_written_and_read_again(name: str) -> None:
    options = read(f"{name}={VALUES[KINDS[name]]}")
    assert options != OdmOptions()
    assert read(list(options.texts)) == options
    assert OdmOptions.model_validate_json(options.model_dump_json()) == options
    assert hash(OdmOptions.model_validate(options.model_dump())) == hash(options)


@given(st.text(max_size=60) | st.lists(st.text(max_size=20)) | st.dictionaries(st.text(max_size=12), st.integers()))
def test_whatever_is_written_is_read_or_refused_with_a_reason(written: Any) -> None:
    try:
        options = Workload(images=1, options=written).options
    except ValidationError as error:
        assert all(problem.rule for problem in problems_of(error, Workload))
    else:
        assert read(list(options.texts)) == options
