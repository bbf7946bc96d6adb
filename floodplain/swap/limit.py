"""Limit and request for a peak, whether a node contains its limits, and whether a container can hold its peak.

Arithmetic only: predicting a peak and choosing a pool are the sizing service's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from floodplain.problem import RuleError
from floodplain.quantity import MIB
from floodplain.swap.grant import PAGE_BYTES, SwapContainer, SwapNode, container_grant_bytes, page_floor
from floodplain.swap.number import Number, exact_number

REQUEST_BELOW_LIMIT_BYTES = MIB
"""Kubelet grants no swap when request and limit are equal, so we keep them this far apart."""
_SMALLEST_LIMIT_BYTES = 2 * MIB


def hot_bytes(peak_bytes: int, hot_share: Number) -> int:
    """The part of a peak that is touched all the time and so must be resident."""
    return math.ceil(exact_number(hot_share, "hot share") * peak_bytes)


def limit_bytes(peak_bytes: int, *, ratio: Number, margin: Number, hot_share: Number) -> int:
    """The memory limit for a peak, in whole MiB upwards: max(((1 + m) peak + k MiB) / (1 + k), hot).

    `k MiB` is there because the grant is k x request and request = limit - 1 MiB. With swap one page more is
    covered, since doubles and the kernel's rounding may take that from the grant. Ratio 0 sizes the whole
    peak with its margin as memory.
    """
    if peak_bytes < 0:
        raise RuleError("is below zero", "give the peak in bytes", ("peak_bytes",), peak_bytes)
    k = exact_number(ratio, "swap ratio")
    needed = needed_bytes(peak_bytes, margin) + (k * REQUEST_BELOW_LIMIT_BYTES + PAGE_BYTES if k else 0)
    exact = max(Fraction(needed) / (1 + k), Fraction(hot_bytes(peak_bytes, hot_share)))
    return max(_SMALLEST_LIMIT_BYTES, math.ceil(exact / MIB) * MIB)


def request_bytes(limit: int) -> int:
    """The request that goes with a limit: 1 MiB less, so that packing by request packs by limit."""
    return limit - REQUEST_BELOW_LIMIT_BYTES


def needed_bytes(peak_bytes: int, margin: Number) -> int:
    """A peak with its margin, rounded up to a byte."""
    return math.ceil((1 + exact_number(margin, "margin")) * peak_bytes)


@dataclass(frozen=True)
class Completion:
    """Whether a container can hold its peak. Arithmetic, not a promise: hot memory cannot be swapped."""

    needed_bytes: int
    limit_bytes: int
    grant_bytes: int
    hot_bytes: int

    @property
    def shortfall_bytes(self) -> int:
        """What limit and grant together lack for the peak with its margin; 0 when they hold it."""
        return max(0, self.needed_bytes - self.limit_bytes - self.grant_bytes)

    @property
    def hot_shortfall_bytes(self) -> int:
        """What the limit lacks to keep the hot set resident."""
        return max(0, self.hot_bytes - self.limit_bytes)

    @property
    def holds(self) -> bool:
        return not self.shortfall_bytes and not self.hot_shortfall_bytes


def completion(
    container: SwapContainer, node: SwapNode, *, peak_bytes: int, margin: Number, hot_share: Number
) -> Completion:
    """What a container with a limit can hold of a peak on a node with this real MemTotal and SwapTotal."""
    if container.limit_bytes is None:
        raise RuleError("is required", "set a memory limit: completion is counted from it", ("limit_bytes",))
    return Completion(
        needed_bytes=needed_bytes(peak_bytes, margin),
        limit_bytes=page_floor(container.limit_bytes),
        grant_bytes=container_grant_bytes(container, node),
        hot_bytes=hot_bytes(peak_bytes, hot_share),
    )


def containment_shortfall_bytes(limits_bytes: Iterable[int], *, allocatable_bytes: int, daemonset_bytes: int) -> int:
    """By how much the limits on a node pass what is allocatable less what DaemonSets use; 0 when contained.

    Kubelet's eviction does not see swap: it strikes when working sets together reach kubepods' limit.
    """
    return max(0, sum(limits_bytes) - max(0, allocatable_bytes - daemonset_bytes))
