"""A disk with the Python packages of a raster worker, for the Python that every node image has.

A container on the node runs the node's own `/usr/bin/python3`, mounted into it, with these packages in its path: wheels
as anybody installs them, GDAL inside, and no image of some hundred MiB that an emulated machine would unpack at each
boot. Made once for the same pins and kept; making it needs a package index.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from testbed.engine_error import EngineError
from testbed.engines.where import cache_folder
from testbed.node.base_system import base_system, locked, remove, require_root, require_tool
from testbed.node.base_system import key as base_key

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "raster.txt"
DISK_BYTES = 2**30
"""The file is sparse."""
KEPT = 2
_PLATFORM = "x86_64-manylinux_2_28"


def packages_disk(cache: Path | None = None) -> Path:
    """The disk, ext4, from the cache or made now: half a minute, and a minute more where no wheel is cached.

    Raises EngineError when root, a tool, the package index or Debian's mirror is missing. A build that is cut off
    leaves nothing that a later one would take for a disk; two at once wait for each other.
    """
    cache = cache or cache_folder(os.environ, "node")
    folder = cache / f"packages-{_key()}"
    if not folder.is_dir():
        require_root("making the disk of Python packages")
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache):
            if not folder.is_dir():
                _make(cache, folder)
    folder.touch()
    return folder / "disk.img"


def _make(cache: Path, folder: Path) -> None:
    require_tool("mke2fs", "e2fsprogs")
    base = base_system(cache)
    with tempfile.TemporaryDirectory(prefix="partial-", dir=cache) as name:
        root, made = Path(name) / "root", Path(name) / "made"
        made.mkdir()
        _run("cp", "--archive", "--link", str(base), str(root))
        packages = root / "packages"
        version = (base / "usr/bin/python3").readlink().name.removeprefix("python")
        install = ("install", "--quiet", "--only-binary", ":all:", "--require-hashes", "-r", str(REQUIREMENTS))
        chosen = ("--python-version", version, "--python-platform", _PLATFORM)
        _run(sys.executable, "-m", "uv", "pip", *install, *chosen, "--target", str(packages))
        # Once, here: emulated, each compilation costs seconds of every test.
        _run("chroot", str(root), "python3", "-m", "compileall", "-q", "-j", "0", "/packages")
        disk = made / "disk.img"
        with disk.open("wb") as file:
            file.truncate(DISK_BYTES)
        _run("mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", str(packages), str(disk))
        made.rename(folder)
    disks = sorted(cache.glob("packages-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in disks[KEPT:]:
        remove(old)


def _key() -> str:
    digest = hashlib.sha256(base_key().encode())
    for path in (Path(__file__), REQUIREMENTS):
        digest.update(b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-800:]
        raise EngineError(f"Python packages: `{' '.join(command[:4])} ...` ended with status {done.returncode}: {said}")
