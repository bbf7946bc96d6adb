"""What a kubelet serves, as text, to what doctor looks at: /configz, /stats/summary, /metrics/resource and /cadvisor.

Pure. Text that makes no sense reads as nothing seen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from floodplain.doctor.objects import get, maps, text, whole
from floodplain.doctor.seen import ContainerKey, KubeletSeen, Measured

WORKING_SET = "container_memory_working_set_bytes"
SWAP_LIMIT = "container_swap_limit_bytes"
CADVISOR_SWAP_LIMIT = "container_spec_memory_swap_limit_bytes"
OOM_EVENTS = "container_oom_events_total"
_PODS = "pods"


def kubelet(*, configz: str = "", summary: str = "", resource: str = "", cadvisor: str = "") -> KubeletSeen:
    """All that was read of one kubelet; an empty text is one that was not to be had."""
    config = get(_json(configz), "kubeletconfig")
    stats = _json(summary)
    return KubeletSeen(
        swap_behavior=text(config, "memorySwap", "swapBehavior") if isinstance(config, Mapping) else None,
        fail_swap_on=get(config, "failSwapOn") if isinstance(get(config, "failSwapOn"), bool) else None,
        memory_eviction=text(config, "evictionHard", "memory.available") or None,
        containers=_containers(stats, resource, cadvisor),
        pods_available_bytes=next(
            (
                whole(get(one, "memory", "availableBytes"))
                for one in maps(stats, "node", "systemContainers")
                if text(one, "name") == _PODS
            ),
            None,
        ),
    )


def _containers(stats: Any, resource: str, cadvisor: str) -> dict[ContainerKey, Measured]:
    working = dict(samples(resource, WORKING_SET))
    limits = dict(samples(resource, SWAP_LIMIT))
    direct = dict(samples(cadvisor, CADVISOR_SWAP_LIMIT))
    kills = dict(samples(cadvisor, OOM_EVENTS))
    summed = dict(_summary_limits(stats))
    keys = {*working, *limits, *direct, *kills, *summed}
    return {
        key: Measured(working.get(key), limits.get(key), summed.get(key), direct.get(key), kills.get(key))
        for key in keys
    }


def _summary_limits(stats: Any) -> Iterator[tuple[ContainerKey, int]]:
    for pod in maps(stats, "pods"):
        for container in maps(pod, "containers"):
            available = whole(get(container, "swap", "swapAvailableBytes"))
            used = whole(get(container, "swap", "swapUsageBytes"))
            if available is not None and used is not None:
                key = (text(pod, "podRef", "namespace"), text(pod, "podRef", "name"), text(container, "name"))
                yield key, available + used


def samples(exposition: str, name: str) -> Iterator[tuple[ContainerKey, int]]:
    """The values of one metric by container. Lines are picked first: cAdvisor's text has tens of thousands."""
    lines = "".join(f"{line}\n" for line in exposition.splitlines() if line.startswith((f"{name}{{", f"{name} ")))
    for labels, value in _parsed(lines):
        key = (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", ""))
        if all(key) and math.isfinite(value):
            yield key, int(value)


def _parsed(lines: str) -> Iterable[tuple[Mapping[str, str], float]]:
    try:
        families = [*text_string_to_metric_families(lines)]
    except (ValueError, KeyError, IndexError):
        return []
    return [(sample.labels, sample.value) for family in families for sample in family.samples]


def _json(content: str) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
