"""Image count against memory as an SVG: peak, our limit and what holds it, nodes, and where the old rule breaks.

Pure: the same job, pools and settings give the same text. What is drawn is `chart_figures`, where is `chart_scale`.
Both axes are logarithmic: nodes double from size to size, and small jobs are the most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

from floodplain.pools import PoolDocument
from floodplain.sizing.chart_figures import Band, Figures, Point, figures
from floodplain.sizing.chart_scale import HEIGHT, LEFT, RIGHT, TOP, WIDTH, Scale, apart, memory_text, scale_of
from floodplain.sizing.explain import memory
from floodplain.sizing.plan import Plan
from floodplain.sizing.settings import SizingSettings
from floodplain.sizing.workload import Workload

_CEILING_LABEL = 240
"""About the length of a ceiling's name."""

LIGHT = {"paper": "#ffffff", "ink": "#1b1f24", "quiet": "#57606a", "grid": "#d8dee4"}
LIGHT |= {"peak": "#1b1f24", "limit": "#0060a8", "held": "#00735c", "old": "#b34700"}
DARK = {"paper": "#14181d", "ink": "#e6edf3", "quiet": "#9aa4af", "grid": "#30363d"}
DARK |= {"peak": "#e6edf3", "limit": "#6cb6ff", "held": "#3fcf9f", "old": "#ff9d5c"}
"""Blue, green and orange of about the Okabe-Ito palette, which people tell apart whatever their colour vision; each
line has a dash pattern and a label of its own as well."""


@dataclass(frozen=True)
class _Curve:
    name: str
    label: str
    of: Callable[[Point], int]


_CURVES = (
    _Curve("held", "our limit + swap grant", lambda point: point.held_bytes),
    _Curve("peak", "predicted peak", lambda point: point.peak_bytes),
    _Curve("old", "ScaleODM's limit", lambda point: point.old_limit_bytes),
    _Curve("limit", "our limit", lambda point: point.limit_bytes),
)


