"""A plan in words: every figure, what it means, and what to do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import GIB, MIB
from floodplain.sizing.explain import Explanation, Row, Section, explain, memory
from floodplain.sizing.plan import MonthlyCost, Plan
from floodplain.sizing.prediction import Confidence
from floodplain.sizing.settings import Compatibility
from floodplain.sizing.workload import Engine

PLAN = Plan(
    engine=Engine.ODM,
    images=5000,
    options=("dsm", "pc-quality=low"),
    compatibility=None,
    peak_bytes=100 * GIB,
    peak_source="a model",
    confidence=Confidence.MEDIUM,
    confidence_reason="between two observations",
    hot_bytes=50 * GIB,
    hot_source="hot share 0.5 of pool swap",
    pool="swap",
    runtime_class="floodplain-swap",
    capacity_type="on-demand",
    request_bytes=50 * GIB - MIB,
    limit_bytes=50 * GIB,
    swap_grant_bytes=100 * GIB - 2 * MIB,
    cpu="6500m",
    cpu_limit=None,
    max_concurrency=None,
    ephemeral_bytes=30 * GIB,
    instance_types=("r6id.2xlarge", "m6id.4xlarge"),
    smallest_allocatable_bytes=56 * GIB + 307 * MIB,
    containment_margin_bytes=5 * GIB + 900 * MIB,
    completion_margin_bytes=50 * GIB - 2 * MIB,
    feasible=True,
    reasons=(),
    advice=(),
    notes=("20 megapixels are assumed",),
)
OURS = MonthlyCost(
    instance_type="r6id.2xlarge", capacity_type="on-demand", usd=400.5, priced="eu-central-1, 2026-01-31"
)
AS_RAM = MonthlyCost(instance_type="r6id.4xlarge", capacity_type="on-demand", usd=1001.25, priced=OURS.priced)


def row(explanation: Explanation, name: str) -> Row:
    (found,) = [one for one in explanation.rows if one.name == name]
    return found


def test_a_plan_that_fits_is_explained_as_a_whole() -> None:
    assert explain(PLAN) == Explanation(
        headline="odm of 5,000 images with dsm, pc-quality=low: fits pool swap",
        rows=(
            Row("Peak", "100.0 GiB", "a model; confidence medium: between two observations"),
            Row("Hot set", "50.0 GiB", "must stay in memory; hot share 0.5 of pool swap"),
            Row("Memory limit", "50Gi", "50.0 GiB"),
            Row(
                "Memory request",
                "51199Mi",
                "1 MiB below the limit: the scheduler packs by it, and kubelet grants swap where the two differ",
            ),
            Row("Swap grant", "99.9 GiB", "107,372,085,248 bytes that kubelet grants"),
            Row("CPU request", "6500m", "no CPU limit"),
            Row("Ephemeral storage", "30Gi", "30.0 GiB"),
            Row("Pool", "swap", "RuntimeClass floodplain-swap, on-demand"),
            Row("Instance types", "2", "r6id.2xlarge, m6id.4xlarge"),
            Row(
                "Containment margin",
                "5.8 GiB",
                "left on r6id.2xlarge (56.2 GiB for pods) beside the pod and DaemonSets",
            ),
            Row("Completion margin", "49.9 GiB", "limit and grant beyond the peak: they hold 1.50 x peak"),
            Row("A month", "unknown", "no prices: run `floodplain catalogue refresh --prices`"),
        ),
        sections=(Section("Notes", ("20 megapixels are assumed",)),),
    )


def test_a_plan_that_is_not_feasible_says_why_not_and_what_to_change_before_its_notes() -> None:
    advised = PLAN.model_copy(update={"feasible": False, "reasons": ("it is large",), "advice": ("split it",)})
    explained = explain(advised)
    assert explained.headline == "odm of 5,000 images with dsm, pc-quality=low: fits no pool as it is"
    assert explained.sections == (
        Section("Why not", ("it is large",)),
        Section("What to change", ("split it",)),
        Section("Notes", ("20 megapixels are assumed",)),
    )


def test_the_cost_stands_next_to_that_of_the_peak_as_memory() -> None:
    explained = explain(PLAN.model_copy(update={"monthly_cost": OURS, "peak_as_ram_cost": AS_RAM}), priced=True)
    assert explained.rows[-2:] == (
        Row("A month", "$400.50", "the pod's share of r6id.2xlarge, on-demand, eu-central-1, 2026-01-31"),
        Row(
            "With the peak as RAM",
            "$1,001.25",
            "2.5 times as much; the pod's share of r6id.4xlarge, on-demand, eu-central-1, 2026-01-31",
        ),
    )


def test_a_table_without_these_types_is_told_from_no_table() -> None:
    unpriced = "the table of prices has none for these types and this capacity type"
    assert explain(PLAN, priced=True).rows[-2:] == (
        Row("A month", "unknown", unpriced),
        Row("With the peak as RAM", "unknown", unpriced),
    )


@pytest.mark.parametrize(
    ("changes", "name", "wanted"),
    [
        ({"swap_grant_bytes": 0}, "Swap grant", Row("Swap grant", "0 MiB", "a pool without swap")),
        (
            {"cpu_limit": "8", "max_concurrency": 8},
            "CPU request",
            Row("CPU request", "6500m", "limit 8; --max-concurrency 8"),
        ),
        (
            {"request_bytes": 40 * GIB},
            "Memory request",
            Row("Memory request", "40Gi", "10.0 GiB below the limit"),
        ),
        ({"instance_types": ()}, "Instance types", Row("Instance types", "none", "")),
        (
            {"smallest_allocatable_bytes": None, "instance_types": (), "containment_margin_bytes": -3 * GIB},
            "Containment margin",
            Row("Containment margin", "-3.0 GiB", "what the largest node lacks"),
        ),
        (
            {"smallest_allocatable_bytes": None, "instance_types": (), "containment_margin_bytes": 3 * GIB},
            "Containment margin",
            Row("Containment margin", "3.0 GiB", "no node takes it"),
        ),
        (
            {"containment_margin_bytes": -MIB},
            "Containment margin",
            Row("Containment margin", "-1 MiB", "by so much the limits of the pod pass what is reserved for them"),
        ),
    ],
)
def test_figures_that_differ_are_told_differently(changes: dict[str, object], name: str, wanted: Row) -> None:
    assert row(explain(PLAN.model_copy(update=changes)), name) == wanted


def test_one_image_without_options_is_one_image() -> None:
    assert explain(PLAN.model_copy(update={"images": 1, "options": ()})).headline == "odm of 1 image: fits pool swap"


def test_a_plan_that_follows_another_planner_says_so() -> None:
    followed = PLAN.model_copy(update={"compatibility": Compatibility.SCALEODM, "options": ()})
    assert explain(followed).headline == "odm of 5,000 images: fits pool swap, sized as scaleodm does it"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 MiB"),
        (MIB - 1, "0 MiB"),
        (GIB - 1, "1023 MiB"),
        (GIB, "1.0 GiB"),
        (1999 * GIB + GIB // 20, "1,999.0 GiB"),
        (-1, "-1 MiB"),
        (-GIB, "-1.0 GiB"),
        (-GIB - 1, "-1.1 GiB"),
    ],
)
def test_amounts_are_rounded_down(count: int, text: str) -> None:
    assert memory(count) == text


@given(st.integers(-(10**15), 10**15))
def test_no_amount_looks_larger_than_it_is(count: int) -> None:
    number, unit = memory(count).split()
    tenths = round(float(number.replace(",", "")) * 10)
    size, step = (GIB, 1) if unit == "GiB" else (MIB, 10)
    assert tenths * size <= count * 10 < (tenths + step) * size
