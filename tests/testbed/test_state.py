"""The folder of a testbed: whose it is, what becomes of it after a crash, and what is never touched."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.engine_error import EngineError
from testbed.state import MARK, PROCESSES, State
from tests.testbed.owners import FOREVER, OWNER, python, runs, said, soon

# As an engine would be that the kernel did not end: in a container that ignores the signal, or started by another way.
OUTLIVES = ("setpriv", "--pdeathsig", "clear", "--")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", FOREVER]) as process:
        yield process
        process.kill()


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders go, here and in processes that are started."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_temporary_folder_is_gone_after_a_good_end() -> None:
    with State() as state:
        folder = state.folder
        state.path("logs", "a.log").write_text("x")
    assert not folder.exists()


def test_a_temporary_folder_stays_after_a_failure_since_it_holds_the_logs(scratch: Path) -> None:
    with pytest.raises(RuntimeError) as failure, State() as state:
        state.path("logs", "a.log").write_text("x")
        raise RuntimeError
    assert names(state.folder) == [MARK, "logs"]
    assert failure.value.__notes__ == [f"state and logs stay in {state.folder}"]


@pytest.mark.parametrize("end", [KeyboardInterrupt(), SystemExit(143)], ids=["ctrl-c", "kill"])
def test_a_temporary_folder_is_gone_after_an_end_that_was_asked_for(scratch: Path, end: BaseException) -> None:
    with pytest.raises(type(end)), State() as state:
        state.path("logs", "a.log").write_text("x")
        raise end
    assert names(scratch) == []


def test_a_temporary_folder_without_logs_is_gone_also_after_a_failure(scratch: Path) -> None:
    with pytest.raises(EngineError) as failure, State() as state:
        state.path("cluster", "kubeconfig").write_text("x")
        raise EngineError("etcd is not built")
    assert (names(scratch), hasattr(failure.value, "__notes__")) == ([], False)


def test_folders_stay_where_a_failure_that_passes_them_by_asks_for_it(scratch: Path) -> None:
    script = """\
from testbed.state import State, keep_logs
with State() as ended: ended.path("logs", "a.log").touch()
with State() as state:
    state.path("logs", "a.log").touch()
    print(state.folder, keep_logs() == [state.folder])
    print(ended.folder.exists())
with State() as later: later.path("logs", "a.log").touch()
print(state.folder.exists(), later.folder.exists())
"""
    with python(script) as process:
        assert process.wait(20) == 0
        folder, *answers = " ".join(said(process) for _ in range(3)).split()
    assert (Path(folder).parent, answers) == (scratch, ["True", "False", "True", "True"])


def test_a_temporary_folder_that_cannot_be_opened_is_removed(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: State) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(State, "_take", full)
    with pytest.raises(EngineError, match="No space left on device"), State():
        pass
    assert list(scratch.iterdir()) == []


def test_a_given_folder_stays_and_is_emptied_by_the_next_testbed(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "bed"
    with State(folder) as state:
        state.path("logs", "a.log").write_text("x")
        (folder / "link").symlink_to(tmp_path)
    assert names(folder) == [MARK, "link", "logs"]
    with State(folder):
        assert names(folder) == [MARK]
    assert tmp_path.exists()


def test_a_folder_with_foreign_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(EngineError) as refusal, State(tmp_path):
        pass
    assert str(refusal.value) == (
        f"state folder {tmp_path}: holds files that no testbed wrote; name an empty or a new folder"
    )
    assert names(tmp_path) == ["thesis.txt"]


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EngineError) as refusal, State(tmp_path / "file" / "bed"):
        pass
    assert str(refusal.value) == (
        f"state folder {tmp_path}/file/bed: Not a directory; name a folder of your own on a disk with room"
    )


def test_a_folder_in_use_is_refused_and_works_on(tmp_path: Path) -> None:
    with State(tmp_path) as state:
        state.path("data").write_text("x")
        with pytest.raises(EngineError) as refusal, State(tmp_path):
            pass
        assert names(tmp_path) == [MARK, "data"]
    assert str(refusal.value) == (
        f"state folder {tmp_path}: another testbed uses it; name another folder, or end that one"
    )


def test_a_folder_used_by_another_process_is_refused_until_that_ends(tmp_path: Path) -> None:
    with python(OWNER, tmp_path, "sleep", FOREVER) as owner:
        said(owner)
        with pytest.raises(EngineError, match="another testbed uses it"), State(tmp_path):
            pass
    with State(tmp_path):
        pass


def test_a_full_disk_is_told_before_anything_starts_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EngineError) as refusal, State(needed_bytes=2**70):
        pass
    assert str(refusal.value).startswith(f"state folder {tmp_path}/floodplain-testbed-")
    assert str(refusal.value).endswith(
        "GiB free on its disk, a testbed needs 1099511627776.0 GiB; free some, or set TMPDIR or name a folder on "
        "another disk"
    )
    assert names(tmp_path) == []


def test_the_folder_can_be_tried_again_after_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(EngineError), State(tmp_path, needed_bytes=2**70):
        pass
    with State(tmp_path):
        assert names(tmp_path) == [MARK]


def test_the_kernel_ends_the_engines_of_a_testbed_that_is_killed(tmp_path: Path) -> None:
    with python(OWNER, tmp_path, "sleep", FOREVER) as owner:
        engine = int(said(owner))
        assert runs(engine)
        owner.kill()
        assert soon(lambda: not runs(engine))


def test_a_folder_left_by_a_crash_is_taken_over_and_its_engines_are_ended_with_their_children(tmp_path: Path) -> None:
    script = f"sleep {FOREVER} & echo $! > child; wait"
    with python(OWNER, tmp_path, *OUTLIVES, "sh", "-c", script) as owner:
        engine = int(said(owner))
        assert soon(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip() != "")
        child = int((tmp_path / "child").read_text())
        owner.kill()
        owner.wait()
    assert (runs(engine), runs(child)) == (True, True)
    with State(tmp_path):
        assert names(tmp_path) == [MARK]
        assert soon(lambda: not runs(engine) and not runs(child))


def test_a_process_that_got_a_recorded_id_anew_is_not_ended(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    with State(tmp_path) as state:
        state.record("etcd", sleeper.pid)
        record = json.loads((tmp_path / PROCESSES).read_text())
        (tmp_path / PROCESSES).unlink()
    ticks, boot = record["started"].split()
    earlier, other_boot = f"{int(ticks) - 1} {boot}", f"{ticks} 00000000-0000-0000-0000-000000000000"
    for started in (earlier, other_boot, "", ticks):
        (tmp_path / PROCESSES).write_text(json.dumps({**record, "started": started}) + "\n")
        with State(tmp_path):
            pass
        assert runs(sleeper.pid)


def test_a_recorded_process_is_ended_and_a_record_cut_off_by_a_crash_is_passed_over(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    with State(tmp_path) as state:
        state.record("sleeper", sleeper.pid)
        record = (tmp_path / PROCESSES).read_text()
    assert sleeper.wait(10) == -9
    with State(tmp_path):
        (tmp_path / PROCESSES).write_text(record + '{"name": "kube-apis')
    assert names(tmp_path) == [MARK]


def test_a_process_that_shares_its_group_with_others_is_ended_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    """The sleeper is in the group of this test's own process, which lives on to say so."""
    with State(tmp_path) as state:
        state.record("sleeper", sleeper.pid)
    assert sleeper.wait(10) == -9
