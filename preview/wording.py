"""What the report says, the same in every form: figures with units, verdicts, one line for a pool's settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from floodplain import duration
from floodplain.byte_amount import mib
from floodplain.quantity import GIB

from .model import Diff, FleetRoll, PoolEntry, Report, ResourceChange, TypeRow, WorkersEntry

COMPARED = "Compares what the two programs ask for, not what is in the cluster or the account."
SIGNS = {"replace": "±", "delete": "-", "create": "+", "update": "~"}
HEADINGS = {"replace": "Replaced", "delete": "Deleted", "create": "Added", "update": "Changed"}


def gib(count: int) -> str:
    """Bytes in GiB, whole where they are."""
    value = count / GIB
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def span(values: Iterable[int], text: object = str) -> str:
    """`4` or `4-32`, from least to most."""
    found = sorted(set(values))
    shown = [gib(value) if text is gib else str(value) for value in found]
    return shown[0] if shown[0] == shown[-1] else f"{shown[0]}-{shown[-1]}"


def plural(count: int, one: str) -> str:
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


def verdict(report: Report) -> str:
    """The last word: may it be applied as far as can be told here?"""
    errors, warnings = plural(len(report.errors), "error"), plural(len(report.warnings), "warning")
    if report.errors:
        return f"{errors}, {warnings}: not ready"
    return f"no errors, {warnings}"


@dataclass(frozen=True)
class SizeRow:
    """The types of one size over all families of a pool."""

    size: str
    vcpu: str
    memory_gib: str
    nvme_gib: str
    swap_gib: str
    for_pods_gib: str
    nodes: str

    TITLES = ("size", "vCPU", "memory", "NVMe", "swap", "for pods", "nodes at most")

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.size, self.vcpu, self.memory_gib, self.nvme_gib, self.swap_gib, self.for_pods_gib, self.nodes)


def sizes(pool: PoolEntry) -> Iterator[SizeRow]:
    """Rows from the smallest size to the largest. All but the first two columns and the last are GiB."""
    groups: dict[tuple[int, str], list[TypeRow]] = {}
    for row in pool.types:
        groups.setdefault((row.vcpu, row.name.partition(".")[2]), []).append(row)
    for (vcpu, size), rows in sorted(groups.items()):
        yield SizeRow(
            size=size,
            vcpu=str(vcpu),
            memory_gib=span((row.memory_bytes for row in rows), gib),
            nvme_gib=span((row.nvme_bytes for row in rows), gib),
            swap_gib=span((row.swap_bytes_at_most for row in rows), gib),
            for_pods_gib=span((row.ephemeral_bytes_for_pods for row in rows), gib),
            nodes=span(row.nodes_at_most for row in rows),
        )


def worker_settings(workers: WorkersEntry) -> Iterator[tuple[str, str]]:
    """What raster workers are, as (what, how)."""
    count = f"{workers.small_workers} worker{'' if workers.small_workers == '1' else 's'}"
    yield "small", f"{count} of {gib(workers.small_memory_bytes)} GiB with {plural(workers.slots, 'slot')}"
    yield "big", f"1 worker of {gib(workers.big_memory_bytes)} GiB with 1 slot"
    yield (
        "tasks",
        f"a slot holds {mib(workers.slot_budget_bytes)}; above {mib(workers.threshold_bytes)} a task goes big,"
        f" above {mib(workers.big_budget_bytes)} nowhere",
    )
    yield "GDAL", f"GDAL_CACHEMAX {workers.gdal_cachemax} for each process"


def settings(pool: PoolEntry) -> Iterator[tuple[str, str]]:
    """What a pool is set to, as (what, how)."""
    limits = ", ".join(f"{key} {value}" for key, value in pool.limits.items())
    yield "families", f"{', '.join(pool.families)} ({pool.architecture}, {', '.join(pool.capacity_types)})"
    yield "limits", f"{limits}: at most {plural(pool.nodes_at_most, 'node')}"
    yield (
        "swap",
        f"{pool.swap_ratio:g} x memory, swappiness {pool.swappiness}; jobs: margin {pool.margin:g}, hot share "
        f"{pool.hot_share:g}, at most {duration.text(pool.longest_job_seconds)}",
    )
    yield "kubelet", ", ".join(f"{_spoken(key)} {value}" for key, value in pool.kubelet.items()) or "defaults"
    yield "disruption", ", ".join(f"{key} {value}" for key, value in pool.disruption.items()) or "defaults"
    yield "image", f"{pool.machine_image}; user data {pool.user_data_bytes:,} bytes"
    yield "taint", f"{pool.taint}; RuntimeClass {pool.runtime_class}"


def _spoken(path: str) -> str:
    """`evictionHard memory.available` for `evictionHard["memory.available"]`."""
    quoted = path.partition('["')[2].removesuffix('"]')
    return f"{path.partition('[')[0]} {quoted}" if quoted else path


def roll_text(roll: FleetRoll) -> str:
    """What drift does to one pool."""
    how = f"at most {roll.at_a_time} at a time"
    if roll.schedules:
        how += f" ({roll.within_schedules} during {'; '.join(roll.schedules)})"
    return (
        f"pool {roll.pool}: its nodes (at most {roll.nodes_at_most}) are replaced, {how}, by {', '.join(roll.fields)}"
    )


def summary(diff: Diff) -> str:
    counts = {action: sum(change.action == action for change in diff.changes) for action in SIGNS}
    parts = [f"{count} {HEADINGS[action].lower()}" for action, count in counts.items() if count]
    return f"{', '.join(parts) or 'no changes'}, {diff.same} the same"


def kind(type_token: str) -> str:
    """`EventRule` of `aws:cloudwatch/eventRule:EventRule`; providers keep their package."""
    last = type_token.rsplit(":", 1)[-1]
    return f"{last} provider" if type_token.startswith("pulumi:providers:") else last


def title(change: ResourceChange) -> str:
    former = f", formerly {change.former_urn.rsplit('::', 1)[-1]}" if change.former_urn else ""
    return f"{kind(change.type)} {change.name}{former}"
