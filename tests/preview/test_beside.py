from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

from preview.beside import Beside

CHECKOUT = Path(__file__).parent.parent.parent


def test_a_copy_of_the_process_computes_while_it_goes_on() -> None:
    program = (
        "import os\nfrom preview.beside import Beside\n"
        "beside = Beside(lambda: str(os.getpid()).encode())\n"
        "print(int(beside.result()) != os.getpid() or os.cpu_count() == 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


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
    beside.close()
    beside.close()
