"""What `floodplain raster workers` and `raster bill` print of a drawn history, made for the docs."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import cache

from rich.console import Console

from benchmarks.raster_bill import tiles
from floodplain.cli_plan_screen import print_plan
from floodplain.quantity import GIB, MIB
from floodplain.raster.bill import at_higher_threshold, make_bill
from floodplain.raster.bill_chart import bill_lines
from floodplain.raster.bill_told import told as bill_told
from floodplain.raster.memory_price import MemoryPrice
from floodplain.raster.record import Method, Outcome, Record
from floodplain.raster.sized_worker import Wishes, size_worker
from floodplain.raster.stack_keys import stack_entry
from floodplain.raster.worker_told import next_steps
from floodplain.raster.worker_told import told as worker_told
from floodplain.sizing.explain import Explanation

WIDTH = 110
PRICE = MemoryPrice(0.005, "--price")


@cache
def history() -> tuple[Record, ...]:
    """10,000 tiles of the published shape, and five that were killed in slots of 2 GiB."""
    killed = Record(
        layer="ortho",
        peak_bytes=2 * GIB,
        marginal_bytes=2 * GIB - 67 * MIB,
        baseline_bytes=67 * MIB,
        censored=True,
        outcome=Outcome.KILLED,
        method=Method.NONE,
        slot_limit_bytes=2 * GIB,
        estimate_bytes=GIB,
        seconds=60,
    )
    return (*tiles(0), *[killed] * 5)


def workers() -> str:
    """The worker of that history, as the command shows it."""
    sized = size_worker(history())
    return _block([*_printed(worker_told(sized), good=True).splitlines(), "", *next_steps(sized)])


def sized_entry() -> list[str]:
    """That worker as lines of a stack file."""
    return stack_entry(size_worker(history()))


def bill() -> str:
    """Its bill, with the distribution."""
    made = make_bill(history())
    higher = at_higher_threshold(history(), Wishes())
    heading = "Tasks by peak beyond the baseline (? only a lower bound is known)"
    lines = [*_printed(bill_told(made, PRICE, higher), good=True).splitlines(), "", heading, *bill_lines(made)]
    return _block(lines)


def _printed(said: Explanation, *, good: bool) -> str:
    printed = io.StringIO()
    print_plan(Console(file=printed, width=WIDTH, highlight=False, color_system=None), said, feasible=good)
    return printed.getvalue()


def _block(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return f"```text\n{re.sub(' +$', '', text, flags=re.M)}\n```"
