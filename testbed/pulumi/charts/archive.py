"""Chart archives: a folder packed, or a chart that holds nothing. Pure but for reading the folder.

The same input gives the same bytes, so that digests stay.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import yaml


def packed(folder: Path, version: str) -> bytes:
    """A chart's folder as `helm package --version` makes it."""
    files = {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}
    about = yaml.safe_load(files["Chart.yaml"])
    files["Chart.yaml"] = _yaml({**about, "version": version})
    return _archive(str(about["name"]), files)


def empty(name: str, version: str) -> bytes:
    """A chart that installs one ConfigMap and says in it what it is."""
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"stand-in-for-{name}"},
        "data": {"README": f"Stands for the chart {name} {version}, which cannot be had here."},
    }
    about = {"apiVersion": "v2", "name": name, "version": version, "description": "Stand-in of floodplain's testbed"}
    return _archive(name, {"Chart.yaml": _yaml(about), "templates/stand-in.yaml": _yaml(config_map)})


def about(archive: bytes) -> dict[str, object]:
    """The Chart.yaml in an archive."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.name.count("/") == 1 and member.name.endswith("/Chart.yaml"):
                file = tar.extractfile(member)
                assert file is not None
                found: dict[str, object] = yaml.safe_load(file.read())
                return found
    raise LookupError("the archive holds no Chart.yaml")


def _yaml(content: object) -> bytes:
    return yaml.safe_dump(content, sort_keys=False).encode()


def _archive(name: str, files: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for path, content in files.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), mtime=0)
