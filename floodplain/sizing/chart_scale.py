"""Where a chart puts image counts and bytes: two logarithmic axes, their ticks, and labels that keep apart. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from floodplain.quantity import GIB, MIB
from floodplain.sizing.chart_figures import Figures

WIDTH, HEIGHT = 960, 560
LEFT, RIGHT, TOP = 76, 800, 76
_BOTTOM = HEIGHT - 52
_UNITS = ((1 << 50, "PiB"), (1 << 40, "TiB"), (GIB, "GiB"), (MIB, "MiB"))


@dataclass(frozen=True)
class Scale:
    """From figures to places in the picture, in its units."""

    least_images: int
    most_images: int
    least_octave: int
    """The lower edge is 2 ** this many bytes."""
    most_octave: int
    bottom: int = _BOTTOM

    def x(self, images: int) -> float:
        span = math.log(self.most_images / self.least_images)
        return LEFT + (RIGHT - LEFT) * math.log(images / self.least_images) / span

    def y(self, count: int) -> float:
        octaves = self.most_octave - self.least_octave
        return self.bottom - (self.bottom - TOP) * (math.log2(count) - self.least_octave) / octaves

    def image_ticks(self) -> list[int]:
        """1, 2 and 5 times the powers of ten."""
        return [
            factor * 10**power
            for power in range(len(str(self.most_images)))
            for factor in (1, 2, 5)
            if self.least_images <= factor * 10**power <= self.most_images
        ]

    def memory_ticks(self) -> list[int]:
        """Powers of two."""
        return [1 << octave for octave in range(self.least_octave, self.most_octave + 1)]


def scale_of(shown: Figures) -> Scale:
    """The scale that shows every curve and ceiling."""
    counts = [
        count
        for point in shown.points
        for count in (point.peak_bytes, point.limit_bytes, point.held_bytes, point.old_limit_bytes)
    ]
    counts += [ceiling.allocatable_bytes for ceiling in shown.ceilings]
    least = min(count for count in counts if count > 0)
    return Scale(
        least_images=shown.points[0].images,
        most_images=shown.points[-1].images,
        least_octave=least.bit_length() - 1,
        most_octave=max(counts).bit_length(),
    )


def memory_text(count: int) -> str:
    """A power of two of bytes: `512 MiB`, `16 GiB`, `2 TiB`."""
    for size, unit in _UNITS:
        if count >= size:
            return f"{count // size} {unit}"
    return f"{count} bytes"


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """The places wanted, moved down where two would be nearer than `gap`. Keeps the order from top to bottom."""
    placed = [0.0] * len(wanted)
    last = -math.inf
    for position in sorted(range(len(wanted)), key=lambda number: wanted[number]):
        last = max(wanted[position], last + gap)
        placed[position] = last
    return placed
