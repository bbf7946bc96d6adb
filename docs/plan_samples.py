"""What `floodplain plan` prints, made for the docs: nothing that a page quotes of it is written by hand."""

from __future__ import annotations

import io
import re

from rich.console import Console

from floodplain.cli_plan_screen import print_plan
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.explain import explain
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import Workload

WIDTH = 110


def plan_of(images: str, *options: str) -> str:
    """The plan of a job in the example pool, as the command shows it."""
    plan = make_plan(Workload.model_validate({"images": images, "options": options}), [default_pool()])
    printed = io.StringIO()
    screen = Console(file=printed, width=WIDTH, highlight=False, color_system=None)
    print_plan(screen, explain(plan), feasible=plan.feasible)
    return f"```text\n{re.sub(' +$', '', printed.getvalue(), flags=re.M)}```"
