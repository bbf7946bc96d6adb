"""Every check over a rendered stack. A check is a pure function from a rendering to findings."""

from __future__ import annotations

from ..finding import Finding, ordered
from ..render import Applied, Rendering
from . import graph, karpenter, policies, program, stack_file, values


def check(rendering: Rendering) -> tuple[Finding, ...]:
    """All findings, errors first."""
    return ordered([*check_apply(rendering), *check_rest(rendering)])


def check_apply(applied: Applied) -> list[Finding]:
    """Those of the checks that look at nothing but the update, most of the work. Unordered."""
    return [*graph.check(applied), *karpenter.check(applied), *policies.check(applied)]


def check_rest(rendering: Rendering) -> list[Finding]:
    """Those of the other checks. Unordered."""
    return [*program.check(rendering), *values.check(rendering), *stack_file.check(rendering)]
