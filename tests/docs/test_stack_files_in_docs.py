"""YAML that a reader may copy into a stack file is valid there, alone or beside what every stack has."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from docs.samples import FAULTY
from docs.tables import ROOT
from stacks import StackProblemsError
from stacks.config import PROJECT, parse
from tests.docs.pages import Block, blocks

EVERY_STACK: dict[str, Any] = {
    f"{PROJECT}:cluster": {
        "name": "my-cluster",
        "region": "eu-central-1",
        "accountId": "111122223333",
        "kubernetesVersion": "1.34",
    },
    f"{PROJECT}:pools": [
        {
            "name": "swap",
            "families": ["r6id"],
            "limits": {"cpu": "64", "memory": "512Gi"},
            "ami": {"alias": "al2023@v20260714"},
        }
    ],
}
STACKS = [block for block in blocks("yaml") if block.body.lstrip().startswith("config:")]


@pytest.mark.parametrize("block", STACKS, ids=str)
def test_a_stack_file_of_the_docs_is_valid(block: Block) -> None:
    config = {**EVERY_STACK, **yaml.safe_load(block.body)["config"]}
    schema = json.loads((ROOT / "stacks" / "schema.json").read_text(encoding="utf-8"))
    jsonschema.validate({"config": config}, schema)
    parse("docs", _ours(config))


def test_there_are_stack_files_in_the_docs() -> None:
    assert len(STACKS) >= 7


def test_the_faulty_one_is_faulty() -> None:
    with pytest.raises(StackProblemsError):
        parse("prod", _ours(yaml.safe_load(FAULTY)["config"]))


def _ours(config: dict[str, Any]) -> dict[str, Any]:
    return {key.removeprefix(f"{PROJECT}:"): value for key, value in config.items() if key.startswith(f"{PROJECT}:")}
