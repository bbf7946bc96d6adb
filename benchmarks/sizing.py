"""What becomes of jobs on nodes: our plans and ScaleODM's production rule, given the same peaks on the same nodes.

The peaks are those of ScaleODM's table, so that only what is made of them differs. No cluster and no clock: arithmetic
over the catalogue. That nodes behave so is for the tests with a real kubelet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console

from floodplain.catalogue import load
from floodplain.pools import POOL_LABEL, PoolDocument, PoolLimits, PoolTaint, PoolType, pool_type
from floodplain.quantity import GIB, MIB
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.pod_rest import PodRest
from floodplain.sizing.prediction import Confidence, Prediction
from floodplain.sizing.scaleodm import PROD, ScaleOdmSize, predicted_peak_gib, size
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Workload
from floodplain.swap import grant_bytes, swap_file_bytes, swap_total_bytes

from . import rows
from .packing import Pod, fewest_vcpus, least_memory, pack
from .rows import Row, Value

COUNTS = range(40, 12_001, 20)
PEER = "ScaleODM, production settings (run)"
SWAP_RATIO = 2.0
"""Swap per memory of a node, as ScaleODM's node pool in production has it and ours by default."""
LEAST_TIMES_PEAK = 1.2

_SIDECARS = 2355 * MIB
_VCPUS = (4, 8, 16, 32, 48, 64, 96)
_ORDERS: tuple[tuple[str, Callable[[PoolType], tuple[int, ...]]], ...] = (
    ("smallest node", least_memory),
    ("cheapest node", fewest_vcpus),
)

ASSUMPTIONS = f"""\
Image counts {COUNTS.start} to {COUNTS.stop - 1:,} in steps of {COUNTS.step}; peaks from ScaleODM's table for both.
Nodes: c, m and r above generation 5, amd64, NVMe over 100 GB, {", ".join(map(str, _VCPUS))} vCPUs, swap of
{SWAP_RATIO:g} x memory, allocatable as Karpenter counts it before a first node has come. Each job has one launched,
and each pair. Smallest: the least memory that holds the requests. Cheapest: the fewest vCPUs, then the least
memory; that is the order of EC2's prices in these families and so what Karpenter picks, as far as capacity lets it.
Sidecars of {_SIDECARS / GIB:.1f} GiB in each pod, limits equal to requests (ScaleODM's go up to 2 GiB beyond).
DaemonSets request 128 MiB a node; on ours the headroom of 256 MiB and 16 MiB of overhead a pod come on top."""


@dataclass(frozen=True)
class Job:
    """One count of images as each planner sizes it."""

    peak_bytes: int
    plan: Plan
    theirs: ScaleOdmSize


def run(options: Sequence[str] = ()) -> list[Row]:
    """Rows of containment, then of what is requested and what it holds."""
    pool, settings = node_pool(), SizingSettings()
    jobs = [_job(images, pool, settings) for images in COUNTS]
    return [*_containment(jobs, pool, settings), *_memory(jobs, pool)]


def show(name: str, found: Sequence[Row], console: Console) -> None:
    """The table, and under it what was assumed."""
    rows.show(name, found, console)
    console.print(ASSUMPTIONS, highlight=False)


def node_pool() -> PoolDocument:
    """Our pool of the types that ScaleODM's node pool in production admits."""
    kinds = [
        kind
        for kind in load()
        if kind.category in ("c", "m", "r")
        and kind.generation > 5
        and kind.arch == "amd64"
        and kind.nvme_gb > 100
        and kind.vcpu in _VCPUS
    ]
    return PoolDocument(
        name="benchmark",
        taint=PoolTaint(key=POOL_LABEL, value="benchmark"),
        node_selector={POOL_LABEL: "benchmark"},
        architecture="amd64",
        capacity_types=("on-demand", "spot"),
        families=tuple(sorted({kind.family for kind in kinds})),
        types=tuple(pool_type(kind, ratio=SWAP_RATIO, images_bytes=20 * GIB) for kind in kinds),
        swap_ratio=SWAP_RATIO,
        margin=0.2,
        hot_share=0.5,
        swappiness=10,
        limits=PoolLimits(cpu_millicores=288_000, memory_bytes=2304 * GIB),
        longest_job_seconds=48 * 3600,
        runtime_class="floodplain-benchmark",
        overhead_bytes=16 * MIB,
        headroom_bytes=256 * MIB,
        ephemeral_bytes_per_memory_byte=1.0,
    )


