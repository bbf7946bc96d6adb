"""Container images made by hand from one static program each: an OCI image layout as a tar archive, without a builder
and without a registry. What containerd on the node imports."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any

PAUSE = "localhost/kubernetes/pause:latest"
"""What nodeadm names the sandbox image."""

EATER = "floodplain.test/eater:1"
"""The job of the tests; see programs/eater."""

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def layout(programs: Mapping[str, bytes]) -> bytes:
    """The archive with an image for each name and the program that it runs. The same input gives the same bytes."""
    blobs: dict[str, bytes] = {}

    def blob(content: bytes, media_type: str, **more: Any) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content), **more}

    manifests = []
    for name, program in programs.items():
        file = name.rpartition("/")[2].partition(":")[0]
        layer = _tar({file: (program, 0o755)})
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [f"/{file}"]},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": blob(_json(config), "application/vnd.oci.image.config.v1+json"),
            "layers": [blob(layer, "application/vnd.oci.image.layer.v1.tar")],
        }
        described = blob(_json(manifest), MANIFEST)
        # By its digest too, as after a pull: settings of a pool name images so.
        for known_as in (name, by_digest(name, described["digest"])):
            annotations = {"io.containerd.image.name": known_as, "org.opencontainers.image.ref.name": known_as}
            manifests.append({**described, "annotations": annotations})
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests}
    files = {"oci-layout": _json({"imageLayoutVersion": "1.0.0"}), "index.json": _json(index), **blobs}
    return _tar({path: (content, 0o644) for path, content in files.items()})


def by_digest(name: str, digest: str) -> str:
    """The name of an image without its tag, and its digest."""
    return f"{name.rpartition(':')[0]}@{digest}"


def references(archive: bytes) -> dict[str, str]:
    """Each image's name by digest, by its name with a tag, as an archive of `layout` holds them."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        index = json.loads(_read(files, "index.json"))
    names = [(entry["annotations"]["io.containerd.image.name"], entry["digest"]) for entry in index["manifests"]]
    return {name: by_digest(name, digest) for name, digest in names if "@" not in name}


def _read(files: tarfile.TarFile, name: str) -> bytes:
    file = files.extractfile(name)
    if file is None:
        raise ValueError(f"{name} is no file of the archive")
    return file.read()


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode()


def _tar(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, (content, mode) in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
