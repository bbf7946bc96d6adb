"""The packaged observations: what is there, what counts, and what a wrong table is told."""

from __future__ import annotations

from collections import Counter

import pytest

from floodplain.sizing.odm.observations import COLUMNS, Kind, Observation, ObservationsError, counted, load, parse
from floodplain.sizing.odm.options import OdmOptions
from floodplain.sizing.workload import Workload

BY_ID = {one.id: one for one in load()}


def table(**cells: str) -> str:
    row = dict.fromkeys(COLUMNS, "") | {
        "id": "o1",
        "images": "87",
        "kind": "upper",
        "high_gib": "7.9",
        "link": "https://example.org/1",
    }
    return "# a comment\n" + "\t".join(COLUMNS) + "\n" + "\t".join((row | cells).values()) + "\n"


def told(text: str) -> list[str]:
    with pytest.raises(ObservationsError) as caught:
        parse(text, "t.tsv")
    return str(caught.value).splitlines()


def test_the_table_holds_this_many_rows_of_each_kind() -> None:
    assert Counter(one.kind for one in load()) == {
        Kind.LOWER: 30,
        Kind.UPPER: 19,
        Kind.POINT: 3,
        Kind.INTERVAL: 3,
        Kind.STAGE: 7,
        Kind.OPINION: 1,
        Kind.AMBIGUOUS: 1,
    }


def test_what_is_not_of_a_whole_job_of_todays_odm_is_left_out_with_a_reason() -> None:
    left_out = {one.id: one.left_out for one in load() if one.left_out}
    stage, dead = "is one stage's figure and not the job's", "is about a stage that ODM has no more: "
    assert left_out == {
        **dict.fromkeys(("o008", "o009", "o010", "o011", "o012", "o013", "o017"), stage),
        **dict.fromkeys(("o030", "o031"), "was not measured"),
        **dict.fromkeys(("o033", "o037", "o039"), f"{dead}depth maps of opensfm"),
        "o040": f"{dead}smvs",
        "o041": f"{dead}pmvs",
    }
    assert len(counted()) == 50


def test_every_row_has_an_id_and_a_link_of_its_own_kind() -> None:
    assert len(BY_ID) == len(load()) == 64
    assert [one.id for one in load() if not one.link.startswith("https://")] == []
    assert Counter(one.source for one in counted()) == {
        "OpenDroneMap/odm-benchmarks": 23,
        "hotosm/ScaleODM": 8,
        "cdcseacave/openMVS": 7,
        "WebODM/WebODM": 6,
        "OpenDroneMap/ODM": 4,
        "community.opendronemap.org": 2,
    }


def test_a_row_is_read_whole() -> None:
    assert BY_ID["o023"] == Observation(
        id="o023",
        images=288,
        megapixels=14.3,
        options=OdmOptions.model_validate("pc-quality=high"),
        cores=None,
        ram_gib=15.6,
        swap_gib=15.9,
        kind=Kind.LOWER,
        low_gib=31.5,
        high_gib=None,
        stage="fusion",
        era="2018",
        dataset="openMVS 463",
        what="OpenMVS alone, images at half size; the machine hung",
        link="https://github.com/cdcseacave/openMVS/issues/463",
    )
    assert BY_ID["o023"].workload == Workload(images=288, options=["pc-quality=high"], megapixels=14.3)


def test_rows_of_one_data_set_bracket_its_peak() -> None:
    bounds = [
        (one.id, one.kind, one.low_gib, one.high_gib) for one in load() if one.dataset == "Zoo" and not one.megapixels
    ]
    assert bounds == [("o068", Kind.UPPER, None, 64), ("o069", Kind.LOWER, 32, None)]


def test_a_table_without_the_columns_is_none() -> None:
    columns = ", ".join(COLUMNS)
    rule = f"is no table of observations; its first line must name the columns {columns}, separated by tabs"
    assert told("") == [f"t.tsv, line 1: {rule}"]
    assert told("# comment\n\nid\timages\n") == [f"t.tsv, line 3: {rule}"]


@pytest.mark.parametrize(
    ("cells", "problems"),
    [
        ({"what": "two\tcells"}, ["t.tsv, line 3: has 16 cells; write 15"]),
        ({"ram_gib": "16 GB"}, ["t.tsv, line 3, ram_gib: '16 GB' is no number from 0 up; or leave it empty"]),
        ({"swap_gib": "-1"}, ["t.tsv, line 3, swap_gib: '-1' is no number from 0 up; or leave it empty"]),
        ({"cores": "nan"}, ["t.tsv, line 3, cores: 'nan' is no number from 0 up; or leave it empty"]),
        (
            {"kind": "guess"},
            [
                "t.tsv, line 3, kind: 'guess' is no kind; write one of lower, upper, point, interval, stage, opinion,"
                " ambiguous"
            ],
        ),
        ({"low_gib": "4"}, ["t.tsv, line 3: is an upper bound; give high_gib alone"]),
        ({"kind": "lower"}, ["t.tsv, line 3: is a lower bound; give low_gib alone"]),
        ({"kind": "point"}, ["t.tsv, line 3: is a point; give low_gib and high_gib the same value"]),
        (
            {"kind": "interval", "low_gib": "8"},
            ["t.tsv, line 3: is an interval; give low_gib, and a high_gib above it"],
        ),
        ({"link": "http://a"}, ["t.tsv, line 3, link: 'http://a' is no https address; say where it can be read"]),
        ({"images": "0"}, ["t.tsv, line 3, images: 0 is not from 1 to 1000000; write how many images the job reads"]),
        (
            {"options": "dsn", "images": "x"},
            [
                "t.tsv, line 3, images: 'x' is not a count of images; write a whole number from 1 to 1000000",
                "t.tsv, line 3, options.0: 'dsn' is no option of ODM; did you mean `dsm`?",
            ],
        ),
    ],
    ids=str,
)
def test_a_wrong_row_is_told_with_its_line(cells: dict[str, str], problems: list[str]) -> None:
    assert told(table(**cells)) == problems


def test_an_id_is_given_once() -> None:
    twice = table() + table().splitlines()[-1] + "\n"
    assert told(twice) == ["t.tsv, o1: is listed 2 times; give each row an id of its own"]
