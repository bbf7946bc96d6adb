"""The chart: its figures against sums done apart, its text whole, and nobody's name breaks it."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.pools import PoolDocument
from floodplain.problem import RuleError
from floodplain.quantity import GIB, MIB
from floodplain.sizing.chart import DARK, LIGHT, chart_svg, style
from floodplain.sizing.chart_figures import Band, Ceiling, figures
from floodplain.sizing.chart_scale import LEFT, RIGHT, TOP, apart, memory_text, scale_of
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.plan import Plan
from floodplain.sizing.planner import make_plan
from floodplain.sizing.predictor import predict
from floodplain.sizing.scaleodm import PROD, size
from floodplain.sizing.settings import Compatibility, SizingSettings
from floodplain.sizing.workload import CapacityType, Workload
from tests.conftest import Golden
from tests.floodplain.sizing.example_pools import LARGE, MIDDLE, NOTHING_BESIDE, SMALL, kind, pool

DSM = Workload(images=5000, options="dsm")
LIKE_SCALEODM = SizingSettings(compatibility=Compatibility.SCALEODM)
"""Its table is fixed, so that the pictures here do not change with our model."""
SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def ours(pools: Sequence[PoolDocument]) -> Plan:
    """Our plan for the peak that ScaleODM predicts."""
    return make_plan(DSM, pools, prediction=predict(DSM, LIKE_SCALEODM))


def by_class(root: ElementTree.Element, tag: str, name: str) -> list[ElementTree.Element]:
    return [one for one in root.iter(f"{SVG}{tag}") if name in one.get("class", "").split()]


def test_the_chart_of_a_plan_in_the_example_pool(golden: Golden) -> None:
    marked = ours([default_pool()])
    text = chart_svg(DSM, [default_pool()], LIKE_SCALEODM, marked=marked)
    golden.check("floodplain/sizing/golden/chart-5000-dsm.svg", text)
    assert chart_svg(DSM, [default_pool()], LIKE_SCALEODM, marked=marked) == text


def test_the_bands_are_the_counts_whose_old_limit_lies_above_their_smallest_node() -> None:
    """The same by hand: 1 MiB of overhead, nodes with all but 1 GiB, no DaemonSets."""
    nodes = [node.allocatable_memory_bytes for node in (SMALL, MIDDLE, LARGE)]

    def unsafe(images: int) -> bool:
        old = size(images, (), PROD)
        node = next((node for node in nodes if node >= old.request_bytes + MIB), None)
        return node is not None and old.limit_bytes > node

    wanted: list[Band] = []
    for images in range(40, 12_001):
        if unsafe(images):
            first = wanted.pop().first if wanted and wanted[-1].last == images - 1 else images
            wanted.append(Band(first, images))
    shown = figures(Workload(images=300), [pool()], NOTHING_BESIDE)
    assert list(shown.unsafe) == wanted
    assert len(wanted) == 3
    counts = sum(band.last - band.first + 1 for band in wanted)
    assert shown.unsafe_percent == round(100 * counts / (12_000 - 40 + 1))


def test_from_where_no_node_takes_the_job_is_found_to_the_image() -> None:
    shown = figures(Workload(images=300), [pool()], LIKE_SCALEODM)
    (band,) = shown.unplaced

    def taken(images: int) -> bool:
        # Judged in our own way: compatibility only gives the peak.
        own = figures(Workload(images=images), [pool()], LIKE_SCALEODM)
        return next(point.placed for point in own.points if point.images == images)

    assert (taken(band.first - 1), taken(band.first), band.last) == (True, False, 12_000)


def test_what_a_job_asks_for_may_keep_it_off_every_node() -> None:
    reserved = Workload(images=300, capacity_type=CapacityType.RESERVED)
    assert figures(reserved, [pool()], NOTHING_BESIDE).unplaced == (Band(40, 12_000),)


@pytest.mark.parametrize(
    ("images", "first", "last"),
    [(40, 40, 12_000), (1, 1, 12_000), (10_000, 40, 12_000), (12_000, 40, 14_400), (1_000_000, 40, 1_200_000)],
)
def test_the_chart_reaches_a_fifth_beyond_a_large_job_and_down_to_a_small_one(
    images: int, first: int, last: int
) -> None:
    shown = figures(Workload(images=images), [pool()], NOTHING_BESIDE)
    counts = [point.images for point in shown.points]
    assert (counts[0], counts[-1], images in counts) == (first, last, True)
    assert counts == sorted(set(counts))


def test_every_point_is_what_the_plan_of_its_count_says() -> None:
    shown = figures(DSM, [default_pool()], SizingSettings())
    for point in shown.points[::40]:
        plan = make_plan(DSM.model_copy(update={"images": point.images}), [default_pool()])
        assert (plan.peak_bytes, plan.limit_bytes, plan.limit_bytes + plan.swap_grant_bytes, plan.feasible) == (
            point.peak_bytes,
            point.limit_bytes,
            point.held_bytes,
            point.placed,
        )


def test_nodes_of_one_memory_size_share_a_ceiling_across_pools() -> None:
    other = kind("b.middle", 33, 16, allocatable_memory_bytes=31 * GIB)
    shown = figures(Workload(images=300), [pool(), pool("other", other)], NOTHING_BESIDE)
    assert shown.ceilings == (
        Ceiling(16 * GIB, ("a.small",)),
        Ceiling(31 * GIB, ("b.middle", "a.middle")),
        Ceiling(128 * GIB, ("a.large",)),
    )


def test_without_a_pool_there_is_nothing_to_draw() -> None:
    with pytest.raises(RuleError, match="no pools are known; give the document of at least one pool"):
        chart_svg(DSM, [], SizingSettings(), marked=None)


def test_without_swap_the_limit_is_all_there_is() -> None:
    shown = figures(Workload(images=300), [pool(swap_ratio=0.0)], NOTHING_BESIDE)
    assert all(point.held_bytes == point.limit_bytes > point.peak_bytes for point in shown.points)


def test_the_picture_has_a_title_a_description_and_a_name_at_each_line() -> None:
    root = parsed(chart_svg(DSM, [pool()], LIKE_SCALEODM, marked=ours([pool()])))
    assert root.get("role") == "img"
    named = {one.get("id"): one.text or "" for one in root if one.get("id")}
    assert list(named) == (root.get("aria-labelledby") or "").split()
    title, described = named.values()
    assert title == "Memory of ODM jobs with dsm by image count"
    assert "From 40 to 12,000 images the predicted peak grows from 27.0 GiB to 1,200.0 GiB" in described
    assert re.search(r"ScaleODM's limit lies above the smallest node .* for \d+ % of the counts: [\d,]+ to ", described)
    assert re.search(r"No node of these pools takes the job: [\d,]+ to 12,000\.", described)
    assert described.endswith("Marked: 5,000 images: peak 340.5 GiB, limit 170.2 GiB, with swap 510.7 GiB.")
    labels = [by_class(root, "text", f"{name}-name")[0].text for name in ("held", "peak", "old", "limit")]
    assert labels == ["our limit + swap grant", "predicted peak", "ScaleODM's limit", "our limit"]
    assert len(by_class(root, "path", "peak")) == 1


def test_a_chart_without_a_plan_marks_nothing() -> None:
    text = chart_svg(DSM, [pool()], LIKE_SCALEODM, marked=None)
    assert "Marked" not in text
    assert not by_class(parsed(text), "circle", "dot")


def test_a_plan_that_follows_scaleodm_is_marked_on_its_line() -> None:
    marked = make_plan(DSM, [default_pool()], settings=LIKE_SCALEODM)
    (point,) = [one for one in figures(DSM, [default_pool()], LIKE_SCALEODM).points if one.images == DSM.images]
    assert marked.limit_bytes == point.old_limit_bytes > point.limit_bytes


def test_a_plan_is_marked_where_its_figures_lie() -> None:
    marked = ours([default_pool()])
    scale = scale_of(figures(DSM, [default_pool()], LIKE_SCALEODM))
    root = parsed(chart_svg(DSM, [default_pool()], LIKE_SCALEODM, marked=marked))
    held = marked.limit_bytes + marked.swap_grant_bytes
    wanted = [
        (f"{scale.x(5000):.1f}", f"{scale.y(count):.1f}") for count in (marked.peak_bytes, marked.limit_bytes, held)
    ]
    assert [(dot.get("cx"), dot.get("cy")) for dot in by_class(root, "circle", "dot")] == wanted


def test_names_and_options_are_text_whatever_they_hold() -> None:
    nasty = '"><script>alert(1)</script>&amp;]]>'
    job = Workload(images=50, options=[f"name={nasty}"])
    pools = [pool(nasty, kind(f"{nasty}.large", 129, 32))]
    text = chart_svg(job, pools, NOTHING_BESIDE, marked=make_plan(job, pools, settings=NOTHING_BESIDE))
    root = parsed(text)
    assert not [one for one in root.iter() if one.tag == f"{SVG}script"]
    assert f"Memory of ODM jobs with name={nasty} by image count" in [one.text for one in root.iter()]
    assert f"{nasty}.large: 128.0 GiB" in [one.text for one in root.iter()]


@pytest.mark.parametrize("images", [1, 40, 777, 12_000, 1_000_000])
def test_everything_lies_within_the_axes(images: int) -> None:
    shown = figures(Workload(images=images), [pool(), default_pool()], SizingSettings())
    scale = scale_of(shown)
    for point in shown.points:
        assert LEFT - 0.01 <= scale.x(point.images) <= RIGHT + 0.01
        for count in (point.peak_bytes, point.limit_bytes, point.held_bytes, point.old_limit_bytes):
            assert TOP <= scale.y(count) <= scale.bottom
    assert all(later == 2 * earlier for earlier, later in pairwise(scale.memory_ticks()))
    assert all(shown.points[0].images <= tick <= shown.points[-1].images for tick in scale.image_ticks())
    assert len(scale.image_ticks()) >= 7


@given(st.lists(st.floats(0, 500), max_size=8), st.floats(0.5, 30))
def test_labels_keep_apart_and_only_move_down(wanted: list[float], gap: float) -> None:
    placed = apart(wanted, gap)
    assert len(placed) == len(wanted)
    assert all(place >= want for place, want in zip(placed, wanted, strict=True))
    assert all(later - earlier >= gap - 1e-6 for earlier, later in pairwise(sorted(placed)))


@pytest.mark.parametrize(
    ("count", "text"), [(512 * MIB, "512 MiB"), (GIB, "1 GiB"), (1 << 40, "1 TiB"), (1 << 51, "2 PiB"), (8, "8 bytes")]
)
def test_powers_of_two_are_told_in_their_unit(count: int, text: str) -> None:
    assert memory_text(count) == text


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "quiet", "peak", "limit", "held", "old"])
def test_text_and_lines_are_readable_on_light_and_dark(theme: dict[str, str], name: str) -> None:
    bright, dim = sorted((luminance(theme[name]), luminance(theme["paper"])), reverse=True)
    assert (bright + 0.05) / (dim + 0.05) >= 4.5


def test_the_colours_of_both_themes_are_in_the_style() -> None:
    before, _, after = style().partition("@media (prefers-color-scheme:dark)")
    assert all(f"--{name}:{colour}" in before for name, colour in LIGHT.items())
    assert all(f"--{name}:{colour}" in after for name, colour in DARK.items())


def test_no_two_lines_have_the_same_dashes() -> None:
    dashes = {
        name: re.findall(rf"\.{name}\{{stroke:[^}}]*?stroke-dasharray:([\d ]+)", style())
        for name in ("held", "peak", "old", "limit")
    }
    # Both solid ones differ in brightness and never cross: a limit lies below its peak.
    assert dashes == {"held": ["9 4"], "peak": [], "old": ["2 3"], "limit": []}
