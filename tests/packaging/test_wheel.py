"""The distribution as a platform team gets it: installed in an empty environment, used from another folder."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import floodplain

HOMES = {"floodplain": "floodplain", "components": "floodplain_pulumi", "nodeconfig": "floodplain_nodeconfig"}


@pytest.fixture(scope="module")
def python(new_environment: Callable[[Path], Path], outside: Any, clone: Path, wheel: Path) -> Path:
    """The Python of an environment with the wheel and what a program needs, but not the command's packages."""
    python = new_environment(clone / "requirements" / "program.txt")
    outside.install(python, "--no-deps", wheel)
    return python


def test_the_wheel_brings_three_packages_and_no_more(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert tops == {*HOMES.values(), f"floodplain-{floodplain.__version__}.dist-info"}
    assert wheel.name == f"floodplain-{floodplain.__version__}-py3-none-any.whl"


def test_every_file_of_the_three_rooms_is_in_the_wheel(clone: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    wanted = {
        f"{home}/{path.relative_to(clone / room).as_posix()}"
        for room, home in HOMES.items()
        for path in (clone / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == wanted
    assert "floodplain/catalogue/instance-types.tsv" in packed
    assert any(re.fullmatch(r"floodplain_nodeconfig/templates/.*\.j2", name) for name in packed)
    assert {f"{home}/py.typed" for home in HOMES.values()} <= packed


def test_the_wheel_says_its_license_and_what_it_needs(clone: Path, wheel: Path) -> None:
    info = f"floodplain-{floodplain.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        assert archive.read(f"{info}/licenses/LICENSE") == (clone / "LICENSE").read_bytes()
    assert "License-Expression: Apache-2.0" in metadata
    needed = set(re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE))
    assert needed == {"pulumi", "pulumi-aws", "pulumi-kubernetes", "pydantic", "jinja2", "pyyaml"}


def test_a_program_elsewhere_renders_a_pool(python: Path, outside: Any, tmp_path: Path) -> None:
    shutil.copyfile(Path(__file__).parent / "program.py", tmp_path / "program.py")
    said = json.loads(outside.must([python, "program.py"], tmp_path))
    assert said == {
        "taints": [{"key": "floodplain.dev/pool", "value": "batch", "effect": "NoSchedule"}],
        "limits": {"cpu": "64", "memory": "512Gi"},
        "role": "their-nodes",
        "userData starts": "MIME-Version: 1.0",
        "types": [
            "floodplain:index:SwapNodePool",
            "kubernetes:apps/v1:DaemonSet",
            "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass",
            "kubernetes:karpenter.sh/v1:NodePool",
            "kubernetes:node.k8s.io/v1:RuntimeClass",
            "kubernetes:scheduling.k8s.io/v1:PriorityClass",
        ],
        "home": ["site-packages", "floodplain_pulumi", "__init__.py"],
        "shadowed": [],
    }


def test_without_its_extra_the_command_says_what_to_install(python: Path, outside: Any, tmp_path: Path) -> None:
    done = outside.run([python.parent / "floodplain", "--help"], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'floodplain[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_its_extra_the_command_answers(python: Path, outside: Any, clone: Path, tmp_path: Path) -> None:
    pins = re.findall(r"^(typer|rich|boto3)==(\S+)", (clone / "requirements" / "dev.txt").read_text(), re.MULTILINE)
    outside.install(python, "-c", clone / "requirements" / "dev.txt", *(f"{name}=={version}" for name, version in pins))
    assert "Usage: floodplain" in outside.must([python.parent / "floodplain", "--help"], tmp_path)
    shown = outside.must([python.parent / "floodplain", "catalogue", "show", "--family", "r6id"], tmp_path)
    assert "r6id.large" in shown
