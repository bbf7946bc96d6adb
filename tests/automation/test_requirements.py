"""Requirements are pinned and hashed, agree with each other and with the package, and name no registry."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

COMPILED = [f"requirements/{name}.txt" for name in ("bootstrap", "dev", "program", "service")]


def pins(path: Path) -> dict[str, tuple[str, list[str]]]:
    """Name to version and hashes."""
    text = path.read_text().replace("\\\n", " ")
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    found = {}
    for line in filter(None, lines):
        requirement, *hashes = line.split("--hash=")
        name, _, version = requirement.partition(";")[0].partition("==")
        found[name.strip()] = (version.strip(), [one.strip() for one in hashes])
    return found


@pytest.mark.parametrize("name", [*COMPILED, "components/requirements.txt"])
def test_every_requirement_has_one_version_and_hashes(root: Path, name: str) -> None:
    found = pins(root / name)
    assert found
    loose = {
        package: (version, hashes)
        for package, (version, hashes) in found.items()
        if not re.fullmatch(r"[\w.]+", version)
        or not hashes
        or not all(re.fullmatch(r"sha256:[0-9a-f]{64}", one) for one in hashes)
    }
    assert loose == {}


def test_a_program_installs_what_was_tested(root: Path) -> None:
    tested = pins(root / "requirements/dev.txt")
    program = pins(root / "requirements/program.txt")
    assert {name: tested.get(name) for name in program} == program
    assert (root / "components/requirements.txt").read_text() == (root / "requirements/program.txt").read_text()


def test_the_image_installs_what_was_tested_and_all_that_the_package_asks_for(root: Path) -> None:
    tested, image = pins(root / "requirements/dev.txt"), pins(root / "requirements/service.txt")
    assert {name: tested.get(name) for name in image} == image
    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {Requirement(one).name for one in (*extras["service"], *extras["cli"])} - {"floodplain"}
    assert wanted - set(image) == set()
    assert [name for name in image if name.startswith(("pulumi", "pytest", "moto"))] == []


def test_the_installer_is_one_version(root: Path) -> None:
    assert pins(root / "requirements/bootstrap.txt")["uv"] == pins(root / "requirements/dev.txt")["uv"]


@pytest.mark.parametrize("extra", [None, "cli", "service"])
def test_the_package_admits_what_was_tested(root: Path, extra: str | None) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    tested = pins(root / "requirements/dev.txt")
    for requirement in (one for one in map(Requirement, wanted) if one.name != "floodplain"):
        assert Version(tested[requirement.name.lower()][0]) in requirement.specifier, str(requirement)


def test_components_need_no_web_operator_or_raster_library(root: Path) -> None:
    heavy = {"boto3", "fastapi", "kopf", "kr8s", "kubernetes", "numpy", "rasterio", "sqlalchemy", "starlette", "typer"}
    assert heavy & set(pins(root / "components/requirements.txt")) == set()


def test_no_committed_file_names_a_package_registry(root: Path) -> None:
    """A registry's address belongs to the machine that installs, not to the project."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    # In pieces, so that this file names none either.
    hosts = [
        ".".join(words)
        for words in (
            ("pypi", "org"),
            ("pythonhosted", "org"),
            ("proxy", "golang", "org"),
            ("sum", "golang", "org"),
            ("registry", "npmjs", "org"),
            ("crates", "io"),
            ("deb", "debian", "org"),
            ("repo", "maven", "apache", "org"),
        )
    ]
    hosts += [f"--{option}" for option in ("index-" + "url", "extra-index-" + "url", "find-links")]
    named = []
    for name in filter(None, tracked.split("\0")):
        path = root / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        named += [f"{name}: {host}" for host in hosts if host in text]
    assert named == []
