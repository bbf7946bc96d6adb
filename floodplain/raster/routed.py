"""From a header and what is asked of it to the estimate and the pool. Pure: the header is there already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from floodplain.problem import printable
from floodplain.raster.calibration import Calibration
from floodplain.raster.raster_path import is_remote
from floodplain.raster.read_header import HeaderReading, RasterUnreadable
from floodplain.raster.route import OnFailure, Routing, failed, route, skipped
from floodplain.raster.task import GdalSettings
from floodplain.raster.terms import Estimate
from floodplain.raster.tile_line import Asked
from floodplain.raster.two_pools import TwoPools

_SHOWN = 40
"""Characters of a CRS: a code, and not pages of WKT."""


@dataclass(frozen=True)
class Ground:
    """What estimates of a run share."""

    settings: GdalSettings
    """Its resampling, way and mask hold where a task says nothing of its own."""
    pools: TwoPools
    factor: float = 1.0
    """Of calibration."""
    on_failure: OnFailure = OnFailure.FAIL
    calibration: Calibration | None = None
    """Factors by layer, in place of `factor`."""
    layer: str | None = None
    """Of tasks that name none."""


@dataclass(frozen=True)
class Routed:
    """The answer for one task."""

    routing: Routing
    estimate: Estimate | None
    """None where there is none: skipped and failed."""

    def to_json(self) -> Mapping[str, Any]:
        """For a line of small.jsonl and its like. Bytes; the terms add up to `peak_bytes` but for the factor."""
        found: dict[str, Any] = {"pool": self.routing.place.value, "reason": self.routing.reason}
        if self.estimate is not None:
            found |= {"peak_bytes": self.estimate.peak_bytes, "need_bytes": self.routing.need_bytes}
            found["terms"] = terms_of(self.estimate)
            found |= {"factor": self.estimate.factor} if self.estimate.factor != 1 else {}
            found |= {"notes": list(self.estimate.notes)} if self.estimate.notes else {}
        return found


def routed(source: str, asked: Asked, reading: HeaderReading | RasterUnreadable, ground: Ground) -> Routed:
    """The estimate of one task and its pool. Whatever is wrong with raster or task is told in it, never raised."""
    from rasterio.errors import RasterioError

    from floodplain.raster.estimating import NothingToDo, estimate

    if isinstance(reading, RasterUnreadable):
        return Routed(failed(str(reading), ground.on_failure), None)
    try:
        width, height = asked.size or (None, None)
        factor, why = factor_of(asked, ground)
        found = estimate(
            reading,
            tile=asked.tile,
            window=asked.window,
            crs=asked.crs,
            bounds=asked.bounds,
            width=width,
            height=height,
            bands=asked.bands,
            dtype=asked.dtype,
            settings=settings_of(source, asked, ground.settings),
            factor=factor,
        )
        found = replace(found, notes=(*found.notes, *why))
        return Routed(route(found, ground.pools), found)
    except NothingToDo as nothing:
        return Routed(skipped(printable(f"{nothing}{_assumed_crs(asked, reading)}")), None)
    except (ValueError, ArithmeticError, RasterioError) as error:
        return Routed(failed(printable(f"{source}: {error}"), ground.on_failure), None)


def _assumed_crs(asked: Asked, reading: HeaderReading) -> str:
    """Degrees given for a raster in metres are far outside of it: what the bounds were taken for."""
    if asked.bounds is None or asked.crs is not None or reading.header.crs is None:
        return ""
    named = f", {reading.header.crs}" if len(reading.header.crs) <= _SHOWN else ""
    return f"; without crs they are taken to be in the raster's{named}"


def factor_of(asked: Asked, ground: Ground) -> tuple[float, tuple[str, ...]]:
    """What the task's estimate is multiplied by, and why."""
    if ground.calibration is None:
        return ground.factor, ()
    layer = asked.layer or ground.layer
    if layer is None:
        return 1.0, ("not calibrated: the task names no layer",)
    found = ground.calibration.of(layer)
    how = f"calibrated by {found.factor:.3g}" if found.records else "not calibrated"
    return found.factor, (f"{how}: {found.reason}",)


def settings_of(source: str, asked: Asked, settings: GdalSettings) -> GdalSettings:
    """The settings of one task."""
    own = {"resampling": asked.resampling, "way": asked.way, "masked": asked.masked}
    given: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    return replace(settings, remote=settings.remote or is_remote(source), **given)


def terms_of(estimate: Estimate) -> dict[str, int]:
    """Bytes by the name of the term."""
    found: dict[str, int] = {}
    for term in estimate.terms:
        found[term.name] = found.get(term.name, 0) + term.bytes
    return found


@lru_cache
def crs_problem(crs: str) -> str | None:
    """What is wrong with a CRS; None: PROJ knows it."""
    import rasterio
    from rasterio.crs import CRS
    from rasterio.errors import CRSError

    try:
        with rasterio.Env():
            CRS.from_user_input(crs)
    except CRSError:
        meant = f"EPSG:{crs}" if crs.isdecimal() else "EPSG:3857, or WKT"
        return f"{crs!r} is no CRS that PROJ knows; write {meant}"
    return None
