"""Whatever passes the guardrails, however written, keeps a full node within its memory and its disk.

The oracle is Kubernetes' own arithmetic, written down again here: what the scheduler reserves for a pod, and the most
memory and disk its containers may take in any phase (component-helpers/resource/helpers.go).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from components.guardrail_rules import manifests
from components.guardrail_settings import GuardrailsSettings
from floodplain.quantity import MIB, exact, to_bytes
from tests.components.guardrails.api_server import Manifest, Request, admitted, judge
from tests.components.guardrails.corpus import RUNTIME_CLASSES

CAP = Fraction(1, 2)
ALLOCATABLE_MIB, HEADROOM_MIB = 14481, 256
POLICIES = manifests(
    GuardrailsSettings.model_validate(
        {
            "others": [
                {
                    "pool": "k2",
                    "largest_allocatable": f"{ALLOCATABLE_MIB}Mi",
                    "headroom": f"{HEADROOM_MIB}Mi",
                    "ephemeral_per_memory": float(CAP),
                }
            ]
        }
    )
)[:2]
"""The policy that refuses, and its binding."""

_GAPS_MIB = st.sampled_from([1, 1, 1, 1, 1, 1, 0, 2, 5, 17, 300])


@st.composite
def _quantities(draw: st.DrawFn, mib: int) -> str | int:
    """The same amount in one of the ways to write it."""
    size = mib * MIB
    written: list[str | int] = [f"{mib}Mi", str(size), size, f"{mib * 1024}Ki", f"{size}000m"]
    return draw(st.sampled_from(written))


@st.composite
def _containers(draw: st.DrawFn, name: str) -> Manifest:
    limit = draw(st.sampled_from([8, 64, 500, 2000, 6000]))
    resources: Manifest = {"limits": {"memory": draw(_quantities(limit))}, "requests": {}}
    gap = draw(_GAPS_MIB)
    if gap:
        resources["requests"]["memory"] = draw(_quantities(max(0, limit - gap)))
    disk = draw(st.sampled_from([1, 2, limit // 4, limit // 4, limit // 2, limit, None]))
    if disk:
        resources["limits"]["ephemeral-storage"] = draw(_quantities(disk))
        if draw(st.booleans()):
            resources["requests"]["ephemeral-storage"] = draw(_quantities(1))
    if draw(st.integers(0, 30)) == 0:
        resources = draw(st.sampled_from([{}, {"limits": {"memory": "0"}}, {"requests": {"memory": "1Gi"}}]))
    return {"name": name, "resources": resources}


@st.composite
def _pods(draw: st.DrawFn) -> Manifest:
    containers = [draw(_containers(f"c{i}")) for i in range(draw(st.sampled_from([1, 1, 1, 2, 3])))]
    initial = [draw(_containers(f"i{i}")) for i in range(draw(st.sampled_from([0, 0, 1, 2])))]
    for one in initial:
        if draw(st.booleans()):
            one["restartPolicy"] = "Always"
    spec: Manifest = {"containers": containers, "initContainers": initial}
    spec |= draw(
        st.sampled_from(
            [
                *[{"runtimeClassName": "floodplain-k2"}] * 10,
                {"tolerations": [{"operator": "Exists"}]},
                {"runtimeClassName": "generous", "tolerations": [{"key": "floodplain.dev/pool", "operator": "Exists"}]},
            ]
        )
    )
    return admitted({"metadata": {"name": "pod", "namespace": "jobs"}, "spec": spec}, RUNTIME_CLASSES)


def _amount(kind: str, resource: str, unlimited: Fraction = Fraction(0)) -> Callable[[Manifest], Fraction]:
    def read(container: Manifest) -> Fraction:
        return exact(container["resources"].get(kind, {}).get(resource, "0")) or unlimited

    return read


def _most(pod: Manifest, amount: Callable[[Manifest], Fraction]) -> Fraction:
    """The largest phase of a pod: each init container with the sidecars before it, then everything that stays."""
    sidecars, largest = Fraction(0), Fraction(0)
    for container in pod["spec"].get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            sidecars += amount(container)
            largest = max(largest, sidecars)
        else:
            largest = max(largest, sidecars + amount(container))
    return max(largest, sidecars + sum(map(amount, pod["spec"]["containers"])))


NO_LIMIT = Fraction(1 << 62)


def _reserved(pod: Manifest) -> Fraction:
    overhead = exact(pod["spec"].get("overhead", {}).get("memory", "0"))
    return _most(pod, _amount("requests", "memory")) + overhead


def _memory_used(pod: Manifest) -> Fraction:
    return _most(pod, _amount("limits", "memory", NO_LIMIT))


def _disk_used(pod: Manifest) -> Fraction:
    """Kubelet holds the pod to the sum of the limits it finds, and to nothing when it finds none."""
    return _most(pod, _amount("limits", "ephemeral-storage")) or NO_LIMIT


def _passes(pod: Manifest) -> bool:
    return not judge(POLICIES, Request(pod)).refusals


def _packed(pods: list[Manifest], room: int) -> list[Manifest]:
    """The pods that a scheduler puts on one node, in order, by what they reserve."""
    placed: list[Manifest] = []
    for pod in pods:
        if sum(map(_reserved, [*placed, pod])) <= room:
            placed.append(pod)
    return placed


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(_pods(), min_size=4, max_size=8))
def test_pods_that_pass_fill_a_node_without_passing_its_memory_or_disk(pods: list[Manifest]) -> None:
    room = (ALLOCATABLE_MIB - HEADROOM_MIB) * MIB
    good = [pod for pod in pods if _passes(pod)]
    event(f"{len(good)} of {len(pods)} pass")
    for pod in good:
        assert _memory_used(pod) <= _reserved(pod)
        assert _disk_used(pod) <= CAP * _reserved(pod)
    placed = _packed(good * 4, room)
    assert sum(map(_memory_used, placed)) <= room
    assert sum(map(_disk_used, placed)) <= CAP * room


def test_the_oracle_sees_the_old_rule_break_a_node() -> None:
    """Two pods of limit = 1.2 x request fit one node and may take more than it has (seen-on-engines.md 1.1)."""
    resources: Any = {"requests": {"memory": "6500Mi"}, "limits": {"memory": "7800Mi", "ephemeral-storage": "1Gi"}}
    pod = admitted(
        {"metadata": {"namespace": "jobs"}, "spec": {"containers": [{"name": "main", "resources": resources}]}}, []
    )
    room = (ALLOCATABLE_MIB - HEADROOM_MIB) * MIB
    placed = _packed([pod, pod, pod], room)
    assert len(placed) == 2
    assert sum(map(_memory_used, placed)) == to_bytes("15600Mi") > room