def _job(images: int, pool: PoolDocument, settings: SizingSettings) -> Job:
    peak = int(predicted_peak_gib(images, (), PROD) * GIB)
    plan = make_plan(
        Workload(images=images),
        [pool],
        settings=settings,
        rest=PodRest(request_bytes=_SIDECARS, limit_bytes=_SIDECARS, cpu_millicores=1000),
        prediction=Prediction(peak, "ScaleODM's table", Confidence.LOW, "for comparison"),
    )
    return Job(peak, plan, size(images, (), PROD))


def _containment(jobs: Sequence[Job], pool: PoolDocument, settings: SizingSettings) -> Iterator[Row]:
    ours = [
        Pod(job.plan.request_bytes + _SIDECARS + pool.overhead_bytes, job.plan.limit_bytes + _SIDECARS) for job in jobs
    ]
    theirs = [Pod(job.theirs.request_bytes + _SIDECARS, job.theirs.limit_bytes + _SIDECARS) for job in jobs]
    daemonsets = settings.daemonset_memory_bytes
    feasible = sum(job.plan.feasible for job in jobs)
    yield Row("jobs with a plan that fits", f"of {len(jobs)}", feasible, len(jobs), holds=feasible == len(jobs))
    for name, order in _ORDERS:
        we = pack(ours, pool.types, daemonsets + pool.headroom_bytes, order)
        they = pack(theirs, pool.types, daemonsets, order)
        figure = f"limits above the {name} that takes the request"
        yield _none(figure, f"of {we.jobs}", we.above_alone, they.above_alone)
        yield Row(f"pairs that some node takes by request, {name}", "", we.pairs, peer=PEER, peer_value=they.pairs)
        yield _none(f"pairs with limits above the {name} that takes both", "", we.pairs_above, they.pairs_above)
        yield _none("the same", "%", round(we.pairs_above_percent, 1), round(they.pairs_above_percent, 1))


def _none(figure: str, unit: str, ours: float, theirs: Value) -> Row:
    return Row(figure, unit, ours, 0, PEER, theirs, holds=ours == 0)


def _memory(jobs: Sequence[Job], pool: PoolDocument) -> Iterator[Row]:
    requested = sum(job.plan.request_bytes for job in jobs) // MIB
    theirs = sum(job.theirs.request_bytes for job in jobs) // MIB
    figure = "memory requests of the ODM containers, sum"
    yield Row(figure, "MiB", requested, theirs, PEER, theirs, requested <= theirs)
    overhead = len(jobs) * pool.overhead_bytes // MIB
    yield Row("the same with the pods' overhead", "MiB", requested + overhead, peer=PEER, peer_value=theirs)
    we = min((job.plan.limit_bytes + job.plan.swap_grant_bytes) / job.peak_bytes for job in jobs)
    they = min((job.theirs.limit_bytes + _their_grant(job, pool)) / job.peak_bytes for job in jobs)
    figure = "(limit + swap grant) / peak, least of all"
    yield Row(figure, "", round(we, 3), LEAST_TIMES_PEAK, PEER, round(they, 3), we >= LEAST_TIMES_PEAK)


def _their_grant(job: Job, pool: PoolDocument) -> int:
    """The least that any node which takes the request grants, by kubelet's rule."""
    request = job.theirs.request_bytes
    return min(
        grant_bytes(request, kind.memory_bytes, swap_total_bytes(swap_file_bytes(kind.memory_bytes, SWAP_RATIO)))
        for kind in pool.types
        if kind.allocatable_memory_bytes >= request
    )
