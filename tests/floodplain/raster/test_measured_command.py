"""`floodplain measure`: figures of real commands, their status, their streams and their signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from floodplain.quantity import GIB, MIB
from floodplain.raster import history_file
from floodplain.raster.measured_command import MeasuredCommand, measure_command
from floodplain.raster.process_tree import descendants, memory_of
from floodplain.raster.record import Method, Outcome

ROOT = Path(__file__).parents[3]
PYTHON = (sys.executable, "-I", "-S", "-c")
MEASURE = (sys.executable, "-m", "floodplain", "measure")
HELD = "import os, sys; kept = bytearray(b'x') * ({} << 20)"
"""A program that holds so many MiB beside itself."""


def floodplain(*arguments: str, stdin: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*MEASURE, *arguments]
    return subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, text=True, check=False, **options)


def near(measured: MeasuredCommand, mib: int, beside: int = 12) -> bool:
    assert measured.record is not None
    return mib * MIB <= measured.record.peak_bytes <= (mib + beside) * MIB


class TestFigures:
    def test_one_process_has_its_high_water_mark_also_of_memory_that_it_gave_back_at_once(self) -> None:
        made = measure_command([*PYTHON, HELD.format(100) + "; del kept; os._exit(0)"])
        assert made.record is not None
        assert near(made, 100)
        assert (made.record.method, made.record.outcome, made.record.censored) == (Method.VMHWM, Outcome.DONE, False)
        assert made.record.marginal_bytes == made.record.peak_bytes

    def test_a_small_command_does_not_have_the_memory_of_who_measures_it(self) -> None:
        kept = bytearray(b"x") * (200 * MIB)
        made = measure_command(["sleep", "0.2"])
        assert len(kept) == 200 * MIB
        assert made.record is not None
        assert 0 < made.record.peak_bytes < 5 * MIB

    def test_of_a_command_that_is_over_at_once_there_is_a_bound(self) -> None:
        kept = bytearray(b"x") * (200 * MIB)
        made = measure_command(["true"])
        assert len(kept) == 200 * MIB
        assert made.record is not None
        assert made.record.peak_bytes < 16 * MIB

    def test_several_processes_at_a_time_count_together(self) -> None:
        held = HELD.format(60) + "; print(flush=True); sys.stdin.read()"
        both = f"""
import subprocess, sys
command = [{PYTHON[0]!r}, "-I", "-S", "-c", {held!r}]
children = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
for child in children:
    child.stdout.readline()
import time
time.sleep(0.5)
for child in children:
    child.stdin.close()
    child.wait()
"""
        made = measure_command([sys.executable, "-I", "-S", "-c", both])
        assert near(made, 120, beside=40)
        assert made.record is not None
        assert (made.record.method, made.processes) == (Method.SAMPLES, 3)

    def test_memory_that_a_fork_shares_counts_once(self) -> None:
        forks = (
            HELD.format(80)
            + """
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        sys.stdin.read()
        os._exit(0)
    children.append(child)
import time
time.sleep(0.5)
os.close(0)
for child in children:
    os.kill(child, 9)
    os.wait()
"""
        )
        reading, writing = os.pipe()
        kept = os.dup(0)
        os.dup2(reading, 0)
        try:
            made = measure_command([*PYTHON, forks])
        finally:
            os.dup2(kept, 0)
            for file in (reading, writing, kept):
                os.close(file)
        assert made.processes == 4
        assert near(made, 80, beside=30)

    def test_descendants_are_found_through_every_thread(self) -> None:
        code = """
