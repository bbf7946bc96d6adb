"""What a plan is made with at one moment: pools, settings and prices as last read. A value, not where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from floodplain.catalogue.prices import Prices
from floodplain.pools import PoolDocument
from floodplain.sizing.settings import SizingSettings


@dataclass(frozen=True)
class Snapshot:
    """Good content of each file, and what is wrong with the files now."""

    pools: tuple[PoolDocument, ...]
    settings: SizingSettings
    prices: Prices | None
    read_at: float
    """Unix time at which all files were last found to be good."""
    problem: str | None = None
    """What the last look at the files found wrong; the content is then older than the files."""
    example: bool = False
    """Nobody has named pools: these are the example's."""

    def same_content(self, other: Snapshot) -> bool:
        """Whether plans are the same with either. By identity: content that is read anew is another."""
        return self.pools is other.pools and self.settings is other.settings and self.prices is other.prices
