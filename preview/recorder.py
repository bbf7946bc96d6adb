"""Run a Pulumi program against a monitor that writes down every request and answers from `Answers`.

Each run has a thread, an empty context and an event loop of its own: Pulumi keeps settings, config and the
root stack in context variables, so two runs in one process cannot see each other. No CLI, no network.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import runpy
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from pulumi.runtime import settings
from pulumi.runtime.config import set_all_config
from pulumi.runtime.stack import run_in_stack

from .monitor import Answers, RecordingMonitor
from .recording import Recording

Program = Path | Callable[[], Any]


class DuplicateUrnError(ValueError):
    """Two registrations have one name, which the engine refuses. `urns` are sorted."""

    def __init__(self, urns: Collection[str]) -> None:
        self.urns = tuple(sorted(urns))
        super().__init__(f"registered more than once: {', '.join(self.urns)}")


def record(
    program: Program,
    answers: Answers,
    *,
    project: str = "floodplain",
    stack: str = "test",
    organization: str = "organization",
    config: Mapping[str, str] | None = None,
    secret_keys: Collection[str] = (),
) -> Recording:
    """Run `program` (a file, or a callable) and return what it asked for.

    Raises what the program raised, in the caller's thread, or DuplicateUrnError.
    """
    # After one failure every sibling future would log a traceback of its own; the real host mutes it too.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    monitor = RecordingMonitor(answers, project=project, stack=stack)

    def run() -> None:
        set_all_config(dict(config or {}), list(secret_keys))
        settings.configure(
            settings.Settings(
                project=project,
                stack=stack,
                organization=organization,
                dry_run=not answers.known,
                monitor=monitor,
                engine=monitor,
            )
        )
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.set_default_executor(_AtOnce())
        try:
            loop.run_until_complete(run_in_stack(lambda: _run(program)))
        finally:
            loop.run_until_complete(loop.shutdown_default_executor())
            asyncio.set_event_loop(None)
            loop.close()

    # What the program prints is for people; the answer of the command stands alone on the standard output.
    with _collector_paused(), redirect_stdout(sys.stderr):
        _in_own_thread(run)
    repeated = [urn for urn, count in Counter(monitor.urns).items() if count > 1]
    if repeated:
        raise DuplicateUrnError(repeated)
    return monitor.recording()


class _AtOnce(ThreadPoolExecutor):
    """Answers in the loop's own thread, for nothing here waits. The loop takes no executor but this class's."""

    def submit(self, answer: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(answer(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future


def _run(program: Program) -> Any:
    if not isinstance(program, Path):
        result = program()
        return result if asyncio.iscoroutine(result) else None
    with _importable(program.parent):
        runpy.run_path(str(program), run_name="__main__")
    return None


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """As the language host does: the program's own folder comes first on the import path."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Thousands of futures live until the end of a run; looking through them again and again doubles its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _in_own_thread(body: Callable[[], None]) -> None:
    failure: list[BaseException] = []

    def target() -> None:
        try:
            contextvars.Context().run(body)
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="pulumi-program")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
