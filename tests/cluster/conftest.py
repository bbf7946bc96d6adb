"""A real control plane, started once for the files of one worker, and tables that are printed after the last test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from testbed.cluster.control_plane import ControlPlane, control_plane
from testbed.processes import Processes
from testbed.state import State
from tests.kept_logs import pytest_runtest_makereport  # noqa: F401

ROW = "row of a table"


@pytest.fixture(scope="session")
def cluster() -> Iterator[ControlPlane]:
    """etcd, API server, controller manager and scheduler with Karpenter's kinds. Tests leave it as they found it."""
    with State() as state, Processes(state) as processes, control_plane(state, processes) as running:
        running.install_karpenter_crds()
        yield running


@pytest.fixture
def row(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """`row("title", column=value, ...)`: a line of the table of that title, printed after the last test."""

    def add(title: str, **columns: object) -> None:
        record_property(ROW, json.dumps([title, {name: str(value) for name, value in columns.items()}]))

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the tables. Rows travel in the reports of tests, since they come from other processes under xdist."""
    tables: dict[str, list[dict[str, str]]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == ROW and report.when == "call":
                    title, columns = json.loads(value)
                    rows = tables.setdefault(title, [])
                    rows += [columns] if columns not in rows else []
    for title, rows in sorted(tables.items()):
        terminalreporter.section(title)
        for line in _aligned(rows):
            terminalreporter.write_line(line)


def _aligned(rows: list[dict[str, str]]) -> list[str]:
    names = list(dict.fromkeys(name for columns in rows for name in columns))
    lines = [names, *sorted([columns.get(name, "") for name in names] for columns in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines]
