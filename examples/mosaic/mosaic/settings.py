"""What both pools, the estimate and the warp must agree on."""

from __future__ import annotations

from floodplain.quantity import MIB
from floodplain.raster.task import GdalSettings, Way
from floodplain.raster.two_pools import TwoPools

LAYER = "mosaic"
"""Of the records: one kind of task."""

WARP_SETTINGS = GdalSettings(
    cache_bytes=32 * MIB,
    warp_memory_bytes=160 * MIB,
    resampling="bilinear",
    way=Way.BAND,
    add_alpha=True,
)

POOLS = TwoPools(
    slots=2,
    processes=2,
    small_limit_bytes=2 * 184 * MIB,
    big_limit_bytes=400 * MIB,
    baseline_bytes=108 * MIB,
    cache_bytes=WARP_SETTINGS.cache_bytes,
)
"""Small on purpose, so that the example's largest tile does not fit a small slot: 184 MiB each, of which 44 MiB are
for the task; half of that, 22 MiB, is the threshold. The baseline was measured: `baseline_bytes` in peaks.jsonl."""

SMALL, BIG = "small", "big"
SLOT_LIMIT_BYTES = {
    SMALL: (POOLS.small_limit_bytes - POOLS.agent_bytes) // POOLS.slots,
    BIG: POOLS.big_limit_bytes - POOLS.agent_bytes,
}
"""What one tile's process may hold, with everything in it."""
SLOTS = {SMALL: POOLS.slots, BIG: 1}
GDAL_CACHEMAX = f"{POOLS.cache_bytes // MIB}MB"
"""With its unit: to GDAL a bare number is megabytes up to 99999, and from there on bytes."""
TRIES = 3
TIMEOUT_SECONDS = 120.0
"""Of one try of one tile."""


def worker_settings(pool: str) -> dict[str, str]:
    """What the processes of one pool find in their environment, and nothing that is sent to them can change."""
    return {
        "MOSAIC_POOL": pool,
        "MOSAIC_SLOT_LIMIT_BYTES": str(SLOT_LIMIT_BYTES[pool]),
        "GDAL_CACHEMAX": GDAL_CACHEMAX,
        # No look for files beside each raster: the estimate did not look either.
        "GDAL_DISABLE_READDIR_ON_OPEN": "EMPTY_DIR",
        # Warps of several slots share the cores.
        "GDAL_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }
