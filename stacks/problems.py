"""How a stack file's faults are told: all at once, each with the file and the key as they stand in it."""

from __future__ import annotations

from collections.abc import Iterable

import pulumi

from floodplain.problem import Problem


class StackProblemsError(pulumi.RunError):
    """A stack that cannot be used. A RunError, so that the CLI shows the text and no traceback."""

    def __init__(self, stack: str, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{stack_file(stack)} has {len(self.problems)} problem(s):\n{lines}")


def stack_file(stack: str) -> str:
    """Where the settings of a stack stand, from the project's root."""
    return f"stacks/Pulumi.{stack}.yaml"
