"""What `measured` says of tasks in a real process, and of uses that can give no true figure."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import MIB
from floodplain.raster import history_file
from floodplain.raster.lost_task import Now, Start, Unknown, for_memory, lower_bounds
from floodplain.raster.measured_pool import MeasuredPool
from floodplain.raster.measuring import Facts, measured, run, start_worker
from floodplain.raster.open_tasks import close_open_tasks, folder_of
from floodplain.raster.process_spans import MeasuringError
from floodplain.raster.record import Method, Outcome, Record
from tests.floodplain.raster.measured_tasks import decorated, hold, hold_and_die, hold_and_fail
from tests.floodplain.raster.test_process_memory import UNDUMPABLE

ROOT = Path(__file__).parents[3]
NEAR = 2 * MIB


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "peaks.jsonl"


def marginals(records: list[Record]) -> list[int]:
    return [round(record.marginal_bytes / MIB) for record in records]


def child(code: str, *arguments: str) -> list[str]:
    """The lines that a process of its own prints.

    By way of a shell that forks: `ru_maxrss` of a program begins with what its parent held, here that of many tests.
    """
    small_parent = ["sh", "-c", '"$@"; exit $?', "sh"]
    answer = subprocess.run(
        [*small_parent, sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    # The shell's word for a program that was killed is none of it.
    assert answer.stderr in ("", "Killed\n")
    return answer.stdout.splitlines()


def test_each_task_of_a_reused_process_has_its_own_peak(history: Path) -> None:
    sizes = [300, 50, 20, 200, 10]
    with MeasuredPool(1, layer="ortho", history=history) as pool:
        assert list(pool.map(hold, sizes)) == sizes
    records = history_file.read(history)
    assert [abs(record.marginal_bytes - size * MIB) < NEAR for record, size in zip(records, sizes, strict=True)] == [
        True
    ] * 5
    assert {record.method for record in records} == {Method.VMHWM}
    assert {record.peak_bytes - record.marginal_bytes - record.baseline_bytes for record in records} == {0}


def test_a_block_gives_its_record_with_what_was_known_of_the_task() -> None:
    with measured("ortho", task="7/66/42", estimate_bytes=5, slot_limit_bytes=9, source_bytes=3) as measurement:
        assert measurement.record is None
        hold(30)
    record = measurement.record
    assert record is not None and record.seconds is not None
    assert record == Record(
        layer="ortho",
        task="7/66/42",
        estimate_bytes=5,
        slot_limit_bytes=9,
        source_bytes=3,
        peak_bytes=record.peak_bytes,
        marginal_bytes=record.marginal_bytes,
        baseline_bytes=record.baseline_bytes,
        before_bytes=record.before_bytes,
        seconds=record.seconds,
    )
    assert record.before_bytes is not None
    assert abs(record.peak_bytes - record.before_bytes - 30 * MIB) < NEAR


def test_a_task_that_fails_is_recorded_and_its_error_passes(history: Path) -> None:
    with pytest.raises(ValueError, match="no such tile"), measured("ortho", history=history):
        hold_and_fail(40)
    (record,) = history_file.read(history)
    assert (record.outcome, record.censored) == (Outcome.FAILED, False)
    assert record.before_bytes is not None
    assert abs(record.peak_bytes - record.before_bytes - 40 * MIB) < NEAR
    assert list(folder_of(history).iterdir()) != []
    assert close_open_tasks(history) == []


def test_a_task_that_was_refused_memory_wanted_more_than_it_had() -> None:
    with pytest.raises(MemoryError), measured("ortho") as measurement:
        raise MemoryError
    assert measurement.record is not None
    assert (measurement.record.outcome, measurement.record.censored) == (Outcome.FAILED, True)


def test_a_decorated_function_stays_what_it_was_and_each_call_is_measured() -> None:
    records: list[Record] = []
    recorded = measured("ortho", on_record=records.append)(decorated.__wrapped__)  # type: ignore[attr-defined]
    assert (recorded(3), recorded(4, twice=True), recorded.__name__, recorded.__doc__) == (
        3,
        8,
        "decorated",
        "Of these docs.",
    )
    assert [record.layer for record in records] == ["ortho", "ortho"]


def test_a_baseline_is_taken_after_the_warm_up(history: Path) -> None:
    code = """
import sys
from floodplain.raster.measuring import measured, start_worker
from tests.floodplain.raster.measured_tasks import hold
kept = []
start_worker("ortho", warm_up=lambda: kept.append(bytearray(b"x") * 50_000_000))
with measured() as measurement:
    hold(20)
