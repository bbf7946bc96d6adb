"""Python that a reader may copy runs: components render, and what is printed is what the text says."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import yaml

import components
from docs.samples import ROOT
from floodplain import __version__, pools
from preview import stackfile
from preview.outputs import Apply, Plan
from preview.recorder import record
from preview.recording import Recording
from preview.render import run
from tests.docs.pages import Block, blocks

PYTHON = blocks("python")
PROGRAMS = [block for block in PYTHON if "floodplain_pulumi" in block.body]
EXAMPLE = ROOT / "examples" / "one-pool"


@pytest.fixture(autouse=True)
def _as_from_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "floodplain_pulumi", components)


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_a_program_of_the_docs_renders(block: Block) -> None:
    code = compile(block.body, str(block), "exec")
    for answers in (Plan(), Apply()):
        made = record(lambda: exec(code, {"__name__": "__main__"}), answers)
        assert any(one.type.startswith("floodplain:index:") for one in made.resources)


def test_the_readme_and_every_component_but_the_charts_has_a_program() -> None:
    shown = {block.page.name for block in PROGRAMS}
    assert {"README.md", "swap-node-pool.md", "guardrails.md", "platform.md"} <= shown


def test_the_arithmetic_of_the_docs_prints_what_the_table_says() -> None:
    (block,) = [one for one in PYTHON if "floodplain.swap" in one.body]
    done = subprocess.run([sys.executable, "-c", block.body], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{51200 << 20} {51199 << 20}\n"


def test_the_command_for_machines_elsewhere_prints_a_script() -> None:
    (command,) = [line for block in blocks("sh") for line in block.body.splitlines() if "plain_script" in line]
    program = command.partition("-c '")[2].partition("' >")[0]
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("#!/bin/bash\n")
    assert "swapon" in done.stdout


@pytest.fixture(params=["plan", "apply"])
def example(request: pytest.FixtureRequest) -> Recording:
    settings = stackfile.load(EXAMPLE, "dev")
    return run(settings, EXAMPLE, Plan() if request.param == "plan" else Apply())


def test_the_example_makes_one_pool_and_its_rules(example: Recording) -> None:
    assert sorted(one.type.rsplit(":", 1)[1] for one in example.resources) == [
        "DaemonSet",
        "EC2NodeClass",
        "Guardrails",
        "NodePool",
        "PriorityClass",
        "RuntimeClass",
        "SwapNodePool",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicyBinding",
        "kubernetes",
    ]


def test_everything_in_the_example_goes_through_the_provider_it_names(example: Recording) -> None:
    (provider,) = [one for one in example.resources if one.type == "pulumi:providers:kubernetes"]
    through = {one.provider for one in example.resources if one.type.startswith("kubernetes:")}
    assert through == {provider.urn}


def test_the_rules_of_the_example_know_its_pool(example: Recording) -> None:
    (document,) = pools.read(example.one(":SwapNodePool").outputs["poolDocument"].encode())
    (rules,) = [one for one in example.of(":ValidatingAdmissionPolicy") if one.name.endswith("containment")]
    room = document.largest_allocatable_memory_bytes - document.headroom_bytes
    assert f"> {float(room)}" in str(rules.inputs)


def test_the_example_installs_this_version() -> None:
    assert f"floodplain-{__version__}-py3-none-any.whl" in (EXAMPLE / "requirements.txt").read_text()


def test_project_and_stack_of_the_example_go_together() -> None:
    project: Any = yaml.safe_load((EXAMPLE / "Pulumi.yaml").read_text())
    keys = yaml.safe_load((EXAMPLE / "Pulumi.dev.yaml").read_text())["config"]
    assert {key.partition(":")[0] for key in keys} == {"pulumi", project["name"]}
