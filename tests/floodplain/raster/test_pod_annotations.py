"""Estimates as annotations: admission reads back what is written, and a manifest keeps its meaning."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from floodplain.admission.annotations import read
from floodplain.admission.subject import Kind, Subject
from floodplain.quantity import MIB
from floodplain.raster.pod_annotations import ManifestError, annotations_of, patched, to_yaml
from floodplain.sizing.workload import Engine, Workload

TERMS = {"destination": 3 * MIB, "warp chunk": 56 * MIB, "mask": 0}
MADE = {
    "floodplain.dev/engine": "raster",
    "floodplain.dev/peak": "127Mi",
    "floodplain.dev/estimate": "a.tif: baseline 67 MiB, warp chunk 56 MiB, destination 3 MiB",
}


def test_the_peak_is_estimate_and_baseline_in_whole_mebibytes_and_the_largest_terms_come_first() -> None:
    assert annotations_of(59 * MIB + 1, 67 * MIB, TERMS, of="a.tif") == MADE
    assert annotations_of(59 * MIB, 67 * MIB, TERMS)["floodplain.dev/peak"] == "126Mi"


def test_they_are_printed_as_yaml() -> None:
    assert to_yaml(MADE) == (
        "annotations:\n  floodplain.dev/engine: raster\n  floodplain.dev/peak: 127Mi\n"
        "  floodplain.dev/estimate: 'a.tif: baseline 67 MiB, warp chunk 56 MiB, destination 3 MiB'\n"
    )


@given(
    marginal=st.integers(1, 1 << 45),
    terms=st.dictionaries(st.text("abc xyz", min_size=1), st.integers(0, 1 << 45), max_size=40),
    of=st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=600),
)
def test_admission_reads_what_is_written(marginal: int, terms: dict[str, int], of: str) -> None:
    made = annotations_of(marginal, 67 * MIB, terms, of=of)
    pod = {"metadata": {"annotations": made}, "spec": {"containers": [{"name": "tile"}]}}
    request = read(Subject(Kind.POD, pod)).request
    assert request is not None
    assert (request.workload.engine, request.workload.estimate) == (
        Engine.RASTER,
        made["floodplain.dev/estimate"].strip(),
    )
    assert 0 <= request.workload.peak_bytes - marginal - 67 * MIB < MIB


JOB = """\
# a comment
apiVersion: batch/v1
kind: Job
metadata:
  name: tile
  labels: {version: "1.10", on: yes, mode: 0644, at: 12:30:45, day: 2026-01-02}
spec:
  backoffLimit: 2
  template:
    metadata:
      annotations:
        example.com/note: |
          two
          lines
        floodplain.dev/peak: 5Gi
    spec:
      restartPolicy: Never
      containers:
        - name: tile
          image: registry.example.com/tile:1
          args: ["--z", '14', &x 8716, *x, ~, 1e3]
"""
POD = "kind: Pod\nmetadata: {name: tile}\nspec: {containers: [{name: tile}]}\n"


def loaded(text: str) -> Any:
    return yaml.safe_load(text)


def test_a_job_gets_them_in_its_template_and_nothing_else_changes() -> None:
    after = patched(JOB, MADE)
    wanted = copy.deepcopy(loaded(JOB))
    wanted["spec"]["template"]["metadata"]["annotations"] |= MADE
    assert loaded(after) == wanted
    # Scalars as they were spelt: another reader of YAML may take 12:30:45 for something else than ours does.
    for spelt in ('version: "1.10"', "on: yes", "mode: 0644", "at: 12:30:45", "day: 2026-01-02", "1e3", "'14'"):
        assert spelt in after
    assert patched(after, MADE) == after


def test_a_map_that_is_shared_by_an_alias_is_changed_on_the_pod_alone() -> None:
    job = """\
