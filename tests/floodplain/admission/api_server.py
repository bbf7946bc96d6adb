"""What the API server does around our webhook: defaults, LimitRange, RuntimeClass, patches, reinvocation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jsonpatch

from floodplain.admission.decide import decide
from floodplain.admission.decision import Decision, Mode
from floodplain.admission.subject import Kind
from floodplain.pools import PoolDocument
from floodplain.quantity import from_bytes
from floodplain.sizing.settings import SizingSettings
from tests.components.guardrails.api_server import admitted
from tests.floodplain.sizing.example_pools import pool

Manifest = dict[str, Any]

POOLS = (pool("swap"), pool("plain", swap_ratio=0.0))
SETTINGS = SizingSettings()


def runtime_class(document: PoolDocument) -> Manifest:
    """The RuntimeClass of a pool."""
    return {
        "metadata": {"name": document.runtime_class},
        "overhead": {"podFixed": {"memory": from_bytes(document.overhead_bytes)}},
        "scheduling": {
            "nodeSelector": dict(document.node_selector),
            "tolerations": [
                {"key": document.taint.key, "value": document.taint.value, "effect": document.taint.effect}
            ],
        },
    }


def enforce(thing: Mapping[str, Any], kind: Kind = Kind.POD, **changes: Any) -> Decision:
    """The decision with the pools and settings of these tests, in enforce unless told otherwise."""
    return decide(
        thing,
        kind,
        changes.get("pools", POOLS),
        changes.get("settings", SETTINGS),
        changes.get("mode", Mode.ENFORCE),
    )


def patched(thing: Mapping[str, Any], decision: Decision) -> Manifest:
    """The object after the patch, which must be one that a stranger's implementation takes."""
    assert decision.allowed, decision.message
    return dict(jsonpatch.apply_patch(copy.deepcopy(dict(thing)), list(decision.patch)))


def limit_range(pod: Manifest, defaults: Mapping[str, Mapping[str, str]]) -> Manifest:
    """The pod after the LimitRanger plugin, which overwrites its annotation only where it fills something in."""
    pod = copy.deepcopy(pod)
    parts = []
    for key, title in (("containers", "container"), ("initContainers", "init container")):
        for one in pod["spec"].get(key, ()):
            resources = one.setdefault("resources", {})
            for kind, word in (("requests", "request"), ("limits", "limit")):
                there = resources.setdefault(kind, {})
                missing = sorted(set(defaults.get(kind, {})) - set(there))
                there.update({name: defaults[kind][name] for name in missing})
                if missing:
                    parts.append(f"{', '.join(missing)} {word} for {title} {one['name']}")
    if parts:
        annotations = pod["metadata"].setdefault("annotations", {})
        annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + "; ".join(parts)
    return pod


def created(
    pod: Mapping[str, Any],
    *,
    defaults: Mapping[str, Mapping[str, str]] | None = None,
    others: Sequence[Callable[[Manifest], None]] = (),
    pools: Sequence[PoolDocument] = POOLS,
    settings: SizingSettings = SETTINGS,
) -> tuple[Manifest, list[Decision]]:
    """A pod's way through admission: plugins, our webhook, `others` one by one, and what each makes run again."""
    classes = [runtime_class(one) for one in pools]

    def plugins(one: Mapping[str, Any]) -> Manifest:
        return limit_range(admitted(dict(one), classes), defaults or {})

    thing = plugins(pod)
    decisions = [enforce(thing, pools=pools, settings=settings)]
    thing = plugins(patched(thing, decisions[-1]))
    for other in others:
        other(thing)
        thing = plugins(thing)
        decisions.append(enforce(thing, pools=pools, settings=settings))
        thing = plugins(patched(thing, decisions[-1]))
    return thing, decisions
