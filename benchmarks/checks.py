"""Who catches a wrong configuration before apply: floodplain's preview, the API server's dry run, terraform-aws-eks.

One corpus for all (see `cases`). floodplain is run on every case. The API server is run where the testbed's
engines are built, else its recorded verdicts are read from the corpus. terraform-aws-eks v21.19.0 was read: its
karpenter module has no `validation` block and leaves NodePools to YAML, but it makes all five event rules itself.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from testbed import engines
from testbed.cluster.api import Api

from . import apiserver, judges
from .cases import KINDS, Case, load
from .rows import Row

FLOODPLAIN = "floodplain, offline preview"
API_SERVER = "kubectl apply --dry-run=server"
TERRAFORM = "terraform-aws-eks v21.19.0, karpenter module (read)"

# What counts as caught before apply: refused, warned about, or not possible in the first place.
CAUGHT = frozenset({"refuses", "warns", "not possible"})


@dataclass(frozen=True)
class Outcome:
    """What each said of one case."""

    case: Case
    floodplain: str
    as_expected: bool
    api_server: str
    terraform: str


def run(options: Sequence[str] = ()) -> list[Row]:
    """Rows of sums by kind of mistake and in all, then of every case, once for each peer."""
    cases = load()
    with ExitStack() as stack:
        server = stack.enter_context(apiserver.running()) if apiserver.available() else None
        peer = peer_name(server, cases)
        outcomes = [_outcome(case, server) for case in cases]
    if changed := changed_verdicts(outcomes):
        raise RuntimeError(f"the corpus records other verdicts of the API server for: {', '.join(changed)}")
    return [*_sums(outcomes, peer), *_each(outcomes, peer)]


def changed_verdicts(outcomes: Sequence[Outcome]) -> list[str]:
    """Cases of which the API server now says something else than the corpus records."""
    return [one.case.name for one in outcomes if one.api_server != one.case.api_server.verdict]


def peer_name(server: Api | None, cases: Sequence[Case]) -> str:
    """What is compared with, and whether it is run now or was recorded."""
    if server:
        karpenter = engines.ENGINES["karpenter"].version.removeprefix("v")
        return f"{API_SERVER}, Kubernetes {apiserver.version(server)}, Karpenter CRDs {karpenter} (run)"
    (seen,) = {case.api_server.seen for case in cases} - {""}
    return f"{API_SERVER}, {seen} (read: recorded earlier)"


def _outcome(case: Case, server: Api | None) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        judged = judges.floodplain(case, Path(folder))
    told = case.floodplain == "accepts" or any(re.search(case.says, line) for line in judged.lines)
    return Outcome(
        case,
        judged.outcome,
        judged.outcome == case.floodplain and told,
        case.api_server.verdict if server is None else dry_run(case, server),
        case.terraform,
    )


def dry_run(case: Case, server: Api) -> str:
    """The API server's verdict on the case's objects; it is asked nothing where the mistake is not in them."""
    if case.api_server.verdict == "not its subject":
        return case.api_server.verdict
    assert case.objects is not None, case.name
    answers = [server.create(manifest, dry_run=True) for manifest in judges.manifests(case.objects)]
    return "accepts" if all(answer.ok for answer in answers) else "refuses"


def _sums(outcomes: Sequence[Outcome], peer: str) -> list[Row]:
    rows = []
    for kind in (*KINDS, None):
        chosen = [outcome for outcome in outcomes if kind in (None, outcome.case.kind)]
        figure = f"{kind}s caught before apply" if kind else "all caught before apply"
        ours = sum(outcome.floodplain in CAUGHT for outcome in chosen)
        for name, theirs in (
            (peer, [one.api_server for one in chosen]),
            (TERRAFORM, [one.terraform for one in chosen]),
        ):
            caught = sum(verdict in CAUGHT for verdict in theirs)
            rows.append(Row(figure, f"of {len(chosen)}", ours, peer=name, peer_value=caught))
    return rows


def _each(outcomes: Sequence[Outcome], peer: str) -> list[Row]:
    """A case holds when floodplain said what the corpus expects, for the reason it expects."""
    return [
        Row(f"{one.case.kind}: {one.case.title}", "(run)", one.floodplain, None, name, theirs, one.as_expected)
        for one in outcomes
        for name, theirs in ((peer, one.api_server), (TERRAFORM, one.terraform))
    ]


def show(name: str, rows: Sequence[Row], console: Console) -> None:
    """A line for each figure, with the peers side by side."""
    peers = list(dict.fromkeys(row.peer for row in rows))
    table = Table(title=f"benchmark {name}", title_justify="left", caption_justify="left")
    table.add_column("Mistake")
    table.add_column(f"{FLOODPLAIN} (run)")
    for peer in peers:
        table.add_column(peer or "")
    for figure in dict.fromkeys(row.figure for row in rows):
        same = [row for row in rows if row.figure == figure]
        unit = "" if same[0].unit == "(run)" else f" {same[0].unit}"
        cells = [f"{same[0].value}{unit}", *(f"{row.peer_value}{unit}" for row in same)]
        table.add_row(figure, *cells, style=None if all(row.holds for row in same) else "bold red")
    repeated = [figure for figure, count in Counter(row.figure for row in rows).items() if count != len(peers)]
    assert not repeated, repeated
    console.print(table)
