"""The component package as others use it: its schema by the CLI, and a program in YAML under the real YAML host.

The package itself is run by the stand-in for the Python language host, as every Python plugin here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components import pool_objects
from components.package import package_schema
from components.swap_pool import SwapPool
from testbed.bed import Bed, open_bed
from testbed.pulumi.project import Project, RefusedError
from testbed.pulumi.steps import Outcome
from testbed.state import State

CHECKOUT = Path(__file__).parents[3]
POOL = {
    "name": "batch",
    "families": ["c6id"],
    "vcpus": [2],
    "limits": {"cpu": "8", "memory": "32Gi"},
    "ami": {"alias": "al2023@v20260714"},
}
PROGRAM = {
    "name": "theirs",
    "runtime": "yaml",
    "packages": {"floodplain": str(CHECKOUT / "components")},
    "config": {"kubeconfig": {"type": "string", "secret": True}},
    "resources": {
        "through": {
            "type": "pulumi:providers:kubernetes",
            "properties": {
                "kubeconfig": "${kubeconfig}",
                "clusterIdentifier": "theirs",
                "enableServerSideApply": True,
            },
        },
        "batch": {
            "type": "floodplain:SwapNodePool",
            "properties": {
                "cluster": {"name": "testbed", "kubernetesVersion": "1.36"},
                "nodeRoleName": "KarpenterNodeRole-us-west-2-testbed",
                "pool": POOL,
            },
            "options": {"providers": ["${through}"]},
        },
    },
    "outputs": {"runtimeClass": "${batch.runtimeClassName}", "taint": "${batch.taint}"},
}


@dataclass(frozen=True)
class Consumed:
    """The program beside a deployed platform, and what came of it."""

    preview: Outcome
    up: Outcome
    outputs: dict[str, Any]
    node_pool: dict[str, Any]
    again: Outcome
    refused: RefusedError
    destroyed: Outcome


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with State() as state, open_bed(state) as running:
        yield running


@pytest.fixture(scope="module")
def consumed(bed: Bed) -> Consumed:
    bed.deploy()
    folder = bed.state.path("theirs", "Pulumi.yaml").parent
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(PROGRAM, sort_keys=False))
    secret = ("theirs:kubeconfig", bed.cluster.kubeconfig.read_text())
    project = Project(bed.engine, folder, "dev", secrets=[secret])
    preview, up, outputs = project.preview(), project.up(), project.outputs()
    node_pool = bed.cluster.api.get("/apis/karpenter.sh/v1/nodepools/batch")
    again = project.preview()
    (project.folder / "Pulumi.yaml").write_text(yaml.safe_dump(_with({**POOL, "families": ["t3"]}), sort_keys=False))
    with pytest.raises(RefusedError) as caught:
        project.preview()
    return Consumed(preview, up, outputs, node_pool, again, caught.value, project.destroy())


def _with(pool: Mapping[str, Any]) -> dict[str, Any]:
    program = json.loads(json.dumps(PROGRAM))
    program["resources"]["batch"]["properties"]["pool"] = dict(pool)
    assert isinstance(program, dict)
    return program


def test_the_cli_prints_the_reviewed_schema(bed: Bed) -> None:
    answer = bed.engine.run("package", "get-schema", str(CHECKOUT / "components"), folder=bed.engine.folder)
    assert json.loads(answer.stdout) == _as_the_cli_writes(package_schema())


def _as_the_cli_writes(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What the CLI makes of any schema: no empty lists, no descriptions of the types within lists and maps."""
    found = {key: _plain(value) for key, value in schema.items() if key != "dependencies"}
    return {**found, "config": {}}


def _plain(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        inner = key in ("items", "additionalProperties")
        return {
            name: _plain(item, name)
            for name, item in value.items()
            if item != [] and not (inner and name == "description" and isinstance(item, str))
        }
    return [_plain(item) for item in value] if isinstance(value, list) else value


def test_a_program_in_yaml_makes_a_pool(consumed: Consumed) -> None:
    made = {urn.rpartition("::")[2]: op for urn, op in consumed.up.ops().items()}
    children = ("nodeclass", "nodepool", "runtimeclass", "priorityclass", "headroom")
    names = ["theirs-dev", "through", "batch", *(f"batch-{child}" for child in children)]
    # The preview leaves out default providers: of the package, and of what carries its parameters.
    assert {name: op for name, op in made.items() if name != "default"} == dict.fromkeys(names, "create")
    assert {urn: op for urn, op in consumed.up.ops().items() if not urn.endswith("::default")} == consumed.preview.ops()
    assert consumed.outputs == {"runtimeClass": "floodplain-batch", "taint": "floodplain.dev/pool=batch:NoSchedule"}


def test_it_is_the_pool_that_a_stack_file_would_make(consumed: Consumed) -> None:
    spec = pool_objects.node_pool(SwapPool.model_validate(POOL))["spec"]
    found = consumed.node_pool["spec"]
    assert {key: found[key] for key in spec} == spec


def test_nothing_changes_the_second_time(consumed: Consumed) -> None:
    assert consumed.again.ops() == {}


def test_bad_input_is_told_by_its_path(consumed: Consumed) -> None:
    assert "pool.families[0]" in str(consumed.refused)
    assert "has no instance store, or is not in the catalogue" in str(consumed.refused)
    assert "Traceback" not in str(consumed.refused)


def test_all_of_it_goes_again(consumed: Consumed) -> None:
    assert consumed.destroyed.ops() == dict.fromkeys(consumed.up.ops(), "delete")
