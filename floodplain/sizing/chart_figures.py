"""What a chart of image counts against memory shows: curves, ceilings of nodes, bands of counts. Pure; draws nothing.

Ours is what `fit` gives the predicted peak. The old rule is ScaleODM's, as in production (`scaleodm.PROD`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from floodplain.pools import PoolDocument, PoolType
from floodplain.problem import RuleError
from floodplain.sizing.fit import Fit, Job, fit, fit_limit
from floodplain.sizing.predictor import predict
from floodplain.sizing.scaleodm import PROD, flags_of, size
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Workload

LEAST_IMAGES, MOST_IMAGES = 40, 12_000
"""The range of the published observations and of ScaleODM's table. A job outside it widens the chart."""
_SAMPLES = 240


@dataclass(frozen=True)
class Point:
    """One image count. Amounts in bytes."""

    images: int
    peak_bytes: int
    limit_bytes: int
    held_bytes: int
    """Limit and swap grant."""
    old_limit_bytes: int
    placed: bool
    """Whether a node of the pools takes the job."""
    unsafe: bool
    """Whether the old rule's limit lies above what is allocatable on the smallest node that takes its request."""


@dataclass(frozen=True)
class Band:
    """Image counts from the first to the last, both included."""

    first: int
    last: int


@dataclass(frozen=True)
class Ceiling:
    """What pods may use of the nodes of one memory size: the least allocatable of these types."""

    allocatable_bytes: int
    types: tuple[str, ...]


@dataclass(frozen=True)
class Figures:
    """Everything a chart shows."""

    points: tuple[Point, ...]
    ceilings: tuple[Ceiling, ...]
    """Smallest first."""
    unsafe: tuple[Band, ...]
    unplaced: tuple[Band, ...]

    @property
    def unsafe_percent(self) -> int:
        """Of all counts of the chart."""
        counts = self.points[-1].images - self.points[0].images + 1
        return round(100 * sum(band.last - band.first + 1 for band in self.unsafe) / counts)


def figures(workload: Workload, pools: Sequence[PoolDocument], settings: SizingSettings) -> Figures:
    """The figures of a job like this one, at all counts up to 12,000 or, if that is more, a fifth above its own.

    Some tenths of a second for one pool. Raises RuleError without any pool.
    """
    if not pools:
        raise RuleError("no pools are known", "give the document of at least one pool", ("pools",))

    def at(images: int) -> Point:
        return _point(workload.model_copy(update={"images": images}), pools, settings)

    least = min(LEAST_IMAGES, workload.image_count)
    most = max(MOST_IMAGES, math.ceil(workload.image_count * 1.2))
    step = math.log(most / least) / _SAMPLES
    counts = {round(least * math.exp(step * number)) for number in range(_SAMPLES + 1)}
    points = [at(images) for images in sorted({least, most, workload.image_count, *counts})]
    return Figures(
        points=tuple(points),
        ceilings=_ceilings(pools),
        unsafe=_bands(points, lambda point: point.unsafe, at),
        unplaced=_bands(points, lambda point: not point.placed, at),
    )


def _point(workload: Workload, pools: Sequence[PoolDocument], settings: SizingSettings) -> Point:
    peak = predict(workload, settings).peak_bytes
    job = Job(workload, peak)
    ours = min((fit(job, pool, settings) for pool in pools), key=_cost)
    old = size(workload.image_count, flags_of(workload.options), PROD)
    theirs = [fit_limit(job, pool, settings, limit=old.limit_bytes, request=old.request_bytes, hot=0) for pool in pools]
    nodes: list[PoolType] = [one.types[0] for one in theirs if one.types]
    node = min(nodes, key=lambda kind: (kind.memory_bytes, kind.vcpu, kind.name), default=None)
    return Point(
        images=workload.image_count,
        peak_bytes=peak,
        limit_bytes=ours.limit_bytes,
        held_bytes=ours.limit_bytes + ours.grant_bytes,
        old_limit_bytes=old.limit_bytes,
        placed=ours.feasible,
        unsafe=node is not None and old.limit_bytes > node.allocatable_memory_bytes,
    )


def _cost(one: Fit) -> tuple[int, int, str]:
    """As the planner chooses: what fits before what does not, then the least memory reserved."""
    return len(one.problems), one.pod_request_bytes, one.pool.name


def _ceilings(pools: Sequence[PoolDocument]) -> tuple[Ceiling, ...]:
    by_memory: dict[int, dict[str, int]] = {}
    for pool in pools:
        for kind in pool.types:
            by_memory.setdefault(kind.memory_bytes, {})[kind.name] = kind.allocatable_memory_bytes
    return tuple(
        Ceiling(min(found.values()), tuple(sorted(found, key=lambda name: (found[name], name))))
        for _, found in sorted(by_memory.items())
    )


def _bands(points: Sequence[Point], inside: Callable[[Point], bool], at: Callable[[int], Point]) -> tuple[Band, ...]:
    """Where `inside` holds. Its ends are found between the points; a band that lies between two points is not seen."""
    found: list[Band] = []
    first = points[0].images if inside(points[0]) else None
    for before, after in pairwise(points):
        if inside(before) == inside(after):
            continue
        low, high = before.images, after.images
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if inside(at(middle)) == inside(before) else (low, middle)
        if first is None:
            first = high
        else:
            found.append(Band(first, low))
            first = None
    if first is not None:
        found.append(Band(first, points[-1].images))
    return tuple(found)
