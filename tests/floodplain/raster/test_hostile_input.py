"""Inputs that are meant to hurt: what a terminal would obey, files without an end, signals at bad moments."""

from __future__ import annotations

import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from floodplain.cli import app
from floodplain.cli_plan_screen import print_plan
from floodplain.cli_raster_files import RoutedFiles
from floodplain.quantity import MIB
from floodplain.raster.read_header import RasterUnreadable, read_header
from floodplain.raster.record import Record
from floodplain.raster.route import Place
from floodplain.sizing.explain import Explanation, Row, Section
from floodplain.stop_signals import Stopped, stoppable, unstopped
from tests.floodplain.raster.cogs import TILE, cog

EVIL = "a\x1b]0;owned\x07\x1b[31m\r\n\u202eb"
OBEYED = ("\x1b", "\x07", "\r", "\u202e")


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ("raster", *arguments), env={"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def listed(folder: Path, *tasks: object) -> str:
    path = folder / "tiles.jsonl"
    path.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))
    return str(path)


@pytest.fixture(scope="module")
def raster(tmp_path_factory: pytest.TempPathFactory) -> str:
    return cog(tmp_path_factory.mktemp("rasters") / "a.tif")


def test_a_raster_that_cannot_be_read_is_told_without_what_a_terminal_obeys() -> None:
    with pytest.raises(RasterUnreadable) as caught:
        read_header(EVIL)
    assert str(caught.value).isprintable()
    assert caught.value.path == EVIL


def test_a_plan_and_a_layer_are_printed_without_what_a_terminal_obeys(tmp_path: Path) -> None:
    seen = io.StringIO()
    told = Explanation(headline=EVIL, rows=(Row(EVIL, EVIL, EVIL),), sections=(Section(EVIL, (EVIL,)),))
    print_plan(Console(file=seen, force_terminal=True, width=400, no_color=True), told, feasible=True, remarks=(EVIL,))
    plain = seen.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert [letter for letter in OBEYED if letter in plain] == []

    history = tmp_path / "peaks.jsonl"
    record = Record(layer=EVIL, task=EVIL, peak_bytes=90 * MIB, marginal_bytes=80 * MIB, baseline_bytes=10 * MIB)
    history.write_text(f"{record.model_dump_json()}\n" * 3)
    for command in ("workers", "bill"):
        result = run(command, "--history", str(history), "--layer", EVIL)
        assert result.exit_code == 0
        assert [letter for letter in OBEYED if letter in result.output] == []


def test_a_folder_with_a_name_that_a_terminal_obeys_is_told_plainly(raster: str, tmp_path: Path) -> None:
    result = run("route", listed(tmp_path, {"source": raster, "size": 64}), "--out", str(tmp_path / "x\x1b[31m"))
    assert result.exit_code == 0
    assert "\x1b" not in result.output
    assert "x\\x1b[31m/small.jsonl" in result.output


def test_a_pipe_or_device_is_no_raster_and_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.tif"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/zero"):
        with pytest.raises(RasterUnreadable, match="is a pipe or device, not a file"):
            read_header(path)


def test_a_path_that_is_not_utf_8_is_told_with_what_to_do() -> None:
    with pytest.raises(RasterUnreadable, match="is not UTF-8, in which GDAL takes paths; rename the file"):
        read_header("\udcff.tif")


def test_an_output_that_lacks_a_letter_gets_its_escape(raster: str, tmp_path: Path) -> None:
    tasks = listed(tmp_path, {"source": raster, "size": 64})
    command = [sys.executable, "-m", "floodplain", "raster", "route", tasks, "--out", str(tmp_path / "\u00e9")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "300"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe9/small.jsonl" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("route", "/dev/zero", "--out", "x"),
            "TILES: /dev/zero has a line of more than 256 MiB; name a file of lines",
        ),
        (
            ("estimate", "a.tif", "--pools-file", "/dev/zero"),
            "--pools-file: /dev/zero is larger than 16 MiB; name another",
        ),
    ],
)
def test_files_without_an_end_are_not_read_to_it(arguments: tuple[str, ...], told: str) -> None:
    assert run(*arguments).stderr.startswith(told)


