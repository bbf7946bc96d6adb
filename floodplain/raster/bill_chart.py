"""The distribution of a history's peaks with threshold and slot budget: as SVG, and as lines for a terminal. Pure.

Style, palette and size are those of the chart of plans. The axis of bytes is logarithmic, since peaks differ by
factors; so is that of tasks, since the tail is one in a hundred.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from floodplain.quantity import MIB
from floodplain.raster.bill import Bill
from floodplain.raster.peak_bins import Bin, Mark, bins, marks, peaks_of
from floodplain.sizing.chart import style
from floodplain.sizing.chart_scale import HEIGHT, LEFT, RIGHT, TOP, WIDTH, memory_text

_BOTTOM = HEIGHT - 52
_PER_OCTAVE_SVG, _PER_OCTAVE_TEXT = 6, 2
_BAR = 40
"""Length of the longest bar of a terminal."""
_FLOOR = 0.5
"""Lower edge of the axis of tasks: one task is a bar that can be seen."""
_LABEL_LINE = 15

_RULES = """.floodplain-chart .bar{fill:var(--limit);fill-opacity:.7}
.floodplain-chart .bound{fill:var(--old)}
.floodplain-chart .line{stroke-width:2}
.floodplain-chart .threshold{stroke:var(--held);stroke-dasharray:9 4}
.floodplain-chart .quantile{stroke:var(--ink);stroke-dasharray:2 3}
.floodplain-chart .slot{stroke:var(--ink)}
.floodplain-chart .big{stroke:var(--quiet);stroke-dasharray:1 3}
"""


def bill_svg(bill: Bill) -> str:
    """The chart as a file of its own. The same bill gives the same text."""
    shown, lines = bins(peaks_of(bill), _PER_OCTAVE_SVG), marks(bill)
    scale = _Scale(shown, lines)
    title = f"Peaks of {len(bill.tasks):,} tasks beyond the baseline"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="floodplain-chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-labelledby="floodplain-bill-title floodplain-bill-desc">',
        f'<title id="floodplain-bill-title">{escape(title)}</title>',
        f'<desc id="floodplain-bill-desc">{escape(_described(bill, lines))}</desc>',
        f"<style>{style()}{_RULES}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
        *_key(any(one.bounds for one in shown)),
        *_axes(scale),
        *(bar for one in shown for bar in _bars(scale, one)),
        *_lines(scale, lines),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def bill_lines(bill: Bill) -> list[str]:
    """The chart for a terminal: a line a bin, `#` for known peaks and `?` for lower bounds, marks between them."""
    shown, left = bins(peaks_of(bill), _PER_OCTAVE_TEXT), list(marks(bill))
    most = max(one.tasks for one in shown)
    width = max(len(_range(one)) for one in shown)
    found = []
    for one in shown:
        while left and left[0].bytes < one.low:
            found.append(_divider(left.pop(0), width))
        length = math.ceil(one.tasks * _BAR / most)
        unknown = round(one.bounds * length / one.tasks) if one.tasks else 0
        bar = "#" * (length - unknown) + "?" * unknown
        found.append(f"{_range(one):>{width}}  {bar:<{_BAR}}  {one.tasks:,}".rstrip())
    return [*found, *(_divider(mark, width) for mark in left)]


def _divider(mark: Mark, width: int) -> str:
    return f"{'':>{width}}  -- {mark.text}"


def _range(one: Bin) -> str:
    return f"{one.low / MIB:,.0f} to {one.high / MIB:,.0f} MiB"


class _Scale:
    """From bytes and tasks to places in the picture."""

    def __init__(self, shown: Sequence[Bin], lines: Sequence[Mark]) -> None:
        self.least = math.floor(math.log2(min([shown[0].low, *(max(mark.bytes, 1) for mark in lines)])))
        self.most = math.ceil(math.log2(max([shown[-1].high, *(mark.bytes for mark in lines)])))
        self.highest = max(10, *(one.tasks for one in shown))

    def x(self, count: float) -> float:
        return LEFT + (RIGHT - LEFT) * (math.log2(max(count, 1)) - self.least) / max(1, self.most - self.least)

    def y(self, tasks: float) -> float:
        return _BOTTOM - (_BOTTOM - TOP) * math.log(tasks / _FLOOR) / math.log(self.highest / _FLOOR)


def _key(bounds: bool) -> Iterable[str]:
    yield f'<rect class="bar" x="{LEFT}" y="35" width="14" height="12"/>'
    yield f'<text x="{LEFT + 20}" y="45">tasks by measured peak</text>'
    if bounds:
        yield f'<rect class="bound" x="{LEFT + 200}" y="35" width="14" height="12"/>'
        yield f'<text x="{LEFT + 220}" y="45">only a lower bound is known: killed, failed or in swap</text>'


def _axes(scale: _Scale) -> Iterable[str]:
    octaves = range(scale.least, scale.most + 1)
    for octave in octaves:
        x = scale.x(2**octave)
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{_BOTTOM}"/>'
        if len(octaves) <= 12 or octave % 2 == 0:
            yield f'<text class="quiet middle" x="{x:.1f}" y="{_BOTTOM + 18}">{memory_text(2**octave)}</text>'
    for power in range(len(str(scale.highest))):
        y = scale.y(10**power)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="quiet end" x="{LEFT - 8}" y="{y + 4:.1f}">{10**power:,}</text>'
    yield f'<text class="quiet middle" x="{(LEFT + RIGHT) // 2}" y="{_BOTTOM + 38}">memory beyond the baseline</text>'


def _bars(scale: _Scale, one: Bin) -> Iterable[str]:
    left, right = scale.x(one.low), scale.x(one.high)
    told = f"{_range(one)}: {one.tasks:,} tasks" + (f", {one.bounds:,} of them lower bounds" if one.bounds else "")
    for name, tasks, inset in (("bar", one.tasks, 0.5), ("bound", one.bounds, (right - left) / 4)):
        if tasks:
            top, width = scale.y(tasks), max(1.0, right - left - 2 * inset)
            yield (
                f'<rect class="{name}" x="{left + inset:.1f}" y="{top:.1f}" width="{width:.1f}"'
                f' height="{_BOTTOM - top:.1f}"><title>{told}</title></rect>'
            )


def _lines(scale: _Scale, lines: Sequence[Mark]) -> Iterable[str]:
    """Labels one below the other, each to the right of its line."""
    for number, mark in enumerate(lines):
        x = scale.x(mark.bytes)
        yield f'<line class="line {mark.name}" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{_BOTTOM}"/>'
        yield f'<text x="{x + 6:.1f}" y="{TOP + 14 + number * _LABEL_LINE}">{escape(mark.text)}</text>'


def _described(bill: Bill, lines: Sequence[Mark]) -> str:
    said = ", ".join(mark.text for mark in lines)
    return (
        f"Tasks by their peak in memory, on logarithmic axes. Lines: {said}. {bill.small.tasks:,} tasks go to the small"
        f" pool, {bill.big.tasks:,} to the big one."
    )
