"""A Prefect server, two pools and their workers, started once; runs of the flow against them, as a user starts them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from floodplain.raster.history_file import read
from floodplain.raster.record import Record
from mosaic.ends import End
from mosaic.local_prefect import LocalPrefect, local_prefect
from mosaic.run_tile import ENDS, HISTORY


@pytest.fixture(scope="session")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPrefect]:
    with local_prefect(tmp_path_factory.mktemp("prefect")) as running:
        yield running


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
