"""The raster workers of a rendered stack: what each component outputs, and how many small workers there may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import wire
from .model import WorkersEntry
from .origin import place
from .recording import Recorded, Recording
from .render import Rendering

WORKERS = ":WorkerPools"


def worker_entries(rendering: Rendering) -> Iterator[WorkersEntry]:
    """One entry a component, sorted by name. One whose figures are not known is left out."""
    found = []
    for component in rendering.apply.of(WORKERS):
        outputs = wire.reveal(dict(component.outputs))
        children = {str(one.inputs.get("kind", "")): one for one in _children(rendering.apply, component)}
        small = children.get("Deployment")
        if small is None or not isinstance(outputs.get("thresholdBytes"), int | float):
            continue
        found.append(
            WorkersEntry(
                name=str(outputs["smallName"]).removesuffix("-small"),
                place=place(rendering.stackfile, small),
                namespace=str(outputs["namespace"]),
                slots=int(outputs["slots"]),
                small_memory_bytes=int(outputs["smallMemoryBytes"]),
                small_workers=_count(small, children.get("HorizontalPodAutoscaler")),
                big_memory_bytes=int(outputs["bigMemoryBytes"]),
                slot_budget_bytes=int(outputs["slotBudgetBytes"]),
                threshold_bytes=int(outputs["thresholdBytes"]),
                big_budget_bytes=int(outputs["bigBudgetBytes"]),
                gdal_cachemax=str(outputs["gdalCachemax"]),
            )
        )
    yield from sorted(found, key=lambda entry: entry.name)


def _children(recording: Recording, component: Recorded) -> Iterator[Recorded]:
    return (one for one in recording.resources if one.parent == component.urn)


def _count(small: Recorded, scaler: Recorded | None) -> str:
    """`3`, or `1 to 20`."""
    if scaler is None:
        return _number(small, "replicas")
    return f"{_number(scaler, 'minReplicas')} to {_number(scaler, 'maxReplicas')}"


def _number(resource: Recorded, key: str) -> str:
    spec: Any = resource.inputs.get("spec")
    return str(spec.get(key, 1)) if isinstance(spec, Mapping) else "1"
