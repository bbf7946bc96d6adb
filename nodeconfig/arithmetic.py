"""The two calculations a node makes at boot, in Python: size of the swap file, and the kernel's memory reserve.

The node's own shell text does the same in integers; tests run both and compare. Not for what kubelet grants
(floodplain.swap) or what fits a pool (floodplain.catalogue).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from floodplain.problem import RuleError
from floodplain.quantity import GIB, KIB, MIB

PAGE_BYTES = 4096

# Bounds of the reserve, in KiB; see kernel_reserve.
MIN_FREE_LEAST_KIB = 512 * MIB // KIB
MIN_FREE_MOST_KIB = 2 * GIB // KIB
GAP_LEAST_KIB = 256 * MIB // KIB
GAP_MOST_KIB = 4 * GIB // KIB
SCALE_LEAST, SCALE_MOST = 10, 1000


def thousandths(ratio: Decimal) -> int:
    """The swap ratio in thousandths, which the node's integer shell arithmetic needs. Finer is an error."""
    scaled = ratio * 1000
    if scaled != scaled.to_integral_value():
        raise RuleError("is finer than a thousandth", "round the swap ratio to three decimals")
    return int(scaled)


def swap_bytes(memory_bytes: int, ratio: Decimal, page_bytes: int = PAGE_BYTES) -> int:
    """SwapTotal a node of `memory_bytes` MemTotal must reach: ratio x MemTotal, up to a whole page."""
    parts = memory_bytes * thousandths(ratio)
    return -(-parts // (1000 * page_bytes)) * page_bytes


def swap_file_bytes(memory_bytes: int, ratio: Decimal, page_bytes: int = PAGE_BYTES) -> int:
    """Size of the file: one page more than SwapTotal, since mkswap keeps the first page for its header."""
    return swap_bytes(memory_bytes, ratio, page_bytes) + page_bytes


@dataclass(frozen=True)
class KernelReserve:
    """vm.min_free_kbytes and vm.watermark_scale_factor (ten-thousandths of memory)."""

    min_free_kib: int
    watermark_scale_factor: int


def kernel_reserve(memory_bytes: int) -> KernelReserve:
    """What the kernel keeps free on a node of `memory_bytes` MemTotal.

    min_free = MemTotal / 64, within 512 MiB (at most MemTotal / 12) and 2 GiB. The gap between the watermarks,
    which kswapd has in hand to absorb a burst, is MemTotal / 100 within 256 MiB (at most MemTotal / 24) and
    4 GiB; the scale factor is that gap in ten-thousandths of MemTotal.

    Reasons. The kernel sets low = min + managed x factor / 10000 and high = min + 2 x that (kernel documentation,
    vm.watermark_scale_factor), so a constant factor grows with the machine: 2000, measured to stop OOM kills
    on nodes of 8 GB (Kubernetes blog, 2025-08-19, "Tuning Linux Swap for Kubernetes"), would keep 150 to 300 GiB
    of a 768 GiB node free. With this formula kswapd works between 768 MiB and 1 GiB free on 16 GiB and between
    6 and 10 GiB on 768 GiB. Kubernetes asks for a memory.available threshold below min_free, so that kswapd
    works before kubelet evicts (kubernetes.io, "Swap memory management"): 256Mi is below it on every node of
    3 GiB or more.
    """
    memory_kib = memory_bytes // KIB
    least = min(MIN_FREE_LEAST_KIB, memory_kib // 12)
    min_free = min(max(memory_kib // 64, least), MIN_FREE_MOST_KIB)
    gap = min(max(memory_kib // 100, min(GAP_LEAST_KIB, memory_kib // 24)), GAP_MOST_KIB)
    return KernelReserve(min_free, min(max(gap * 10_000 // memory_kib, SCALE_LEAST), SCALE_MOST))
