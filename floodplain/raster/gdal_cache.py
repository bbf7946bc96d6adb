"""What GDAL makes of a text for GDAL_CACHEMAX, what is wrong with it for a worker, and how to write one that is right.

Pure. GDAL has one block cache a process; it reads the setting once, when the cache is first used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from floodplain.byte_amount import mib
from floodplain.problem import Problem, RuleError
from floodplain.quantity import MIB

NAME = "GDAL_CACHEMAX"
LEAST_BYTES = 16 * MIB
"""A cache that holds some blocks of 512 x 512 pixels with several bands; less makes reads slow without saving much."""
LARGEST_SHARE = 0.5
"""Of a worker's limit, for all its caches together."""

_SIZE_FROM = 100_000
"""A number below this counts MB (of 1024 x 1024 bytes), one from here on bytes."""
_BUILT_IN_BYTES = 40 * MIB
"""What GDAL falls back to where a percentage comes to nothing it can use."""
_LARGEST_PERCENT_BYTES = 1e15
_LARGEST = (1 << 63) - 1
_WHOLE = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)(.*)", re.ASCII | re.DOTALL)
_DECIMAL = re.compile(r"[ \t\n\v\f\r]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)", re.ASCII)
_MEGABYTES = ("", "m", "mb", "mib")


def cache_bytes(text: str | None, usable_bytes: int) -> int:
    """The cache that GDAL 3.10 makes of the environment variable; None: it is not set.

    `usable_bytes` is the memory that GDAL sees: the machine's, or the cgroup's limit where that is lower. Units are not
    read at all: `256MB` is 256 and so MB, and `1GB` is 1 MB. Source: GDALGetCacheMax64 in gcore/gdalrasterblock.cpp,
    and GDAL 3.10.3 itself: tests/floodplain/raster/test_gdal_cache.py asks both the same texts.
    """
    if text is None:
        text = "5%"
    if "%" in text:
        found = _DECIMAL.match(text)
        share = usable_bytes * (float(found[1]) if found else 0.0) / 100
        return int(share) if 0 <= share < _LARGEST_PERCENT_BYTES else _BUILT_IN_BYTES
    number, _ = _number(text)
    if number < 0:
        return usable_bytes // 20
    return number * MIB if number < _SIZE_FROM else number


def lint(text: str | None, usable_bytes: int, *, limit_bytes: int | None = None, processes: int = 1) -> list[Problem]:
    """What is wrong with this setting of a worker's environment; empty: nothing.

    `limit_bytes` is the worker's memory limit, of which the caches of its `processes` may take half.
    """
    problems = list(_wrong_text(text, usable_bytes))
    count = cache_bytes(text, usable_bytes)
    if not problems and count < LEAST_BYTES:
        remedy = f"write {pinned(64 * MIB)} or more"
        problems.append(
            Problem(NAME, f"makes a cache of {_size(count)}: blocks are decoded again and again", remedy, text)
        )
    if limit_bytes is not None and processes * count > limit_bytes * LARGEST_SHARE:
        each = (
            f"{processes} caches of {_size(count)}, one a process," if processes > 1 else f"a cache of {_size(count)}"
        )
        rule = f"makes {each} in a worker of {_size(limit_bytes)}: above half of it"
        most = max(LEAST_BYTES, int(limit_bytes * LARGEST_SHARE / 2 / processes) // MIB * MIB)
        problems.append(Problem(NAME, rule, f"write {pinned(most)} or less, or have fewer processes", text))
    return problems


def pinned(count: int) -> str:
    """The text for a cache of `count` bytes, with its unit where GDAL reads it rightly: `256MB`, else plain bytes.

    Raises RuleError below 100,000 bytes that are no whole MiB: GDAL would take them for MB.
    """
    if count > 0 and count % MIB == 0 and count // MIB < _SIZE_FROM:
        return f"{count // MIB}MB"
    if count < _SIZE_FROM or count > _LARGEST:
        rule = "cannot be written as GDAL_CACHEMAX: GDAL counts numbers below 100,000 as MB"
        raise RuleError(rule, "give bytes, best a multiple of 1 MiB", value=count)
    return str(count)


def _number(text: str) -> tuple[int, str]:
    """As C's atoll: digits at the beginning, 0 without any, at most 2^63 - 1; and what is behind them."""
    found = _WHOLE.match(text)
    if found is None:
        return 0, text.strip()
    return max(-_LARGEST - 1, min(_LARGEST, int(found[1]))), found[2].strip()


def _wrong_text(text: str | None, usable_bytes: int) -> Iterator[Problem]:
    pin = f"write {pinned(64 * MIB)}, or what the worker was sized with"
    count = cache_bytes(text, usable_bytes)
    if text is None:
        rule = f"is not set: the cache is 5 % of the memory GDAL sees, here {_size(count)} a process"
        yield Problem(NAME, rule, pin)
        return
    if "%" in text:
        rule = f"is a share of the memory GDAL sees, here {_size(count)} a process: other machines, other caches"
        yield Problem(NAME, rule, pin, text)
        return
    number, unit = _number(text)
    if _WHOLE.match(text) is None:
        yield Problem(NAME, "has no number at its beginning: GDAL takes it for 0, no cache", pin, text)
    elif number < 0:
        yield Problem(NAME, f"is negative: GDAL takes 5 % of the memory it sees, {_size(count)}", pin, text)
    elif number == 0:
        yield Problem(NAME, f"is 0 to GDAL{', which reads whole numbers' if unit else ''}: no cache", pin, text)
    elif unit.lower() not in (_MEGABYTES if number < _SIZE_FROM else ("", "b")):
        yield Problem(NAME, f"is {_size(count)} to GDAL 3.10, which reads no units", _meant(number, unit), text)


def _meant(number: int, unit: str) -> str:
    factor = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}.get(unit[:1].lower())
    if factor is None or not re.fullmatch(r"[a-z](i?b)?", unit.lower()):
        return f"write whole MB, such as {pinned(64 * MIB)}"
    count = number * factor
    return f"write {pinned(count)}" if _SIZE_FROM <= count <= _LARGEST else f"write MB, such as {pinned(64 * MIB)}"


def _size(count: int) -> str:
    return mib(count) if count >= MIB // 10 else f"{count:,} bytes"