kind: Job
metadata: {name: tile, annotations: &shared {team: a}}
spec: {template: {metadata: {annotations: *shared}, spec: {}}}
"""
    after = loaded(patched(job, MADE))
    assert after["metadata"]["annotations"] == {"team": "a"}
    assert after["spec"]["template"]["metadata"]["annotations"] == {"team": "a", **MADE}


def test_what_stands_on_the_job_itself_is_replaced_there_too() -> None:
    job = loaded(JOB)
    job["metadata"]["annotations"] = {"floodplain.dev/peak": "1Gi", "floodplain.dev/deadline": "1h"}
    after = loaded(patched(yaml.safe_dump(job), MADE))
    assert after["metadata"]["annotations"] == {"floodplain.dev/peak": "127Mi", "floodplain.dev/deadline": "1h"}
    request = read(Subject(Kind.JOB, after)).request
    assert request is not None
    assert request.workload == Workload(
        engine=Engine.RASTER, peak="127Mi", estimate=MADE["floodplain.dev/estimate"], deadline_seconds=3600
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (POD, ("metadata",)),
        ("kind: Pod\nspec: {}\n", ("metadata",)),
        ("kind: Pod\nmetadata: {annotations: }\n", ("metadata",)),
        ("kind: Job\nspec: {template: {spec: {}}}\n", ("spec", "template", "metadata")),
        (
            "kind: CronJob\nspec: {jobTemplate: {spec: {template: {spec: {}}}}}\n",
            ("spec", "jobTemplate", "spec", "template", "metadata"),
        ),
    ],
)
def test_maps_that_are_not_there_are_made(text: str, place: tuple[str, ...]) -> None:
    found = loaded(patched(text, MADE))
    for key in place:
        found = found[key]
    assert found["annotations"] == MADE


def test_other_documents_of_the_file_are_kept() -> None:
    text = f"---\nkind: ConfigMap\ndata: {{a: b}}\n---\n{POD}---\n"
    config, pod = yaml.safe_load_all(patched(text, MADE))
    assert config == {"kind": "ConfigMap", "data": {"a": "b"}}
    assert pod["metadata"]["annotations"] == MADE


_NONE = "and must have one (there: "


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", f"the manifest: has 0 of Pod, Job, CronJob {_NONE}nothing); name one with a single pod"),
        ("kind: Deployment\n", f"the manifest: has 0 of Pod, Job, CronJob {_NONE}Deployment); name one with a single"),
        ("[1]\n", f"the manifest: has 0 of Pod, Job, CronJob {_NONE}something without a kind); name one"),
        (f"{POD}---\n{POD}", f"the manifest: has 2 of Pod, Job, CronJob {_NONE}Pod, Pod); name one with a single pod"),
        ("kind: Job\nspec: 5\n", "spec.template: is no map; write the Job with its template"),
        ("kind: Pod\n  a: b\n", "the manifest, line 2: is not YAML (mapping values are not allowed here); mend it"),
        ("kind: Pod\nmetadata: 5\n", "metadata: '5' is no map; write key: value lines below it"),
        (
            "kind: Pod\nmetadata: {annotations: [a]}\n",
            "metadata.annotations: is no map; write key: value lines below it",
        ),
        (
            "x: &x {annotations: {a: b}}\nkind: Pod\nmetadata: {<<: *x}\n",
            "metadata: is merged (<<); write the map out",
        ),
        (
            "kind: Pod\nmetadata: {annotations: {floodplain.dev/engine: odm}}\n",
            "floodplain.dev/engine: 'odm' is another engine; take its annotations away first",
        ),
        (
            "kind: Pod\nmetadata: {annotations: {floodplain.dev/images: '5'}}\n",
            "floodplain.dev/images: does not go with engine raster; take it away first",
        ),
    ],
)
def test_a_manifest_that_cannot_be_annotated_is_refused(text: str, wanted: str) -> None:
    with pytest.raises(ManifestError) as caught:
        patched(text, MADE)
    assert str(caught.value).startswith(wanted)
