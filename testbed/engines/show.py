"""What a person sees of builds: a line for each engine, live on a terminal and plain elsewhere. Not for building."""

import os
from collections.abc import Sequence

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from testbed.engines.build import Event, Step, build
from testbed.engines.table import ENGINES, named
from testbed.engines.toolchain import READY, Go
from testbed.engines.where import built_path, cache_folder, path, stale


class Progressing:
    """Turns events into lines. An engine that is there already is not worth one."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._packages: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        if event.step is Step.PRESENT and event.name not in self._tasks:
            return
        live = self._progress.console.is_terminal
        if event.name not in self._tasks:
            self._tasks[event.name] = self._progress.add_task("", total=None, engine=event.name, visible=live)
        if event.step is Step.LINE:
            self._packages[event.name] = self._packages.get(event.name, 0) + 1
        text = self._text(event)
        self._progress.update(self._tasks[event.name], description=text)
        if event.step in (Step.BUILT, Step.PRESENT):
            self._progress.update(self._tasks[event.name], total=1, completed=1)
        if not live and event.step is not Step.LINE:
            self._progress.console.print(f"{event.name}: {text}")

    def _text(self, event: Event) -> str:
        match event.step:
            case Step.WAITING:
                return "another build of it is running; waiting"
            case Step.BUILDING:
                return f"building {named(event.name).version}"
            case Step.LINE:
                return f"{self._packages[event.name]} packages, {event.line.rsplit('/', 1)[-1][:40]}"
            case Step.BUILT:
                return f"built in {event.seconds:.0f} s"
            case Step.PRESENT:
                return "built by the other"


def build_shown(names: Sequence[str], toolchain: Go, console: Console) -> None:
    """Build what is missing of `names`, with progress."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.fields[engine]}"),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        disable=not console.is_terminal,
    )
    with progress:
        targets = build(names, toolchain, report=Progressing(progress))
    console.print(f"engines ready: {len(targets)}, in {cache_folder(toolchain.environment)}", soft_wrap=True)


def ready_shown(names: Sequence[str], console: Console) -> None:
    """With a folder of ready engines nothing is built; each must be in it."""
    for name in names:
        path(name)
    console.print(f"engines ready: {len(names)}, in {os.environ[READY]} ({READY})", soft_wrap=True)


def listed(toolchain: Go, console: Console) -> None:
    """Every engine, its version, whether it is built, and what of the cache nothing needs any more."""
    rows = [("engine", "version", "tiers", "state")]
    for engine in ENGINES.values():
        target = built_path(engine, toolchain)
        state = f"built, {target.stat().st_size / 2**20:.0f} MiB" if target.is_file() else "not built"
        rows.append((engine.name, engine.version, " ".join(sorted(engine.tiers)), state))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        console.print(line.rstrip(), soft_wrap=True)  # a name that is cut or folded cannot be searched for
    console.print(f"\ncache: {cache_folder(toolchain.environment)}, for {toolchain.version}", soft_wrap=True)
    if old := stale(cache_folder(toolchain.environment), toolchain):
        size = sum(file.stat().st_size for folder in old for file in folder.iterdir())
        console.print(f"of other versions: {len(old)}, {size / 2**20:.0f} MiB; `build --prune` removes them")
