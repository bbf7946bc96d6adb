"""One run of the flow against a running Prefect, started as a user starts it, and what it left behind."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from floodplain.raster.history_file import read
from floodplain.raster.record import Record
from mosaic.ends import End
from mosaic.local_prefect import LocalPrefect
from mosaic.run_tile import ENDS, HISTORY


@dataclass(frozen=True)
class Run:
    """One run of the flow that has ended."""

    folder: Path
    status: int
    output: str

    @property
    def ends(self) -> list[End]:
        lines = (self.folder / ENDS).read_text(encoding="utf-8").splitlines()
        return [End.model_validate_json(line) for line in lines]

    @property
    def records(self) -> list[Record]:
        return read(self.folder / HISTORY)

    def tries(self, tile: str) -> list[tuple[str, str]]:
        """Pool and how it ended, of each try of this tile."""
        return [(end.pool, str(end.how)) for end in self.ends if end.tile == tile]


def run_flow(prefect: LocalPrefect, folder: Path, *options: str) -> Run:
    command = [sys.executable, "-m", "mosaic", "flow", str(folder), *options]
    done = subprocess.run(
        command, env=dict(prefect.environment), capture_output=True, text=True, check=False, timeout=400
    )
    return Run(folder, done.returncode, done.stdout + done.stderr)
