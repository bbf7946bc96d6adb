"""Is there room on disk for a build? Asked before it begins: a disk that fills after ten minutes costs ten minutes."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from testbed.engine_error import EngineError
from testbed.engines.table import Engine
from testbed.engines.toolchain import Go

# What one engine's build holds beside the programs while it runs: packages on their way to Go's cache, the linker.
WORK_BYTES = 1 * 2**30
# What one module's sources and compiled packages add to Go's own caches, at most: measured with Kubernetes and Pulumi.
COLD_BYTES = 3 * 2**29


def existing(folder: Path) -> Path:
    """The nearest folder above that is there."""
    while not folder.exists():
        folder = folder.parent
    return folder


def free_bytes(folder: Path) -> int:
    """Free on the disk that `folder` will lie on."""
    return shutil.disk_usage(existing(folder)).free


def require_room(engines: Sequence[Engine], folder: Path, toolchain: Go, free: Callable[[Path], int]) -> None:
    """Raise EngineError unless `engines` can be put into `folder` and what Go keeps of them into its caches.

    A module that Go has fetched before is taken to be compiled too; then nothing is asked for it.
    """
    said = toolchain.run("env", "-json", "GOCACHE", "GOMODCACHE", cwd=Path("/")).stdout
    caches = {name: Path(place) for name, place in json.loads(said).items()}
    downloads = caches["GOMODCACHE"] / "cache" / "download"
    cold = {
        engine.folder for engine in engines if not (downloads / engine.module / "@v" / f"{engine.version}.zip").exists()
    }
    wanted = {folder: sum(engine.mebibytes for engine in engines) * 2**20 + WORK_BYTES}
    go_wants = len(cold) * COLD_BYTES
    if existing(folder).stat().st_dev == existing(caches["GOCACHE"]).stat().st_dev:
        wanted[folder] += go_wants
    else:
        wanted[caches["GOCACHE"]] = go_wants
    names = ", ".join(engine.name for engine in engines)
    for place, size in wanted.items():
        if (there := free(place)) < size:
            raise EngineError(
                f"building {names} takes {size / 2**30:.1f} GiB, and the disk of {place} has {there / 2**30:.1f} GiB "
                "free; free some, or set XDG_CACHE_HOME to a folder on another disk"
            )
