"""Past jobs from a CSV file: what each line says of one job, or everything that is wrong with it. Pure: takes bytes.

Spreadsheets and databases write such files: commas, semicolons or tabs, with or without a byte order mark, columns in
any order and by several names. Lines that cannot be used are told, and the others are used.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from floodplain.backtest.past_job import Outcome, PastJob
from floodplain.duration import DurationError
from floodplain.duration import parse as parse_duration
from floodplain.problem import Problem, did_you_mean, problems_of
from floodplain.quantity import QuantityError, exact
from floodplain.sizing.workload import Engine, Workload

NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "name", "job", "job_id", "task", "uuid", "workflow_name"),
    "engine": ("engine",),
    "images": ("images", "image_count", "images_count", "num_images", "n_images"),
    "options": ("options", "flags", "odm_flags"),
    "megapixels": ("megapixels", "mp"),
    "request_bytes": ("request_bytes", "request", "memory_request", "requested_memory"),
    "limit_bytes": ("limit_bytes", "limit", "memory_limit"),
    "peak_bytes": ("peak_bytes", "peak", "peak_memory", "max_memory"),
    "swap_bytes": ("swap_bytes", "swap", "swap_limit", "swap_grant"),
    "outcome": ("outcome", "result", "status", "state", "job_status"),
    "node_memory_bytes": ("node_memory_bytes", "node_memory"),
    "seconds": ("seconds", "duration", "duration_seconds", "runtime_seconds"),
}
"""Each column, and what it may be called; case, spaces, dots and dashes do not count.

