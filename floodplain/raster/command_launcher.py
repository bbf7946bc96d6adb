"""Starts one command and tells what the kernel counted of it. A script: `python -I -S THIS FD PROCS CMD...`

A program of its own, and small, because a child carries the resident memory of its parent at the fork in `ru_maxrss`,
also after exec: started by a program of 500 MB, `true` would have held 500 MB (facts/sizing.md 4). So it imports next
to nothing, and nothing of ours. Onto the file descriptor FD it writes lines: `floor BYTES`, the mark that the child
carries before exec; `refused ERRNO` where there was no exec; `pid N` once it is over; `end STATUS MAXRSS`, as of wait4.
PROCS is the cgroup.procs of the cgroup that the child is to be in, or empty.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes enums of everything, a megabyte of them
import os
import sys

# The terminal sends these to the whole group; whether to end is the command's decision.
KEPT = (_signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM, _signal.SIGHUP)
# Python itself ignores these.
BY_PYTHON = tuple(getattr(_signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(_signal, name))


def _floor() -> bytes:
    try:
        file = os.open("/proc/self/status", os.O_RDONLY)
        text = os.read(file, 8192)
        os.close(file)
        return b"floor %d\n" % (int(text.partition(b"VmHWM:")[2].split()[0]) * 1024)
    except (OSError, ValueError, IndexError):
        return b""


def _become(report: int, procs: str, command: list[str]) -> None:
    try:
        if procs:
            with open(procs, "w") as file:  # noqa: PTH123 - pathlib is large
                file.write("0")
        os.write(report, _floor())
        os.execvp(command[0], command)
    except OSError as error:
        os.write(report, b"refused %d\n" % (error.errno or 0))
    except ValueError:  # an empty name
        os.write(report, b"refused 2\n")
    finally:
        os._exit(126)


def main(arguments: list[str]) -> None:
    report, procs, command = int(arguments[0]), arguments[1], arguments[2:]
    os.set_inheritable(report, False)
    ignored = {number for number in KEPT if _signal.getsignal(number) == _signal.SIG_IGN}
    for number in KEPT:
        _signal.signal(number, _signal.SIG_IGN)
    before_exec, closed_by_exec = os.pipe()
    child = os.fork()
    if child == 0:
        for number in (*KEPT, *BY_PYTHON):
            _signal.signal(number, _signal.SIG_IGN if number in ignored else _signal.SIG_DFL)
        _become(report, procs, command)
    os.close(closed_by_exec)
    os.read(before_exec, 1)
    os.write(report, b"pid %d\n" % child)
    _, status, used = os.wait4(child, 0)
    os.write(report, b"end %d %d\n" % (status, used.ru_maxrss))


if __name__ == "__main__":
    main(sys.argv[1:])
