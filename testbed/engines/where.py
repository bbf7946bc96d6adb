"""Where a built engine lies: the cache, its keys, and the folder of ready engines that a person may name instead."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from testbed.engine_error import EngineError
from testbed.engines.table import ENGINES, Engine, named
from testbed.engines.toolchain import READY, Go, go


def cache_folder(given: Mapping[str, str], part: str = "engines") -> Path:
    """Outside the checkout, so that clones share it. A relative XDG_CACHE_HOME is passed over, as its standard says."""
    home = Path(given.get("XDG_CACHE_HOME", ""))
    if not home.is_absolute():
        home = Path(given.get("HOME") or Path.home()) / ".cache"
    return home / "floodplain" / part


def key(engine: Engine, toolchain: str) -> str:
    """Names one build: whatever may change the binary changes it."""
    parts = [engine.name, engine.package, engine.linker_flags, ",".join(engine.tags), *engine.data, toolchain]
    digest = hashlib.sha256("\0".join(parts).encode())
    for file in sorted(engine.sources.iterdir()):
        if file.name in ("go.mod", "go.sum") or file.suffix == ".go":
            digest.update(f"\0{file.name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return f"{engine.name}-{engine.version}-{digest.hexdigest()[:16]}"


def built_path(engine: Engine, toolchain: Go) -> Path:
    """Where the engine is put when it is built. The file has the engine's own name: others find it on PATH by that."""
    return cache_folder(toolchain.environment) / key(engine, toolchain.version) / engine.name


def path(name: str) -> Path:
    """The program, built already."""
    engine = named(name)
    if ready := os.environ.get(READY):
        found = Path(ready) / engine.name
        if not os.access(found, os.X_OK):
            raise EngineError(f"{READY} names {ready}, which has no program {engine.name}; unset it to use our builds")
        return found
    found = built_path(engine, go())
    if not found.is_file():
        raise EngineError(
            f"{engine.name} {engine.version} is not built for this toolchain ({go().version}); "
            f"run `python -m testbed build {engine.name}`"
        )
    return found


def stale(folder: Path, toolchain: Go) -> list[Path]:
    """Builds in the cache `folder` that no engine of today asks for."""
    kept = {key(engine, toolchain.version) for engine in ENGINES.values()}
    found = sorted(folder.glob("*-v*-*")) if folder.is_dir() else []
    return [entry for entry in found if entry.is_dir() and entry.name not in kept]
