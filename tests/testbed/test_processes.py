"""Engines as processes: how they start and end, and what is said when one does not do as it should."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.engine_error import EngineError
from testbed.processes import Process, Processes, clean_environment, held, wait_until
from testbed.state import PROCESSES, State
from tests.testbed.owners import FOREVER, OWNER, python, runs, said, soon


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with State(tmp_path / "bed") as opened:
        yield opened


@pytest.fixture
def processes(state: State) -> Iterator[Processes]:
    with Processes(state) as opened:
        yield opened


def ended(process: Process) -> bool:
    return soon(lambda: not process.alive())


def test_an_engine_gets_exactly_its_environment_its_folder_and_a_log_of_both_outputs(
    processes: Processes, tmp_path: Path
) -> None:
    script = "import os; print(os.getcwd(), sorted(os.environ), flush=True); os.write(2, os.environ['A'].encode())"
    process = processes.start("python", [sys.executable, "-c", script], env={"A": "b", "LC_CTYPE": "C"}, cwd=tmp_path)
    assert ended(process)
    assert process.exit_code() == 0
    assert process.log == tmp_path / "bed" / "logs" / "python.log"
    # Shells add PWD; the one before the engine does.
    assert process.log.read_text() == f"{tmp_path} ['A', 'LC_CTYPE', 'PWD']\nb"


def test_nothing_of_a_person_s_environment_reaches_an_engine(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ETCD_NAME", "KUBECONFIG", "AWS_PROFILE", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "theirs")
    process = processes.start("env", ["env"])
    assert ended(process)
    found = dict(line.split("=", 1) for line in process.log.read_text().splitlines())
    assert {name: found[name] for name in found if name not in ("PWD", "SHLVL", "_")} == clean_environment()


def test_an_engine_starts_in_the_state_folder_and_in_a_session_of_its_own(processes: Processes, state: State) -> None:
    process = processes.start("sleep", ["sleep", FOREVER])
    assert Path(f"/proc/{process.pid}/cwd").readlink() == state.folder
    assert (os.getsid(process.pid), os.getsid(process.pid) == os.getsid(0)) == (process.pid, False)


def test_a_program_that_is_missing_is_told_with_what_builds_it(processes: Processes) -> None:
    with pytest.raises(EngineError) as refusal:
        processes.start("etcd", ["/nowhere/etcd", "--flag"])
    assert str(refusal.value) == (
        "etcd: there is no program /nowhere/etcd; `python -m testbed build` builds the engines, other programs come "
        "with your system's packages"
    )


def test_a_program_that_is_no_program_ends_at_once_and_says_why(processes: Processes, tmp_path: Path) -> None:
    (tmp_path / "etcd").write_text("#!/nowhere/interpreter")
    (tmp_path / "etcd").chmod(0o755)
    process = processes.start("etcd", [tmp_path / "etcd"])
    with pytest.raises(EngineError) as failure:
        wait_until("etcd is ready", lambda: False, process=process)
    first, *lines = str(failure.value).splitlines()
    assert first == "etcd ended with status 127 before etcd is ready; its last lines:"
    assert [str(tmp_path / "etcd") in line for line in lines] == [True]


def test_engines_end_in_reverse_order(processes: Processes, tmp_path: Path) -> None:
    script = f"trap 'echo $0 >> {tmp_path}/order; exit' TERM; echo up; while :; do sleep 0.01; done"
    for name in ("etcd", "api-server", "scheduler"):
        process = processes.start(name, ["sh", "-c", script, name])
        wait_until("it is up", process.log.read_text)
    processes.stop_all()
    assert (tmp_path / "order").read_text().split() == ["scheduler", "api-server", "etcd"]


def test_an_engine_that_does_not_end_when_asked_is_killed_with_what_it_started(processes: Processes) -> None:
    script = f"trap '' TERM; sleep {FOREVER} & echo $!; while :; do sleep 0.1; done"
    process = processes.start("stubborn", ["sh", "-c", script])
    child = int(str(wait_until("it is up", lambda: process.log.read_text())))
    process.stop(timeout_seconds=0.2)
    assert (process.alive(), process.exit_code()) == (False, -signal.SIGKILL)
    assert soon(lambda: not runs(child))


def test_a_held_engine_ends_with_its_block(processes: Processes) -> None:
    with held(processes.start("sleep", ["sleep", FOREVER])) as process:
        assert process.alive()
    assert process.exit_code() == -signal.SIGTERM


def test_stopping_what_has_ended_does_nothing(processes: Processes) -> None:
    process = processes.start("true", ["true"])
    assert ended(process)
    process.stop()
    process.kill()
    assert process.exit_code() == 0


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_engines_end_with_their_testbed_whatever_ends_that(way: signal.Signals, tmp_path: Path) -> None:
    """SIGINT goes to the group, as a terminal sends it, and engines are in groups of their own."""
    with python(OWNER, tmp_path, "sleep", FOREVER) as owner:
        engine = int(said(owner))
        os.killpg(owner.pid, way)
        owner.wait(20)
        assert soon(lambda: not runs(engine))
    assert (tmp_path / PROCESSES).exists() is (way is not signal.SIGINT)


def test_a_full_disk_is_told_and_the_engine_that_could_not_be_recorded_is_ended(state: State) -> None:
    state.path(PROCESSES).symlink_to("/dev/full")
    with Processes(state) as processes:
        with pytest.raises(EngineError) as failure:
            processes.start("sleep", ["sleep", FOREVER])
        (process,) = processes._running
        assert process.alive()
    state.path(PROCESSES).unlink()
    assert not process.alive()
    assert str(failure.value) == (
        "sleep could not be started: [Errno 28] No space left on device; its log and its id go to "
        f"{state.folder}, which may lie on a full disk"
    )


def test_last_lines_are_the_end_of_the_log(processes: Processes) -> None:
    process = processes.start("seq", ["seq", "100000"])
    assert ended(process)
    assert process.last_lines(3) == "    99998\n    99999\n    100000"
    assert len(process.last_lines(10**6)) < 80000
    quiet = processes.start("true", ["true"])
    assert ended(quiet)
    assert quiet.last_lines() == "    (it wrote nothing)"


def test_waiting_returns_the_first_true_value() -> None:
    values = iter([None, "", 0, "ready", "later"])
    assert wait_until("it is ready", lambda: next(values), pause_seconds=0) == "ready"


def test_waiting_goes_on_while_nobody_listens() -> None:
    answers = iter([ConnectionRefusedError("refused"), TimeoutError("slow"), "ready"])

    def ask() -> object:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    assert wait_until("it answers", ask, pause_seconds=0) == "ready"


def test_a_time_out_says_what_was_waited_for_why_and_the_last_lines(processes: Processes) -> None:
    def ask() -> bool:
        raise ConnectionRefusedError(111, "Connection refused")

    process = processes.start("etcd", ["sh", "-c", f"seq 30; sleep {FOREVER}"])
    wait_until("it has written", lambda: "30" in process.log.read_text())
    with pytest.raises(EngineError) as failure:
        wait_until("etcd answers", ask, process=process, timeout_seconds=0.2)
    lines = "".join(f"\n    {number}" for number in range(11, 31))
    assert str(failure.value) == (
        "timed out after 0 s waiting until etcd answers ([Errno 111] Connection refused); last lines of etcd:" + lines
    )


def test_an_engine_that_ends_is_told_at_once_with_its_last_lines(processes: Processes) -> None:
    process = processes.start("etcd", ["sh", "-c", "echo bind: address already in use; exit 3"])
    started = time.monotonic()
    with pytest.raises(EngineError) as failure:
        wait_until("etcd answers", lambda: None, process=process)
    assert time.monotonic() - started < 10
    assert str(failure.value) == (
        "etcd ended with status 3 before etcd answers; its last lines:\n    bind: address already in use"
    )


def test_an_engine_that_ended_unasked_is_told_and_one_that_was_stopped_is_not(processes: Processes) -> None:
    stopped = processes.start("kwok", ["sleep", FOREVER])
    running = processes.start("etcd", ["sh", "-c", f"echo serving; exec sleep {FOREVER}"])
    wait_until("it is up", lambda: running.log.read_text())
    stopped.stop()
    processes.require_all()
    os.kill(running.pid, signal.SIGKILL)
    assert ended(running)
    with pytest.raises(EngineError) as failure:
        processes.require_all()
    assert str(failure.value) == (
        "etcd was killed by SIGKILL although nobody asked it to; its last lines:\n    serving"
    )


def test_another_engine_that_was_killed_is_named_to_whoever_cannot_do_without_it(processes: Processes) -> None:
    """The error may be of any kind: an API server without its etcd answers, but with an error."""

    def ask() -> bool:
        raise KeyError("items")

    server = processes.start("kube-apiserver", ["sh", "-c", f"echo serving; exec sleep {FOREVER}"])
    wait_until("it is up", lambda: server.log.read_text())
    with pytest.raises(KeyError):
        wait_until("the pods run", ask)
    os.kill(server.pid, signal.SIGKILL)
    assert ended(server)
    with pytest.raises(EngineError) as failure:
        wait_until("the pods run", ask)
    assert str(failure.value) == (
        "kube-apiserver was killed by SIGKILL before the pods run; its last lines:\n    serving"
    )


def test_an_engine_that_was_stopped_on_purpose_is_nobody_s_fault(processes: Processes) -> None:
    processes.start("kwok", ["sleep", FOREVER]).stop()
    processes.start("karpenter", ["sleep", FOREVER]).kill()
    assert ended(processes.start("finished", ["true"]))

    def ask() -> bool:
        raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(EngineError, match="timed out after 0 s waiting until the pods run"):
        wait_until("the pods run", ask, timeout_seconds=0.1)


def test_a_clean_environment_holds_no_cluster_no_proxy_and_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECONFIG", "AWS_PROFILE", "HTTPS_PROXY", "PULUMI_ACCESS_TOKEN"):
        monkeypatch.setenv(name, "somebody's")
    monkeypatch.setenv("HOME", "/home/me")
    found = clean_environment(A="b")
    assert set(found) <= {"PATH", "HOME", "TMPDIR", "LANG", "XDG_CACHE_HOME", "A"}
    assert (found["HOME"], found["A"]) == ("/home/me", "b")
