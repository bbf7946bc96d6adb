"""What the objects of raster workers are called, and the environment variables by which workers know their budget."""

from __future__ import annotations

from collections.abc import Mapping

from floodplain.pools import DOMAIN

WORKERS_LABEL = f"{DOMAIN}/workers"
"""On every object: the name of the workers."""
RASTER_POOL_LABEL = f"{DOMAIN}/raster-pool"
"""On pods and what makes them: `small` or `big`."""
LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/part-of", WORKERS_LABEL, RASTER_POOL_LABEL)

SMALL, BIG = "small", "big"
RASTER_KEY = "raster.json"
"""File of the ConfigMap, read by `floodplain raster route --pools-file`."""
SCRATCH = "/scratch"

PREFIX = "FLOODPLAIN_RASTER_"
_OF_BOTH = ("POOL", "SLOTS", "PROCESSES", "SLOT_LIMIT_BYTES", "BIG_BUDGET_BYTES")
FIGURES: Mapping[str, tuple[str, ...]] = {SMALL: (*_OF_BOTH, "SLOT_BUDGET_BYTES", "THRESHOLD_BYTES"), BIG: _OF_BOTH}
"""What the workers of a pool know, behind the prefix. The big one knows no figures of the small pool: each new one
would restart it."""
OWN_VARIABLES: Mapping[str, str] = {
    "GDAL_CACHEMAX": "gdal.cache",
    "GDAL_DISABLE_READDIR_ON_OPEN": "gdal.siblingFiles",
    "GDAL_NUM_THREADS": "gdal.threads",
    "CPL_VSIL_CURL_CACHE_SIZE": "gdal.curlCache",
    "MALLOC_ARENA_MAX": "malloc.arenas",
    "MALLOC_TRIM_THRESHOLD_": "malloc.trimThreshold",
}
"""Variables that have a setting of their own."""


def pool_name(workers: str, pool: str) -> str:
    """Name of a pool's Deployment or StatefulSet and of what goes with it."""
    return f"{workers}-{pool}"


def config_map_name(workers: str) -> str:
    """Name of the ConfigMap of the pools' figures."""
    return f"{workers}-raster"
