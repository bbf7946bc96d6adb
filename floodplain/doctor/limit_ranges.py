"""Would a LimitRange take swap away, or refuse the pods we size? Pure.

The API server applies a LimitRange's defaults before webhooks are asked, and checks its bounds after them.
"""

from __future__ import annotations

from collections.abc import Iterator

from floodplain.byte_amount import amount
from floodplain.doctor.finding import Finding, Severity, names
from floodplain.doctor.seen import Cluster, LimitRangeSeen
from floodplain.quantity import GIB, MIB
from floodplain.swap import request_bytes

CHECK = "limit-range"
_SMALLEST_USUAL_LIMIT = GIB
"""Our pods' limit / request falls with the limit; from here on it must pass a maxLimitRequestRatio."""


def check(cluster: Cluster) -> Iterator[Finding]:
    """The LimitRanges of namespaces in which jobs are sized or run."""
    if cluster.limit_ranges is None:
        return
    jobs = {pod.namespace for pod in cluster.pods or () if not pod.of_the_node}
    where = jobs | {*(cluster.sized_namespaces or ())}
    ours = [one for one in cluster.limit_ranges if one.namespace in where]
    told = [finding for one in ours for finding in _of(one, cluster)]
    yield from told
    if where and not told:
        yield Finding(CHECK, Severity.OK, f"namespaces {names(sorted(where))}", "no LimitRange is in the way of swap")


def _of(one: LimitRangeSeen, cluster: Cluster) -> Iterator[Finding]:
    title = f"LimitRange {one.namespace}/{one.name} ({one.kind})"
    # A default limit without a default request is the default request too.
    default_request = one.default_bytes if one.default_request_bytes is None else one.default_request_bytes
    if one.kind == "Container" and one.default_bytes is not None and default_request == one.default_bytes:
        yield Finding(
            CHECK,
            Severity.WARNING,
            title,
            f"gives containers without memory settings request = limit = {amount(one.default_bytes)}: no swap",
            "a default request below the default limit, or none of both",
            (f"set defaultRequest.memory to {amount(max(0, request_bytes(one.default_bytes)))}",),
            "LimitRange default and defaultRequest",
        )
    least = request_bytes(_SMALLEST_USUAL_LIMIT)
    if one.ratio is not None and one.ratio < _SMALLEST_USUAL_LIMIT / least:
        yield Finding(
            CHECK,
            Severity.ERROR,
            title,
            f"maxLimitRequestRatio {one.ratio:g} for memory refuses a request below the limit, and so every pod that"
            " gets swap",
            "a ratio of 1.1 or more, or none",
            ("set maxLimitRequestRatio.memory to 1.1 or leave it out",),
            "LimitRange maxLimitRequestRatio",
        )
    if one.min_bytes is not None and one.max_bytes is not None and one.max_bytes - one.min_bytes < MIB:
        yield Finding(
            CHECK,
            Severity.ERROR,
            title,
            f"min {amount(one.min_bytes)} and max {amount(one.max_bytes)} leave no room for request = limit - 1 MiB",
            "min.memory at least 1 MiB below max.memory",
            ("lower min.memory, or leave it out",),
            "LimitRange min and max",
        )
        return
    largest = max((pool.largest_limit_bytes or 0 for pool in cluster.pools), default=0)
    if one.max_bytes is not None and largest > one.max_bytes:
        yield Finding(
            CHECK,
            Severity.WARNING,
            title,
            f"refuses memory limits above {amount(one.max_bytes)}",
            f"up to {amount(largest)}, which the largest pool takes",
            ("raise max.memory, or leave it out",),
            "LimitRange max",
        )
    if one.min_bytes is not None and one.min_bytes > least:
        yield Finding(
            CHECK,
            Severity.WARNING,
            title,
            f"refuses memory requests below {amount(one.min_bytes)}, which small jobs have",
            "no more than small jobs request",
            ("lower min.memory, or leave it out",),
            "LimitRange min",
        )
