"""The report as a comment for a pull request: the same for the same inputs, sorted, no times, bounded in size.

When it would be too long, whole entries are left out, the least important first, and counted. Errors, replaces
and deletes are the last to go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import change_text, wording
from .model import Diff, FindingEntry, PoolEntry, Report, ResourceChange, ResourceNode, WorkersEntry

MOST_CHARACTERS = 59_000
"""GitHub takes 65,535; pulumi/actions cuts at 64,000; a wrapper may add a little of its own."""

_SPECIAL = re.compile(r"([\\`*_\[\]#|~])")


@dataclass
class _Section:
    """A heading and entries. `rank` says how soon its entries are left out: the highest first."""

    heading: str
    rank: int
    entries: list[str] = field(default_factory=list)
    before: str = ""
    after: str = ""

    def text(self, kept: int) -> str:
        if not self.entries:
            return ""
        left_out = len(self.entries) - kept
        note = (
            f"\n_{left_out} more left out to stay within the size of a comment; the JSON form has all._\n"
            if left_out
            else ""
        )
        return f"{self.heading}\n{self.before}{''.join(self.entries[:kept]).rstrip()}\n{self.after}{note}"


def text(report: Report, limit: int = MOST_CHARACTERS) -> str:
    """Markdown of at most `limit` characters."""
    head = _head(report)
    sections = [section for section in _sections(report) if section.entries]
    kept = {id(section): len(section.entries) for section in sections}

    def whole() -> str:
        return head + "\n".join(section.text(kept[id(section)]) for section in sections)

    for section in sorted(sections, key=lambda one: -one.rank):
        if len(whole()) <= limit:
            break
        low, high = 0, len(section.entries)
        while low < high:  # as many entries as fit, or none
            kept[id(section)] = (low + high + 1) // 2
            if len(whole()) <= limit:
                low = kept[id(section)]
            else:
                high = kept[id(section)] - 1
        kept[id(section)] = low
    return whole().rstrip() + "\n"


def _head(report: Report) -> str:
    marker = f"<!-- floodplain preview {report.project}/{report.stack} -->"
    sign = ":x:" if report.errors else ":white_check_mark:"
    lines = [
        marker,
        f"## Preview of `{report.project}/{report.stack}`",
        "",
        f"{sign} {wording.verdict(report)} · {wording.plural(report.resources, 'resource')} · `{report.file}`",
        "",
    ]
    if report.diff:
        lines += [f"Against `{report.diff.base}`: {wording.summary(report.diff)}. {wording.COMPARED}", ""]
        lines += [f"> {_plain(line)}" for line in report.diff.note]
        lines += [""] if report.diff.note else []
    return "\n".join(lines) + "\n"


def _sections(report: Report) -> Iterator[_Section]:
    yield _Section("### Errors", 0, [_finding(finding) for finding in report.errors])
    if report.diff:
        yield from _diff(report.diff)
    yield _Section("### Warnings", 3, [_finding(finding) for finding in report.warnings])
    yield _Section("### Pools", 6, [_pool(pool) for pool in report.pools])
    yield _Section("### Raster workers", 6, [_workers(workers) for workers in report.workers])
    unknowns = [
        f"| `{entry.type}` | `{entry.property}` | {_plain(entry.why)} | {entry.resources} |\n"
        for entry in report.unknowns
    ]
    table = "\n| type | property | what it is | resources |\n|---|---|---|---|\n"
    yield _folded("Known only after the update", 7, unknowns, before=table)
    yield _folded("Resources", 8, [line for node in report.tree for line in _tree(node)], before="\n")


def _folded(summary: str, rank: int, entries: list[str], before: str) -> _Section:
    return _Section(f"<details><summary>{summary}</summary>", rank, entries, before, "\n</details>\n")


def _diff(diff: Diff) -> Iterator[_Section]:
    yield _Section(
        "### Nodes that will be replaced", 0, [f"- {_plain(wording.roll_text(roll))}\n" for roll in diff.rolls]
    )
    if diff.note:
        return
    for action, rank in (("replace", 1), ("delete", 2), ("create", 5), ("update", 4)):
        changes = [change for change in diff.changes if change.action == action]
        entries = [_change(change) for change in changes]
        yield _Section(f"### {wording.HEADINGS[action]} ({len(changes)})", rank, entries)


def _change(change: ResourceChange) -> str:
    reason = f" — {_plain(change.reason)}" if change.reason else ""
    lines = [f"**{wording.SIGNS[change.action]} `{change.type}`** {_plain(wording.title(change))}{reason}\n"]
    body: list[str] = []
    for one in change.properties:
        marks: list[str] = [one.effect] if one.effect != "update" else []
        marks += ["enters Karpenter's drift hash"] if one.drift else []
        body += [f"# {', '.join(marks)}"] if marks else []
        body += change_text.lines(one)
    if body:
        lines += [_fenced("\n".join(body)), ""]
    return "\n".join(lines) + "\n"


def _finding(finding: FindingEntry) -> str:
    message = finding.message.removeprefix(finding.place).removeprefix(": ")
    return f"- {_code(finding.place or 'the stack')}: {_plain(message)}\n"


def _pool(pool: PoolEntry) -> str:
    where = f" ({_code(pool.place)})" if pool.place else ""
    lines = [f"**{_plain(pool.name)}**{where}", ""]
    lines += [f"- {what}: {_plain(how)}" for what, how in wording.settings(pool)]
    lines += ["", f"| {' | '.join(wording.SizeRow.TITLES)} |", f"|{'---|' * len(wording.SizeRow.TITLES)}"]
    lines += [f"| {' | '.join(row.cells)} |" for row in wording.sizes(pool)]
    return "\n".join([*lines, "", "Memory, NVMe, swap and what is left for pods in GiB.", "", ""])


def _workers(workers: WorkersEntry) -> str:
    where = f" ({_code(workers.place)})" if workers.place else ""
    lines = [f"**{_plain(workers.name)}**{where}", ""]
    lines += [f"- {what}: {_plain(how)}" for what, how in wording.worker_settings(workers)]
    return "\n".join([*lines, "", ""])


def _tree(node: ResourceNode, depth: int = 0) -> Iterator[str]:
    detail = f" {_plain(node.detail)}" if node.detail else ""
    yield f"{'  ' * depth}- {_code(node.name)} {_plain(node.type)}{detail}\n"
    for child in node.children:
        yield from _tree(child, depth + 1)


def _plain(text: str) -> str:
    """Text that GitHub shows as it is: no markup, no tags, nobody mentioned."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return _SPECIAL.sub(r"\\\1", " ".join(escaped.replace("&#64;", "\0").split())).replace("\0", "&#64;")


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    padding = " " if "`" in text else ""
    return f"{fence}{padding}{' '.join(text.split())}{padding}{fence}"


def _fenced(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}diff\n{text}\n{fence}"