print(round(measurement.record.marginal_bytes / 2**20), measurement.notes)
with measured("other") as measurement:
    pass
print(round(measurement.record.marginal_bytes / 2**20), measurement.record.layer)
"""
    assert child(code) == ["20 []", "0 other"]


def test_without_a_warm_up_the_first_task_pays_for_imports_and_that_is_said() -> None:
    code = """
from floodplain.raster.measuring import measured
with measured("ortho") as measurement:
    import decimal, xml.dom.minidom, http.server, numpy
print(measurement.record.marginal_bytes > 5 * 2**20)
print(*measurement.notes)
"""
    note = "no warm-up: what the first task imports counts as its own; see start_worker"
    assert child(code) == ["True", note]


def test_memory_that_earlier_tasks_left_is_said_and_the_process_should_be_renewed() -> None:
    code = """
from floodplain.raster.measuring import measured, start_worker
start_worker("ortho", recycle_above_bytes=30 * 2**20)
with measured():
    kept = bytearray(b"x") * (50 * 2**20)
with measured() as measurement:
    pass
record = measurement.record
print(round(record.marginal_bytes / 2**20), round((record.peak_bytes - record.before_bytes) / 2**20))
print(measurement.notes[-1])
"""
    assert child(code) == [
        "50 0",
        "50 MiB above the baseline stayed resident before this task: start the process anew, "
        "such as by max_tasks_per_child",
    ]


class TestWhereTheMarkCannotBeSetBack:
    """A new record of the process is exact all the same; other tasks are sampled."""

    CODE = """
import time
from floodplain.raster import process_memory
from floodplain.raster.measuring import measured
from tests.floodplain.raster.measured_tasks import hold
HERE
for mib in (60, 30, 90):
    with measured("ortho") as measurement:
        kept = bytearray(b"x") * (mib * 2**20)
        time.sleep(1.5 if mib == 30 else 0)
        del kept
    record = measurement.record
    print(record.method.value, round((record.peak_bytes - record.before_bytes) / 2**20 / 10) * 10)