import subprocess, sys, threading
def start():
    global child
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
thread = threading.Thread(target=start)
thread.start(); thread.join()
print(child.pid, flush=True)
sys.stdin.read()
child.stdin.close()
child.wait()
"""
        arguments = [sys.executable, "-c", code]
        with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None and parent.stdin is not None
            below = int(parent.stdout.readline())
            assert descendants(parent.pid) == [parent.pid, below]
            parent.stdin.close()
        assert memory_of([parent.pid, below]) is None


class TestKilled:
    """There is no kernel's kill for memory without a limit, so SIGKILL stands for it; the real one: tests/node."""

    def test_a_kill_for_memory_is_a_lower_bound_of_the_limit(self) -> None:
        made = measure_command(["sh", "-c", "kill -9 $$"], limit_bytes=2 * GIB, layer="ortho", every_sigkill=True)
        assert made.record is not None
        assert (made.exit_status, made.record.outcome, made.record.censored) == (137, Outcome.KILLED, True)
        assert (made.record.peak_bytes, made.record.slot_limit_bytes) == (2 * GIB, 2 * GIB)

    def test_also_where_a_shell_tells_it_of_its_child(self) -> None:
        made = measure_command(["sh", "-c", "sh -c 'kill -9 $$'; exit $?"], limit_bytes=GIB, every_sigkill=True)
        assert made.record is not None
        assert (made.exit_status, made.record.outcome, made.record.peak_bytes) == (137, Outcome.KILLED, GIB)

    def test_without_a_known_limit_what_was_seen_is_the_bound(self) -> None:
        made = measure_command([*PYTHON, HELD.format(50) + "; os.kill(os.getpid(), 9)"], every_sigkill=True)
        assert made.record is not None
        if made.record.slot_limit_bytes is None:
            assert near(made, 50)
            assert made.notes == (
                "killed for memory, and no limit is known: what was seen is the lower bound (--limit)",
            )
        assert made.record.censored

    def test_sigkill_that_the_kernel_did_not_send_for_memory_is_an_ordinary_failure(self) -> None:
        made = measure_command(["sh", "-c", "kill -9 $$"], limit_bytes=2 * GIB)
        assert made.record is not None
        assert (made.exit_status, made.record.outcome, made.record.censored) == (137, Outcome.FAILED, False)
        told = "SIGKILL, but the kernel counted no kill for memory: not taken for one (--every-sigkill)"
        assert told in made.notes


class TestCommandLine:
    def test_streams_and_status_are_the_commands(self) -> None:
        done = floodplain("--", "sh", "-c", "cat; echo told >&2; exit 3", stdin="in\n")
        assert (done.returncode, done.stdout) == (3, "in\n")
        told, ours = done.stderr.splitlines()[:2]
        assert told == "told"
        assert ours.startswith("floodplain: peak ") and " failed, exit 3; by " in ours

    def test_options_after_the_command_are_its_own(self) -> None:
        assert floodplain("echo", "--json", "-n", "x").stdout == "--json -n x\n"

    @pytest.mark.parametrize(
        ("command", "status", "told"),
        [
            (
                ["no-such-command"],
                127,
                "floodplain: no-such-command: cannot be run (No such file or directory); check its name and PATH\n",
            ),
            (
                ["/etc/passwd"],
                126,
                "floodplain: /etc/passwd: cannot be run (Permission denied); name a program that you may execute\n",
            ),
            (
                ["/etc/passwd/x"],
                127,
                "floodplain: /etc/passwd/x: cannot be run (Not a directory); check its name and PATH\n",
            ),
            ([""], 127, "floodplain: '': cannot be run (No such file or directory); check its name and PATH\n"),
        ],
    )
    def test_a_command_that_cannot_be_run(self, tmp_path: Path, command: list[str], status: int, told: str) -> None:
        history = tmp_path / "peaks.jsonl"
        done = floodplain("--history", str(history), "--", *command)
        assert (done.returncode, done.stdout, done.stderr) == (status, "", told)
        assert history_file.read(history) == []

    def test_the_record_goes_to_the_history_and_as_json_to_standard_error(self, tmp_path: Path) -> None:
        history = tmp_path / "peaks.jsonl"
        options = ["--history", str(history), "--layer", "ortho", "--task", "42", "--limit", "2Gi", "--json"]
        done = floodplain(*options, "--", "true")
        told = json.loads(done.stderr)
        # It may be over before it is looked at, which then is told.
        assert (told.pop("exit_status"), told.pop("processes") in (0, 1)) == (0, True)
        assert told.pop("notes") in ([], ["it ended before it could be looked at, and held this much at most"])
        assert history_file.read(history)[0].model_dump(mode="json") == told
        assert (told["layer"], told["task"], told["slot_limit_bytes"]) == ("ortho", "42", 2 * GIB)

    def test_where_the_whole_container_is_killed_the_next_start_writes_the_lower_bound(self, tmp_path: Path) -> None:
        history = tmp_path / "peaks.jsonl"
        # As if memory had killed it with its command, in a cgroup that is gone.
        code = f"""
import os
from floodplain.raster import open_tasks
open_tasks._group = lambda: None
from floodplain.cli import app
app(["measure", "--history", {str(history)!r}, "--limit", "2Gi", "--task", "42", "--", "sh", "-c", KILL])
"""
        # The launcher is between the two.
        kill = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)"
        lost = subprocess.run([sys.executable, "-c", code.replace("KILL", repr(kill))], cwd=ROOT, check=False)
        assert (lost.returncode, history_file.read(history)) == (-9, [])
        assert floodplain("--history", str(history), "--", "true").returncode == 0
        found = [(record.task, record.outcome, record.peak_bytes) for record in history_file.read(history)]
        assert found[0] == ("42", Outcome.KILLED, 2 * GIB)
        assert [outcome for _, outcome, _ in found] == [Outcome.KILLED, Outcome.DONE]
        assert [path.name for path in tmp_path.iterdir()] == ["peaks.jsonl"]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (["--limit", "2GB"], "--limit: '2GB' is not a quantity; write 2G (decimal) or 2Gi (binary)\n"),
            (["--limit", "0"], "--limit: '0' is nothing; write what the command may use, such as 2Gi\n"),
            (
                ["--history", "/nonexistent/peaks.jsonl"],
                "--history: '/nonexistent/peaks.jsonl' cannot be written (No such file or directory); "
                "name a file in a folder that you may write to\n",
            ),
        ],
    )
    def test_with_bad_options_nothing_is_run(self, options: list[str], told: str) -> None:
        done = floodplain(*options, "--", "echo", "ran")
        assert (done.returncode, done.stdout, done.stderr) == (125, "", told)


