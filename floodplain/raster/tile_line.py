"""One line of tiles.jsonl: which raster, and what of it. Pure: nothing is opened.

{"source": "s3://bucket/a.tif", "tile": "14/8716/5685", "size": 512, "any": "other key is kept"}
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from floodplain.json_once import once
from floodplain.problem import ABSENT, Problem, ProblemsError, RuleError, did_you_mean
from floodplain.raster.kernel import radius
from floodplain.raster.pixel_size import itemsize
from floodplain.raster.task import Way
from floodplain.raster.tile import parse_tile

LONGEST_LINE_BYTES = 1 << 16
ESTIMATE = "estimate"
"""The key that routing adds."""
WHERE = ("tile", "window", "bounds")
_KEYS = ("source", *WHERE, "crs", "size", "resampling", "way", "masked", "bands", "dtype", "layer")
_EXAMPLE = 'write an object such as {"source": "a.tif", "tile": "14/8716/5685"}'
_MOST_PIXELS = 1 << 31
_FARTHEST = 1e12
_MOST_BANDS = 65_535
"""Of a TIFF."""


class TileLineError(ProblemsError):
    """A line that is no task. `problems` lists everything wrong with it, each with the line's number."""


@dataclass(frozen=True)
class Asked:
    """What of a raster is wanted; all None: the whole raster. `tile` is z/x/y, checked."""

    tile: str | None = None
    window: tuple[float, float, float, float] | None = None
    bounds: tuple[float, float, float, float] | None = None
    crs: str | None = None
    size: tuple[int, int] | None = None
    resampling: str | None = None
    way: Way | None = None
    masked: bool | None = None
    bands: int | None = None
    """Of the first that many; None: all."""
    dtype: str | None = None
    """Of what is made; None: the widest of the bands read."""
    layer: str | None = None
    """The kind of task in a history of measured ones."""


@dataclass(frozen=True)
class TileLine:
    """A task, and the line that it stands in."""

    number: int
    text: str
    """The line's JSON as it was written."""
    source: str
    asked: Asked


def read_line(line: bytes, number: int) -> TileLine | None:
    """The task of a line, None for a blank one. `number` counts lines from 1. Raises TileLineError."""
    where = f"line {number}"
    if len(line) > LONGEST_LINE_BYTES:
        raise TileLineError([Problem(where, f"is longer than {LONGEST_LINE_BYTES:,} bytes", _EXAMPLE)])
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError as error:
        raise TileLineError([Problem(where, f"is not UTF-8 (byte {error.start})", "write it as UTF-8")]) from error
    if not text:
        return None
    given = _object(text, where)
    problems: list[Problem] = []
    source = given.get("source")
    if not isinstance(source, str) or not source.strip() or not source.isprintable():
        rule = "is required" if "source" not in given else "should be the path or address of a raster"
        found = {} if "source" not in given else {"value": source}
        problems.append(Problem(f"{where}, source", rule, _EXAMPLE, **found))
    try:
        asked = read_asked(given)
    except ProblemsError as error:
        problems += [Problem(f"{where}, {one.path}", one.rule, one.remedy, one.value) for one in error.problems]
    if ESTIMATE in given and not _ours(given[ESTIMATE]):
        remedy = "rename the key: routing writes one of that name"
        problems.append(Problem(f"{where}, {ESTIMATE}", "is not one that `raster route` wrote", remedy))
    if problems:
        raise TileLineError(problems)
    return TileLine(number, text, str(source), asked)


def with_estimate(line: TileLine, estimate: Mapping[str, Any]) -> str:
    """The line as it was given, with the estimate behind its other keys, in place of an earlier one."""
    added = json.dumps(estimate)
    if f'"{ESTIMATE}"' in line.text:
        kept = {key: value for key, value in json.loads(line.text).items() if key != ESTIMATE}
        return json.dumps({**kept, ESTIMATE: estimate})
    return f'{line.text[:-1].rstrip()}, "{ESTIMATE}": {added}}}'


def read_asked(given: Mapping[str, Any]) -> Asked:
    """What a map of texts or numbers asks for; keys that are not ours say nothing. Raises ProblemsError."""
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for key, read in _READERS.items():
        if given.get(key) is None:
            continue
        try:
            values[key] = read(given[key])
        except RuleError as error:
            value = ABSENT if repr(given[key]) in error.rule else given[key]
            problems.append(Problem(key, error.rule, error.remedy, value))
    problems += _together(given)
    if problems:
        raise ProblemsError(problems)
    return Asked(**values)


def _together(given: Mapping[str, Any]) -> Iterator[Problem]:
    named = [key for key in WHERE if given.get(key) is not None]
    if len(named) > 1:
        yield Problem(" and ".join(named), "are given together", "keep one of them")
    elif not named and given.get("crs") is None and given.get("size") is None and "source" in given:
        near = next((f"{key}: {hint}" for key in given if key not in _KEYS and (hint := _near(key))), "")
        remedy = "write tile, window or bounds; crs or size alone mean the whole raster"
        yield Problem("task", "does not say what of the raster is read", near or remedy)
    if given.get("crs") is not None and named and named[0] != "bounds":
        why = "a tile is in web mercator" if named[0] == "tile" else "a window is read in the raster's own CRS"
        yield Problem("crs", f"does not go with {named[0]}", f"leave it out: {why}", given["crs"])