"""
    SEEN = ["vmhwm 60", "samples 30", "vmhwm 90"]

    def test_because_proc_is_not_the_processs_own(self) -> None:
        assert child(self.CODE.replace("HERE", UNDUMPABLE)) == self.SEEN

    def test_because_there_is_no_proc(self) -> None:
        without = "import pathlib\nprocess_memory.PROC = pathlib.Path('/nonexistent')"
        assert child(self.CODE.replace("HERE", without)) == self.SEEN


class TestThreads:
    def test_a_second_task_at_a_time_is_refused_before_it_begins(self) -> None:
        refused: list[str] = []

        def second() -> None:
            try:
                with measured("ortho"):
                    refused.append("it began")
            except MeasuringError as error:
                refused.append(str(error))

        with measured("ortho") as measurement:
            thread = threading.Thread(target=second)
            thread.start()
            thread.join()
        assert refused == [
            "another measured task is open in this process, and Linux knows no peak of a thread; use processes "
            '(MeasuredPool), one thread, or measured(..., shared="set") for the figure of all together'
        ]
        assert measurement.record is not None and measurement.record.concurrent == 1

    def test_tasks_that_share_have_the_figure_of_the_set_and_say_so(self) -> None:
        records: dict[int, Record] = {}
        both = threading.Barrier(2)

        def task(mib: int) -> None:
            with measured("ortho", shared="set", on_record=lambda record: records.update({mib: record})):
                kept = bytearray(b"x") * (mib * MIB)
                both.wait(30)
                del kept

        with ThreadPoolExecutor(2) as threads:
            list(threads.map(task, [40, 60]))
        with measured("ortho", shared="set") as alone:
            hold(10)
        assert {record.concurrent for record in records.values()} == {2}
        grown = max(record.peak_bytes - (record.before_bytes or 0) for record in records.values())
        assert abs(grown - 100 * MIB) < NEAR
        assert alone.record is not None and alone.record.concurrent == 1
        assert alone.record.peak_bytes - (alone.record.before_bytes or 0) < 30 * MIB

    def test_of_a_set_each_task_has_the_peak_of_its_own_time(self) -> None:
        late, early = threading.Event(), threading.Event()
        records: list[Record] = []

        def second() -> None:
            late.wait(30)
            with measured("second", shared="set", on_record=records.append):
                hold(20)
            early.set()

        thread = threading.Thread(target=second)
        thread.start()
        with measured("first", shared="set", on_record=records.append):
            hold(100)
            late.set()
            early.wait(30)
        thread.join()
        grown = {record.layer: record.peak_bytes - (record.before_bytes or 0) for record in records}
        assert abs(grown["first"] - 100 * MIB) < NEAR
        assert abs(grown["second"] - 20 * MIB) < NEAR


class TestMisuse:
    def test_nested_blocks(self) -> None:
        told = "nested, or in a second coroutine; measure the outer task only"
        with measured("outer") as outer, pytest.raises(MeasuringError, match=told):
            decorated(1)
        assert outer.record is not None

    def test_a_block_in_a_coroutine(self) -> None:
        async def task() -> None:
            with measured("ortho"):
                await asyncio.sleep(0)

        with pytest.raises(MeasuringError, match="is used in a coroutine, where other coroutines run meanwhile"):
            asyncio.run(task())

    def test_an_asynchronous_block(self) -> None:
        async def task() -> None:
            async with measured("ortho"):
                pass

        with pytest.raises(MeasuringError, match="is no asynchronous context; run the task in a process"):
            asyncio.run(task())

    def test_coroutines_and_generators_as_decorated_functions(self) -> None:
        async def coroutine() -> None: ...

        def generator() -> Iterator[int]:
            yield 1

        for function in (coroutine, generator):
            with pytest.raises(MeasuringError, match="whose body runs after the call has returned"):
                measured("ortho")(function)

    def test_no_layer(self) -> None:
        with pytest.raises(MeasuringError, match="is required; name the kind of task"), measured():
            pass

    def test_an_unknown_way_to_share(self) -> None:
        with pytest.raises(MeasuringError, match='is not known; write "no" or "set"'):
            measured("ortho", shared="yes")  # type: ignore[arg-type]

    def test_one_object_entered_twice(self) -> None:
        once = measured("ortho")
        with once, pytest.raises(MeasuringError, match="is entered twice"):
            once.__enter__()

    def test_a_history_in_no_folder_is_told_before_the_task_begins(self, tmp_path: Path) -> None:
        began = False
        told = r"the folder of the history is missing; make it: '\S+/none/peaks\.jsonl'"
        history = tmp_path / "none" / "peaks.jsonl"
        with pytest.raises(FileNotFoundError, match=told), measured("ortho", history=history):
            began = True
        assert not began
        with measured("ortho") as afterwards:
            pass
        assert afterwards.record is not None

    def test_a_history_that_cannot_be_written_at_the_end_does_not_take_the_task_with_it(self, history: Path) -> None:
        with measured("ortho", history=history) as measurement:
            history.mkdir()
        assert measurement.record is not None
        assert f"{history}: the record could not be written" in measurement.notes[-1]
        history.rmdir()

    def test_what_is_told_of_a_record_does_not_take_the_task_with_it_either(self) -> None:
        def tell(_: Record) -> None:
            raise ValueError("no metrics today")

        with measured("ortho", on_record=tell) as measurement:
            pass
        assert measurement.record is not None
        assert measurement.notes[-1] == "on_record failed (ValueError('no metrics today'))"

    def test_a_task_may_change_the_working_directory(self, tmp_path: Path) -> None:
        code = """
import os, sys
from floodplain.raster.measuring import measured
os.chdir(sys.argv[1])
with measured("ortho", history="peaks.jsonl"):
    os.chdir("/")
"""
        assert child(f"import sys; sys.path.insert(0, {str(ROOT)!r})" + code, str(tmp_path)) == []
        # Also: a process that ends in order leaves nothing but its history.
        assert [path.name for path in tmp_path.iterdir()] == ["peaks.jsonl"]

    def test_a_child_forked_inside_a_block_measures_only_its_own_tasks(self, history: Path) -> None:
        code = """
import os, sys
from floodplain.raster.measuring import measured
with measured("ortho", history=sys.argv[1]):
    child = os.fork()
    if child:
        os.waitpid(child, 0)
if not child:
    with measured("forked", history=sys.argv[1]):
        pass
    os._exit(0)