def test_of_a_file_that_is_no_list_only_the_first_faults_are_told(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\n" * 5_000)
    told = run("route", str(path), "--out", str(tmp_path / "out")).stderr.splitlines()
    assert (len(told), told[-2]) == (103, f"{path}: lines after 101 were not read")


def test_a_long_line_of_a_manifest_is_kept_whole(raster: str, tmp_path: Path) -> None:
    long = "x" * 200_000
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(f"kind: Pod\nmetadata: {{name: a}}\nspec:\n  containers: [{{name: a, args: [{long}]}}]\n")
    result = run("annotate", raster, "--tile", TILE, "--manifest", str(manifest))
    assert (result.exit_code, result.stderr) == (0, "")
    assert long in result.stdout


def test_a_key_that_a_pools_file_has_twice_is_told(raster: str, tmp_path: Path) -> None:
    pools = tmp_path / "pools.json"
    pools.write_text('{"slots": 8, "slots": 2}')
    result = run("estimate", raster, "--pools-file", str(pools))
    told = f"--pools-file: {pools}: the pools: 'slots' is given twice; keep one of them\n"
    assert (result.exit_code, result.stderr) == (1, told)


@pytest.mark.parametrize("bounds", ["0,-1e308,1e308,1e308", "-1e308,-1e308,1e308,1e308", "0,0,1e200,1"])
def test_bounds_beyond_all_rasters_are_told_also_in_a_list(bounds: str, raster: str, tmp_path: Path) -> None:
    result = run("estimate", raster, f"--bounds={bounds}", "--crs", "EPSG:3857")
    assert (result.exit_code, result.stdout, len(result.stderr.splitlines())) == (1, "", 1)
    numbers = [float(part) for part in bounds.split(",")]
    tasks = listed(tmp_path, {"source": raster, "bounds": numbers, "crs": "EPSG:3857"}, {"source": raster, "size": 64})
    assert run("route", tasks, "--out", str(tmp_path / "out")).exit_code == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["big.jsonl", "failed.jsonl", "small.jsonl"]


def test_a_window_beyond_all_rasters_is_told_in_short() -> None:
    result = run("estimate", "a.tif", "--window", "1e300,0,1,1")
    told = "--window: '1e300,0,1,1' is not a window: 1e+300 is no pixel of any raster; "
    assert (result.exit_code, result.stderr.startswith(told)) == (2, True)


def test_too_many_slots_are_told_as_such_and_sizes_with_their_unit() -> None:
    result = run("estimate", "a.tif", "--slots", "99999999999999999999")
    told = "--small-memory: '8Gi' leaves nothing for 99,999,999,999,999,999,999 tasks at once: "
    assert (result.exit_code, result.stderr.startswith(told)) == (2, True)


def test_a_second_run_on_one_folder_is_refused_and_the_first_is_untouched(raster: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tasks = listed(tmp_path, {"source": raster, "size": 64})
    with RoutedFiles(str(out), overwrite=False) as first:
        second = run("route", tasks, "--out", str(out), "--overwrite")
        told = f"--out: another run is writing to {out}; wait for it, or name another folder\n"
        assert (second.exit_code, second.stderr) == (1, told)
        first.write(Place.SMALL, "mine")
        first.commit()
    assert (out / "small.jsonl").read_text() == "mine\n"
    assert run("route", tasks, "--out", str(out), "--overwrite").exit_code == 0


def test_what_a_killed_run_left_is_swept_away(raster: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / ".small.jsonl.4711").write_text("half")
    (out / ".small.jsonl.mine").write_text("not ours")
    assert run("route", listed(tmp_path, {"source": raster, "size": 64}), "--out", str(out)).exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == [".small.jsonl.mine", "big.jsonl", "small.jsonl"]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_to_the_whole_group_leaves_nothing_half_and_no_traceback(
    number: signal.Signals, status: int, raster: str, tmp_path: Path
) -> None:
    """While processes that compute estimates are starting: terminals and supervisors signal these too."""
    tasks, out = tmp_path / "tiles.jsonl", tmp_path / "out"
    tasks.write_text(json.dumps({"source": raster, "size": 64}) + "\n")
    tasks.write_text(tasks.read_text() * 40_000)
    command = [sys.executable, "-m", "floodplain", "raster", "route", str(tasks), "--out", str(out)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            until = time.monotonic() + 60
            while not _children(process.pid) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            os.killpg(process.pid, number)
            _, told = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, told) == (status, "Interrupted: nothing was written.\n")
    assert list(out.iterdir()) == []


def _children(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return ""


def _to_this_thread() -> None:
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)


def _to_another_thread() -> None:
    """One that does not block it, as a library's may: Python then runs the handler in the main thread at once."""

    def take() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        signal.raise_signal(signal.SIGTERM)

    other = threading.Thread(target=take)
    other.start()
    other.join()


@pytest.mark.parametrize("send", [_to_this_thread, _to_another_thread])
def test_a_signal_while_files_get_their_names_waits_until_they_have_them(send: Callable[[], None]) -> None:
    """The thread is named: one sent to the process goes to whichever thread, and may arrive after the last name."""
    done = []
    with pytest.raises(Stopped) as caught, stoppable():
        with unstopped():
            send()
            done.append("whole")
        done.append("not reached")
    assert (done, caught.value.status) == (["whole"], 143)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_folder_is_free_again_after_a_run_that_failed(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RoutedFiles(str(tmp_path / "out"), overwrite=False):
        raise ZeroDivisionError
    folder = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(folder)
    assert list((tmp_path / "out").iterdir()) == []
