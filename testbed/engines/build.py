"""Builds engines into the cache. A build that is interrupted, killed or out of disk leaves no binary behind.

One builder at a time works on an engine: whoever comes second waits and then finds it done. Everything unfinished
lies in a work folder beside the cache's entries and is wiped by the next builder; a finished binary is renamed into
its place. Go's own processes hold the lock too, so that one which outlives us cannot write over its successor's work.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from testbed.engine_error import EngineError
from testbed.engines.modules import unpacked
from testbed.engines.room import free_bytes, require_room
from testbed.engines.table import Engine, named
from testbed.engines.toolchain import Go
from testbed.engines.trouble import explained
from testbed.engines.where import built_path


class Step(StrEnum):
    """What happens to an engine."""

    PRESENT = "present"
    WAITING = "waiting"
    BUILDING = "building"
    LINE = "line"
    BUILT = "built"


@dataclass(frozen=True)
class Event:
    """One step of one engine, for whoever shows progress: `seconds` of a build, a `line` that Go printed."""

    name: str
    step: Step
    seconds: float = 0.0
    line: str = ""


Report = Callable[[Event], None]


def build(
    names: Sequence[str], toolchain: Go, *, report: Report = lambda _: None, free: Callable[[Path], int] = free_bytes
) -> dict[str, Path]:
    """Every engine of `names`, built where it is missing. Raises EngineError at the first that cannot be."""
    targets = {name: built_path(named(name), toolchain) for name in names}
    missing = [name for name, target in targets.items() if not target.is_file()]
    if missing:
        require_room([named(name) for name in missing], targets[missing[0]].parent.parent, toolchain, free)
    for name, target in targets.items():
        _build_one(named(name), target, toolchain, report)
    return targets


def _build_one(engine: Engine, target: Path, toolchain: Go, report: Report) -> None:
    if target.is_file():
        report(Event(engine.name, Step.PRESENT))
        return
    work = target.parent.parent / ".work" / engine.name
    try:
        with _locked(work.with_suffix(".lock"), lambda: report(Event(engine.name, Step.WAITING))) as lock:
            if target.is_file():
                report(Event(engine.name, Step.PRESENT))
                return
            begun = time.monotonic()
            report(Event(engine.name, Step.BUILDING))
            with _emptied(work):
                binary = _compiled(engine, work, toolchain, lock, report)
                target.parent.mkdir(parents=True, exist_ok=True)
                binary.replace(target)
            report(Event(engine.name, Step.BUILT, seconds=time.monotonic() - begun))
    except OSError as error:
        raise EngineError(
            f"{engine.name} could not be built in {work}: {error.strerror or error}; free some space or set "
            "XDG_CACHE_HOME to a folder that can be written"
        ) from error


@contextlib.contextmanager
def _locked(file: Path, waiting: Callable[[], None]) -> Iterator[int]:
    """The lock's descriptor. The file stays: removing it would let two builders hold two locks of one name."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _emptied(work: Path) -> Iterator[None]:
    """The folder without what a killed build left in it; removed afterwards."""
    if work.exists():
        shutil.rmtree(work)
    work.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _compiled(engine: Engine, work: Path, toolchain: Go, lock: int, report: Report) -> Path:
    """The binary that `go build` made, whole and on the disk, still in the work folder."""
    binary = work / engine.name
    temporary = work / "go"
    temporary.mkdir()
    sources = _with_data(engine, work / "source", toolchain) if engine.data else engine.sources
    command = [toolchain.executable, "build", "-v", "-mod=readonly", "-buildvcs=false", "-ldflags", engine.linker_flags]
    command += ["-tags", ",".join(engine.tags)] if engine.tags else []
    command += ["-o", str(binary), engine.package]
    process = subprocess.Popen(
        command,
        cwd=sources,
        env={**toolchain.environment, "GOTMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # Ctrl-C reaches only us; we end the whole group
        pass_fds=(lock,),
    )
    assert process.stdout
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            report(Event(engine.name, Step.LINE, line=line.rstrip()))
        code = process.wait()
    except BaseException:
        _end(process)
        raise
    if code != 0:
        raise explained(f"{engine.name} {engine.version}", "".join(lines) or f"go build ended with status {code}")
    if not binary.is_file():
        raise EngineError(f"{engine.name}: `go build` ended well but made no program; is {engine.package} a command?")
    # A machine that loses power must not keep the name of a file whose content it never wrote.
    with binary.open("rb") as file:
        os.fsync(file.fileno())
    return binary


def _with_data(engine: Engine, source: Path, toolchain: Go) -> Path:
    """A copy of our module with the files of the engine's module that it embeds; they are not ours to commit."""
    shutil.copytree(engine.sources, source)
    module = unpacked(engine.module, toolchain)
    for file in engine.data:
        shutil.copyfile(module / file, source / Path(file).name)
    return source


def _end(process: "subprocess.Popen[str]") -> None:
    """End go and the compilers it started: they share the session that we gave it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            continue
        return
