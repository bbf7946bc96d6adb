"""One measured task, a line of a history file (peaks.jsonl). Not who measured it, nor what follows from it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Outcome(StrEnum):
    """How the task ended."""

    DONE = "done"
    FAILED = "failed"
    """By an error of its own; its peak counts, but is that of a task that may not have come to its peak."""
    KILLED = "killed"
    """For memory (exit 137, OOMKilled): it needed more than `slot_limit_bytes`."""


class Method(StrEnum):
    """What was read."""

    VMHWM = "vmhwm"
    """The process's own high-water mark after a reset by clear_refs."""
    CGROUP = "cgroup"
    """memory.peak of its cgroup."""
    SAMPLES = "samples"
    """Resident memory looked at from time to time: spikes may be missed."""
    NONE = "none"
    """Nothing could be read, as of a killed task."""


class Record(BaseModel):
    """Bytes throughout. Unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    layer: str
    """The kind of task: peaks of one layer are compared with each other."""
    peak_bytes: Annotated[int, Field(ge=0)]
    """Absolute: the process or cgroup with everything in it. Of a killed task the limit that it hit."""
    marginal_bytes: Annotated[int, Field(ge=0)]
    """`peak_bytes` less `baseline_bytes`."""
    baseline_bytes: Annotated[int, Field(ge=0)] = 0
    """Held before the task, after imports and a warm-up."""
    before_bytes: Annotated[int, Field(ge=0)] | None = None
    """Held just before this task; what lies above `baseline_bytes` earlier tasks of the process left behind, so
    that the task's own share is between `peak_bytes - before_bytes` and `marginal_bytes`."""
    swap_peak_bytes: Annotated[int, Field(ge=0)] = 0
    censored: bool = False
    """The true demand is at least this: it was killed, or more of it went to swap meanwhile than can be counted, or the
    cgroup stood at its limit. Swap alone does not say so: what lay there all the time is in `peak_bytes`."""
    outcome: Outcome = Outcome.DONE
    method: Method = Method.VMHWM
    concurrent: Annotated[int, Field(ge=1)] = 1
    """Tasks that shared the process while it was measured, or that were killed with it though another is taken to have
    needed too much; above 1 the figure is that of the set."""
    estimate_bytes: Annotated[int, Field(ge=0)] | None = None
    slot_limit_bytes: Annotated[int, Field(gt=0)] | None = None
    seconds: Annotated[float, Field(ge=0)] | None = None
    source_bytes: Annotated[int, Field(ge=0)] | None = None
    """Naive size of the source window, for those who compare with a factor."""
    task: str | None = None
    """A name or number of the task."""

    @property
    def is_bound(self) -> bool:
        """It needed at least `peak_bytes`, and nobody knows how much more: killed, failed early, or censored."""
        return self.censored or self.outcome is not Outcome.DONE
