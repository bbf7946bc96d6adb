"""The pools of a rendered stack: their documents, how many nodes their limits allow, their nodes' settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from floodplain import catalogue
from floodplain import pools as documents
from floodplain.pools import PoolDocument, PoolType
from floodplain.quantity import from_bytes, from_millicores
from nodeconfig.archive import read_archive

from . import wire
from .karpenter_objects import NODE_CLASS, NODE_POOL, object_name
from .model import PoolEntry, TypeRow
from .origin import place
from .paths import leaves
from .recording import Recorded
from .render import Rendering

OUTPUT = "poolDocument"


def pool_documents(resources: Iterable[Recorded]) -> tuple[PoolDocument, ...]:
    """The documents that the stack's components output, sorted by name."""
    found: list[PoolDocument] = []
    for resource in resources:
        text = wire.reveal(resource.outputs.get(OUTPUT))
        if isinstance(text, str) and text != wire.UNKNOWN:
            found += documents.read(text.encode())
        elif isinstance(text, Mapping):
            found += documents.read(json.dumps({"pools": [text]}).encode())
    return tuple(sorted(found, key=lambda document: document.name))


def ceiling(document: PoolDocument, kind: PoolType | None = None) -> int:
    """How many nodes the limits allow at most, of one type or of the type that allows most.

    Karpenter counts whole nodes, and before a type's first node has registered it counts the memory it
    estimates, which is less than what is advertised.
    """
    if kind is None:
        return max(ceiling(document, each) for each in document.types)
    memory = _memory_counted(kind)
    limits = document.limits
    counts = [limits.cpu_millicores // (kind.vcpu * 1000), limits.memory_bytes // memory]
    return min(counts if limits.nodes is None else [*counts, limits.nodes])


@cache
def _memory_counted(kind: PoolType) -> int:
    known = next((one for one in catalogue.load() if one.name == kind.name), None)
    return catalogue.allocatable(known).capacity_memory_bytes if known else kind.memory_bytes


def entries(rendering: Rendering) -> Iterator[PoolEntry]:
    """One entry a pool, sorted by name."""
    node_classes, node_pools = (
        {object_name(one): one for one in rendering.apply.of(kind)} for kind in (NODE_CLASS, NODE_POOL)
    )
    for document in pool_documents(rendering.apply.resources):
        yield _entry(rendering, document, node_pools.get(document.name), node_classes.get(document.name))


def _entry(
    rendering: Rendering, document: PoolDocument, node_pool: Recorded | None, node_class: Recorded | None
) -> PoolEntry:
    pool_spec, class_spec = _spec(node_pool), _spec(node_class)
    user_data = str(class_spec.get("userData", ""))
    taint = document.taint
    return PoolEntry(
        name=document.name,
        place=place(rendering.stackfile, node_pool) if node_pool else "",
        families=document.families,
        architecture=document.architecture,
        capacity_types=document.capacity_types,
        types=tuple(_row(document, kind) for kind in document.types),
        limits=_limits(document),
        nodes_at_most=ceiling(document),
        taint=f"{taint.key}={taint.value}:{taint.effect}",
        runtime_class=document.runtime_class,
        swap_ratio=document.swap_ratio,
        swappiness=document.swappiness,
        margin=document.margin,
        hot_share=document.hot_share,
        longest_job_seconds=document.longest_job_seconds,
        machine_image=_machine_image(class_spec),
        kubelet=_flat({**class_spec.get("kubelet", {}), **kubelet_of(user_data)}),
        disruption=_disruption(pool_spec),
        user_data_bytes=len(user_data.encode()),
    )


def _disruption(pool_spec: Mapping[str, Any]) -> dict[str, str]:
    """Budgets in words, the rest as it stands."""
    given = dict(pool_spec.get("disruption", {}))
    budgets = given.pop("budgets", None) or []
    template = pool_spec.get("template", {}).get("spec", {})
    later = {key: template[key] for key in ("expireAfter", "terminationGracePeriod") if key in template}
    spoken = "; ".join(_budget(budget) for budget in budgets)
    return {**({"budgets": spoken} if spoken else {}), **_flat({**given, **later})}


def _budget(budget: Mapping[str, Any]) -> str:
    reasons = f" for {', '.join(budget['reasons'])}" if budget.get("reasons") else ""
    schedule = f" at {budget['schedule']} for {budget.get('duration')}" if budget.get("schedule") else ""
    return f"{budget.get('nodes', '10%')}{reasons}{schedule}"


def _row(document: PoolDocument, kind: PoolType) -> TypeRow:
    return TypeRow(
        name=kind.name,
        vcpu=kind.vcpu,
        memory_bytes=kind.memory_bytes,
        nvme_bytes=kind.nvme_bytes,
        swap_bytes_at_most=kind.swap_bytes_at_most,
        ephemeral_bytes_for_pods=kind.ephemeral_bytes_for_pods,
        nodes_at_most=ceiling(document, kind),
    )


def _limits(document: PoolDocument) -> dict[str, str]:
    limits = document.limits
    nodes = {} if limits.nodes is None else {"nodes": str(limits.nodes)}
    return {"cpu": from_millicores(limits.cpu_millicores), "memory": from_bytes(limits.memory_bytes), **nodes}


def _machine_image(class_spec: Mapping[str, Any]) -> str:
    terms = class_spec.get("amiSelectorTerms") or []
    return ", ".join(" ".join(f"{key}={value}" for key, value in sorted(term.items())) for term in terms)


def kubelet_of(user_data: str) -> dict[str, Any]:
    """The kubelet settings in the NodeConfig parts of a boot text."""
    found: dict[str, Any] = {}
    for _, part in read_archive(user_data).node_configs():
        config = yaml.safe_load(part.body)
        if isinstance(config, dict):
            found.update(config.get("spec", {}).get("kubelet", {}).get("config", {}) or {})
    return found


def _flat(settings: Mapping[str, Any]) -> dict[str, str]:
    """Nested settings as one line each, for reading."""
    return {
        path: json.dumps(value) if isinstance(value, bool | dict | list) else str(value)
        for path, value in leaves(dict(settings))
    }


def _spec(resource: Recorded | None) -> dict[str, Any]:
    return dict(wire.reveal(dict(resource.inputs)).get("spec", {})) if resource else {}
