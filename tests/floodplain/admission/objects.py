"""Pods, Jobs and reviews as the API server would send them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

ODM = {"floodplain.dev/engine": "odm", "floodplain.dev/images": "500"}

RASTER = {"floodplain.dev/engine": "raster", "floodplain.dev/peak": "1536Mi"}


def container(name: str = "process", **resources: Mapping[str, str]) -> dict[str, Any]:
    """A container; `requests` and `limits` as given."""
    found: dict[str, Any] = {"name": name, "image": "registry.example.com/tool:1"}
    if resources:
        found["resources"] = {kind: dict(amounts) for kind, amounts in resources.items()}
    return found


def sidecar(name: str, **resources: Mapping[str, str]) -> dict[str, Any]:
    """An init container that goes on running."""
    return {**container(name, **resources), "restartPolicy": "Always"}


def pod(*containers: Mapping[str, Any], annotations: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """An annotated pod with one container unless told otherwise."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "map", "annotations": dict(ODM if annotations is None else annotations)},
        "spec": {"containers": copy.deepcopy(list(containers or (container(),))), **copy.deepcopy(spec)},
    }


def job(
    *containers: Mapping[str, Any],
    annotations: Mapping[str, Any] | None = None,
    template_annotations: Mapping[str, Any] | None = None,
    job_spec: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A Job whose template is annotated unless told otherwise."""
    inner = pod(*containers, annotations=ODM if template_annotations is None else template_annotations, **spec)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "map", **({"annotations": dict(annotations)} if annotations else {})},
        "spec": {
            **(job_spec or {}),
            "template": {
                "metadata": {"annotations": inner["metadata"]["annotations"]},
                "spec": {"restartPolicy": "Never", **inner["spec"]},
            },
        },
    }


def review(thing: Any, *, kind: str = "Pod", group: str = "", version: str = "v1", **request: Any) -> dict[str, Any]:
    """The question whether `thing` may be created."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "7f1c",
            "kind": {"group": group, "version": version, "kind": kind},
            "operation": "CREATE",
            "namespace": "mapping",
            "object": thing,
            **request,
        },
    }
