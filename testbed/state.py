"""Where does a testbed keep its data, logs and process ids? A folder of its own, used by one testbed at a time.

A folder that a crashed testbed left behind is taken over: processes recorded in it are ended and its content is
removed. A folder that holds anything else is refused, so that a wrong path never costs somebody their files.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType

from testbed.engine_error import EngineError

MARK = ".floodplain-testbed"
PROCESSES = "processes.jsonl"
_open: list["State"] = []
_kept_from_now_on = False

# What etcd, logs, Pulumi's state and the sparse disks of nodes take at most in a run, measured at about half of it.
NEEDED_BYTES = 2 * 2**30


class State:
    """A folder, open while the context is: temporary and removed at the end, or a given one, which stays.

    A temporary one stays too when an error leaves the block, since it holds the logs; the error's notes say where.
    Raises EngineError when the folder holds foreign files, is in use by another testbed, or lies on a full disk.
    """

    def __init__(self, folder: Path | None = None, *, needed_bytes: int = NEEDED_BYTES) -> None:
        self._given = folder
        self._needed_bytes = needed_bytes
        self._lock = -1
        self.folder = folder.absolute() if folder is not None else Path()

    def path(self, *parts: str) -> Path:
        """A path below the folder, whose parent exists."""
        path = self.folder.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def record(self, name: str, pid: int) -> None:
        """Remember a process that was started for this testbed, for whoever must end it after a crash."""
        line = json.dumps({"name": name, "pid": pid, "started": _started(pid)})
        with self.path(PROCESSES).open("a") as file:
            file.write(line + "\n")

    def __enter__(self) -> "State":
        try:
            if self._given is None:
                self.folder = Path(tempfile.mkdtemp(prefix="floodplain-testbed-"))
            self._take()
            self._require_room()
        except OSError as error:
            place = self.folder if self.folder != Path() else tempfile.gettempdir()
            if self._given is None and self.folder != Path():
                shutil.rmtree(self.folder, ignore_errors=True)
            raise EngineError(
                f"state folder {place}: {error.strerror or error}; name a folder of your own on a disk with room"
            ) from error
        _open.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _open.remove(self)
        self._end_recorded()
        # Where nothing was started there is nothing to look up.
        failed = (isinstance(error, Exception) or _kept_from_now_on) and (self.folder / "logs").exists()
        if failed and error is not None:
            error.add_note(f"state and logs stay in {self.folder}")
        if self._given is None and not failed:
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    def _take(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = self.folder / MARK
        if not mark.exists() and any(self.folder.iterdir()):
            raise EngineError(
                f"state folder {self.folder}: holds files that no testbed wrote; name an empty or a new folder"
            )
        self._lock = os.open(mark, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise EngineError(
                f"state folder {self.folder}: another testbed uses it; name another folder, or end that one"
            ) from None
        self._end_recorded()
        for entry in self.folder.iterdir():
            if entry == mark:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def _require_room(self) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < self._needed_bytes:
            os.close(self._lock)
            if self._given is None:
                shutil.rmtree(self.folder)
            raise EngineError(
                f"state folder {self.folder}: {free / 2**30:.1f} GiB free on its disk, a testbed needs "
                f"{self._needed_bytes / 2**30:.1f} GiB; free some, or set TMPDIR or name a folder on another disk"
            )

    def _end_recorded(self) -> None:
        records = self.folder / PROCESSES
        if not records.exists():
            return
        for line in reversed(records.read_text().splitlines()):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:  # cut off by a crash or a full disk
                continue
            _end(int(record["pid"]), str(record["started"]))
        records.unlink()


def keep_logs() -> list[Path]:
    """For failures that do not pass through a block, as those of tests that share one: from now on no temporary folder
    of this Python process is removed. The folders that are open now."""
    global _kept_from_now_on
    _kept_from_now_on = True
    return [state.folder for state in _open]


def _started(pid: int) -> str:
    """When the kernel started a process, in ticks since which boot: with it an id given anew is not mistaken."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The second field, the program's name, may hold spaces and brackets; after it the start time is the 20th.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else f"{fields[19]} {boot}"


def _end(pid: int, started: str) -> None:
    if not started or _started(pid) != started:
        return
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(pid) == pid:  # an engine leads a group of its own (`processes`), with what it has started
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while _started(pid) == started and time.monotonic() < deadline:
        time.sleep(0.02)