"""
        assert child(code, str(history)) == []
        assert [record.layer for record in history_file.read(history)] == ["forked", "ortho"]


class TestKilledTasks:
    """They report nothing themselves; whoever finds them open writes a lower bound."""

    def test_the_pool_writes_the_lower_bound_of_the_task_that_was_killed(self, history: Path) -> None:
        pool = MeasuredPool(2, layer="ortho", history=history, slot_limit_bytes=500 * MIB, every_sigkill=True)
        with pool:
            assert pool.submit_task(Facts(task="small", estimate_bytes=3), hold, 3).result() == 3
            with pytest.raises(BrokenProcessPool):
                pool.submit_task(Facts(task="large", estimate_bytes=400), hold_and_die, 30).result()
        small, large = history_file.read(history)
        assert (small.task, small.estimate_bytes, small.outcome) == ("small", 3, Outcome.DONE)
        assert [large] == pool.killed
        assert large == Record(
            layer="ortho",
            task="large",
            peak_bytes=500 * MIB,
            marginal_bytes=500 * MIB - large.baseline_bytes,
            baseline_bytes=large.baseline_bytes,
            censored=True,
            outcome=Outcome.KILLED,
            method=Method.NONE,
            estimate_bytes=400,
            slot_limit_bytes=500 * MIB,
        )
        assert list(folder_of(history).iterdir()) == []

    @pytest.mark.parametrize("by", [9, SIGTERM])
    def test_a_kill_that_the_kernel_did_not_make_for_memory_is_not_taken_for_one(self, history: Path, by: int) -> None:
        pool = MeasuredPool(1, layer="ortho", history=history, slot_limit_bytes=500 * MIB, every_sigkill=by != 9)
        with pool, pytest.raises(BrokenProcessPool):
            pool.submit(hold_and_die, 3, by).result()
        assert (pool.killed, history.exists(), list(folder_of(history).iterdir())) == ([], False, [])

    def test_a_task_at_work_in_another_process_is_left_alone(self, history: Path) -> None:
        code = """
import sys
from floodplain.raster.measuring import measured
with measured("ortho", history=sys.argv[1], slot_limit_bytes=10**9):
    print("open", flush=True)
    sys.stdin.read()
"""
        arguments = [sys.executable, "-c", code, str(history)]
        with subprocess.Popen(arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None and worker.stdin is not None
            assert worker.stdout.readline() == "open\n"
            assert close_open_tasks(history, {worker.pid: -9}, every_sigkill=True) == []
            worker.kill()
            worker.wait()
            (killed,) = close_open_tasks(history, {worker.pid: -9}, every_sigkill=True)
        assert (killed.outcome, killed.peak_bytes) == (Outcome.KILLED, 10**9)
        assert close_open_tasks(history) == []

    def test_the_next_start_finds_what_was_left_open(self, history: Path) -> None:
        code = """
