"""Edge: reads the pods, Jobs and nodes of a cluster for the backtest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from floodplain.admission.annotations import ENGINE, PLAN
from floodplain.backtest.finished import Finished, finished
from floodplain.doctor import objects
from floodplain.doctor.api import KubeApi, RefusedError
from floodplain.pools import PoolDocument


class UnreadableError(Exception):
    """Pods cannot be listed, so that there is nothing to replay. `str()` says what to grant."""


def read(
    api: KubeApi, pools: Sequence[PoolDocument], swap_ratio: float | None = None
) -> tuple[Finished, tuple[str, ...]]:
    """What has ended, and what could not be seen. Raises UnreadableError.

    A pod is ours if it carries our plan or asks for one; others are read and forgotten.
    """
    unseen: list[str] = []
    known = [objects.documented_pool(one) for one in pools]
    try:
        pods = [one for one in api.items("/api/v1/pods") if _ours(one)]
    except RefusedError as error:
        raise UnreadableError(f"pods cannot be listed ({error}); grant list on pods") from error
    nodes = {node.name: node for node in (objects.node(one, known) for one in _items(api, "/api/v1/nodes", unseen))}
    jobs = [one for one in _items(api, "/apis/batch/v1/jobs", unseen) if _ours(one) or _ours(_template(one))]
    return finished(pods, jobs, nodes, swap_ratio), tuple(unseen)


def _items(api: KubeApi, path: str, unseen: list[str]) -> list[dict[str, Any]]:
    try:
        return list(api.items(path))
    except RefusedError as error:
        what = path.rpartition("/")[2]
        unseen.append(f"{what} cannot be listed ({error}), so that less is known; grant list on {what}")
        return []


def _template(thing: Any) -> Any:
    return objects.get(thing, "spec", "template")


def _ours(thing: Any) -> bool:
    found = objects.get(thing, "metadata", "annotations") or {}
    return isinstance(found, dict) and (ENGINE in found or PLAN in found)
