"""Where our cgroup lies and what it says, on folders as kernels write them. Real ones: tests/node."""

from __future__ import annotations

from pathlib import Path

import pytest

from floodplain.raster.cgroup_memory import Cgroup, PeakFile, locate

V2 = "24 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = """30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
"""
HOST_VIEW = "24 1 0:22 /kubepods/podX/box /sys/fs/cgroup ro - cgroup2 cgroup rw\n"


@pytest.mark.parametrize(
    ("membership", "mounts", "found"),
    [
        ("0::/a.slice/b.scope\n", V2, Cgroup(Path("/sys/fs/cgroup/a.slice/b.scope"), Path("/sys/fs/cgroup"), 2)),
        ("0::/\n", V2, Cgroup(Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup"), 2)),
        # A container that sees the host's paths, but only its own part of the file system.
        ("0::/kubepods/podX/box\n", HOST_VIEW, Cgroup(Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup"), 2)),
        ("0::/kubepods/podY/box\n", HOST_VIEW, None),
        # v2 is mounted beside v1 for other controllers.
        (
            "4:memory:/a\n2:cpu:/b\n0::/\n",
            V1 + V2,
            Cgroup(Path("/sys/fs/cgroup/memory/a"), Path("/sys/fs/cgroup/memory"), 1),
        ),
        ("2:cpu,memory:/a\n", V1, Cgroup(Path("/sys/fs/cgroup/memory/a"), Path("/sys/fs/cgroup/memory"), 1)),
        ("0::/../elsewhere\n", V2, None),
        ("0::/a:b\n", V2.replace("/sys/fs", r"/my\040fs"), Cgroup(Path("/my fs/cgroup/a:b"), Path("/my fs/cgroup"), 2)),
        ("0::/\n", "", None),
        ("", V2, None),
        ("garbage\n", "garbage - \n", None),
    ],
)
def test_the_cgroup_is_found_by_membership_and_mounts(membership: str, mounts: str, found: Cgroup | None) -> None:
    assert locate(membership, mounts) == found


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return folder


def test_the_least_limit_of_those_above_counts(tmp_path: Path) -> None:
    written(tmp_path, memory_max="1000\n")
    written(tmp_path / "pod", memory_max="700\n")
    box = written(tmp_path / "pod" / "box", memory_max="max\n")
    assert Cgroup(box, tmp_path, 2).limit_bytes() == 700
    assert Cgroup(box, box, 2).limit_bytes() is None


def test_v1_writes_a_huge_number_where_there_is_no_limit(tmp_path: Path) -> None:
    group = Cgroup(written(tmp_path, memory_limit_in_bytes="9223372036854771712\n"), tmp_path, 1)
    assert group.limit_bytes() is None
    written(tmp_path, memory_limit_in_bytes="4096\n")
    assert group.limit_bytes() == 4096


@pytest.mark.parametrize(
    ("version", "name", "text"),
    [
        (2, "memory_events", "low 0\nhigh 0\nmax 21\noom 3\noom_kill 2\noom_group_kill 1\n"),
        (1, "memory_oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ],
)
def test_kills_are_counted_by_both_versions(tmp_path: Path, version: int, name: str, text: str) -> None:
    assert Cgroup(written(tmp_path, **{name: text}), tmp_path, version).oom_kills() == 2


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    group = Cgroup(tmp_path / "gone", tmp_path, 2)
    assert (group.limit_bytes(), group.oom_kills(), group.swap_bytes(), group.pids()) == (None, None, None, ())


def test_swap_is_read_of_v2_only(tmp_path: Path) -> None:
    written(tmp_path).joinpath("memory.swap.current").write_text("12\n")
    assert (Cgroup(tmp_path, tmp_path, 2).swap_bytes(), Cgroup(tmp_path, tmp_path, 1).swap_bytes()) == (12, None)


def test_processes_outside_our_namespace_are_listed_as_0(tmp_path: Path) -> None:
    written(tmp_path).joinpath("cgroup.procs").write_text("0\n17\n18\n")
    assert Cgroup(tmp_path, tmp_path, 2).pids() == (0, 17, 18)


def test_a_peak_that_may_only_be_read_is_that_of_the_cgroups_life() -> None:
    # Any file of the kernel with a number that nobody may write.
    with PeakFile(Path("/proc/sys/kernel/cap_last_cap")) as peak:
        assert (peak.reset(), peak.is_reset) == (False, False)
        assert peak.peak_bytes() > 0


def test_without_a_peak_file_the_kernel_is_too_old(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        PeakFile(tmp_path / "memory.peak")