import os, sys
from floodplain.raster import open_tasks
from floodplain.raster.measuring import measured
open_tasks._group = lambda: None  # as in a container that is gone with its cgroup
measured("ortho", task="42", history=sys.argv[1], slot_limit_bytes=10**9).__enter__()
os.kill(os.getpid(), 9)
"""
        assert child(code, str(history)) == []
        with measured("dem", history=history):
            pass
        assert [(record.layer, record.task, record.outcome) for record in history_file.read(history)] == [
            ("ortho", "42", Outcome.KILLED),
            ("dem", None, Outcome.DONE),
        ]

    @pytest.mark.parametrize(
        ("status", "boot", "cgroup", "kills", "unknown", "every_sigkill", "verdict"),
        [
            # Who supervised it knows its status; the kernel's count says whether SIGKILL was for memory.
            (-9, "now", "a", 4, "killed", False, True),
            (137, "now", "a", 4, "killed", False, True),
            (-9, "now", "a", 3, "killed", False, False),
            (-9, "now", "a", 3, "killed", True, True),
            (-9, "now", "a", None, "dropped", False, True),
            (-9, "now", "b", 3, "dropped", False, True),
            (-15, "now", "a", 4, "killed", True, False),
            (1, "now", "a", 4, "killed", True, False),
            # Nobody knows the status.
            (None, "now", "a", 4, "dropped", False, True),
            (None, "now", "a", 3, "killed", True, False),
            (None, "now", "b", 0, "killed", False, True),
            (None, "now", "b", 0, "dropped", False, False),
            (None, "later", "a", 4, "killed", False, False),
        ],
    )
    def test_whether_it_was_for_memory(
        self,
        status: int | None,
        boot: str,
        cgroup: str,
        kills: int | None,
        unknown: str,
        every_sigkill: bool,
        verdict: bool,
    ) -> None:
        start = Start("ortho", pid=7, boot="now", cgroup="a", oom_kills=3)
        now = Now(boot, cgroup, kills)
        assert for_memory(start, now, status=status, unknown=Unknown(unknown), every_sigkill=every_sigkill) == verdict

    def test_without_a_slot_limit_no_more_is_known_than_the_baseline(self) -> None:
        start = Start("ortho", pid=7, boot="now", cgroup="a", oom_kills=3, baseline_bytes=70 * MIB)
        (bound,) = lower_bounds([start])
        assert (bound.peak_bytes, bound.marginal_bytes, bound.censored) == (70 * MIB, 0, True)

    def test_of_tasks_that_one_cgroup_lost_at_once_the_largest_is_the_one_that_needed_more(self) -> None:
        one = Start("ortho", pid=7, boot="now", cgroup="a", oom_kills=3, slot_limit_bytes=500 * MIB)
        together = [replace(one, task=str(size), estimate_bytes=size * MIB) for size in (90, 400, 120)]
        alone = replace(one, task="alone", cgroup="b", estimate_bytes=MIB)
        found = {record.task: (record.concurrent, record.peak_bytes) for record in lower_bounds([*together, alone])}
        limit = 500 * MIB
        assert found == {"90": (3, limit), "400": (1, limit), "120": (3, limit), "alone": (1, limit)}

    @pytest.mark.parametrize(
        ("known", "concurrent"),
        [
            ([{"source_bytes": 5}, {"source_bytes": 9}], [2, 1]),
            ([{"estimate_bytes": 5}, {"source_bytes": 9}], [1, 2]),
            ([{}, {}], [1, 1]),
            ([{"concurrent": 4}, {"estimate_bytes": 5}], [4, 1]),
        ],
    )
    def test_the_largest_is_told_by_estimates_then_by_sources_and_where_neither_is_known_each_could_be_it(
        self, known: list[dict[str, Any]], concurrent: list[int]
    ) -> None:
        one = Start("ortho", pid=7, boot="now", cgroup="a", oom_kills=3)
        assert [record.concurrent for record in lower_bounds([replace(one, **some) for some in known])] == concurrent

    @given(st.lists(st.tuples(st.sampled_from(["", "a", "b"]), st.integers(1, 3), st.integers(1, 4))))
    def test_each_set_has_one_bound_that_counts_and_it_is_the_largest(self, lost: list[tuple[str, int, int]]) -> None:
        starts = [
            Start("ortho", pid, "now", cgroup, None, task=str(number), estimate_bytes=size * MIB)
            for number, (cgroup, pid, size) in enumerate(lost)
        ]
        records = {record.task: record for record in lower_bounds(starts)}
        assert sorted(records, key=lambda name: int(name or "")) == [start.task for start in starts]
        sets: dict[tuple[str, int], list[Start]] = {}
        for start in starts:
            sets.setdefault((start.cgroup, 0 if start.cgroup else start.pid), []).append(start)
        for together in sets.values():
            others = [records[start.task].concurrent for start in together]
            counting = [start.estimate_bytes for start in together if records[start.task].concurrent == 1]
            assert counting == [max(start.estimate_bytes or 0 for start in together)]
            assert sorted(others) == [1] + [len(together)] * (len(together) - 1)

    def test_what_cannot_be_written_is_found_again(self, history: Path) -> None:
        code = """
import os, sys
from floodplain.raster import open_tasks
from floodplain.raster.measuring import measured
open_tasks._group = lambda: None  # as in a container that is gone with its cgroup
measured("ortho", history=sys.argv[1], slot_limit_bytes=10**9).__enter__()
os.kill(os.getpid(), 9)
"""
        assert child(code, str(history)) == []
        history.mkdir()
        with pytest.raises(OSError, match="directory"):
            close_open_tasks(history)
        history.rmdir()
        assert [record.outcome for record in close_open_tasks(history)] == [Outcome.KILLED]


def test_a_plain_pool_of_processes_measures_with_the_initializer(history: Path) -> None:
    options: dict[str, Any] = {"initializer": start_worker, "initargs": ("ortho", history, 10**9)}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), **options) as pool:
        assert pool.submit(run, Facts(task="a"), hold, 20).result() == 20
        assert pool.submit(decorated, 5, twice=True).result() == 10
    found = history_file.read(history)
    assert [(record.layer, record.task, record.slot_limit_bytes) for record in found] == [
        ("ortho", "a", 10**9),
        ("decorated", None, 10**9),
    ]
    assert marginals(found) == [20, 5]


def test_a_pool_takes_several_tasks_at_once_for_none() -> None:
    with MeasuredPool(1, layer="ortho") as pool, pytest.raises(MeasuringError, match="would measure several tasks"):
        pool.map(hold, [1, 2], chunksize=2)
