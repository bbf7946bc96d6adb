"""Every check over a rendered stack. A check is a pure function from a rendering to findings."""

from __future__ import annotations

from ..finding import Finding, ordered
from ..render import Rendering
from . import graph, karpenter, policies, program, values


def check(rendering: Rendering) -> tuple[Finding, ...]:
    """All findings, errors first."""
    return ordered(
        [
            *program.check(rendering),
            *values.check(rendering),
            *graph.check(rendering),
            *karpenter.check(rendering),
            *policies.check(rendering),
        ]
    )
