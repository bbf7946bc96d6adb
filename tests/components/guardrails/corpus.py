"""The table of pods in `pods/*.yaml`, read into requests. Used by the tests and by replays on a real API server."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from components.guardrail_rules import manifests
from components.guardrail_settings import GuardrailsSettings
from tests.components.guardrails.api_server import USER, Manifest, Request, admitted

FOLDER = Path(__file__).parent / "pods"
IMAGE = "registry.example/job:1"

SETTINGS = GuardrailsSettings.model_validate(
    {
        "others": [
            {"pool": "k2", "largestAllocatable": "64Gi", "headroom": "255Mi"},
            {
                "pool": "batch",
                "largestAllocatable": "64Gi",
                "ephemeralPerMemory": 0.3,
                "taint": {"key": "dedicated", "value": "batch", "effect": "NoExecute"},
                "nodeSelector": {"team/pool": "batch"},
                "runtimeClass": "batch",
                "swap": False,
            },
            {
                "pool": "trial",
                "largestAllocatable": "64Gi",
                "taint": {"value": "trial", "effect": "NoExecute"},
                "mode": "audit",
            },
            {"pool": "bare", "largestAllocatable": "64Gi", "taint": {"value": "bare", "effect": "NoExecute"}},
            {"pool": "asleep", "largestAllocatable": "64Gi", "mode": "off"},
        ],
        "exemptNamespaces": ["debug-tools"],
        "unsized": "enforce",
    }
)
POLICIES = manifests(SETTINGS)


def _runtime_class(name: str, memory: str, **selector: str) -> Manifest:
    scheduling = {"scheduling": {"nodeSelector": selector}} if selector else {}
    overhead = {"overhead": {"podFixed": {"memory": memory}}} if memory else {}
    return {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": name},
        "handler": "runc",
        **overhead,
        **scheduling,
    }


RUNTIME_CLASSES = [
    _runtime_class("floodplain-k2", "16Mi", **{"floodplain.dev/pool": "k2"}),
    _runtime_class("batch", "16Mi", **{"team/pool": "batch"}),
    _runtime_class("floodplain-trial", "16Mi", **{"floodplain.dev/pool": "trial"}),
    _runtime_class("floodplain-asleep", "16Mi", **{"floodplain.dev/pool": "asleep"}),
    _runtime_class("floodplain-bare", "", **{"floodplain.dev/pool": "bare"}),
    _runtime_class("generous", "8Gi"),
]

GOOD_METADATA: Manifest = {"namespace": "jobs", "annotations": {"karpenter.sh/do-not-disrupt": "true"}}

GOOD_SPEC: Manifest = {
    "runtimeClassName": "floodplain-k2",
    "containers": [
        {
            "name": "main",
            "resources": {
                "requests": {"memory": "1023Mi"},
                "limits": {"memory": "1Gi", "ephemeral-storage": "500Mi"},
            },
        }
    ],
}


def merged(base: Any, change: Any) -> Any:
    """A JSON merge patch (RFC 7386), but containers are merged by name when `base` has them."""
    if not isinstance(change, Mapping):
        return copy.deepcopy(change)
    result = dict(base) if isinstance(base, Mapping) else {}
    for key, value in change.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def _changed(pod: Manifest, change: Manifest) -> Manifest:
    containers = {one["name"]: one for one in change.get("spec", {}).get("containers", [])}
    result: Manifest = merged(pod, change)
    if containers:
        result["spec"]["containers"] = [
            merged(one, containers.get(one["name"], {})) for one in pod["spec"]["containers"]
        ]
    return result


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    file: str
    name: str
    verdict: str
    before: Manifest | None
    pod: Manifest
    change: Manifest = field(default_factory=dict)
    subresource: str = ""
    user: Mapping[str, Any] = field(default_factory=lambda: USER)
    breaks: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.file}: {self.name}"

    @property
    def operation(self) -> str:
        return "CREATE" if self.before is None else "UPDATE"

    def changed(self, pod: Manifest) -> Manifest:
        """The existing pod with the case's change, as a client sends it."""
        return _changed(pod, self.change)

    def request(self) -> Request:
        """The request as policies see it. Raises RefusedByPlugin where an admission plugin refuses before."""
        if self.before is None:
            return Request(admitted(self.pod, RUNTIME_CLASSES), user=self.user)
        old = admitted(self.before, RUNTIME_CLASSES)
        return Request(self.changed(old), "UPDATE", old, self.subresource, self.user)


def _pod(number: int, file: str, metadata: Manifest, spec: Manifest) -> Manifest:
    spec = merged(GOOD_SPEC, spec)
    for container in [*spec["containers"], *spec.get("initContainers", ())]:
        container.setdefault("image", IMAGE)
    name = f"{file}-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **merged(GOOD_METADATA, metadata)},
        "spec": spec,
    }


def _case(number: int, file: str, row: Manifest) -> Case:
    updates = "before" in row
    metadata, spec = ("beforeMetadata", "before") if updates else ("metadata", "spec")
    made = _pod(number, file, row.get(metadata) or {}, row.get(spec) or {})
    return Case(
        file=file,
        name=row["case"],
        verdict=row["verdict"],
        before=made if updates else None,
        pod=made,
        change=row.get("change", {}),
        subresource=row.get("subresource", ""),
        user=row.get("user", USER),
        breaks=tuple(row.get("breaks", ())),
        advice=tuple(row.get("advice", ())),
    )


CASES = [
    _case(number, path.stem, row)
    for path in sorted(FOLDER.glob("*.yaml"))
    for number, row in enumerate(yaml.safe_load(path.read_text()), start=1)
]
