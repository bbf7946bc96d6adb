"""The stand-in for chart registries: archives and what is answered."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

import yaml

from testbed.pulumi.charts.answers import answers
from testbed.pulumi.charts.archive import about, empty, packed
from testbed.pulumi.charts.catalogue import Published


def test_a_folder_is_packed_with_the_version_that_is_asked_for_and_always_alike(tmp_path: Path) -> None:
    folder = tmp_path / "karpenter"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: karpenter\nversion: 0.0.0\nappVersion: 1.14.1\n")
    (folder / "templates" / "a.yaml").write_text("kind: ConfigMap\n")
    archive = packed(folder, "1.14.1")
    assert about(archive) == {"apiVersion": "v2", "name": "karpenter", "version": "1.14.1", "appVersion": "1.14.1"}
    assert archive == packed(folder, "1.14.1")


def test_an_empty_chart_says_what_it_is() -> None:
    assert about(empty("kueue", "0.17.0")) == {
        "apiVersion": "v2",
        "name": "kueue",
        "version": "0.17.0",
        "description": "Stand-in of floodplain's testbed",
    }


def test_a_registry_leads_from_the_tag_to_the_archive() -> None:
    chart = Published("host", "charts/kueue", "kueue", "0.17.0", True, partial(empty, "kueue", "0.17.0"))
    found = answers([chart])
    manifest = json.loads(found["host", "/v2/charts/kueue/manifests/0.17.0"].body)
    (layer,) = manifest["layers"]
    blob = found["host", f"/v2/charts/kueue/blobs/{layer['digest']}"].body
    assert layer["size"] == len(blob)
    assert layer["digest"] == f"sha256:{hashlib.sha256(blob).hexdigest()}"
    assert about(blob)["name"] == "kueue"
    assert found["host", "/v2/"].body == b"{}"


def test_a_repository_lists_all_its_charts() -> None:
    names = ("one", "two")
    charts = [Published("host", "helm", name, "1.0.0", False, partial(empty, name, "1.0.0")) for name in names]
    found = answers(charts)
    index = yaml.safe_load(found["host", "/helm/index.yaml"].body)
    assert {name: entries[0]["urls"] for name, entries in index["entries"].items()} == {
        "one": ["one-1.0.0.tgz"],
        "two": ["two-1.0.0.tgz"],
    }
    assert about(found["host", "/helm/two-1.0.0.tgz"].body)["version"] == "1.0.0"
