"""A job that ran, and what its end says of its peak. Pure.

The peak of most past jobs was never measured: their end bounds it. What was killed had needed more than it could hold,
what ran well needed no more; both only as far as it is known what it could hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from floodplain.sizing.workload import Workload


class Outcome(StrEnum):
    """How a job ended."""

    SUCCEEDED = "succeeded"
    OOM = "oom"
    """Killed in its own limits."""
    EVICTED = "evicted"
    """Ended by kubelet, which was short of memory on the node."""
    FAILED = "failed"
    """For some other reason, or nobody knows."""


@dataclass(frozen=True)
class PastJob:
    """What is known of it; None is what is not. Bytes and seconds."""

    name: str
    workload: Workload
    outcome: Outcome
    request_bytes: int | None = None
    limit_bytes: int | None = None
    peak_bytes: int | None = None
    """The most it was seen to hold, swap included."""
    swap_bytes: int | None = None
    """The swap it could have; 0 is none."""
    node_memory_bytes: int | None = None
    seconds: float | None = None

    @property
    def memory_bytes(self) -> int | None:
        """The memory it could have: its limit, or without one the node's."""
        return self.node_memory_bytes if self.limit_bytes is None else self.limit_bytes

    @property
    def held_bytes(self) -> int | None:
        """All it could hold, if that is known."""
        if self.memory_bytes is None or self.swap_bytes is None:
            return None
        return self.memory_bytes + self.swap_bytes


@dataclass(frozen=True)
class Evidence:
    """What is known of a peak, in bytes."""

    exact: int | None = None
    above: int | None = None
    """It surely was above this. A job that dies says so of its memory limit."""
    reached: int | None = None
    """It died when it had this, or less: more than this is more than it ever had. None where that is not known."""
    at_most: int | None = None


def evidence(job: PastJob) -> Evidence:
    """What a job's end says of its peak.

    A measured peak of a job that died is where it was stopped, unless it is more than the job could hold: then it
    comes from another run and is the peak.
    """
    held, peak = job.held_bytes, job.peak_bytes
    if job.outcome is Outcome.SUCCEEDED:
        return Evidence(at_most=held) if peak is None else Evidence(exact=peak)
    if peak is not None and held is not None and peak > held:
        return Evidence(exact=peak)
    if job.outcome is Outcome.OOM:
        memory = job.memory_bytes
        if peak is not None:
            stopped = max(peak, memory or 0)
            return Evidence(above=stopped, reached=max(stopped, held or 0))
        return Evidence(above=memory, reached=held)
    # Kubelet ends pods for want of memory on the node, long before their own limits.
    return Evidence() if peak is None else Evidence(above=peak, reached=peak)


def with_swap_ratio(job: PastJob, ratio: float | None) -> PastJob:
    """The job with swap of `ratio` times its request, where nothing is known of its swap."""
    request = job.limit_bytes if job.request_bytes is None else job.request_bytes
    if ratio is None or job.swap_bytes is not None or (ratio and request is None):
        return job
    return replace(job, swap_bytes=math.floor(ratio * (request or 0)))
