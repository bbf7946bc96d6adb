"""A node's swap file, and whether it fits the disk beside pods' ephemeral storage and images.

Which instance types fit is swap.families; how the file is made is nodeconfig's.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from floodplain.swap.grant import PAGE_BYTES, page_ceil, page_floor
from floodplain.swap.number import Number, exact_number

DISK_SHARE = Fraction(85, 100)
"""Image garbage collection starts when 85 % of the disk is used."""


# Asked for each type of a pool, again and again.
@lru_cache(maxsize=4096, typed=True)
def swap_file_bytes(mem_total_bytes: int, ratio: Number) -> int:
    """Size of a node's swap file: k x MemTotal in whole pages, and the page that mkswap keeps. 0 for k = 0."""
    exact = exact_number(ratio, "swap ratio")
    return page_ceil(math.ceil(exact * mem_total_bytes)) + PAGE_BYTES if exact else 0


def swap_total_bytes(file_bytes: int) -> int:
    """SwapTotal of a swap file of this size: whole pages less the one that mkswap keeps."""
    return max(0, page_floor(file_bytes) - PAGE_BYTES)


def disk_left_bytes(*, memory_bytes: int, nvme_bytes: int, ratio: Number, images_bytes: int) -> int:
    """What pods' ephemeral storage may use of a node's disk: 85 % less swap file and images. May be negative.

    `memory_bytes` is the advertised memory: MemTotal, which the file follows, is less.
    """
    return math.floor(DISK_SHARE * nvme_bytes) - swap_file_bytes(memory_bytes, ratio) - images_bytes


def disk_shortfall_bytes(
    *, memory_bytes: int, nvme_bytes: int, ratio: Number, ephemeral_bytes: int, images_bytes: int
) -> int:
    """What the disk lacks for swap file, pods' ephemeral storage and images; 0 when all fit into 85 %."""
    left = disk_left_bytes(memory_bytes=memory_bytes, nvme_bytes=nvme_bytes, ratio=ratio, images_bytes=images_bytes)
    return max(0, ephemeral_bytes - left)


def largest_ratio(*, memory_bytes: int, nvme_bytes: int, ephemeral_bytes: int, images_bytes: int) -> Fraction:
    """The largest swap ratio k whose file still fits the disk beside the rest; 0 when none does."""
    free = math.floor(DISK_SHARE * nvme_bytes) - ephemeral_bytes - images_bytes - PAGE_BYTES
    return Fraction(max(0, page_floor(free)), memory_bytes)
