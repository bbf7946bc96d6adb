from __future__ import annotations

import os
import threading

from preview.beside import Beside


def test_a_copy_of_this_process_computes_while_this_one_goes_on() -> None:
    beside = Beside(lambda: str(os.getpid()).encode())
    assert int(beside.result()) != os.getpid()


def test_what_fails_in_the_copy_is_computed_here() -> None:
    here = os.getpid()

    def compute() -> bytes:
        if os.getpid() != here:
            raise ValueError
        return b"here"

    assert Beside(compute).result() == b"here"


def test_with_other_threads_at_work_no_copy_is_made() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert Beside(lambda: str(os.getpid()).encode()).result() == str(os.getpid()).encode()
    finally:
        done.set()
        thread.join()


def test_a_copy_nobody_waits_for_leaves_nothing_behind() -> None:
    beside = Beside(lambda: b"x" * 1_000_000)
    beside.stop()
    beside.stop()
