"""Real plans beside each other on a node: whatever mix the scheduler places by request, all of it holds.

The property of tests/floodplain/test_swap_node.py, with what the planner says in place of generated figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from floodplain.catalogue import KubeletReserves, load
from floodplain.pools import POOL_LABEL, PoolDocument, PoolLimits, PoolTaint, PoolType, pool_type
from floodplain.quantity import GIB, MIB, to_millicores
from floodplain.sizing.given import Given
from floodplain.sizing.odm.options import OdmOptions
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.pod_rest import PodRest
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Workload
from floodplain.swap import (
    SwapContainer,
    SwapNode,
    completion,
    container_grant_bytes,
    containment_shortfall_bytes,
    swap_file_bytes,
    swap_total_bytes,
)

SETTINGS = SizingSettings()
KINDS = [
    kind
    for kind in load()
    if kind.family in ("m6id", "r6id", "c6id", "m8gd", "i4i") and kind.vcpu >= 4 and not kind.metal
]


@dataclass(frozen=True)
class Placed:
    """A planned pod and what is in it beside the sized container."""

    plan: Plan
    rest: PodRest

    @property
    def memory_bytes(self) -> int:
        """What the scheduler counts, but for the overhead."""
        return max(self.plan.request_bytes + self.rest.request_bytes, self.rest.init_request_bytes)

    @property
    def limit_bytes(self) -> int:
        return max(self.plan.limit_bytes + self.rest.limit_bytes, self.rest.init_limit_bytes)

    @property
    def cpu_millicores(self) -> int:
        return max(to_millicores(self.plan.cpu) + self.rest.cpu_millicores, self.rest.init_cpu_millicores)

    @property
    def disk_bytes(self) -> int:
        return max(self.plan.ephemeral_bytes + self.rest.ephemeral_bytes, self.rest.init_ephemeral_bytes)


@st.composite
def pools(draw: st.DrawFn) -> PoolDocument:
    """A pool of some types of the catalogue, each with the swap that its disk can hold."""
    ratio = draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.25]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6, unique_by=lambda kind: kind.name))
    types = [pool_type(kind, ratio=ratio, images_bytes=20 * GIB, reserves=KubeletReserves()) for kind in kinds]
    types = [kind for kind in types if kind.ephemeral_bytes_for_pods > 0]
    assume(types)
    per_memory = min(kind.ephemeral_bytes_for_pods / kind.allocatable_memory_bytes for kind in types)
    return PoolDocument(
        name="mixed",
        taint=PoolTaint(key=POOL_LABEL, value="mixed"),
        node_selector={POOL_LABEL: "mixed"},
        architecture="amd64",
        capacity_types=("on-demand", "spot"),
        families=tuple(sorted({kind.family for kind in kinds})),
        types=tuple(types),
        swap_ratio=ratio,
        margin=draw(st.sampled_from([0.0, 0.1, 0.2, 0.5])),
        hot_share=draw(st.sampled_from([0.0, 0.3, 0.5, 0.9])),
        swappiness=10,
        limits=PoolLimits(cpu_millicores=1_000_000, memory_bytes=8192 * GIB),
        longest_job_seconds=48 * 3600,
        runtime_class="floodplain-mixed",
        overhead_bytes=draw(st.integers(1, 64)) * MIB,
        headroom_bytes=draw(st.integers(0, 1024)) * MIB,
        ephemeral_bytes_per_memory_byte=int(per_memory * 100) / 100,
    )


counts = st.integers(1, 400) | st.integers(1, 4000)
jobs = st.builds(
    lambda images, options, megapixels: Workload(images=images, options=options, megapixels=megapixels),
    counts,
    st.sampled_from(["", "dsm", "dsm,dtm", "fast-orthophoto", "pc-quality=low", "feature-quality=ultra"]).map(
        OdmOptions.model_validate
    ),
    st.sampled_from([None, 5.0, 12.0, 20.0, 45.0]),
)
contained = st.integers(0, 2048).map(lambda count: count * MIB)
rests = st.builds(
    lambda beside, start, cpu: PodRest(
        request_bytes=beside,
        limit_bytes=beside,
        cpu_millicores=cpu,
        init_request_bytes=start,
        init_limit_bytes=start,
        init_cpu_millicores=cpu,
    ),
    contained,
    contained,
    st.sampled_from([0, 0, 10]),
)
wishes = st.sampled_from([Given(), Given(), Given(least_request_bytes=3 * GIB), Given(cpu_limit_millicores=1500)])


def planned(workload: Workload, pool: PoolDocument, rest: PodRest, given: Given) -> Placed | None:
    """The pod of a plan that is feasible."""
    plan = make_plan(workload, [pool], settings=SETTINGS, rest=rest, given=given)
    return Placed(plan, rest) if plan.feasible else None


def packed(pods: list[Placed], kind: PoolType, pool: PoolDocument) -> list[Placed]:
    """First fit by requests of memory alone, as the scheduler does it beside DaemonSets and headroom."""
    free = kind.allocatable_memory_bytes - pool.headroom_bytes - SETTINGS.daemonset_memory_bytes
    placed = []
    for pod in pods:
        if pod.memory_bytes + pool.overhead_bytes <= free:
            placed.append(pod)
            free -= pod.memory_bytes + pool.overhead_bytes
    return placed


mixes = st.lists(st.tuples(jobs, rests, wishes), min_size=1, max_size=12)


@settings(max_examples=200)
@given(pool=pools(), mix=mixes, position=st.integers(0, 5), repeats=st.integers(1, 30))
def test_any_mix_of_plans_on_any_node_of_their_pool_holds(
    pool: PoolDocument, mix: list[tuple[Workload, PodRest, Given]], position: int, repeats: int
) -> None:
    kind = pool.types[position % len(pool.types)]
    pods = [pod for one in mix if (pod := planned(one[0], pool, *one[1:])) is not None] * repeats
    placed = packed(pods, kind, pool)
    event(f"pods on the node: {min(len(placed), 8)}{' or more' if len(placed) >= 8 else ''}")

    daemons = SETTINGS.daemonset_memory_bytes + pool.headroom_bytes
    limits = [pod.limit_bytes for pod in placed]
    offered = kind.allocatable_memory_bytes
    assert containment_shortfall_bytes(limits, allocatable_bytes=offered, daemonset_bytes=daemons) == 0 or not placed

    swap_total = swap_total_bytes(swap_file_bytes(kind.memory_bytes, pool.swap_ratio))
    node = SwapNode(kind.memory_bytes, swap_total)
    containers = [SwapContainer(pod.plan.request_bytes, pod.plan.limit_bytes) for pod in placed]
    assert sum(container_grant_bytes(container, node) for container in containers) <= swap_total
    for pod, container in zip(placed, containers, strict=True):
        peak = pod.plan.peak_bytes
        held = completion(container, node, peak_bytes=peak, margin=pool.margin, hot_share=pool.hot_share)
        assert held.holds
        assert kind.name in pod.plan.instance_types
    assert sum(pod.disk_bytes for pod in placed) <= kind.ephemeral_bytes_for_pods


@settings(max_examples=200)
@given(pool=pools(), mix=mixes, repeats=st.integers(1, 30))
def test_cpu_never_asks_for_a_larger_node(
    pool: PoolDocument, mix: list[tuple[Workload, PodRest, Given]], repeats: int
) -> None:
    pods = [pod for one in mix if (pod := planned(one[0], pool, *one[1:])) is not None]
    for pod in pods:
        by_memory = [kind for kind in pool.types if packed([pod], kind, pool)]
        smallest = min(by_memory, key=lambda kind: (kind.memory_bytes, kind.vcpu, kind.name))
        assert pod.plan.instance_types[0] == smallest.name
    for kind in pool.types:
        placed = packed(pods * repeats, kind, pool)
        used = sum(pod.cpu_millicores for pod in placed) + (SETTINGS.daemonset_cpu_millicores if placed else 0)
        assert used <= kind.allocatable_cpu_millicores


@given(pool=pools(), job=jobs, rest=rests)
def test_what_the_kernel_has_less_than_ec2_advertises_takes_no_ones_swap(
    pool: PoolDocument, job: Workload, rest: PodRest
) -> None:
    """MemTotal is a few per cent below the advertised memory; swap follows it, and so do grants."""
    pod = planned(job, pool, rest, Given())
    assume(pod is not None)
    assert pod is not None
    kind = next(one for one in pool.types if one.name == pod.plan.instance_types[0])
    for share in (97, 94, 91):
        memory = kind.memory_bytes * share // 100
        node = SwapNode(memory, swap_total_bytes(swap_file_bytes(memory, pool.swap_ratio)))
        container = SwapContainer(pod.plan.request_bytes, pod.plan.limit_bytes)
        held = completion(container, node, peak_bytes=pod.plan.peak_bytes, margin=pool.margin, hot_share=pool.hot_share)
        assert held.holds
