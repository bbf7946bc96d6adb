"""Where user data that works on a good day leaves a node without swap, without disk or without its daemons.

Each rule is a weakness met in production node configurations. Faults that break the text are in `user_data_check`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from floodplain.problem import Problem

from .archive import read_archive

_HEREDOC = re.compile(
    r"^(?P<command>[^\n#]*?)<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<rest>[^\n]*)\n"
    r"(?P<body>.*?)^[ \t]*(?P=end)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
_PATH = re.compile(r"/[\w.@\\/-]+")
_COMMENT = re.compile(r"^\s*#[^!].*$", re.MULTILINE)
# A file that is only looked at protects nobody.
_IO_PROTECTION = re.compile(r"IODeviceLatencyTargetSec|IOWeight|(?:>|\btee\b)[^\n;|]*\bio\.(?:latency|weight)")
_FIXED = re.compile(r"vm\.(min_free_kbytes|watermark_scale_factor)\s*=\s*['\"]?(\d+)")


def files_written(script: str) -> dict[str, str]:
    """Files that a shell part writes from here-documents: path to text, in order, a later one replacing."""
    found: dict[str, str] = {}
    for match in _HEREDOC.finditer(script):
        path = _PATH.search(match["command"]) or _PATH.search(match["rest"])
        if path:
            found[path[0]] = match["body"]
    return found


def weak_points_of_user_data(text: str) -> list[Problem]:
    """Weak points of user data that sets up swap; empty for text that does not, or is sound."""
    scripts = [part.body for _, part in read_archive(text).shell_parts()]
    files = {path: body for script in scripts for path, body in files_written(script).items()}
    whole = _COMMENT.sub("", "\n".join(scripts))
    if not re.search(r"\bswapon\b", whole):
        return []
    return [
        *_start(files),
        *_allocatable_disk(whole),
        *_daemons(files, whole),
        *_fixed_reserve(whole),
        *_room(whole),
    ]


def _start(files: dict[str, str]) -> Iterator[Problem]:
    units = _required_swap_units(files)
    if not units:
        yield Problem(
            "kubelet.service.d",
            "does not require a unit that switches swap on, so a node whose swap fails joins without it",
            "write a oneshot unit and a kubelet drop-in with Requires= and After= on it",
        )
    for path, unit in units.items():
        for key, reason in (
            ("TimeoutStartSec", "may hang until Karpenter gives the node up after 15 minutes"),
            ("FailureAction", "leaves a failed node running, and paid for, until Karpenter gives it up"),
        ):
            if not re.search(rf"^{key}=(?!infinity|none)\S", unit, re.MULTILINE):
                yield Problem(path, f"has no {key}, so it {reason}", f"set {key}")


def _required_swap_units(files: dict[str, str]) -> dict[str, str]:
    """Units that kubelet requires and whose text or program switches swap on: path to text."""
    required: set[str] = set()
    for path, body in files.items():
        if "/kubelet.service.d/" in path:
            required.update(unit for line in re.findall(r"^Requires=(.*)$", body, re.M) for unit in line.split())
    found = {}
    for path, body in files.items():
        programs = re.findall(r"^ExecStart=.*?(/[^\s;'\"]+)", body, re.MULTILINE)
        texts = [body, *(files.get(program, "") for program in programs)]
        if path.rpartition("/")[2] in required and any("swapon" in text for text in texts):
            found[path] = body
    return found


def _allocatable_disk(whole: str) -> Iterator[Problem]:
    if not re.search(r"systemReserved[\s\S]{0,400}ephemeral-storage", whole):
        yield Problem(
            "systemReserved.ephemeral-storage",
            "does not hold the swap file, so the scheduler gives its disk to pods a second time",
            "write a NodeConfig drop-in to /etc/eks/nodeadm.d at boot with the size of the file",
        )


def _daemons(files: dict[str, str], whole: str) -> Iterator[Problem]:
    for name in ("system.slice", "runtime.slice"):
        denied = any(f"/{name}.d/" in path and "MemorySwapMax=0" in body for path, body in files.items())
        if not denied and not re.search(rf"set-property.*{name}.*MemorySwapMax=0", whole):
            yield Problem(name, "may be swapped out, and the daemons in it with it", "set MemorySwapMax=0 by a drop-in")
    if not _IO_PROTECTION.search(whole):
        yield Problem(
            "system.slice and runtime.slice",
            "have no IO protection, so swap IO can starve kubelet and the container runtime",
            "set IODeviceLatencyTargetSec on both",
        )


def _fixed_reserve(whole: str) -> Iterator[Problem]:
    for key, number in _FIXED.findall(whole):
        yield Problem(
            f"vm.{key}",
            "is the same for every node size: too much for a small node or too little for a large one",
            "compute it from MemTotal at boot",
            int(number),
        )


def _room(whole: str) -> Iterator[Problem]:
    if re.search(r"\b(fallocate|dd)\b", whole) and not re.search(r"\bdf\b|\bstat\s+-f|findmnt\b.*AVAIL", whole):
        yield Problem(
            "swap file",
            "is made without asking whether the disk has room",
            "compare its size with the free bytes first and say both",
        )
