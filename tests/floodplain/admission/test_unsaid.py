"""What a container is told and its annotation does not say."""

from __future__ import annotations

from typing import Any

import pytest

from floodplain.admission.unsaid import unsaid
from floodplain.sizing.odm.options import OdmOptions
from tests.floodplain.admission.api_server import enforce, patched
from tests.floodplain.admission.objects import ODM, pod


def told(words: str, options: str = "", **container: Any) -> list[str]:
    found = unsaid(
        {"image": "opendronemap/odm", "args": words.split(), **container}, OdmOptions.model_validate(options)
    )
    return [one.partition(" and ")[0].removeprefix("the container is given --") for one in found]


@pytest.mark.parametrize(
    ("words", "options", "wanted"),
    [
        ("--project-path /datasets map", "", []),
        ("--dsm map", "dsm", []),
        ("--dsm map", "", ["dsm"]),
        ("--dsm=true map", "", ["dsm"]),
        ("--fast-orthophoto --dtm map", "dtm", ["fast-orthophoto"]),
        ("--pc-quality high map", "", ["pc-quality=high"]),
        ("--pc-quality=high map", "pc-quality=high", []),
        ("--pc-quality low map", "pc-quality=high", ["pc-quality=low"]),
        ("--split 400 map", "split=400", []),
        ("--split 400 map", "split=300", ["split=400"]),
        ("--boundary {} map", "boundary=x", []),
        ("--max-concurrency 4 --gcp list.txt map", "", []),
        ("map --pc-quality", "", []),
        ("", "dsm", []),
    ],
)
def test_options_that_move_the_peak_are_compared(words: str, options: str, wanted: list[str]) -> None:
    assert told(words, options) == wanted


def test_only_what_is_known_as_odm_is_looked_at() -> None:
    assert told("--dsm map", image="registry.example.com/tool:1") == []
    assert told("--dsm map", image="tool", command=["python3", "/code/run.py"]) == ["dsm"]


def test_it_is_a_warning_and_a_note_and_no_refusal() -> None:
    process = {"name": "process", "image": "opendronemap/odm:3.5.6", "args": ["--dsm", "map"]}
    decision = enforce(pod(process))
    sentence = "the container is given --dsm and floodplain.dev/options does not say so: the plan is for another job"
    assert decision.warnings == (sentence,)
    assert sentence in patched(pod(process), decision)["metadata"]["annotations"]["floodplain.dev/plan"]
    assert enforce(pod(process, annotations={**ODM, "floodplain.dev/options": "dsm"})).warnings == ()
