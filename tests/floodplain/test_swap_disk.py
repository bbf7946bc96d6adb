"""The swap file and the disk: 85 % holds swap, pods' ephemeral storage and images, or the type is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from floodplain.catalogue import InstanceType, load
from floodplain.problem import RuleError
from floodplain.swap import (
    disk_left_bytes,
    disk_shortfall_bytes,
    family_fits,
    largest_ratio,
    swap_file_bytes,
    swap_total_bytes,
    type_fit,
)

GIB, GB = 1 << 30, 10**9
IMAGES = 30 * GIB
TYPES = {kind.name: kind for kind in load()}

kinds = st.sampled_from(load())
ratios = st.decimals(min_value=0, max_value=16, places=2)
caps = st.decimals(min_value=0, max_value=4, places=2)
images = st.integers(min_value=0, max_value=200 * GIB)


@pytest.mark.parametrize(
    ("mem_total", "ratio", "file", "swap_total"),
    [
        (64 * GIB, 2, 128 * GIB + 4096, 128 * GIB),
        (64 * GIB, 0.5, 32 * GIB + 4096, 32 * GIB),
        (4096, 1.5, 3 * 4096, 2 * 4096),
        (4096, 1, 2 * 4096, 4096),
        (64 * GIB, 0, 0, 0),
    ],
)
def test_a_swap_file_is_k_times_memory_and_the_page_of_mkswap(
    mem_total: int, ratio: float, file: int, swap_total: int
) -> None:
    assert swap_file_bytes(mem_total, ratio) == file
    assert swap_total_bytes(file) == swap_total


@given(st.integers(min_value=0, max_value=1 << 50), ratios)
def test_swap_total_is_never_below_k_times_memory_nor_two_pages_above(mem_total: int, ratio: Decimal) -> None:
    total = swap_total_bytes(swap_file_bytes(mem_total, ratio))
    assert total % 4096 == 0
    assert 0 <= total - Fraction(ratio) * mem_total < 4096


def test_a_negative_ratio_is_refused() -> None:
    with pytest.raises(RuleError, match="swap ratio"):
        swap_file_bytes(GIB, -1)


@pytest.mark.parametrize(
    ("name", "left_gb"),
    # GB left under 85 % after a file of twice the memory; -584 GB is a type that cannot hold it.
    [
        ("m6id.large", 83),
        ("r6id.large", 66),
        ("r6id.2xlarge", 265),
        ("r6id.4xlarge", 533),
        ("r6id.8xlarge", 1065),
        ("r6id.12xlarge", 1598),
        ("r6id.16xlarge", 2130),
        ("r6id.24xlarge", 3196),
        ("r6id.32xlarge", 4261),
        ("r8id.24xlarge", 3196),
        ("r5d.24xlarge", 1411),
        ("x2idn.16xlarge", -584),
    ],
)
def test_what_a_disk_leaves_beside_twice_the_memory(name: str, left_gb: int) -> None:
    kind = TYPES[name]
    left = disk_left_bytes(memory_bytes=kind.memory_bytes, nvme_bytes=kind.nvme_bytes, ratio=2, images_bytes=0)
    assert round(left / GB) == left_gb


def test_the_shortfall_is_what_is_missing_to_the_byte() -> None:
    node = {"memory_bytes": 100 * GB, "nvme_bytes": 400 * GB, "images_bytes": 40 * GB, "ratio": 2}
    file = swap_file_bytes(100 * GB, 2)
    left = 340 * GB - file - 40 * GB
    assert disk_left_bytes(**node) == left
    assert disk_shortfall_bytes(**node, ephemeral_bytes=left) == 0
    assert disk_shortfall_bytes(**node, ephemeral_bytes=left + 7) == 7


@given(kinds, ratios, caps, images)
def test_whenever_a_type_fits_swap_ephemeral_and_images_stay_within_85_per_cent(
    kind: InstanceType, ratio: Decimal, cap: Decimal, images_bytes: int
) -> None:
    fit = type_fit(kind, ratio=ratio, ephemeral_per_memory=cap, images_bytes=images_bytes)
    used = swap_file_bytes(kind.memory_bytes, ratio) + Fraction(cap) * kind.memory_bytes + images_bytes
    assert (used <= Fraction(85, 100) * kind.nvme_bytes) == (fit.shortfall_bytes == 0)
    assert fit.fits == (fit.shortfall_bytes == 0 and kind.storage == "ssd")


@given(kinds, caps, images)
def test_the_largest_ratio_fits_and_a_page_more_does_not(kind: InstanceType, cap: Decimal, images_bytes: int) -> None:
    disk = {"memory_bytes": kind.memory_bytes, "nvme_bytes": kind.nvme_bytes, "images_bytes": images_bytes}
    ephemeral = int(cap * kind.memory_bytes)
    largest = largest_ratio(**disk, ephemeral_bytes=ephemeral)
    assume(largest > 0)
    assert disk_shortfall_bytes(**disk, ephemeral_bytes=ephemeral, ratio=largest) == 0
    more = largest + Fraction(4096, kind.memory_bytes)
    assert disk_shortfall_bytes(**disk, ephemeral_bytes=ephemeral, ratio=more) > 0


def test_no_ratio_fits_a_disk_that_images_fill() -> None:
    assert largest_ratio(memory_bytes=GIB, nvme_bytes=10 * GB, ephemeral_bytes=0, images_bytes=9 * GB) == 0


def test_families_are_judged_by_their_worst_type() -> None:
    chosen = [kind for kind in load() if kind.family in ("r6id", "r5d", "x2idn", "d3") and not kind.metal]
    fits = {fit.family: fit for fit in family_fits(chosen, ratio=2, ephemeral_per_memory=1, images_bytes=IMAGES)}
    assert list(fits) == ["d3", "r5d", "r6id", "x2idn"]
    assert {family: fit.fits for family, fit in fits.items()} == {
        "d3": False,
        "r5d": False,
        "r6id": True,
        "x2idn": False,
    }
    assert fits["d3"].largest_ratio == 0
    assert all(one.spinning and not one.shortfall_bytes for one in fits["d3"].types)
    # r5d holds it from 8 vCPU up: its small types have 75 and 150 GB.
    assert [one.kind.size for one in fits["r5d"].types if not one.fits] == ["large", "xlarge"]
    assert fits["r6id"].largest_ratio == min(one.largest_ratio for one in fits["r6id"].types)


@pytest.mark.parametrize("family", ["x2idn", "x2iedn", "p3dn", "x8aedz"])
def test_families_with_too_little_disk_for_twice_the_memory_never_fit(family: str) -> None:
    chosen = [kind for kind in load() if kind.family == family]
    (fit,) = family_fits(chosen, ratio=2, ephemeral_per_memory=0, images_bytes=0)
    assert not any(one.fits for one in fit.types)