`workflow_name`, `odm_flags` and `job_status` are those of ScaleODM's table of jobs (its app/db/schema.sql).
"""
_REQUIRED = ("images", "outcome")
_BYTES = ("request_bytes", "limit_bytes", "peak_bytes", "swap_bytes", "node_memory_bytes")
_OUTCOMES: dict[str, Outcome] = {
    **dict.fromkeys(("succeeded", "success", "successful", "completed", "complete", "ok", "done"), Outcome.SUCCEEDED),
    **dict.fromkeys(("oom", "oomkilled", "oomkill", "outofmemory"), Outcome.OOM),
    **dict.fromkeys(("evicted", "eviction"), Outcome.EVICTED),
    **dict.fromkeys(("failed", "failure", "error"), Outcome.FAILED),
}
_UNKNOWN = ("", "-", "n/a", "na", "null", "none", "unknown", "?")
_LONGEST_SECONDS = 10 * 365 * 24 * 3600
_LONGEST_NAME = 200
_EXAMPLE = "write a first line such as id,images,options,request,limit,peak,outcome,seconds"


class CsvError(ValueError):
    """A file in which no job can be read. `str()` says why."""


@dataclass(frozen=True)
class CsvJobs:
    """The jobs of a file, what was wrong with other lines, and columns that say nothing to us."""

    jobs: tuple[PastJob, ...]
    problems: tuple[Problem, ...]
    bad_lines: int
    ignored: tuple[str, ...]


def read(content: bytes) -> CsvJobs:
    """The jobs of a file. Raises CsvError where its first line names no columns, or its text cannot be read."""
    text = _text(content)
    delimiter = max(",;\t|", key=lambda mark: len(_first_columns(text, mark)))
    rows = _rows(text, delimiter)
    header = next(rows, None)
    columns = _columns(header[1]) if header and not isinstance(header, Problem) else {}
    missing = [name for name in _REQUIRED if name not in columns]
    if missing or header is None or isinstance(header, Problem):
        raise CsvError(f"the first line names no column {' and no '.join(missing or _REQUIRED)}; {_EXAMPLE}")
    known = {*columns.values()}
    ignored = tuple(_shown(cell) for position, cell in enumerate(header[1]) if position not in known and cell.strip())
    jobs: list[PastJob] = []
    problems: list[Problem] = []
    bad = 0
    for row in rows:
        found = [row] if isinstance(row, Problem) else _job(row[0], row[1], columns)
        if isinstance(found, PastJob):
            jobs.append(found)
        else:
            problems += found
            bad += 1
    return CsvJobs(tuple(jobs), tuple(problems), bad, ignored)


def _first_columns(text: str, delimiter: str) -> dict[str, int]:
    first = next(_rows(text, delimiter), None)
    return {} if first is None or isinstance(first, Problem) else _columns(first[1])


def _text(content: bytes) -> str:
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise CsvError(f"is not UTF-8 (byte {error.start}); save it as CSV UTF-8") from error
    if "\0" in text:
        raise CsvError("has zero bytes: it is no text, or UTF-16 without a byte order mark; save it as CSV UTF-8")
    return text


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]] | Problem]:
    """Lines that are not empty, each with its number; a Problem where the rest cannot be read."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            remedy = "is there a quote that is not closed? Mend it"
            yield Problem(f"line {number}", f"and what follows cannot be read ({error})", remedy)
            return
        if any(cell.strip() for cell in row):
            yield number, row


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Where each of our columns stands; the first of several by the same name."""
    by_name = {name: column for column, names in NAMES.items() for name in names}
    found: dict[str, int] = {}
    for position, cell in enumerate(header):
        column = by_name.get(re.sub(r"[\s.\-]+", "_", cell.strip().lower()))
        if column is not None:
            found.setdefault(column, position)
    return found


def _job(number: int, row: Sequence[str], columns: Mapping[str, int]) -> PastJob | list[Problem]:
    where = f"line {number}"
    if max(columns[name] for name in _REQUIRED) >= len(row):
        return [Problem(where, f"has {len(row)} cells, fewer than the first line", "fill it, or take it out")]
    cells = {column: row[position].strip() for column, position in columns.items() if position < len(row)}
    problems: list[Problem] = []
    amounts = {column: _bytes(cells.get(column, ""), f"{where}, {column}", problems) for column in _BYTES}
    outcome = _outcome(cells["outcome"], f"{where}, outcome", problems)
    seconds = _seconds(cells.get("seconds", ""), f"{where}, seconds", problems)
    workload = _workload(cells, where, problems)
    limit, request = amounts["limit_bytes"], amounts["request_bytes"]
    if limit is not None and request is not None and request > limit:
        problems.append(Problem(f"{where}, request_bytes", "is above the limit", "are the two swapped?", request))
    if problems or workload is None or outcome is None:
        return problems
    name = cells.get("id") or where
    return PastJob(_shown(name), workload, outcome, seconds=seconds, **amounts)


def _bytes(cell: str, place: str, problems: list[Problem]) -> int | None:
    if cell.lower() in _UNKNOWN:
        return None
    try:
        # Measured figures have fractions: 22.6Gi. Rounded up, as Kubernetes does.
        found = math.ceil(exact(cell))
    except QuantityError as error:
        problems.append(Problem(place, error.rule, error.remedy, error.value))
        return None
    if found < 0:
        problems.append(Problem(place, "is negative", "write zero or more", cell))
    return found


def _outcome(cell: str, place: str, problems: list[Problem]) -> Outcome | None:
    found = _OUTCOMES.get(re.sub(r"[^a-z]", "", cell.lower()))
    if found is None:
        remedy = did_you_mean(cell[:_LONGEST_NAME], list(Outcome)) or f"write {', '.join(Outcome)}"
        problems.append(Problem(place, "is no outcome", remedy, cell))
    return found


def _seconds(cell: str, place: str, problems: list[Problem]) -> float | None:
    """Seconds as a number, or a duration such as 1h30m."""
    if cell.lower() in _UNKNOWN:
        return None
    try:
        found = float(parse_duration(cell)) if re.search("[smhd]$", cell) else float(cell)
    except DurationError as error:
        problems.append(Problem(place, error.rule, error.remedy, cell))
        return None
    except ValueError:
        found = math.nan
    if not 0 <= found <= _LONGEST_SECONDS:
        remedy = "write seconds as digits, or a duration such as 1h30m"
        problems.append(Problem(place, "is no number of seconds from 0 to ten years", remedy, cell))
        return None
    return found


def _workload(cells: Mapping[str, str], where: str, problems: list[Problem]) -> Workload | None:
    given: dict[str, Any] = {"images": cells["images"]}
    if cells.get("engine"):
        given["engine"] = cells["engine"].lower()
    if given.get("engine") == Engine.RASTER.value:
        remedy = "leave the line out: raster tasks are read from the cluster, with the peak that they carried"
        problems.append(Problem(f"{where}, engine", "has no count of images", remedy, cells["engine"]))
        return None
    if cells.get("options", "").lower() not in _UNKNOWN:
        flags = _flags(cells["options"])
        given["options"] = re.sub(r"[;|]", ",", cells["options"]) if flags is None else flags
    if cells.get("megapixels", "").lower() not in _UNKNOWN:
        given["megapixels"] = cells["megapixels"]
    try:
        return Workload.model_validate(given)
    except ValidationError as error:
        for problem in problems_of(error, Workload):
            column = re.sub(r"[.\[].*", "", problem.path)
            problems.append(replace(problem, path=f"{where}, {column}"))
        return None


def _flags(cell: str) -> list[str] | None:
    """The options of a cell that holds the words of a command line as JSON, as ScaleODM keeps them; None for others."""
    try:
        words = json.loads(cell) if cell.startswith("[") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    options: list[str] = []
    for word in words:
        if options and not word.startswith("--"):
            options[-1] += f" {word}"
        else:
            options.append(word)
    return options


def _shown(text: str) -> str:
    """A name on one line: these files hold anything, and terminals obey some of it."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in text.strip())
    return plain if len(plain) <= _LONGEST_NAME else f"{plain[: _LONGEST_NAME - 3]}..."
