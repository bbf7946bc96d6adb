"""What a node computes at boot from its own memory, in Python: the kernel's reserve, and the ratio in integers.

The node's shell text does the same; tests run it and compare. The size of the swap file is floodplain.swap's.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from floodplain.problem import RuleError
from floodplain.quantity import GIB, KIB, MIB

# Bounds of the reserve, in KiB; see kernel_reserve.
MIN_FREE_LEAST_KIB = 512 * MIB // KIB
MIN_FREE_MOST_KIB = 2 * GIB // KIB
GAP_LEAST_KIB = 256 * MIB // KIB
GAP_MOST_KIB = 4 * GIB // KIB
# The kernel's default and what older kernels still take (their maximum is 1000, 3000 today).
SCALE_LEAST, SCALE_MOST = 10, 1000


def thousandths(ratio: Decimal) -> int:
    """The swap ratio in thousandths, which the node's integer shell arithmetic needs. Finer is an error."""
    scaled = ratio * 1000
    if scaled != scaled.to_integral_value():
        raise RuleError("is finer than a thousandth", "round the swap ratio to three decimals")
    return int(scaled)


@dataclass(frozen=True)
class KernelReserve:
    """vm.min_free_kbytes and vm.watermark_scale_factor (ten-thousandths of memory)."""

    min_free_kib: int
    watermark_scale_factor: int

    def low_kib(self, memory_kib: int) -> int:
        """Free memory below which kswapd starts (one zone, all of it managed; never less than 5/4 of min)."""
        return self.min_free_kib + self._gap_kib(memory_kib)

    def high_kib(self, memory_kib: int) -> int:
        """Free memory at about which kswapd stops: one zone with its share is enough, and a round may free more."""
        return self.min_free_kib + 2 * self._gap_kib(memory_kib)

    def _gap_kib(self, memory_kib: int) -> int:
        return max(self.min_free_kib // 4, memory_kib * self.watermark_scale_factor // 10_000)


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
    works before kubelet evicts (kubernetes.io, "Swap memory management"): 256Mi is below it on every node
    with more than 3 GiB.
    """
    memory_kib = memory_bytes // KIB
    least = min(MIN_FREE_LEAST_KIB, memory_kib // 12)
    min_free = min(max(memory_kib // 64, least), MIN_FREE_MOST_KIB)
    gap = min(max(memory_kib // 100, min(GAP_LEAST_KIB, memory_kib // 24)), GAP_MOST_KIB)
    return KernelReserve(min_free, min(max(gap * 10_000 // memory_kib, SCALE_LEAST), SCALE_MOST))
