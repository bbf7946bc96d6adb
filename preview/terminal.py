"""The report for a terminal, with colours where there are any. Read from the bottom: the verdict comes last."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from . import change_text, wording
from .model import Diff, FindingEntry, PoolEntry, Report, ResourceChange, ResourceNode, WorkersEntry
from .streams import printable

_STYLES = {"replace": "bold red", "delete": "red", "create": "green", "update": "yellow"}
_LINE_STYLES = {"-": "red", "+": "green", "@": "bold"}


def show(report: Report, stream: TextIO) -> None:
    """Print to `stream`: in colour on a terminal, plain otherwise."""
    if stream.isatty():
        console = Console(file=stream, width=_columns(), highlight=False, emoji=False, markup=False, _environ=_others())
        for part in _parts(report):
            console.print(_Printable(part))
    else:
        stream.write(text(report, encoding=stream.encoding or "utf-8"))


class _Buffer(io.StringIO):
    """Text for a stream of this encoding: rich draws its lines accordingly."""

    def __init__(self, encoding: str) -> None:
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a StringIO has none
        return self._encoding


def text(report: Report, width: int | None = None, encoding: str = "utf-8") -> str:
    """The same without colours, `width` columns wide (COLUMNS, or 80), no spaces at the ends of lines.

    What the encoding lacks becomes a question mark.
    """
    buffer = _Buffer(encoding)
    columns = width or _columns() or 80
    console = Console(
        file=buffer,
        width=columns,
        highlight=False,
        emoji=False,
        markup=False,
        no_color=True,
        force_terminal=False,
        _environ=_others(),
    )
    for part in _parts(report):
        console.print(_Printable(part))
    plain = "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())
    return plain.encode(encoding, "replace").decode(encoding)


def _columns() -> int | None:
    """COLUMNS where it is a width in which something can be read."""
    given = os.environ.get("COLUMNS", "")
    width = int(given[:5]) if given.isascii() and given.isdigit() else 0
    return width if width >= 20 else None


def _others() -> dict[str, str]:
    """The environment without COLUMNS, of which rich would believe even 0."""
    return {key: value for key, value in os.environ.items() if key != "COLUMNS"}


class _Printable:
    """A part whose control characters are spelt out: names and tags must not steer the terminal."""

    def __init__(self, part: RenderableType) -> None:
        self._part = part

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._part, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def _parts(report: Report) -> Iterator[RenderableType]:
    count = wording.plural(report.resources, "resource")
    yield Text.assemble((f"{report.project} {report.stack}", "bold"), f"  {report.file}  {count}")
    yield _tree(report)
    for pool in report.pools:
        yield _pool(pool)
    for workers in report.workers:
        yield _workers(workers)
    if report.unknowns:
        yield _unknowns(report)
    if report.diff:
        yield from _diff(report.diff)
    for heading, findings, style in (
        ("Warnings", report.warnings, "yellow"),
        ("Errors", report.errors, "red"),
    ):
        if findings:
            yield Text(f"\n{heading}", style=f"bold {style}")
            yield from (_finding(finding, style) for finding in findings)
    yield Text(f"\n{wording.verdict(report)}", style="bold red" if report.errors else "bold green")


def _tree(report: Report) -> Tree:
    root = Tree(Text("Resources", style="bold"), guide_style="dim")
    for node in report.tree:
        _grow(root, node)
    return root


def _grow(branch: Tree, node: ResourceNode, above: str = "") -> None:
    label = Text(no_wrap=True, overflow="ellipsis")
    label.append(wording.kind(node.type), style="dim" if not node.children else "bold")
    label.append(f" {node.name.removeprefix(above).removeprefix('-') or node.name}")
    if node.detail:
        label.append(f"  {node.detail}", style="cyan")
    grown = branch.add(label)
    for child in node.children:
        _grow(grown, child, node.name)


def _pool(pool: PoolEntry) -> Group:
    facts = _facts(wording.settings(pool))
    table = Table(
        box=None,
        padding=(0, 1),
        header_style="dim",
        caption="memory, NVMe, swap and room for pods in GiB",
        caption_justify="left",
    )
    for number, column in enumerate(wording.SizeRow.TITLES):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=True)
    for size in wording.sizes(pool):
        table.add_row(*size.cells)
    where = f"  {pool.place}" if pool.place else ""
    heading = Text.assemble(("\nPool ", "bold"), (pool.name, "bold"), (where, "dim"))
    return Group(heading, Padding(facts, (0, 2)), Padding(table, (0, 1)))


def _workers(workers: WorkersEntry) -> Group:
    facts = _facts(wording.worker_settings(workers))
    where = f"  {workers.place}" if workers.place else ""
    heading = Text.assemble(("\nRaster workers ", "bold"), (workers.name, "bold"), (where, "dim"))
    return Group(heading, Padding(facts, (0, 2)))


def _facts(settings: Iterable[tuple[str, str]]) -> Table:
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim", no_wrap=True)
    facts.add_column(overflow="fold")
    for what, setting in settings:
        facts.add_row(Text(what), Text(setting))
    return facts


def _unknowns(report: Report) -> Group:
    lines: list[RenderableType] = [Text("\nKnown only after the update", style="bold")]
    for entry in report.unknowns:
        lines.append(
            _indented(Text.assemble(f"{wording.kind(entry.type)} {entry.property}", (f"  {entry.why}", "dim")))
        )
    return Group(*lines)


def _diff(diff: Diff) -> Iterator[RenderableType]:
    yield Text(f"\nAgainst {diff.base}: {wording.summary(diff)}", style="bold")
    yield Text(wording.COMPARED, style="dim")
    for said in diff.note:
        yield Text(f"  {said}", style="yellow")
    if not diff.note:
        for change in diff.changes:
            yield from _change(change)
    for roll in diff.rolls:
        yield Text(f"Drift: {wording.roll_text(roll)}", style="bold yellow")


def _change(change: ResourceChange) -> Iterator[RenderableType]:
    head = Text(f"{wording.SIGNS[change.action]} {wording.title(change)}", style=_STYLES[change.action])
    if change.reason:
        head.append(f"  ({change.reason})", style="dim")
    yield head
    for one in change.properties:
        for number, line in enumerate(change_text.lines(one)):
            text = Text(f"    {line}", style=_LINE_STYLES.get(line[:1], "dim"))
            if number == 0 and one.effect != "update":
                text.append(f"  [{one.effect}]", style="bold red")
            if number == 0 and one.drift:
                text.append("  [drift]", style="bold yellow")
            yield text


def _finding(finding: FindingEntry, style: str) -> Table:
    line = Text.assemble((finding.place or "the stack", style), finding.message.removeprefix(finding.place))
    return _indented(line)


def _indented(line: Text) -> Table:
    """Later lines start below the first word, not below the sign."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text("  -"), line)
    return grid
