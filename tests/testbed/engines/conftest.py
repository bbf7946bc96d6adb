"""A stand-in for `go` on PATH, so that builds take no time and fail as a test wants them to."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

# Its build is told by GO_DOES; the last but one argument is where the program goes.
GO = """\
#!/bin/sh
case $1 in
  version)
    if [ -n "$GOTOOLCHAIN" ] && [ -z "$NO_SWITCH" ]; then echo "go version $GOTOOLCHAIN linux/amd64"; exit 0; fi
    if [ -n "$GOTOOLCHAIN" ]; then echo "go: download $GOTOOLCHAIN: no such host" >&2; exit 1; fi
    echo "go version ${GO_IS:-go1.26.8} linux/amd64" ;;
  env) printf '{"GOCACHE": "%s", "GOMODCACHE": "%s"}' "${GO_CACHE:-$XDG_CACHE_HOME/go-build}" "$HOME/go/pkg/mod" ;;
  mod)
    if [ -n "$MODULE" ]; then printf '{"Path": "%s", "Dir": "%s"}' "$4" "$MODULE"; exit 0; fi
    printf '{"Error": "dial tcp 127.0.0.1:9: connection refused"}'; exit 1 ;;
  build)
    echo "$$ $(pwd) $*" >> "$GO_RAN"
    while [ "$1" != -o ]; do shift; done
    printf half > "$2"
    case $GO_DOES in
      slow) sleep 60 ;;
      soon) sleep 0.6 ;;
      full) cat "$0" > /dev/full || exit 1 ;;
      say) echo "$GO_SAYS"; exit 1 ;;
      nothing) rm "$2"; exit 0 ;;
    esac
    printf 'whole' > "$2"; chmod +x "$2"; echo a/package/of/it ;;
esac
"""


@dataclass(frozen=True)
class Bench:
    """An environment with the stand-in, a cache of its own, and the list of builds that ran."""

    environment: dict[str, str]
    ran: Path
    cache: Path

    def builds(self) -> list[str]:
        return self.ran.read_text().splitlines() if self.ran.exists() else []

    def binaries(self) -> list[str]:
        """Whatever lies where a finished program would, with what it holds."""
        return sorted(f"{file.name} {file.read_text()}" for file in self.cache.glob("*-v*/*"))

    def wait_for_builds(self, count: int) -> None:
        deadline = time.monotonic() + 20
        while len(self.builds()) < count:
            assert time.monotonic() < deadline, "the stand-in was not started"
            time.sleep(0.02)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    programs = tmp_path / "bin"
    programs.mkdir()
    go = programs / "go"
    go.write_text(GO)
    go.chmod(0o755)
    ran = tmp_path / "ran"
    environment = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "GO_RAN": str(ran),
    }
    yield Bench(environment, ran, tmp_path / "cache" / "floodplain" / "engines")
    # What a killed builder left running, by the ids the stand-in wrote down.
    for line in ran.read_text().splitlines() if ran.exists() else []:
        number = int(line.split()[0])
        if alive(number):
            os.killpg(number, signal.SIGKILL)


def alive(number: int) -> bool:
    """Whether the stand-in with this process id still runs."""
    try:
        status = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        return status != "Z" and b"\0build\0" in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False


@pytest.fixture
def is_alive() -> Callable[[int], bool]:
    return alive
