"""What the preview prints, run for the docs: nothing that a page quotes of it is written by hand.

Each sample renders a stack, so it takes about a second. Edited stacks live in a folder of their own for as long.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from docs.raster_fleet_samples import sized_entry
from preview import terminal
from preview.diff import compare
from preview.dump import concealed
from preview.problems import PreviewError
from preview.render import render
from preview.report import build, report

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 110

EDIT = {
    "families: [m6id, r6id]\n      vcpus: [4, 8, 16, 32]": "families: [m6id, r6id, m5d]\n      vcpus: [4, 8, 16, 32]",
    "longestJob: 24h": "longestJob: 24h\n      swap: {swappiness: 60}",
    "nodes: 2}": "nodes: 3}",
}
"""The edit of prod that the docs use as an example: text that stands there, and what takes its place."""

FAULTY = """\
config:
  floodplain:protected: true
  floodplain:cluster: {name: prod, region: eu-central-1, accountId: "111122223333", kubernetesVersion: "1.34"}
  floodplain:pools:
    - name: swap
      familys: [r6id]
      families: [r6id]
      limits: {cpu: "256", memory: 10GB}
      ami: {alias: al2023@latest}
"""
"""A stack file with faults, for the docs."""


def preview_of(stack: str) -> str:
    """The report of a stack, without most of Karpenter's parts, pools after the first, and what is unknown."""
    lines = terminal.text(report(stack, ROOT), width=WIDTH).splitlines()
    return _block(_shortened(lines))


def edited() -> str:
    """The comparison of prod with `EDIT` applied against prod as it is."""

    def edit(text: str) -> str:
        for old, new in EDIT.items():
            if old not in text:
                raise ValueError(f"stacks/Pulumi.prod.yaml has no {old!r} any more; choose another edit for the docs")
            text = text.replace(old, new, 1)
        return text

    before = render("prod", ROOT)
    with _program(edit) as root:
        after = render("prod", root)
    diff = compare(concealed(before.apply), concealed(after.apply), name="main")
    lines = terminal.text(build(after, (), diff), width=WIDTH).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("Against main"))
    return _block(line for line in lines[start:] if not line.startswith("no errors"))


def faults() -> str:
    """What the preview says to `FAULTY`."""
    with _program(lambda text: FAULTY) as root:
        try:
            render("prod", root)
        except PreviewError as error:
            return _block("\n".join(error.lines).splitlines())
    raise ValueError("the faulty stack file of the docs has no faults any more")


def worker_pools() -> str:
    """What `raster workers` says to write, with a name and an image, and what the preview shows of it."""
    entry = "\n".join(sized_entry()).replace("NAME", "tiles").replace("IMAGE", "registry.example/tiles:1.2")
    with _program(lambda text: f"{(ROOT / 'stacks/Pulumi.dev.yaml').read_text(encoding='utf-8')}{entry}\n") as root:
        lines = terminal.text(build(render("prod", root), ()), width=WIDTH).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("Raster workers"))
    shown = lines[start : lines.index("", start)]
    return f"```yaml\n{entry}\n```\n\n{_block(shown)}"


@contextmanager
def _program(edit: Callable[[str], str]) -> Iterator[Path]:
    """The program of this checkout with an edited prod."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "stacks").mkdir()
        for name in ("Pulumi.yaml", "__main__.py"):
            shutil.copy(ROOT / name, root / name)
        name = "stacks/Pulumi.prod.yaml"
        (root / name).write_text(edit((ROOT / name).read_text(encoding="utf-8")), encoding="utf-8")
        yield root


def _shortened(lines: list[str]) -> Iterator[str]:
    within, hidden, pools = "", 0, 0
    for line in lines:
        if re.match(r"[├└]── |    [├└]── \w", line):
            within = line
        if "KarpenterController" in within and re.match(r" {4}│ {3}[├└]── (?!Release)", line):
            hidden += 1
            continue
        if hidden:
            yield f"    │   ├── ({hidden} more: roles, policies, event rules and what ties them together)"
            hidden = 0
        if re.match(r"Pool |Known only|Warnings|Errors|no errors|\d+ error", line):
            within = line
            pools += line.startswith("Pool ")
        if within.startswith("Known only") or (within.startswith("Pool ") and pools > 1):
            continue
        yield line


def _block(lines: Iterator[str] | list[str]) -> str:
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
    return f"```text\n{text}\n```\n"