class TestSignals:
    # The command says that it is there, and ends by what it is sent.
    WAITING = "import signal, sys; print('there', flush=True); signal.pause()"

    def started(self, code: str = WAITING, *, group: bool = False) -> subprocess.Popen[str]:
        arguments = [*MEASURE, "--", sys.executable, "-c", code]
        streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        popen = subprocess.Popen(arguments, cwd=ROOT, start_new_session=group, **streams)
        assert popen.stdout is not None
        assert popen.stdout.readline() == "there\n"
        return popen

    @pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
    def test_a_signal_to_us_reaches_the_command(self, sent: signal.Signals) -> None:
        with self.started() as popen:
            popen.send_signal(sent)
            _, told = popen.communicate(timeout=60)
        assert popen.returncode == 128 + sent
        assert f"failed, exit {128 + sent}; by " in told

    def test_ctrl_c_ends_the_command_and_the_record_is_written_all_the_same(self) -> None:
        with self.started(group=True) as popen:
            os.killpg(popen.pid, signal.SIGINT)
            _, told = popen.communicate(timeout=60)
        assert popen.returncode == 128 + signal.SIGINT
        assert "KeyboardInterrupt" in told and f"failed, exit {128 + signal.SIGINT}; by " in told

    def test_a_command_that_handles_a_signal_decides_itself(self) -> None:
        code = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); "
        with self.started(code + "print('there', flush=True); signal.pause()") as popen:
            popen.terminate()
            popen.communicate(timeout=60)
        assert popen.returncode == 7

    def test_what_is_ignored_stays_ignored_and_the_rest_is_as_a_shell_gives_it(self) -> None:
        nohup = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
        cat = ["grep", "SigIgn", "/proc/self/status"]
        run: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True, "check": True}
        plain = subprocess.run([*nohup, *cat], **run).stdout.split()[1]
        measured = subprocess.run([*nohup, *MEASURE, "--", *cat], **run).stdout.split()[1]
        # Above 31 are two of the C library's own, which posix_spawn ignores.
        assert int(measured, 16) & 0x7FFFFFFF == int(plain, 16) & 0x7FFFFFFF
