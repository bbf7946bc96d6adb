"""`python -m testbed up` with a stand-in for the bed: how it ends, what is said then. tests/cluster has real ones."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import testbed.__main__ as command
from testbed import bed
from testbed.engine_error import EngineError

DIED = EngineError("etcd was killed by SIGKILL although nobody asked it to; its last lines:\n    serving")


@pytest.fixture
def up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int | str | None]:
    """`up(opening, looked)`: the command's exit code or message; the arguments say what the bed raises and when."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["testbed", "up", "--bare"])
    monkeypatch.setattr("time.sleep", lambda _: None)

    def run(opening: BaseException | None = None, looked: BaseException | None = None) -> int | str | None:
        looks = iter([None, None, looked])

        def require_whole() -> None:
            if error := next(looks):
                raise error

        @contextlib.contextmanager
        def open_bed(state: Any) -> Iterator[Any]:
            state.path("logs", "etcd.log").touch()
            if opening:
                raise opening
            cluster = SimpleNamespace(kubeconfig=Path("/a folder/kubeconfig"))
            yield SimpleNamespace(
                cluster=cluster, aws=SimpleNamespace(endpoint="http://127.0.0.1:1"), require_whole=require_whole
            )

        monkeypatch.setattr(bed, "open_bed", open_bed)
        with pytest.raises(SystemExit) as ended:
            command._run()
        return ended.value.code

    return run


def left(folder: Path) -> list[str]:
    return [path.name.rpartition("-")[0] for path in folder.glob("floodplain-testbed-*")]


def test_ctrl_c_is_the_good_end_of_a_cluster_that_is_up(
    up: Callable[..., object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert up(looked=KeyboardInterrupt()) == 0
    assert capsys.readouterr().out == "export KUBECONFIG='/a folder/kubeconfig'\n"
    assert left(tmp_path) == []


def test_ctrl_c_before_it_is_up_is_an_interruption(up: Callable[..., object], tmp_path: Path) -> None:
    assert up(opening=KeyboardInterrupt()) == 130
    assert left(tmp_path) == []


def test_a_person_learns_at_once_that_an_engine_has_ended_and_where_its_log_is(
    up: Callable[..., object], tmp_path: Path
) -> None:
    (told,) = [up(looked=DIED)]
    assert left(tmp_path) == ["floodplain-testbed"]
    (folder,) = tmp_path.glob("floodplain-testbed-*")
    assert told == f"testbed: {DIED}\nstate and logs stay in {folder}"


def test_a_file_that_cannot_be_written_is_one_message(up: Callable[..., object]) -> None:
    denied = PermissionError(13, "Permission denied", "/cache/floodplain")
    assert up(opening=denied) == (
        "testbed: /cache/floodplain: Permission denied; name a folder that can be written, on a disk with room: "
        "XDG_CACHE_HOME for what is built, TMPDIR for what is temporary"
    )
