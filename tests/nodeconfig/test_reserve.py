"""The kernel's reserve by node size: the table a reader can judge, and the node's own shell against it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.quantity import GIB, KIB
from nodeconfig import BootSettings, files_written, kernel_reserve, user_data

# MemTotal GiB: min_free_kbytes, watermark_scale_factor, MiB free at which kswapd starts, and at which it stops.
TABLE = {
    2: (174762, 416, 255, 341),
    4: (349525, 416, 511, 682),
    8: (524288, 312, 767, 1023),
    16: (524288, 156, 767, 1023),
    32: (524288, 99, 836, 1160),
    64: (1048576, 99, 1672, 2321),
    128: (2097152, 99, 3345, 4643),
    256: (2097152, 99, 4643, 7238),
    384: (2097152, 99, 5940, 9833),
    512: (2097152, 78, 6137, 10226),
    768: (2097152, 52, 6137, 10226),
    1024: (2097152, 39, 6137, 10226),
    1536: (2097152, 26, 6137, 10226),
}


@pytest.mark.parametrize("gib", TABLE)
def test_reserve_is_sane_at_every_size(gib: int) -> None:
    reserve = kernel_reserve(gib * GIB)
    kib = gib * GIB // KIB
    row = (
        reserve.min_free_kib,
        reserve.watermark_scale_factor,
        reserve.low_kib(kib) // 1024,
        reserve.high_kib(kib) // 1024,
    )
    assert row == TABLE[gib]


@given(st.integers(min_value=2 * GIB, max_value=24 * 1024 * GIB))
def test_reserve_keeps_its_bounds(memory_bytes: int) -> None:
    reserve = kernel_reserve(memory_bytes)
    kib = memory_bytes // KIB
    assert reserve.min_free_kib <= min(2 * 1024 * 1024, kib // 11)
    assert 10 <= reserve.watermark_scale_factor <= 1000
    assert reserve.high_kib(kib) <= max(kib // 5, 10)
    if memory_bytes > 3.5 * GIB:
        assert reserve.min_free_kib > 256 * 1024, "kswapd must work before kubelet's 256Mi threshold"


@pytest.mark.parametrize("memory_kib", [gib * 1024 * 1024 for gib in TABLE] + [7_996_411, 64_889_212, 781_423_997])
def test_node_sets_what_the_table_says(machine: Any, memory_kib: int) -> None:
    machine.set_memory(memory_kib)
    text = user_data(BootSettings(swappiness=42, page_cluster=1), root=str(machine.root))
    done = machine.run(script=files_written(text)[f"{machine.root}/usr/local/sbin/floodplain-memory"])
    assert (done.returncode, done.stderr) == (0, "")
    reserve = kernel_reserve(memory_kib * 1024)
    assert machine.calls == [
        f"sysctl -q -w vm.min_free_kbytes={reserve.min_free_kib} "
        f"vm.watermark_scale_factor={reserve.watermark_scale_factor} vm.swappiness=42 vm.page-cluster=1"
    ]


def test_setting_that_the_kernel_refuses_fails_the_unit(machine: Any) -> None:
    machine.write("bin/sysctl", "#!/bin/bash\nexit 255\n")
    program = files_written(user_data(BootSettings(), root=str(machine.root)))
    assert machine.run(script=program[f"{machine.root}/usr/local/sbin/floodplain-memory"]).returncode == 255
