"""Outputs of the Kubernetes provider's resources that are not inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .monitor import Request


def identity(request: Request) -> str:
    """`namespace/name`, or the name alone where the object has no namespace."""
    metadata = request.inputs.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = request.inputs
    name = str(metadata.get("name") or request.name)
    return f"{metadata['namespace']}/{name}" if metadata.get("namespace") else name


def _release(request: Request) -> Mapping[str, Any]:
    given = request.inputs
    name = given.get("name") or request.name
    status = {
        "appVersion": given.get("version"),
        "chart": given.get("chart"),
        "name": name,
        "namespace": given.get("namespace", "default"),
        "revision": 1,
        "status": "deployed",
        "version": given.get("version"),
    }
    return {"id": identity(request), "name": name, "status": status}


def _rendered(request: Request) -> Mapping[str, Any]:
    """Components that run inside the provider: their children cannot be seen from here."""
    return {"resources": []}


RESOURCES: Mapping[str, Callable[[Request], Mapping[str, Any]]] = {
    "kubernetes:helm.sh/v3:Release": _release,
    "kubernetes:helm.sh/v4:Chart": _rendered,
    "kubernetes:yaml/v2:ConfigFile": _rendered,
    "kubernetes:yaml/v2:ConfigGroup": _rendered,
}
