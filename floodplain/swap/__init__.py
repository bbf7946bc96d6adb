"""The arithmetic of swap-backed memory, in bytes: grants, limits, containment, completion, disk.

Ratios and shares are taken as the decimals they are written as. Nothing here predicts or decides.
"""

from floodplain.swap.disk import (
    DISK_SHARE,
    disk_left_bytes,
    disk_shortfall_bytes,
    largest_ratio,
    swap_file_bytes,
    swap_total_bytes,
)
from floodplain.swap.families import FamilyFit, TypeFit, family_fits, type_fit
from floodplain.swap.grant import (
    PAGE_BYTES,
    SYSTEM_CLUSTER_CRITICAL,
    NoSwap,
    Qos,
    SwapContainer,
    SwapNode,
    container_grant_bytes,
    grant_bytes,
    limited_swap_bytes,
    no_swap_reason,
    page_ceil,
    page_floor,
)
from floodplain.swap.limit import (
    REQUEST_BELOW_LIMIT_BYTES,
    Completion,
    completion,
    containment_shortfall_bytes,
    hot_bytes,
    limit_bytes,
    needed_bytes,
    request_bytes,
)
from floodplain.swap.number import Number

__all__ = [
    "DISK_SHARE",
    "PAGE_BYTES",
    "REQUEST_BELOW_LIMIT_BYTES",
    "SYSTEM_CLUSTER_CRITICAL",
    "Completion",
    "FamilyFit",
    "NoSwap",
    "Number",
    "Qos",
    "SwapContainer",
    "SwapNode",
    "TypeFit",
    "completion",
    "container_grant_bytes",
    "containment_shortfall_bytes",
    "disk_left_bytes",
    "disk_shortfall_bytes",
    "family_fits",
    "grant_bytes",
    "hot_bytes",
    "largest_ratio",
    "limit_bytes",
    "limited_swap_bytes",
    "needed_bytes",
    "no_swap_reason",
    "page_ceil",
    "page_floor",
    "request_bytes",
    "swap_file_bytes",
    "swap_total_bytes",
    "type_fit",
]
