"""What became of every tile of a run. Pure but for reading ends.jsonl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic.ends import How, last_of_each, read_ends
from mosaic.routes import Place, Route


@dataclass(frozen=True)
class Outcome:
    """Names of tiles by what became of them; `missing` has a reason for each."""

    built: tuple[str, ...]
    skipped: tuple[str, ...]
    missing: Mapping[str, str]
    out_of_memory: tuple[str, ...] = ()
    """Those of the missing that were killed for memory."""

    @property
    def words(self) -> str:
        counts = f"{len(self.built)} tiles built, {len(self.skipped)} without any raster skipped"
        lines = [f"{name}: {why}" for name, why in self.missing.items()]
        return "\n".join([f"{counts}, {len(lines)} missing", *lines] if lines else [counts])


def outcome_of(routes: Sequence[Route], unroutable: Mapping[str, str], ends: Path, run: str) -> Outcome:
    """A tile of which no end was written is missing too: its worker died, or never began."""
    last = last_of_each(read_ends(ends, run))
    missing = dict(unroutable)
    built, skipped, killed = [], [], []
    for route in routes:
        name = route.tile.name
        if route.place is Place.SKIPPED:
            skipped.append(name)
        elif route.place is Place.REFUSED:
            missing[name] = f"refused: {route.why}"
        elif name not in last:
            missing[name] = f"nothing was heard of it in the {route.place} pool: see its worker's log"
        elif last[name].how is How.DONE:
            built.append(name)
        else:
            missing[name] = f"{last[name].words} (in the {last[name].pool} pool)"
            if last[name].how is How.OUT_OF_MEMORY:
                killed.append(name)
    return Outcome(tuple(built), tuple(skipped), missing, tuple(killed))
