"""A build ends with a whole program in the cache or with none, and with one message; `go` is a stand-in here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.engine_error import EngineError
from testbed.engines import ENGINES
from testbed.engines.build import Event, Step, build
from testbed.engines.toolchain import find_go
from tests.testbed.engines.conftest import Bench

ROOT = Path(__file__).resolve().parents[3]


def started(bench: Bench, *arguments: str, **settings: str) -> subprocess.Popen[str]:
    """`python -m testbed build ...` as a person runs it."""
    return subprocess.Popen(
        [sys.executable, "-m", "testbed", "build", *arguments],
        cwd=ROOT,
        env={**bench.environment, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def built(bench: Bench, *names: str, **settings: str) -> list[Event]:
    events: list[Event] = []
    build(names, find_go({**bench.environment, **settings}), report=events.append)
    return events


def failure(bench: Bench, **settings: str) -> str:
    with pytest.raises(EngineError) as caught:
        built(bench, "etcd", **settings)
    assert bench.binaries() == []
    assert list((bench.cache / ".work").glob("*/*")) == []
    return str(caught.value)


def test_what_is_missing_is_built_once_and_then_only_found(bench: Bench) -> None:
    first = [(event.name, event.step) for event in built(bench, "etcd", "kwok")]
    assert first == [(name, step) for name in ("etcd", "kwok") for step in (Step.BUILDING, Step.LINE, Step.BUILT)]
    assert bench.binaries() == ["etcd whole", "kwok whole"]
    assert [event.step for event in built(bench, "etcd", "kwok")] == [Step.PRESENT, Step.PRESENT]
    assert len(bench.builds()) == 2


def test_go_is_asked_for_the_package_with_version_and_tags(bench: Bench) -> None:
    built(bench, "ctr")
    (ran,) = bench.builds()
    _, folder, asked = ran.split(" ", 2)
    assert Path(folder) == ROOT / "testbed/engines/containerd"
    work = bench.cache / ".work" / "ctr" / "ctr"
    assert asked == (
        "build -v -mod=readonly -buildvcs=false "
        "-ldflags -s -w -X github.com/containerd/containerd/v2/version.Version=2.2.9 "
        f"-tags no_btrfs,no_devmapper,no_zfs -o {work} github.com/containerd/containerd/v2/cmd/ctr"
    )


def test_data_files_come_from_the_module_and_never_into_our_folder(bench: Bench, tmp_path: Path) -> None:
    module = tmp_path / "module" / "cmd" / "pulumi-resource-kubernetes"
    module.mkdir(parents=True)
    for name in ("schema.json", "terraform-mapping.json"):
        (module / name).write_text("{}")
    before = sorted((ROOT / "testbed/engines/pulumi_kubernetes").iterdir())
    built(bench, "pulumi-resource-kubernetes", MODULE=str(tmp_path / "module"))
    assert bench.binaries() == ["pulumi-resource-kubernetes whole"]
    (ran,) = bench.builds()
    assert Path(ran.split()[1]) == bench.cache / ".work" / "pulumi-resource-kubernetes" / "source"
    assert sorted((ROOT / "testbed/engines/pulumi_kubernetes").iterdir()) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_no_binary_and_no_process(
    bench: Bench, is_alive: Callable[[int], bool], number: signal.Signals
) -> None:
    builder = started(bench, "etcd", GO_DOES="slow")
    bench.wait_for_builds(1)
    compiler = int(bench.builds()[0].split()[0])
    assert is_alive(compiler)
    builder.send_signal(number)
    _, errors = builder.communicate(timeout=20)
    assert builder.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert not is_alive(compiler)
    assert bench.binaries() == []
    assert list((bench.cache / ".work").glob("*/*")) == []


def test_after_a_killed_builder_the_next_waits_for_its_compiler_and_starts_afresh(bench: Bench) -> None:
    killed = started(bench, "etcd", GO_DOES="slow")
    bench.wait_for_builds(1)
    killed.kill()
    killed.communicate()
    assert bench.binaries() == []
    second = started(bench, "etcd")
    assert second.stdout
    assert second.stdout.readline() == "etcd: another build of it is running; waiting\n"
    os.killpg(int(bench.builds()[0].split()[0]), signal.SIGKILL)
    output, errors = second.communicate(timeout=20)
    assert (second.returncode, errors) == (0, ""), output
    assert bench.binaries() == ["etcd whole"]
    assert list((bench.cache / ".work").glob("*/*")) == []


def test_two_builders_at_once_build_once(bench: Bench) -> None:
    both = [started(bench, "etcd", GO_DOES="soon") for _ in range(2)]
    outputs = [builder.communicate(timeout=30)[0] for builder in both]
    assert [builder.returncode for builder in both] == [0, 0], outputs
    assert len(bench.builds()) == 1
    assert bench.binaries() == ["etcd whole"]


def refused(bench: Bench, *, free: int, **settings: str) -> str:
    with pytest.raises(EngineError) as caught:
        build(["etcd", "kwok"], find_go({**bench.environment, **settings}), free=lambda _: free)
    assert bench.builds() == []
    return str(caught.value)


def test_a_disk_with_too_little_room_is_told_before_anything_is_built(bench: Bench) -> None:
    assert refused(bench, free=4 * 2**30) == (
        f"building etcd, kwok takes 4.1 GiB, and the disk of {bench.cache} has 4.0 GiB free; free some, or set "
        "XDG_CACHE_HOME to a folder on another disk"
    )


def test_a_disk_that_holds_only_gos_cache_is_asked_too(bench: Bench) -> None:
    message = refused(bench, free=2 * 2**30, GO_CACHE="/dev/shm/go-build")
    assert message.startswith("building etcd, kwok takes 3.0 GiB, and the disk of /dev/shm/go-build has 2.0 GiB free")


def test_modules_that_go_has_already_need_no_room_in_its_caches(bench: Bench) -> None:
    for module, version in (("go.etcd.io/etcd/server/v3", "v3.6.16"), ("sigs.k8s.io/kwok", "v0.8.0")):
        archive = Path(bench.environment["HOME"]) / "go/pkg/mod/cache/download" / module / "@v" / f"{version}.zip"
        archive.parent.mkdir(parents=True)
        archive.write_text("")
    assert list(build(["etcd", "kwok"], find_go(bench.environment), free=lambda _: 2 * 2**30)) == ["etcd", "kwok"]


def test_built_engines_need_no_room(bench: Bench) -> None:
    built(bench, "etcd")
    assert list(build(["etcd"], find_go(bench.environment), free=lambda _: 0)) == ["etcd"]


def test_a_disk_that_fills_while_go_works_leaves_no_binary(bench: Bench) -> None:
    message = failure(bench, GO_DOES="full")
    assert message.startswith("etcd v3.6.16 could not be had: the disk is full: free some space")
    assert "No space left on device" in message


def test_a_cache_that_cannot_be_written_is_one_message(bench: Bench) -> None:
    bench.cache.mkdir(parents=True)
    (bench.cache / ".work").write_text("")
    with pytest.raises(EngineError, match=r"etcd could not be built in .*File exists; free some space or set XDG"):
        built(bench, "etcd")


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("go: x: Get: dial tcp: lookup proxy: no such host", "the Go module proxy could not be reached"),
        ("verifying x: checksum mismatch", "what was fetched is not what go.sum holds"),
        ("compile: signal: killed", "the compiler was killed"),
        ("x.go:1: undefined: y", "Go's last lines:\n    x.go:1: undefined: y"),
    ],
)
def test_why_go_failed_is_told_with_its_last_lines(bench: Bench, said: str, cause: str) -> None:
    message = failure(bench, GO_DOES="say", GO_SAYS=said)
    assert cause in message
    assert message.endswith(f"    {said}")


def test_a_build_that_makes_no_program_is_a_fault(bench: Bench) -> None:
    assert "`go build` ended well but made no program" in failure(bench, GO_DOES="nothing")


def test_the_command_says_each_step_in_a_line_where_there_is_no_terminal(bench: Bench) -> None:
    builder = started(bench, "etcd")
    output, errors = builder.communicate(timeout=30)
    assert output.splitlines() == [
        "etcd: building v3.6.16",
        "etcd: built in 0 s",
        f"engines ready: 1, in {bench.cache}",
    ]
    assert errors == ""


def test_a_fault_is_one_message_with_status_1_and_wrong_use_has_2(bench: Bench) -> None:
    builder = started(bench, "etcd", GO_DOES="say", GO_SAYS="broken")
    _, errors = builder.communicate(timeout=30)
    assert (builder.returncode, errors) == (
        1,
        "testbed: etcd v3.6.16 could not be had. Go's last lines:\n    broken\n",
    )
    wrong = started(bench, "etcdd")
    _, errors = wrong.communicate(timeout=30)
    assert wrong.returncode == 2
    assert "there is no engine 'etcdd'" in errors


def test_builds_of_other_versions_are_listed_and_removed_on_request(bench: Bench) -> None:
    built(bench, "etcd")
    old = bench.cache / "etcd-v3.5.0-0123456789abcdef"
    old.mkdir()
    (old / "etcd").write_text("old")
    listed, _ = started(bench, "--list").communicate(timeout=30)
    assert "of other versions: 1, 0 MiB; `build --prune` removes them" in listed
    assert len([line for line in listed.splitlines() if line.endswith("not built")]) == 13
    assert [line.split()[0] for line in listed.splitlines()[1:15]] == list(ENGINES)
    removed, _ = started(bench, "--prune").communicate(timeout=30)
    assert removed == f"removed {old.name}\n"
    assert bench.binaries() == ["etcd whole"]


def test_a_folder_of_ready_engines_is_taken_as_it_is(bench: Bench, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    (ready / "etcd").write_text("")
    (ready / "etcd").chmod(0o755)
    good = started(bench, "etcd", FLOODPLAIN_ENGINES=str(ready))
    assert good.communicate(timeout=30)[0] == f"engines ready: 1, in {ready} (FLOODPLAIN_ENGINES)\n"
    lacking = started(bench, "etcd", "kwok", FLOODPLAIN_ENGINES=str(ready))
    _, errors = lacking.communicate(timeout=30)
    assert errors == (
        f"testbed: FLOODPLAIN_ENGINES names {ready}, which has no program kwok; unset it to use our builds\n"
    )
    assert bench.builds() == []
