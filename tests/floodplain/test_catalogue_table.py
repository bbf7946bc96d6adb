"""The catalogue's table: package data that reads back, and bad tables told line by line."""

from __future__ import annotations

import pytest

from floodplain.catalogue import TableError, load, name_parts
from floodplain.catalogue.instance_type import NameParts
from floodplain.catalogue.refresh import sort_types
from floodplain.catalogue.table import parse, render

HEAD = render([])
ROW = render(load()[:1]).splitlines()[1]


def test_the_packaged_table_survives_writing_and_reading() -> None:
    assert parse(render(load(), "a comment\nof two lines")) == load()


def test_the_packaged_table_is_in_the_order_that_refresh_writes() -> None:
    assert sort_types(load()) == load()
    assert load() is load()


def test_spinning_disks_are_exactly_the_d_families() -> None:
    assert {kind.family for kind in load() if kind.storage == "hdd"} == {"d3", "d3en"}


def test_bytes_follow_from_ec2s_units() -> None:
    kind = next(kind for kind in load() if kind.name == "r6id.2xlarge")
    assert (kind.memory_bytes, kind.nvme_bytes, kind.metal) == (64 << 30, 474 * 10**9, False)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("im4gn.large", NameParts("im4gn", "im", 4, "large")),
        ("p6-b200.48xlarge", NameParts("p6-b200", "p", 6, "48xlarge")),
        ("u-6tb1.metal", NameParts("u-6tb1", "u", 1, "metal")),
        ("r6id", None),
        ("", None),
        (".large", None),
    ],
)
def test_names_are_read_as_karpenter_reads_them(name: str, parts: NameParts | None) -> None:
    assert name_parts(name) == parts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.tsv, line 1: is not a catalogue; its first line must name the columns name, family"),
        ("# only a comment\nname\tfamily\n", "t.tsv, line 2: is not a catalogue"),
        (HEAD + "c5d.large\tc5d\n", "t.tsv, line 2: has 2 cells; write 17"),
        (HEAD + ROW + "\n" + ROW + "\n", "t.tsv, line 3: 'c5ad.large' is listed twice; keep one line a type"),
        (HEAD + ROW.replace("amd64", "mips"), "t.tsv, line 2, arch: 'mips' is none of amd64, arm64"),
        (
            HEAD + ROW.replace("\t4096\t", "\t4GB\t"),
            "t.tsv, line 2, memory_mib: '4GB' is not a whole number above zero",
        ),
        (
            HEAD + ROW.replace("\t750\t", "\t-1\t"),
            "t.tsv, line 2, network_mbps: '-1' is neither empty nor a whole number",
        ),
        (HEAD + ROW.replace("\tc5ad\t", "\tc5d\t"), "t.tsv, line 2, family: 'c5d' does not fit the name c5ad.large"),
        (HEAD + ROW.replace("c5ad.large", "?"), "t.tsv, line 2, name: '?' is not the name of an instance type"),
    ],
)
def test_a_bad_table_is_told_by_line_and_column(text: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        parse(text, "t.tsv")
    assert str(caught.value).startswith(message)


def test_every_bad_line_is_told() -> None:
    with pytest.raises(TableError) as caught:
        parse(HEAD + "x\n" + ROW.replace("ssd", "tape").replace("true", "yes") + "\n")
    assert [str(problem) for problem in caught.value.problems] == [
        "instance-types.tsv, line 2: has 1 cells; write 17",
        "instance-types.tsv, line 3, storage: 'tape' is none of ssd, hdd",
        "instance-types.tsv, line 3, encryption_in_transit: 'yes' is none of true, false",
    ]
