"""The distribution of peaks: every task in one bin, marks in their place, as SVG and for a terminal."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.raster_fleet_samples import history
from floodplain.quantity import MIB
from floodplain.raster.bill import Bill, make_bill
from floodplain.raster.bill_chart import bill_lines, bill_svg
from floodplain.raster.peak_bins import bins, marks, peaks_of
from floodplain.raster.record import Record
from tests.conftest import Golden

SVG = "{http://www.w3.org/2000/svg}"


def record(mib: float, **others: object) -> Record:
    return Record.model_validate(
        {"layer": "ortho", "peak_bytes": round(mib * MIB), "marginal_bytes": round(mib * MIB), "seconds": 1, **others}
    )


@pytest.fixture(scope="module")
def bill() -> Bill:
    """Of the history that docs/how-to/size-raster-workers.md shows."""
    return make_bill(history())


@given(st.lists(st.tuples(st.integers(0, 1 << 45), st.booleans()), max_size=50), st.integers(1, 8))
def test_every_peak_is_in_one_bin_and_bins_leave_no_gap(peaks: list[tuple[int, bool]], per_octave: int) -> None:
    found = bins(peaks, per_octave)
    assert sum(one.known for one in found) == sum(not bound for _, bound in peaks)
    assert sum(one.bounds for one in found) == sum(bound for _, bound in peaks)
    assert all(one.high == other.low for one, other in pairwise(found))
    for count, bound in peaks:
        # At an edge a logarithm may round to either side.
        near = [one for one in found if one.low * (1 - 1e-9) <= max(count, MIB) <= one.high * (1 + 1e-9)]
        assert any(one.bounds if bound else one.known for one in near)


def test_a_bar_for_each_bin_and_a_line_for_each_mark(bill: Bill) -> None:
    drawn = ElementTree.fromstring(bill_svg(bill))
    classes = [element.get("class", "") for element in drawn.iter(f"{SVG}rect")]
    shown = [one for one in bins(peaks_of(bill), 6) if one.tasks]
    # One more of each in the key.
    assert classes.count("bar") == len(shown) + 1
    assert classes.count("bound") == 1 + 1
    texts = [element.text for element in drawn.iter(f"{SVG}text")]
    for mark in marks(bill):
        assert mark.text in texts
    lines = {element.get("class"): float(element.get("x1", "0")) for element in drawn.iter(f"{SVG}line")}
    places = [lines[f"line {mark.name}"] for mark in marks(bill)]
    assert places == sorted(places)
    assert 76 <= places[0] <= places[-1] <= 800


def test_nothing_is_drawn_outside_of_the_picture(bill: Bill) -> None:
    for element in ElementTree.fromstring(bill_svg(bill)).iter(f"{SVG}rect"):
        x, y = float(element.get("x", "0")), float(element.get("y", "0"))
        assert 0 <= x <= x + float(element.get("width", "0")) <= 960
        assert 0 <= y <= y + float(element.get("height", "0")) <= 560


def test_people_who_do_not_see_it_are_told(bill: Bill) -> None:
    described = ElementTree.fromstring(bill_svg(bill)).findtext(f"{SVG}desc")
    pools = bill.sized.pools
    assert described is not None
    assert f"threshold {pools.threshold_bytes / MIB:.1f} MiB" in described
    assert f"{bill.small.tasks:,} tasks go to the small pool, {bill.big.tasks:,} to the big one." in described


def test_the_chart_is_as_reviewed(bill: Bill, golden: Golden) -> None:
    golden.check("floodplain/raster/golden/bill-chart.svg", bill_svg(bill))


def test_the_chart_for_a_terminal_is_as_reviewed(bill: Bill, golden: Golden) -> None:
    golden.check("floodplain/raster/golden/bill-chart.txt", "".join(f"{line}\n" for line in bill_lines(bill)))


@pytest.mark.parametrize("size", [MIB // 4, MIB, 1 << 44])
def test_a_single_task_is_drawn(size: int) -> None:
    made = make_bill([record(size / MIB)])
    assert ElementTree.fromstring(bill_svg(made)).tag == f"{SVG}svg"
    assert [line[-4:] for line in bill_lines(made) if "#" in line] == ["#  1"]


def test_a_name_of_a_layer_breaks_nothing() -> None:
    made = make_bill([record(100, layer='</svg><script>"&')])
    assert "<script>" not in bill_svg(made)


def test_lower_bounds_are_marked_for_a_terminal() -> None:
    killed = [record(1024, outcome="killed", censored=True, method="none")] * 2
    lines = bill_lines(make_bill([record(1024), record(1025), *killed, record(64)]))
    assert lines[0] == "      64 to 91 MiB  ##########                                1"
    assert [line for line in lines if "?" in line] == [
        "1,024 to 1,448 MiB  ####################????????????????????  4"
    ]
