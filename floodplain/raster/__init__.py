"""Raster work: what a warp will hold, what it held, and which worker it goes to.

    from floodplain.raster import estimate, measured, worker_memory

Names are loaded when they are asked for: the arithmetic needs no GDAL, and reading a header needs nothing but GDAL.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from floodplain.raster.estimating import estimate
    from floodplain.raster.measuring import measured
    from floodplain.raster.worker import worker_memory

__all__ = ["estimate", "measured", "worker_memory"]

_WHERE = {
    "estimate": "floodplain.raster.estimating",
    "measured": "floodplain.raster.measuring",
    "worker_memory": "floodplain.raster.worker",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
