"""ScaleODM's sizing, row by row: every figure of every row of the oracle, quirks included.

data/scaleodm-vectors.csv was made by a port that agrees with ScaleODM's own Go functions (hotosm/ScaleODM 5f9e187)
on all its rows. Each row spells out the settings it was made with.
"""

from __future__ import annotations

import csv
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import MIB, to_bytes
from floodplain.sizing.odm.options import OdmOptions
from floodplain.sizing.scaleodm import CHART, CODE, PROD, ScaleOdmSettings, ScaleOdmSize, flags_of, size
from floodplain.sizing.scaleodm_volume import workspace_size

PATH = Path(__file__).parent / "data" / "scaleodm-vectors.csv"
ROWS = tuple(csv.DictReader(PATH.read_text(encoding="utf-8").splitlines()))
COLUMNS = {
    "ephemeral_limit_multiplier": "ephemeral_limit_mult",
    "fast_multiplier": "fast_mult",
    "dsm_multiplier": "dsm_mult",
    "on_demand_threshold": "ondemand_threshold",
}
PRESETS = {"code-default": CODE, "chart-default": CHART, "prod": PROD}
GENERIC = "n/a(generic)"


def settings_of(row: dict[str, str]) -> ScaleOdmSettings:
    cells = {field.name: row[COLUMNS.get(field.name, field.name)] for field in fields(ScaleOdmSettings)}
    threshold = int(cells.pop("on_demand_threshold"))
    return replace(CODE, on_demand_threshold=threshold, **{name: float(cell) for name, cell in cells.items()})


def expected(row: dict[str, str]) -> ScaleOdmSize:
    return ScaleOdmSize(
        peak_gib=float(row["peak_gib"]) if row["peak_gib"] else None,
        request_bytes=to_bytes(row["request_mi"]),
        limit_bytes=to_bytes(row["limit_mi"]),
        cpu_request=row["cpu_request"],
        cpu_limit=row["cpu_limit"] or None,
        ephemeral_request_bytes=to_bytes(row["ephemeral_request"]),
        ephemeral_limit_bytes=to_bytes(row["ephemeral_limit"]),
        capacity_type=None if row["capacity_out"] == GENERIC else row["capacity_out"],
        burst_headroom_gib=int(row["burst_headroom_gib"]),
        max_concurrency=int(row["max_concurrency_added"]) if row["max_concurrency_added"] else None,
        pvc_size=row["pvc_size"] or None,
    )


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_a_row_of_the_oracle_comes_out_whole(row: dict[str, str]) -> None:
    got = size(
        int(row["images"]),
        row["flags"].split(),
        settings_of(row),
        capacity_type=row["capacity_in"],
        image_total_bytes=int(row["image_total_bytes"]),
        scheduling=row["scheduling_mode"],
    )
    assert got == expected(row)


def test_the_oracle_has_all_its_rows() -> None:
    assert [row["id"] for row in ROWS] == [f"v{number:03d}" for number in range(1, 107)]


def test_the_presets_are_the_settings_of_the_rows_made_with_them() -> None:
    seen = {row["profile"]: settings_of(row) for row in ROWS if row["profile"] in PRESETS}
    assert seen == PRESETS


def test_options_become_flags_as_its_api_writes_them() -> None:
    options = OdmOptions.model_validate("dsm,dtm=false,pc-quality=high,split=400,max-concurrency=8,cog,crop=3")
    assert flags_of(options) == (
        "--dsm",
        "--pc-quality=high",
        "--split=400",
        "--max-concurrency=8",
        "--cog",
        "--crop=3",
    )


def test_no_options_are_no_flags() -> None:
    assert flags_of(OdmOptions()) == ()


@pytest.mark.parametrize(("total", "images", "max_gib"), [(0, 0, 1024.0), (1, 1, 0.0), (1, 1, 29.0)])
def test_a_workspace_has_no_size_without_images_or_with_senseless_bounds(
    total: int, images: int, max_gib: float
) -> None:
    assert workspace_size(total, images, (), max_gib) is None


@given(images=st.integers(min_value=-5, max_value=1_000_000), settings=st.sampled_from([CODE, CHART, PROD]))
def test_more_images_never_get_less_and_a_limit_is_never_below_its_request(
    images: int, settings: ScaleOdmSettings
) -> None:
    one, more = size(max(1, images), (), settings), size(max(1, images) + 1, (), settings)
    assert one.request_bytes <= more.request_bytes
    assert one.request_bytes < one.limit_bytes
    assert one.limit_bytes % MIB == one.request_bytes % MIB == 0


@given(images=st.integers(max_value=0))
def test_no_count_gets_fixed_figures_whatever_the_settings(images: int) -> None:
    assert size(images, ("--dsm",), PROD) == ScaleOdmSize(
        peak_gib=None,
        request_bytes=8192 * MIB,
        limit_bytes=10240 * MIB,
        cpu_request="2",
        cpu_limit="4",
        ephemeral_request_bytes=20480 * MIB,
        ephemeral_limit_bytes=30720 * MIB,
        capacity_type="spot",
        burst_headroom_gib=2,
        max_concurrency=4,
        pvc_size=None,
    )
