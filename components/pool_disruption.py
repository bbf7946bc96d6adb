"""When Karpenter may take a pool's nodes away, and what a running job is owed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from pydantic import Field

from floodplain import duration
from floodplain.duration import Duration, DurationOrNever
from floodplain.problem import RuleError
from floodplain.rules import RuledSettings, rule
from floodplain.settings import Settings

_NODES = re.compile(r"(100|[0-9]{1,2})%|[0-9]+")
GRACE_BEYOND_LONGEST_JOB_SECONDS = 3600


class DisruptionReason(StrEnum):
    """Why Karpenter replaces or removes a node of its own accord."""

    EMPTY = "Empty"
    """No pod runs on the node."""
    DRIFTED = "Drifted"
    """The node no longer matches its NodePool or EC2NodeClass."""
    UNDERUTILIZED = "Underutilized"
    """Pods would fit on fewer or cheaper nodes."""


class Budget(RuledSettings):
    """How many nodes may be disrupted at a time: a number or a percentage, always or on a schedule."""

    nodes: str
    reasons: tuple[DisruptionReason, ...] = ()
    schedule: str | None = None
    duration: Duration | None = None

    @rule("nodes")
    def _nodes_can_be_counted(self) -> Iterator[RuleError]:
        if not _NODES.fullmatch(self.nodes):
            yield RuleError("is neither a number nor a percentage", "write '1' or '10%'", ("nodes",), self.nodes)

    @rule("schedule", "duration")
    def _schedule_has_a_duration(self) -> Iterator[RuleError]:
        if (self.schedule is None) != (self.duration is None):
            yield RuleError("`schedule` and `duration` go together", "give both or neither")

    def manifest(self) -> dict[str, object]:
        """The budget as Karpenter reads it."""
        keys: dict[str, object] = {
            "nodes": self.nodes,
            "reasons": [reason.value for reason in self.reasons],
            "schedule": self.schedule,
            "duration": self.duration,
        }
        return {key: value for key, value in keys.items() if value not in (None, [])}


class DisruptionSettings(Settings):
    """NodePool disruption. Consolidation is always WhenEmpty: a job is never moved to save money.

    By default one drifted node is replaced at a time and empty nodes go at once. Drift evicts pods even under
    WhenEmpty, so `termination_grace_period` (default: the longest job and an hour) is what a job can count on.
    """

    consolidate_after: DurationOrNever = "1m"
    budgets: tuple[Budget, ...] = Field(
        default=(
            Budget(nodes="1", reasons=(DisruptionReason.DRIFTED,)),
            Budget(nodes="100%", reasons=(DisruptionReason.EMPTY,)),
        ),
        max_length=50,
    )
    expire_after: DurationOrNever = "720h"
    termination_grace_period: Duration | None = None

    def grace_period(self, longest_job: str) -> str:
        """terminationGracePeriod: as set, or the longest job and an hour."""
        if self.termination_grace_period is not None:
            return self.termination_grace_period
        return duration.text(duration.parse(longest_job) + GRACE_BEYOND_LONGEST_JOB_SECONDS)

    def longest_job_problems(self, longest_job: str) -> Iterator[RuleError]:
        """Settings under which a node's end would cut off the longest job.

        Karpenter's expiry and grace period override do-not-disrupt and budgets (karpenter.sh, disruption).
        """
        wanted = duration.parse(longest_job)
        if self.expire_after != duration.NEVER and duration.parse(self.expire_after) < wanted:
            by_default = "" if "expire_after" in self.model_fields_set else "(the default) "
            yield RuleError(
                f"{by_default}is shorter than the longest job ({longest_job}), which node expiry would cut off",
                f"set it to {longest_job} or more, or to Never",
                ("disruption", "expireAfter"),
                self.expire_after,
            )
        grace = self.termination_grace_period
        if grace is not None and duration.parse(grace) < wanted:
            yield RuleError(
                f"is shorter than the longest job ({longest_job}); at its end pods are killed",
                f"set it to {longest_job} or more, or leave it out",
                ("disruption", "terminationGracePeriod"),
                grace,
            )
