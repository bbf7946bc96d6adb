"""Engines are pinned by go.mod and go.sum, and a binary's place depends on whatever may change the binary."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.engine_error import EngineError
from testbed.engines import ENGINES, Engine, Tier, of_tier, path
from testbed.engines.modules import module_folder, requiring
from testbed.engines.table import FOLDER, required_version
from testbed.engines.toolchain import environment, find_go, needed
from testbed.engines.where import cache_folder, key, stale
from tests.testbed.engines.conftest import Bench

ROOT = Path(__file__).resolve().parents[3]
TOOLCHAIN = "go version go1.26.8 linux/amd64"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """One whose sources a test may change."""
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "go.mod").write_text("module x\n\ngo 1.26.0\n\nrequire example.org/m v1.2.3\n")
    (sources / "go.sum").write_text("example.org/m v1.2.3 h1:abc=\n")
    (sources / "tools.go").write_text("package tools\n")
    return Engine("m", str(sources), "example.org/m", "example.org/m/cmd/m", 1, frozenset(), ("v={version}",), ("t",))


def rewritten(name: str, text: str) -> Callable[[Engine], Engine]:
    def change(engine: Engine) -> Engine:
        (engine.sources / name).write_text(text)
        return dataclasses.replace(engine)

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda engine: dataclasses.replace(engine, package="example.org/m/cmd/n"),
        lambda engine: dataclasses.replace(engine, linked=("w={version}",)),
        lambda engine: dataclasses.replace(engine, tags=("u",)),
        lambda engine: dataclasses.replace(engine, tags=()),
        lambda engine: dataclasses.replace(engine, data=("schema.json",)),
        rewritten("go.mod", "module x\n\ngo 1.26.0\n\nrequire example.org/m v1.2.4\n"),
        rewritten("go.mod", "module x\n\ngo 1.26.1\n\nrequire example.org/m v1.2.3\n"),
        rewritten("go.sum", "example.org/m v1.2.3 h1:def=\n"),
        rewritten("tools.go", "package tools // other\n"),
        rewritten("main.go", "package main\n"),
    ],
)
def test_the_key_changes_with_everything_that_may_change_the_binary(
    engine: Engine, change: Callable[[Engine], Engine]
) -> None:
    before = key(engine, TOOLCHAIN)
    assert key(dataclasses.replace(engine), TOOLCHAIN) == before
    assert key(change(engine), TOOLCHAIN) != before


@pytest.mark.parametrize("toolchain", ["go version go1.26.9 linux/amd64", "go version go1.26.8 linux/arm64"])
def test_the_key_changes_with_toolchain_and_platform(engine: Engine, toolchain: str) -> None:
    assert key(engine, toolchain) != key(engine, TOOLCHAIN)


def test_the_key_names_engine_and_version_and_ignores_what_go_does_not_read(engine: Engine) -> None:
    before = key(engine, TOOLCHAIN)
    (engine.sources / "schema.json").write_text("{}")
    assert key(engine, TOOLCHAIN) == before
    assert re.fullmatch(r"m-v1\.2\.3-[0-9a-f]{16}", before)


def test_every_engine_has_a_key_of_its_own() -> None:
    assert len({key(engine, TOOLCHAIN) for engine in ENGINES.values()}) == len(ENGINES) == 14


@pytest.mark.parametrize("name", sorted({engine.folder for engine in ENGINES.values()}))
def test_every_module_is_hashed_and_none_is_a_folder_of_this_machine(name: str) -> None:
    go_mod = (FOLDER / name / "go.mod").read_text()
    hashes = (FOLDER / name / "go.sum").read_text()
    for engine in ENGINES.values():
        if engine.folder == name:
            assert f"{engine.module} {engine.version} h1:" in hashes
    replacements = re.findall(r"=> (\S+)(?: (\S+))?$", go_mod, re.MULTILINE)
    assert [found for found in replacements if not found[1]] == []


def test_what_the_linker_is_told_is_the_version_that_go_mod_requires() -> None:
    version = ENGINES["kube-apiserver"].version.removeprefix("v")
    major, minor, _ = version.split(".")
    assert ENGINES["kube-apiserver"].linker_flags == (
        f"-s -w -X k8s.io/component-base/version.gitVersion=v{version} "
        f"-X k8s.io/component-base/version.gitMajor={major} -X k8s.io/component-base/version.gitMinor={minor}"
    )
    assert ENGINES["etcd"].linker_flags == "-s -w"


def test_the_provider_tells_the_version_that_the_python_package_asks_for() -> None:
    (pin,) = re.findall(r"^pulumi-kubernetes==(\S+)$", (ROOT / "requirements/program.in").read_text(), re.MULTILINE)
    assert f'provider.Serve("kubernetes", "{pin}", ' in (FOLDER / "pulumi_kubernetes/main.go").read_text()


def test_data_files_of_other_projects_are_ignored_by_git() -> None:
    ignored = (FOLDER / "pulumi_kubernetes/.gitignore").read_text().split()
    assert ignored == [Path(file).name for file in ENGINES["pulumi-resource-kubernetes"].data]


def test_each_tier_has_its_engines_and_the_chain_has_all() -> None:
    assert "karpenter" in of_tier(Tier.CLUSTER)
    assert "kubelet" not in of_tier(Tier.CLUSTER)
    assert "kubelet" in of_tier(Tier.NODE)
    assert "karpenter" not in of_tier(Tier.NODE)
    assert of_tier(Tier.CHAIN) == tuple(ENGINES)


def test_an_engine_is_found_in_the_cache_or_told_how_to_build(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bench.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FLOODPLAIN_ENGINES", raising=False)
    monkeypatch.setattr("testbed.engines.where.go", lambda: find_go(bench.environment))
    with pytest.raises(EngineError) as caught:
        path("etcd")
    assert str(caught.value) == (
        f"etcd v3.6.16 is not built for this toolchain ({TOOLCHAIN}); run `python -m testbed build etcd`"
    )
    place = bench.cache / key(ENGINES["etcd"], TOOLCHAIN) / "etcd"
    place.parent.mkdir(parents=True)
    place.write_text("")
    assert path("etcd") == place
    assert stale(bench.cache, find_go(bench.environment)) == []
    with pytest.raises(EngineError, match=r"there is no engine 'etc'; known: etcd, kube-apiserver"):
        path("etc")


def test_a_folder_of_ready_engines_needs_no_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("FLOODPLAIN_ENGINES", str(tmp_path))
    (tmp_path / "etcd").write_text("")
    with pytest.raises(EngineError, match="has no program etcd; unset it"):
        path("etcd")
    (tmp_path / "etcd").chmod(0o755)
    assert path("etcd") == tmp_path / "etcd"


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/floodplain/engines"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/floodplain/engines"),
        ({"XDG_CACHE_HOME": "c", "HOME": "/h"}, "/h/.cache/floodplain/engines"),
        ({"HOME": "/h"}, "/h/.cache/floodplain/engines"),
    ],
)
def test_the_cache_lies_where_the_desktop_standard_says(given: dict[str, str], folder: str) -> None:
    assert cache_folder(given) == Path(folder)


def test_a_module_is_asked_of_the_go_mod_that_wants_it_itself() -> None:
    assert requiring("sigs.k8s.io/kwok") == FOLDER / "kwok"
    assert requiring("sigs.k8s.io/karpenter") == FOLDER / "karpenter"
    with pytest.raises(EngineError, match=r"no go\.mod of testbed/engines requires example\.org/none"):
        requiring("example.org/none")


def test_a_module_is_unpacked_or_the_reason_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    module_folder.cache_clear()
    monkeypatch.setattr("testbed.engines.modules.go", lambda: find_go(bench.environment))
    with pytest.raises(EngineError, match=r"the Go module sigs\.k8s\.io/kwok could not be had: the Go module proxy"):
        module_folder("sigs.k8s.io/kwok")
    monkeypatch.setattr("testbed.engines.modules.go", lambda: find_go({**bench.environment, "MODULE": "/m/kwok"}))
    assert module_folder("sigs.k8s.io/kwok") == Path("/m/kwok")
    module_folder.cache_clear()


def test_a_module_that_go_mod_does_not_require_has_no_version() -> None:
    with pytest.raises(EngineError, match=r"go\.mod does not require a/b"):
        required_version("module x\n\nrequire a/bc v1.0.0\n", "a/b")


@pytest.mark.parametrize(
    ("ready", "remedy"),
    [
        ({}, ", or set FLOODPLAIN_ENGINES to a folder of ready engines"),
        (
            {"FLOODPLAIN_ENGINES": "/ready"},
            ": files that come with modules are read through it, also where FLOODPLAIN_ENGINES names the programs",
        ),
    ],
    ids=["building", "ready engines"],
)
def test_without_go_the_message_says_what_is_needed(tmp_path: Path, ready: dict[str, str], remedy: str) -> None:
    with pytest.raises(EngineError) as caught:
        find_go({"PATH": str(tmp_path), **ready})
    assert str(caught.value) == (
        f"engines are built with Go {needed()} or newer, and there is no `go` on PATH; install it from "
        f"https://go.dev/dl{remedy}"
    )


def test_an_old_go_is_asked_to_fetch_the_needed_one(bench: Bench) -> None:
    found = find_go({**bench.environment, "GO_IS": "go1.24.4"})
    assert found.version == f"go version go{needed()} linux/amd64"
    assert found.environment["GOTOOLCHAIN"] == f"go{needed()}"


def test_an_old_go_that_cannot_fetch_is_told_with_both_versions(bench: Bench) -> None:
    with pytest.raises(EngineError) as caught:
        find_go({**bench.environment, "GO_IS": "go1.24.4", "NO_SWITCH": "1"})
    assert f"built with Go {needed()} or newer; " in str(caught.value)
    assert "is go version go1.24.4 linux/amd64, and fetching Go" in str(caught.value)
    assert "no such host; install it from" in str(caught.value)


def test_a_person_who_chose_a_toolchain_is_obeyed(bench: Bench) -> None:
    with pytest.raises(EngineError, match=r"is go version go1\.24\.4 linux/amd64; install it"):
        find_go({**bench.environment, "GOTOOLCHAIN": "go1.24.4"})


def test_a_go_that_does_not_work_is_told(bench: Bench) -> None:
    go = Path(bench.environment["PATH"].split(":")[0]) / "go"
    go.write_text("#!/bin/sh\necho 'cannot find GOROOT' >&2\nexit 2\n")
    with pytest.raises(EngineError, match="is not working: cannot find GOROOT; install it"):
        find_go(bench.environment)


def test_flags_of_a_person_do_not_reach_the_build(bench: Bench) -> None:
    given = {**bench.environment, "GOFLAGS": "-mod=mod -race", "CGO_ENABLED": "1", "GOWORK": "/elsewhere/go.work"}
    environment = find_go(given).environment
    assert (environment["GOFLAGS"], environment["CGO_ENABLED"], environment["GOWORK"]) == ("", "0", "off")


@pytest.mark.parametrize("given", [{}, {"HOME": ""}])
def test_go_gets_a_home_for_its_caches_where_none_is_set(given: dict[str, str]) -> None:
    assert environment(given) == {"HOME": str(Path.home()), "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
