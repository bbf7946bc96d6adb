"""Names that pages take from the code are the code's."""

from __future__ import annotations

import re

import pytest

from components.guardrail_advice import advice_rules
from components.guardrail_containment import containment_rules
from components.guardrail_settings import PoolGuardrail
from components.pool_kubelet import KubeletSettings
from components.pool_types import allocatable, by_family
from docs.tables import ROOT
from floodplain.quantity import MIB
from preview.model import Report
from stacks.editor_schema import editor_schema
from tests.docs.pages import PAGES, code_spans, functions_of, name, prose


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_tests_named_on_pages_exist() -> None:
    named = {span for page in PAGES for span in code_spans(page) if span.startswith("tests/") and "*" not in span}
    assert len(named) >= 12
    missing = []
    for one in sorted(named):
        path, _, test = one.partition("::")
        if not (ROOT / path).is_file() or (test and test not in functions_of(path)):
            missing.append(one)
    assert missing == []


def test_every_weak_point_has_a_row() -> None:
    assert re.findall(r"^\| \((\w)\) \|", text("docs/hotosm.md"), re.M) == list("abcdefghijkl")


def test_every_guardrail_rule_is_described_in_its_order() -> None:
    pool = PoolGuardrail(pool="swap", largest_allocatable="64Gi")
    described = text("docs/components/guardrails.md").partition("## Modes")[0]
    rows = re.findall(r"^\| `(\w+)` \|", described, re.M)
    assert rows == [rule.name for rule in (*containment_rules(pool), *advice_rules(pool))]


def test_the_keys_of_the_report_are_all_named() -> None:
    (sentence,) = re.findall(r"Keys at the top: ([^.]+)\.", text("docs/preview.md"))
    fields = Report.model_json_schema(by_alias=True, mode="serialization")["properties"]
    assert re.findall(r"`(\w+)`", sentence) == list(fields)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_pool_key_in_running_text_exists(page: object) -> None:
    known = set(_keys(editor_schema()["$defs"]))
    for span in code_spans(page):  # type: ignore[arg-type]
        if re.fullmatch(
            r"(pools\[\]|swap|disk|disruption|kubelet|karpenter|controllers|cluster|rootVolume)(\.\w+)+", span
        ):
            for word in span.split(".")[1:]:
                assert word in known, f"{span}: no key {word}"


def _keys(definitions: dict[str, dict[str, dict[str, object]]]) -> list[str]:
    return [key for shape in definitions.values() for key in shape.get("properties", {})]


def test_the_example_of_the_readme_is_what_the_catalogue_says() -> None:
    large, small = (
        allocatable(kind, KubeletSettings(), 0.075).memory_bytes // MIB
        for kind in by_family()["r6id"]
        if kind.name in ("r6id.2xlarge", "r6id.4xlarge")
    )
    small, large = sorted((small, large))
    needed_without_swap, needed_here = 120 * 1024, 51_200 - 1 + 16 + 256
    assert needed_here <= small
    assert needed_without_swap > large  # so that the next size, r6id.8xlarge, is needed
    assert "`r6id.8xlarge` (256 GiB)" in prose(ROOT / "README.md")


def test_no_page_names_a_path_of_one_machine() -> None:
    for page in PAGES:
        assert not re.search(r"(^|[\s`(])/(work|root|home/\w+|tmp)/", page.read_text(encoding="utf-8")), name(page)
