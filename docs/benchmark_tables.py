"""Tables of the benchmark `checks`: what its corpus of wrong configurations records. Not for measured times."""

from __future__ import annotations

from benchmarks.cases import KINDS, Case, load
from benchmarks.checks import CAUGHT
from docs.markdown_table import table


def caught() -> str:
    """How many of each kind of mistake each catches before apply."""
    rows = []
    for kind in (*KINDS, None):
        chosen = [case for case in load() if kind in (None, case.kind)]
        rows.append((kind or "all", str(len(chosen)), *(str(sum(map(_is_caught, told))) for told in _columns(chosen))))
    return table(
        ("Kind of mistake", "Cases", "floodplain", "API server's dry run", "terraform-aws-eks"), rows, right=range(1, 5)
    )


def missed() -> str:
    """What floodplain lets pass, and what then happens."""
    rows = ((case.title, case.why) for case in load() if not _is_caught(case.floodplain))
    return table(("Mistake", "What happens"), rows)


def _columns(cases: list[Case]) -> tuple[list[str], list[str], list[str]]:
    return (
        [case.floodplain for case in cases],
        [case.api_server.verdict for case in cases],
        [case.terraform for case in cases],
    )


def _is_caught(verdict: str) -> bool:
    return verdict in CAUGHT
