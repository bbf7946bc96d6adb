"""Settings of GDAL and of the allocator in every worker, and the environment that they become.

They are set as environment, since GDAL reads them once, before the first raster is opened, whoever opens it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from floodplain import quantity
from floodplain.problem import RuleError
from floodplain.quantity import BytesText
from floodplain.raster import gdal_cache
from floodplain.rules import RuledSettings, rule

from .worker_choices import SiblingFiles

_PATTERN = r"^[0-9]+(\.[0-9]+)?([KMGT]i|[kMGT])$"


def _cache(value: Any) -> str:
    """A size that names its unit. Refuses what GDAL and Kubernetes read differently, with what each would read."""
    if isinstance(value, float) and value.is_integer():
        # The engine knows doubles only.
        value = int(value)
    shown = str(value).strip()
    if not isinstance(value, bool) and re.fullmatch(r"[0-9]+", shown):
        read = gdal_cache.cache_bytes(shown, 0)
        meant = quantity.from_bytes(read) if read % quantity.MIB == 0 and read else "256Mi"
        raise RuleError(
            f"has no unit: GDAL reads it as {read:,} bytes, and Kubernetes and rasterio.Env as {int(shown):,}",
            f"write the unit, such as {meant}",
        )
    if shown.endswith("%"):
        raise RuleError(
            "is a share, which GDAL takes of whatever memory it believes to have", "write a size, such as 256Mi"
        )
    found = re.fullmatch(r"([0-9]+) ?([KMG])B", shown)
    if found:
        raise RuleError("is no quantity of Kubernetes, and GDAL's MB have 2**20 bytes", f"write {found[1]}{found[2]}i")
    quantity.to_bytes(value)
    return str(value)


CacheText = Annotated[str, BeforeValidator(_cache), WithJsonSchema({"type": "string", "pattern": _PATTERN})]
"""A size in bytes that names its unit."""


class WorkerGdal(RuledSettings):
    """GDAL in every worker. `cache` and `curl_cache` are of one process, however many threads it has."""

    cache: CacheText | None = None
    curl_cache: BytesText = "16Mi"
    threads: int = Field(default=1, ge=1, le=256)
    sibling_files: SiblingFiles = SiblingFiles.EMPTY_DIR

    @rule("cache")
    def _cache_is_whole_megabytes(self) -> Iterator[RuleError]:
        if self.cache is None:
            return
        count = quantity.to_bytes(self.cache)
        least = gdal_cache.LEAST_BYTES
        if count < least:
            rule = "is too small a cache: blocks are decoded again and again"
            yield RuleError(rule, f"write {quantity.from_bytes(least)} or more", ("cache",), self.cache)
        elif count % quantity.MIB:
            rule = "is not a whole number of MiB, the unit in which every version of GDAL reads it alike"
            yield RuleError(rule, f"write {count // quantity.MIB}Mi", ("cache",), self.cache)

    @rule("curl_cache")
    def _fetched_blocks_have_room(self) -> Iterator[RuleError]:
        if quantity.to_bytes(self.curl_cache) < quantity.MIB:
            yield RuleError("is less than 1 MiB", "write a size, such as 16Mi", ("curl_cache",), self.curl_cache)

    def environment(self, cache_bytes: int, scratch: str) -> dict[str, str]:
        """What every process of GDAL reads. `cache_bytes` is that of one process, in whole MiB."""
        return {
            "GDAL_CACHEMAX": gdal_cache.pinned(cache_bytes),
            "GDAL_DISABLE_READDIR_ON_OPEN": self.sibling_files.value,
            "GDAL_NUM_THREADS": str(self.threads),
            # In bytes: it takes no unit in older versions.
            "CPL_VSIL_CURL_CACHE_SIZE": str(quantity.to_bytes(self.curl_cache)),
            # One for each open file, and so without a bound that a worker could be sized for.
            "VSI_CACHE": "FALSE",
            "CPL_TMPDIR": scratch,
        }


class WorkerMalloc(RuledSettings):
    """glibc's allocator in every worker, so that what a task frees goes back to its node and not to its arena."""

    arenas: int = Field(default=2, ge=1, le=1024)
    trim_threshold: BytesText = "128Ki"

    def environment(self) -> dict[str, str]:
        """What glibc reads when a process starts."""
        return {
            "MALLOC_ARENA_MAX": str(self.arenas),
            "MALLOC_TRIM_THRESHOLD_": str(quantity.to_bytes(self.trim_threshold)),
        }
