"""What a chart registry (OCI) and a chart repository (index.yaml) answer to a GET. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

from testbed.pulumi.charts.archive import about
from testbed.pulumi.charts.catalogue import Published

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.cncf.helm.config.v1+json"
LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"


@dataclass(frozen=True)
class Answer:
    """A body with its type; `digest` for a registry's."""

    body: bytes
    content_type: str
    digest: str = ""


def answers(charts: Iterable[Published]) -> dict[tuple[str, str], Answer]:
    """Host and path (with a leading slash) to what is there."""
    found: dict[tuple[str, str], Answer] = {}
    entries: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for chart in charts:
        archive = chart.archive()
        if chart.oci:
            found.update({(chart.host, path): answer for path, answer in _registry(chart, archive).items()})
            found[chart.host, "/v2/"] = Answer(b"{}", "application/json")
            continue
        file = f"{chart.name}-{chart.version}.tgz"
        found[chart.host, f"/{chart.path}/{file}"] = Answer(archive, "application/gzip")
        entry = {**about(archive), "urls": [file], "digest": hashlib.sha256(archive).hexdigest()}
        entries.setdefault((chart.host, chart.path), {}).setdefault(chart.name, []).append(entry)
    for (host, path), charts_there in entries.items():
        index = yaml.safe_dump({"apiVersion": "v1", "entries": charts_there})
        found[host, f"/{path}/index.yaml"] = Answer(index.encode(), "text/yaml")
    return found


def _registry(chart: Published, archive: bytes) -> dict[str, Answer]:
    config = json.dumps(about(archive), sort_keys=True).encode()
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": _described(config, CONFIG),
            "layers": [_described(archive, LAYER)],
        },
        sort_keys=True,
    ).encode()
    root = f"/v2/{chart.path}"
    tags = json.dumps({"name": chart.path, "tags": [chart.version]}).encode()
    described = Answer(manifest, MANIFEST, _digest(manifest))
    return {
        f"{root}/manifests/{chart.version}": described,
        f"{root}/manifests/{described.digest}": described,
        f"{root}/tags/list": Answer(tags, "application/json"),
        **{
            f"{root}/blobs/{_digest(blob)}": Answer(blob, "application/octet-stream", _digest(blob))
            for blob in (config, archive)
        },
    }


def _described(blob: bytes, media_type: str) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"
