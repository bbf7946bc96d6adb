"""The one error of this room: what keeps a stack from being rendered, line by line, without a traceback."""

from __future__ import annotations

from collections.abc import Iterable

from floodplain.problem import Problem


class PreviewError(Exception):
    """`lines` are what a person reads; each names the place, the value, the rule and what to do."""

    def __init__(self, problems: Iterable[Problem | str]) -> None:
        self.lines = tuple(str(problem) for problem in problems)
        super().__init__("\n".join(self.lines))
