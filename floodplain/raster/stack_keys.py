"""A sized worker as keys of `workerPools` in a stack file. Pure. What they become is `components.worker_settings`."""

from __future__ import annotations

from typing import Any

from floodplain.quantity import MIB, from_bytes
from floodplain.raster.sized_worker import SizedWorker
from floodplain.raster.worker import HEADROOM


def stack_keys(sized: SizedWorker) -> dict[str, Any]:
    """The keys beside `name`, `image` and `command`, as they are written in YAML.

    With peaks of tasks in place of limits: the component adds what it sets beside (GDAL's cache of fetched parts). A
    memory that was given stays.
    """
    worker, pools = sized.worker, sized.pools
    small: dict[str, Any] = {"slots": pools.slots}
    if pools.processes != 1:
        small["processes"] = pools.processes
    if sized.given_limit:
        small["memory"] = from_bytes(pools.small_limit_bytes)
    else:
        small["taskPeak"] = mebibytes(worker.marginal_bytes - worker.cache_in_marginal_bytes)
    if pools.given_threshold_bytes is not None:
        small["threshold"] = mebibytes_within(pools.given_threshold_bytes)
    keys: dict[str, Any] = {
        "small": small,
        "big": {"taskPeak": mebibytes(max(sized.largest_bytes, sized.peak.bytes))},
        "baseline": mebibytes(pools.baseline_bytes),
        "gdal": {"cache": mebibytes(pools.cache_bytes)},
    }
    if pools.agent_bytes:
        keys["agent"] = mebibytes(pools.agent_bytes)
    if worker.headroom != HEADROOM:
        keys["headroom"] = worker.headroom
    return keys


def stack_entry(sized: SizedWorker) -> list[str]:
    """Lines of YAML to paste below `config:` of a stack file; NAME and IMAGE are the reader's."""
    keys = {"name": "NAME", "image": "IMAGE", **stack_keys(sized)}
    lines = [f"      {key}: {_flow_style(value)}" for key, value in keys.items()]
    return ["  floodplain:workerPools:", lines[0].replace("      ", "    - ", 1), *lines[1:]]


def _flow_style(value: Any) -> str:
    """As YAML in one line: `{cache: 64Mi}`. For keys, numbers and quantities, which need no quotes."""
    if not isinstance(value, dict):
        return str(value)
    return "{" + ", ".join(f"{key}: {_flow_style(one)}" for key, one in value.items()) + "}"


def mebibytes(count: int) -> str:
    """Whole ones, rounded up: for what has to have room."""
    return f"{max(1, -(-count // MIB))}Mi"


def mebibytes_within(count: int) -> str:
    """Whole ones, rounded down: for a limit of what may come in."""
    return f"{max(1, count // MIB)}Mi"
