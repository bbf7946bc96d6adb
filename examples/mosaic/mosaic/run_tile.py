"""One try of one tile in a slot of a pool: supervised, its end and its peak written down. Knows no engine."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from floodplain.raster.history_file import append
from floodplain.raster.record import Method, Outcome, Record
from mosaic.ends import End, How, append_end
from mosaic.settings import LAYER, POOLS
from mosaic.supervise import Ended, parents, supervise, tile_command
from mosaic.tiles import Tile

HISTORY, ENDS = "peaks.jsonl", "ends.jsonl"


def run_tile(
    tile: Tile, folder: Path, *, run: str, pool: str, limit_bytes: int, timeout_seconds: float, estimate_bytes: int
) -> End:
    """The end of this try; it is in ends.jsonl by then, and its peak in peaks.jsonl."""
    arguments = ["--tile", tile.model_dump_json(), "--folder", str(folder)]
    arguments += ["--estimate-bytes", str(estimate_bytes), "--slot-limit-bytes", str(limit_bytes)]
    ended = supervise(tile_command(*arguments), timeout_seconds=timeout_seconds, limit_bytes=limit_bytes)
    record = record_of(ended, tile.name, limit_bytes=limit_bytes, estimate_bytes=estimate_bytes)
    if record is not None:
        append(folder / HISTORY, record)
    end = End(
        run=run,
        tile=tile.name,
        pool=pool,
        how=ended.how,
        words=ended.words,
        began=ended.began,
        ended=ended.ended,
        pid=ended.pid,
        parents=(os.getpid(), *parents(os.getpid())),
        limit_bytes=limit_bytes,
        peak_bytes=ended.peak_bytes,
    )
    append_end(folder / ENDS, end)
    return end


def record_of(ended: Ended, task: str, *, limit_bytes: int, estimate_bytes: int) -> Record | None:
    """What the history is told: of a tile that was killed for memory a lower bound, without which the history would be
    too low; of one that timed out nothing, for it may not have come to its peak."""
    if ended.how is How.OUT_OF_MEMORY:
        return Record(
            layer=LAYER,
            peak_bytes=limit_bytes,
            marginal_bytes=max(0, limit_bytes - POOLS.baseline_bytes),
            baseline_bytes=POOLS.baseline_bytes,
            censored=True,
            outcome=Outcome.KILLED,
            method=Method.NONE,
            estimate_bytes=estimate_bytes,
            slot_limit_bytes=limit_bytes,
            seconds=ended.ended - ended.began,
            task=task,
        )
    lines = ended.output.splitlines()
    if ended.how is not How.DONE or not lines:
        return None
    try:
        return Record.model_validate_json(lines[-1])
    except ValidationError:
        return None