def _near(key: str) -> str:
    return did_you_mean(key, (*WHERE, "crs", "size"))


def _object(text: str, where: str) -> dict[str, Any]:
    try:
        loaded: Any = json.loads(text, object_pairs_hook=once)
    except RuleError as error:
        raise TileLineError([Problem(where, error.rule, error.remedy, error.value)]) from error
    except (ValueError, RecursionError) as error:
        raise TileLineError([Problem(where, f"is not JSON ({error})", _EXAMPLE, text)]) from error
    if not isinstance(loaded, dict):
        raise TileLineError([Problem(where, "is no object", _EXAMPLE, text)])
    return loaded


def _ours(value: Any) -> bool:
    return isinstance(value, dict) and "pool" in value


def _tile(value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) == 3:
        value = "/".join(str(part) for part in value)
    if not isinstance(value, str):
        raise RuleError("is not a tile", "write z/x/y: 14/8716/5685")
    parse_tile(value)
    return value.strip()


def _numbers(value: Any, count: int, what: str, remedy: str) -> list[float]:
    parts = re.split(r"\s*,\s*", value.strip()) if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or len(parts) != count:
        raise RuleError(f"is not {what}", remedy)
    found = []
    for part in parts:
        try:
            number = float(part) if isinstance(part, str | int | float) and not isinstance(part, bool) else math.nan
        except (ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise RuleError(f"is not {what}: {part!r} is no number", remedy)
        found.append(number)
    return found


def _window(value: Any) -> tuple[float, float, float, float]:
    remedy = "write column,row,width,height in pixels: 0,0,1024,1024"
    numbers = _numbers(value, 4, "a window", remedy)
    if far := [number for number in numbers if abs(number) >= _FARTHEST]:
        raise RuleError(f"is not a window: {far[0]:g} is no pixel of any raster", remedy)
    column, row, width, height = (int(number) if number.is_integer() else number for number in numbers)
    if width <= 0 or height <= 0:
        raise RuleError(f"has no pixels: {width} x {height}", remedy)
    return column, row, width, height


def _bounds(value: Any) -> tuple[float, float, float, float]:
    remedy = "write left,bottom,right,top in the CRS of the target"
    left, bottom, right, top = _numbers(value, 4, "bounds", remedy)
    if bottom >= top:
        raise RuleError(f"has its bottom {bottom:g} at or above its top {top:g}", remedy)
    if left == right:
        raise RuleError(f"has no width: left and right are {left:g}", remedy)
    return left, bottom, right, top


def _size(value: Any) -> tuple[int, int]:
    remedy = "write WIDTHxHEIGHT in pixels: 512x512"
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]{1,9})(?:\s*x\s*([0-9]{1,9}))?\s*", value)
        if match is None:
            raise RuleError("is not a size", remedy)
        value = [int(match[1]), int(match[2] or match[1])]
    elif isinstance(value, int) and not isinstance(value, bool):
        value = [value, value]
    width, height = (int(number) for number in _numbers(value, 2, "a size", remedy))
    if width < 1 or height < 1 or width * height > _MOST_PIXELS:
        raise RuleError(f"is not from 1 to {_MOST_PIXELS:,} pixels", remedy)
    return width, height


def _crs(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"EPSG:{value}"
    if not isinstance(value, str) or not value.strip():
        raise RuleError("is no CRS", "write EPSG:3857, or WKT")
    return value.strip()


def _resampling(value: Any) -> str:
    if not isinstance(value, str):
        raise RuleError("is no resampling", "write a name such as bilinear")
    radius(value)
    return value


def _way(value: Any) -> Way:
    if value not in tuple(Way):
        raise RuleError("is no way through GDAL", did_you_mean(str(value), Way) or f"write one of {', '.join(Way)}")
    return Way(value)


def _masked(value: Any) -> bool:
    if not isinstance(value, bool):
        raise RuleError("should be true or false", "write true or false without quotes")
    return value


def _bands(value: Any) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 6:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_BANDS:
        raise RuleError(f"is not from 1 to {_MOST_BANDS} bands", "write how many bands are read")
    return value


def _dtype(value: Any) -> str:
    if not isinstance(value, str):
        raise RuleError("is no dtype", "write a name such as uint8 or float32")
    itemsize(value)
    return value


def _layer(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise RuleError("is no layer", "write the name of a kind of task, as measured tasks have it")
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "tile": _tile,
    "window": _window,
    "bounds": _bounds,
    "crs": _crs,
    "size": _size,
    "resampling": _resampling,
    "way": _way,
    "masked": _masked,
    "bands": _bands,
    "dtype": _dtype,
    "layer": _layer,
}
