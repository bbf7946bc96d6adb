"""The JSON schema that editors use for stack files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from stacks.editor_schema import editor_schema, text

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))


def faults(document: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(editor_schema())
    return sorted(f"{error.json_path}: {error.message}" for error in validator.iter_errors(document))


def test_the_committed_schema_is_fresh(golden: Any) -> None:
    golden.check("../stacks/schema.json", text())


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_every_stack_of_the_project_is_valid_and_points_its_editor_at_the_schema(path: Path) -> None:
    assert path.read_text().startswith("# yaml-language-server: $schema=schema.json\n")
    assert faults(yaml.safe_load(path.read_text())) == []


def test_a_misspelt_key_is_marked_at_every_depth() -> None:
    document = yaml.safe_load((ROOT / "stacks" / "Pulumi.dev.yaml").read_text())
    document["config"]["floodplain:pool"] = []
    document["config"]["floodplain:pools"][0]["famlies"] = ["r6id"]
    assert [line.split(":")[0] for line in faults(document)] == ["$.config", "$.config['floodplain"]


def test_every_key_has_a_description() -> None:
    schema = editor_schema()
    keys = {"config": schema["properties"]["config"], **schema["$defs"]}
    missing = [
        f"{owner}.{key}"
        for owner, node in keys.items()
        for key, property_ in node.get("properties", {}).items()
        if not property_.get("description")
    ]
    assert missing == []
