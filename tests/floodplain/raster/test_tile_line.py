"""Lines of tiles.jsonl: what they may say, and everything that can be wrong with one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.raster.task import Way
from floodplain.raster.tile_line import Asked, TileLine, TileLineError, read_line, with_estimate

TILE = "14/8716/5685"


def read(line: Any, number: int = 7) -> TileLine | None:
    return read_line((line if isinstance(line, str) else json.dumps(line)).encode(), number)


def told(line: Any) -> list[str]:
    with pytest.raises(TileLineError) as caught:
        read(line)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ({"tile": TILE}, Asked(tile=TILE)),
        ({"tile": [14, 8716, 5685], "size": 512}, Asked(tile=TILE, size=(512, 512))),
        ({"window": [0, 16, 1024, 512]}, Asked(window=(0, 16, 1024, 512))),
        ({"window": "0,16, 1024,512"}, Asked(window=(0, 16, 1024, 512))),
        ({"window": [0.5, 0, 1.5, 5.0]}, Asked(window=(0.5, 0, 1.5, 5))),
        ({"tile": TILE, "bands": 3, "dtype": "float32"}, Asked(tile=TILE, bands=3, dtype="float32")),
        ({"bounds": [178, -5, -178, 5], "crs": 4326}, Asked(bounds=(178.0, -5.0, -178.0, 5.0), crs="EPSG:4326")),
        ({"crs": "EPSG:3857", "size": "640x480"}, Asked(crs="EPSG:3857", size=(640, 480))),
        ({"size": [64, 32]}, Asked(size=(64, 32))),
        (
            {"tile": TILE, "resampling": "cubic", "way": "array", "masked": True, "window": None, "note": [1]},
            Asked(tile=TILE, resampling="cubic", way=Way.ARRAY, masked=True),
        ),
    ],
)
def test_a_line_says_a_raster_and_what_of_it(said: Any, wanted: Asked) -> None:
    line = {"source": "s3://bucket/a.tif", **said}
    assert read(line) == TileLine(7, json.dumps(line), "s3://bucket/a.tif", wanted)


def test_blank_lines_say_nothing_and_a_byte_order_mark_is_no_part_of_the_first() -> None:
    assert read_line(b" \t\r\n", 3) is None
    first = read_line(b'\xef\xbb\xbf{"source": "a", "size": 1}\r\n', 1)
    assert first == TileLine(1, '{"source": "a", "size": 1}', "a", Asked(size=(1, 1)))


_TASK = "line 7, task: does not say what of the raster is read; "


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("nonsense", "line 7: 'nonsense' is not JSON (Expecting value"),
        ("[1]", "line 7: '[1]' is no object; write an object such as"),
        ('{"source": "a", "tile": "1/0/0", "tile": "1/0/1"}', "line 7: 'tile' is given twice; keep one of them"),
        ({"tile": TILE}, "line 7, source: is required; write an object such as"),
        ({"source": "", "tile": TILE}, "line 7, source: '' should be the path or address of a raster; write"),
        ({"source": 5, "tile": TILE}, "line 7, source: 5 should be the path or address of a raster; write"),
        ({"source": "a\nb", "tile": TILE}, "line 7, source: 'a\\nb' should be the path or address of a raster; write"),
        ({"source": "a"}, f"{_TASK}write tile, window or bounds; crs or size alone mean the whole raster"),
        ({"source": "a", "tlie": TILE}, f"{_TASK}tlie: did you mean `tile`?"),
        ({"source": "a", "tile": "1/2"}, "line 7, tile: '1/2' is not a tile; write three whole numbers, z/x/y:"),
        ({"source": "a", "tile": 5}, "line 7, tile: 5 is not a tile; write z/x/y: 14/8716/5685"),
        ({"source": "a", "tile": [1, 2, -3]}, "line 7, tile: [1, 2, -3] '1/2/-3' is not a tile; write three whole"),
        ({"source": "a", "tile": "99/0/0"}, "line 7, tile: '99/0/0' zoom 99 is not one of 0 to 30; write"),
        ({"source": "a", "tile": TILE, "crs": 3857}, "line 7, crs: 3857 does not go with tile; leave it out: a tile"),
        ({"source": "a", "window": [0, 0, 1, 1], "crs": 1}, "line 7, crs: 1 does not go with window; leave it out: a"),
        ({"source": "a", "tile": TILE, "size": 0}, "line 7, size: 0 is not from 1 to 2,147,483,648 pixels; write"),
        ({"source": "a", "tile": TILE, "size": "big"}, "line 7, size: 'big' is not a size; write WIDTHxHEIGHT"),
        ({"source": "a", "size": [10**6, 10**6]}, "line 7, size: [1000000, 1000000] is not from 1 to 2,147,483,648"),
        ({"source": "a", "window": [0, 0, 10]}, "line 7, window: [0, 0, 10] is not a window; write column,row,width"),
        ({"source": "a", "window": [0, 0, 0, 5]}, "line 7, window: [0, 0, 0, 5] has no pixels: 0 x 5; write column"),
        ({"source": "a", "size": 9, "bands": 0}, "line 7, bands: 0 is not from 1 to 65535 bands; write how many bands"),
        ({"source": "a", "size": 9, "dtype": "unit8"}, "line 7, dtype: 'unit8' "),
        ({"source": "a", "size": 9, "dtype": 8}, "line 7, dtype: 8 is no dtype; write a name such as uint8 or float32"),
        ({"source": "a", "window": [0, 0, True, 5]}, "line 7, window: [0, 0, True, 5] is not a window: True is no"),
        ('{"source": "a", "bounds": [0, 1, NaN, 5]}', "line 7, bounds: [0, 1, nan, 5] is not bounds: nan is no number"),
        ({"source": "a", "bounds": [0, 5, 9, 1]}, "line 7, bounds: [0, 5, 9, 1] has its bottom 5 at or above its top"),
        ({"source": "a", "bounds": [3, 1, 3, 5]}, "line 7, bounds: [3, 1, 3, 5] has no width: left and right are 3"),
        ({"source": "a", "crs": True}, "line 7, crs: True is no CRS; write EPSG:3857, or WKT"),
        ({"source": "a", "size": 9, "resampling": "cubci"}, "line 7, resampling: 'cubci' is no resampling of rasterio"),
        ({"source": "a", "size": 9, "way": "vtr"}, "line 7, way: 'vtr' is no way through GDAL; did you mean `vrt`?"),
        ({"source": "a", "size": 9, "masked": 1}, "line 7, masked: 1 should be true or false; write true or false"),
        ({"source": "a", "size": 9, "estimate": 3}, "line 7, estimate: is not one that `raster route` wrote; rename"),
        (
            {"source": "a", "tile": TILE, "window": [0, 0, 1, 1]},
            "line 7, tile and window: are given together; keep one of them",
        ),
    ],
)
def test_one_fault_is_told_with_line_key_value_rule_and_remedy(line: Any, wanted: str) -> None:
    (problem,) = told(line)
    assert problem.startswith(wanted)


def test_all_faults_of_a_line_are_told() -> None:
    line = {"tile": "x", "size": "y", "resampling": "z", "way": 1, "masked": 2}
    paths = [problem.partition(":")[0] for problem in told(line)]
    assert paths == [f"line 7, {key}" for key in ("source", "tile", "size", "resampling", "way", "masked")]


def test_bytes_that_are_no_text_and_lines_without_an_end_are_told() -> None:
    for line, wanted in (
        (b"\xff{}", "line 1: is not UTF-8 (byte 0)"),
        (b" " * 70_000, "line 1: is longer than 65,536"),
    ):
        with pytest.raises(TileLineError, match="line 1") as caught:
            read_line(line, 1)
        assert str(caught.value).startswith(wanted)


def test_a_line_is_kept_as_it_was_written_and_gets_its_estimate() -> None:
    text = '{"source":"a", "size":1e0 ,"id":1.50, "big": 123456789012345678901234567890 }'
    line = read(text.replace("1e0", "1"))
    assert line is not None
    added = with_estimate(line, {"pool": "small", "peak_bytes": 5})
    assert added == (
        '{"source":"a", "size":1 ,"id":1.50, "big": 123456789012345678901234567890,'
        ' "estimate": {"pool": "small", "peak_bytes": 5}}'
    )


def test_an_earlier_estimate_is_replaced() -> None:
    line = read({"source": "a", "size": 1, "estimate": {"pool": "failed", "reason": "gone"}, "id": 5})
    assert line is not None
    added = json.loads(with_estimate(line, {"pool": "big"}))
    assert added == {"source": "a", "size": 1, "id": 5, "estimate": {"pool": "big"}}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=6,
)
KEYS = ["source", "tile", "window", "bounds", "crs", "size", "way", "masked", "bands", "dtype", "estimate", "x"]


@given(st.dictionaries(st.sampled_from(KEYS), anything))
def test_any_object_is_a_task_or_told(line: dict[str, Any]) -> None:
    try:
        found = read(line)
    except TileLineError as error:
        for problem in error.problems:
            assert problem.path.startswith("line 7")
            assert str(problem).isprintable()
    else:
        assert found is not None


@given(st.binary(max_size=60))
def test_any_bytes_are_a_task_or_told(line: bytes) -> None:
    try:
        read_line(line, 2)
    except TileLineError as error:
        assert str(error).startswith("line 2")