def chart_svg(
    workload: Workload, pools: Sequence[PoolDocument], settings: SizingSettings, *, marked: Plan | None
) -> str:
    """The chart of jobs like this one in these pools. `marked` is a plan to show at its count of images."""
    shown = figures(workload, pools, settings)
    scale = scale_of(shown)
    title = _title(workload)
    described = _described(shown, marked)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="floodplain-chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-labelledby="floodplain-chart-title floodplain-chart-desc">',
        f'<title id="floodplain-chart-title">{escape(title)}</title>',
        f'<desc id="floodplain-chart-desc">{escape(described)}</desc>',
        f"<style>{style()}</style>",
        _PATTERNS,
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text class="title" x="{LEFT}" y="24">{escape(title)}</text>',
        *_key(shown),
        *_bands(scale, shown.unsafe, "unsafe"),
        *_bands(scale, shown.unplaced, "unplaced"),
        *_axes(scale),
        *_ceilings(scale, shown),
        *(_curve(scale, curve, shown.points) for curve in _CURVES),
        *_labels(scale, shown.points[-1]),
        *(_mark(scale, marked) if marked is not None else ()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def style() -> str:
    """The chart's rules, light and dark. A page that forbids styles in its text puts them into its own style sheet."""
    rules = """
.floodplain-chart text{font:12px system-ui,sans-serif;fill:var(--ink);paint-order:stroke;stroke:var(--paper);
stroke-width:3px;stroke-linejoin:round}
.floodplain-chart .title{font-size:15px;font-weight:600}
.floodplain-chart .quiet{fill:var(--quiet)}
.floodplain-chart .end{text-anchor:end}
.floodplain-chart .middle{text-anchor:middle}
.floodplain-chart .paper{fill:var(--paper)}
.floodplain-chart .grid{stroke:var(--grid);stroke-width:1}
.floodplain-chart .ceiling{stroke:var(--quiet);stroke-width:1;stroke-dasharray:1 3}
.floodplain-chart .unsafe{fill:url(#floodplain-chart-unsafe)}
.floodplain-chart .unplaced{fill:url(#floodplain-chart-unplaced)}
.floodplain-chart .hatch{stroke:var(--quiet);stroke-width:1;stroke-opacity:.45}
.floodplain-chart .tint{fill:var(--old);fill-opacity:.2}
.floodplain-chart .stripe{stroke:var(--old);stroke-width:1;stroke-opacity:.5}
.floodplain-chart path{fill:none;stroke-width:2.5;stroke-linejoin:round}
.floodplain-chart .held{stroke:var(--held);stroke-dasharray:9 4}
.floodplain-chart .peak{stroke:var(--peak)}
.floodplain-chart .old{stroke:var(--old);stroke-dasharray:2 3}
.floodplain-chart .limit{stroke:var(--limit)}
.floodplain-chart .mark{stroke:var(--ink);stroke-width:1.5}
.floodplain-chart .dot{stroke:var(--paper);stroke-width:1.5;fill:var(--ink)}"""
    names = "".join(f"\n.floodplain-chart .{name}-name{{fill:var(--{name})}}" for name in ("held", "old", "limit"))
    dark = f"@media (prefers-color-scheme:dark){{.floodplain-chart{{{_variables(DARK)}}}}}"
    return f"\n.floodplain-chart{{{_variables(LIGHT)}}}\n{dark}{rules}{names}\n"


def _variables(colours: dict[str, str]) -> str:
    return ";".join(f"--{name}:{colour}" for name, colour in colours.items())


_PATTERNS = """<defs>
<pattern id="floodplain-chart-unsafe" width="6" height="6" patternUnits="userSpaceOnUse">
<rect class="tint" width="6" height="6"/><line class="stripe" x1="0" y1="6" x2="6" y2="0"/>
</pattern>
<pattern id="floodplain-chart-unplaced" width="8" height="8" patternUnits="userSpaceOnUse">
<line class="hatch" x1="0" y1="0" x2="8" y2="8"/>
</pattern>
</defs>"""


def _title(workload: Workload) -> str:
    options = f" with {', '.join(workload.options.texts)}" if workload.options.texts else ""
    return f"Memory of {workload.engine.value.upper()} jobs{options} by image count"


def _described(shown: Figures, marked: Plan | None) -> str:
    first, last = shown.points[0], shown.points[-1]
    sentences = [
        f"From {first.images:,} to {last.images:,} images the predicted peak grows from {memory(first.peak_bytes)} to"
        f" {memory(last.peak_bytes)}, our limit from {memory(first.limit_bytes)} to {memory(last.limit_bytes)}, and"
        f" limit and swap grant from {memory(first.held_bytes)} to {memory(last.held_bytes)}.",
        f"ScaleODM's limit lies above the smallest node that takes its request for {shown.unsafe_percent} % of the"
        f" counts{_listed(shown.unsafe)}.",
    ]
    if shown.unplaced:
        sentences.append(f"No node of these pools takes the job{_listed(shown.unplaced)}.")
    if marked is not None:
        sentences.append(f"Marked: {_marked_text(marked)}.")
    return " ".join(sentences)


def _listed(bands: Sequence[Band]) -> str:
    return ": " + ", ".join(f"{band.first:,} to {band.last:,}" for band in bands) if bands else ""


def _key(shown: Figures) -> Iterable[str]:
    yield f'<rect class="unsafe" x="{LEFT}" y="35" width="14" height="12"/>'
    text = f"ScaleODM's limit lies above the smallest node that takes its request ({shown.unsafe_percent} % of counts)"
    yield f'<text x="{LEFT + 20}" y="45">{text}</text>'
    if shown.unplaced:
        yield f'<rect class="unplaced" x="{RIGHT - 105}" y="35" width="14" height="12"/>'
        yield f'<text x="{RIGHT - 85}" y="45">no node of these pools takes the job</text>'


def _bands(scale: Scale, bands: Sequence[Band], name: str) -> Iterable[str]:
    for band in bands:
        left, right = scale.x(band.first), scale.x(band.last)
        width = max(right - left, 1.0)
        yield (
            f'<rect class="{name}" x="{left:.1f}" y="{TOP}" width="{width:.1f}" height="{scale.bottom - TOP}">'
            f"<title>{band.first:,} to {band.last:,} images</title></rect>"
        )


def _axes(scale: Scale) -> Iterable[str]:
    for images in scale.image_ticks():
        x = scale.x(images)
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{scale.bottom}"/>'
        yield f'<text class="quiet middle" x="{x:.1f}" y="{scale.bottom + 18}">{images:,}</text>'
    for count in scale.memory_ticks():
        y = scale.y(count)
        yield f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>'
        yield f'<text class="quiet end" x="{LEFT - 8}" y="{y + 4:.1f}">{memory_text(count)}</text>'
    middle = (LEFT + RIGHT) // 2
    yield f'<text class="quiet middle" x="{middle}" y="{scale.bottom + 38}">images</text>'


def _ceilings(scale: Scale, shown: Figures) -> Iterable[str]:
    """Named at the left where the curves run below, else at the right where they run above."""
    beside = [point for point in shown.points if scale.x(point.images) < LEFT + _CEILING_LABEL]
    for line, above in (("dotted: memory for", 22), ("pods on these nodes", 6)):
        yield f'<text class="quiet" x="{RIGHT + 8}" y="{scale.bottom - above}">{line}</text>'
    highest = max(curve.of(point) for curve in _CURVES for point in beside)
    lowest = {True: float(scale.bottom), False: float(scale.bottom)}
    for ceiling in shown.ceilings:
        y = scale.y(ceiling.allocatable_bytes)
        yield f'<line class="ceiling" x1="{LEFT}" y1="{y:.1f}" x2="{RIGHT}" y2="{y:.1f}"/>'
        left = ceiling.allocatable_bytes > highest
        if y > lowest[left] - 13:
            continue
        lowest[left] = y
        others = f" and {len(ceiling.types) - 1} more" if len(ceiling.types) > 1 else ""
        text = escape(f"{ceiling.types[0]}{others}: {memory(ceiling.allocatable_bytes)}")
        place = f'class="quiet" x="{LEFT + 6}"' if left else f'class="quiet end" x="{RIGHT - 6}"'
        yield f'<text {place} y="{y - 3:.1f}">{text}</text>'


def _curve(scale: Scale, curve: _Curve, points: Sequence[Point]) -> str:
    steps = " L".join(f"{scale.x(point.images):.1f} {scale.y(curve.of(point)):.1f}" for point in points)
    return f'<path class="{curve.name}" d="M{steps}"/>'


def _labels(scale: Scale, last: Point) -> Iterable[str]:
    """At the lines' ends, moved apart where they would lie on each other."""
    wanted = [scale.y(curve.of(last)) + 4 for curve in _CURVES]
    for curve, y in zip(_CURVES, apart(wanted, 15), strict=True):
        yield f'<text class="{curve.name}-name" x="{RIGHT + 8}" y="{y:.1f}">{curve.label}</text>'


def _mark(scale: Scale, marked: Plan) -> Iterable[str]:
    if marked.images is None:
        return
    x = scale.x(marked.images)
    yield f'<line class="mark" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{scale.bottom}"/>'
    held = marked.limit_bytes + marked.swap_grant_bytes
    for count in (marked.peak_bytes, marked.limit_bytes, held):
        yield f'<circle class="dot" cx="{x:.1f}" cy="{scale.y(count):.1f}" r="4.5"/>'
    anchor = ' class="end"' if x > (LEFT + RIGHT) / 2 else ""
    yield f'<text{anchor} x="{x:.1f}" y="{TOP - 6}">{escape(_marked_text(marked))}</text>'


def _marked_text(marked: Plan) -> str:
    held = memory(marked.limit_bytes + marked.swap_grant_bytes)
    count = f"{marked.images:,} image{'' if marked.images == 1 else 's'}"
    return f"{count}: peak {memory(marked.peak_bytes)}, limit {memory(marked.limit_bytes)}, with swap {held}"
