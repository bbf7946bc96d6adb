"""What is publicly known of ODM's memory: the packaged table, typed, and which of its rows a predictor is judged by.

Bounds, not peaks: a job that ran with 16 GB took at most that, one that was killed took more. How well a predictor
does on them is `score`, what our model makes of them `fit`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic import ValidationError

from floodplain.problem import Problem, ProblemsError, problems_of
from floodplain.sizing.odm.options import OdmOptions
from floodplain.sizing.workload import Workload
from floodplain.tab_separated import rows

PACKAGED = "observations.tsv"
DEAD_STAGES = frozenset({"pmvs", "smvs", "depth maps of opensfm"})
"""What made ODM's dense clouds before MVE and OpenMVS did; their memory went by workers, not by images."""


class Kind(StrEnum):
    """What a figure says of the peak."""

    LOWER = "lower"
    """It was more: the job was killed or failed for memory."""
    UPPER = "upper"
    """It was at most that: the job ran on such a machine. Soft, since its swap is often unknown."""
    POINT = "point"
    """It was about that."""
    INTERVAL = "interval"
    """It lay between two figures, at times by our reading of words."""
    STAGE = "stage"
    """One stage's figure, which says nothing of the whole job's peak."""
    OPINION = "opinion"
    """What somebody thought it needs."""
    AMBIGUOUS = "ambiguous"
    """A failure whose cause is not certain."""


@dataclass(frozen=True)
class Observation:
    """One row. GiB of memory and swap together; None is unknown."""

    id: str
    images: int
    megapixels: float | None
    options: OdmOptions
    cores: int | None
    ram_gib: float | None
    swap_gib: float | None
    kind: Kind
    low_gib: float | None
    high_gib: float | None
    stage: str
    """Where the peak or the end was; empty if unknown."""
    era: str
    """ODM's version, or the year."""
    dataset: str
    """Rows of one name are of the same images; empty if unknown."""
    what: str
    link: str

    @property
    def workload(self) -> Workload:
        """The job, as its user would have described it."""
        return Workload(images=self.images, options=self.options, megapixels=self.megapixels)

    @property
    def source(self) -> str:
        """Who reported it: owner and name of the repository, or the host."""
        parts = self.link.split("/")
        return "/".join(parts[3:5]) if parts[2] == "github.com" else parts[2]

    @property
    def left_out(self) -> str | None:
        """Why no predictor of today's ODM is judged by it; None where it counts."""
        if self.kind is Kind.STAGE:
            return "is one stage's figure and not the job's"
        if self.kind in (Kind.OPINION, Kind.AMBIGUOUS):
            return "was not measured"
        if self.stage in DEAD_STAGES:
            return f"is about a stage that ODM has no more: {self.stage}"
        return None


COLUMNS = tuple(field.name for field in fields(Observation))


class ObservationsError(ProblemsError):
    """A table that cannot be read. `problems` lists every line that is wrong."""


@cache
def load() -> tuple[Observation, ...]:
    """All packaged observations, in the table's order."""
    return parse(files("floodplain.sizing.odm").joinpath(PACKAGED).read_text(encoding="ascii"))


@cache
def counted() -> tuple[Observation, ...]:
    """Those a predictor is judged by."""
    return tuple(one for one in load() if one.left_out is None)


def parse(text: str, origin: str = PACKAGED) -> tuple[Observation, ...]:
    """The observations in a table: comments, a line of column names, one row a line. Raises ObservationsError."""
    found: list[Observation] = []
    problems: list[Problem] = []
    for one in rows(text, COLUMNS, origin=origin, rule="is no table of observations"):
        row = [one] if isinstance(one, Problem) else _observation(one.cells, one.where)
        if isinstance(row, Observation):
            found.append(row)
        else:
            problems += row
    for name, count in Counter(one.id for one in found).items():
        if count > 1:
            problems.append(Problem(f"{origin}, {name}", f"is listed {count} times", "give each row an id of its own"))
    if problems:
        raise ObservationsError(problems)
    return tuple(found)


def _observation(row: dict[str, str], where: str) -> Observation | list[Problem]:
    values: dict[str, Any] = dict(row)
    problems: list[Problem] = []
    for name in ("megapixels", "cores", "ram_gib", "swap_gib", "low_gib", "high_gib"):
        values[name] = _number(row[name])
        if values[name] is None and row[name]:
            problems.append(Problem(f"{where}, {name}", "is no number from 0 up", "or leave it empty", row[name]))
    if row["kind"] not in tuple(Kind):
        problems.append(Problem(f"{where}, kind", "is no kind", f"write one of {', '.join(Kind)}", row["kind"]))
    else:
        values["kind"] = Kind(row["kind"])
        problems += [Problem(where, rule, remedy) for rule, remedy in _wrong_bounds(values)]
    if not row["link"].startswith("https://"):
        problems.append(Problem(f"{where}, link", "is no https address", "say where it can be read", row["link"]))
    try:
        job = Workload.model_validate({key: row[key] for key in ("images", "options")})
        values.update(images=job.images, options=job.options)
    except ValidationError as error:
        problems += [
            replace(problem, path=f"{where}, {problem.path}") for problem in problems_of(error, Workload, snake=True)
        ]
    if problems:
        return problems
    if values["cores"] is not None:
        values["cores"] = int(values["cores"])
    return Observation(**values)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _wrong_bounds(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    low, high = values["low_gib"], values["high_gib"]
    match values["kind"]:
        case Kind.LOWER if low is None or high is not None:
            yield "is a lower bound", "give low_gib alone"
        case Kind.UPPER if low is not None or high is None:
            yield "is an upper bound", "give high_gib alone"
        case Kind.POINT if low is None or low != high:
            yield "is a point", "give low_gib and high_gib the same value"
        case Kind.INTERVAL if low is None or high is None or low >= high:
            yield "is an interval", "give low_gib, and a high_gib above it"
