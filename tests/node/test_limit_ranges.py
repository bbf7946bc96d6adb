"""A LimitRange can take a container's swap away without anybody having written request = limit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from floodplain.quantity import MIB
from floodplain.swap import SwapContainer, SwapNode, container_grant_bytes
from testbed.processes import wait_until
from tests.node.jobs import Jobs, container, memory, pod

pytestmark = pytest.mark.full

LIMIT_RANGE = "memory"
DEFAULTS = {
    "limits-only": {"default": {"memory": "80Mi"}},
    "both-the-same": {"default": {"memory": "80Mi"}, "defaultRequest": {"memory": "80Mi"}},
    "a-request-below": {"default": {"memory": "80Mi"}, "defaultRequest": {"memory": "79Mi"}},
}
WITHOUT_SWAP = ("limits-only", "both-the-same")


@pytest.fixture(params=DEFAULTS)
def defaults(request: pytest.FixtureRequest, jobs: Jobs) -> Iterator[str]:
    """A LimitRange in the jobs' namespace, once admission has seen it."""
    made = _limit_range(DEFAULTS[request.param])
    jobs.api.must_apply(made)
    wait_until("admission writes the LimitRange's limit", lambda: _limit_of_new_pod(jobs) == "80Mi")
    yield str(request.param)
    jobs.api.delete(jobs.api.path_of(made))
    wait_until("admission has forgotten the LimitRange", lambda: _limit_of_new_pod(jobs) is None)


def _limit_range(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": LIMIT_RANGE},
        "spec": {"limits": [{"type": "Container", **item}]},
    }


def _limit_of_new_pod(jobs: Jobs) -> str | None:
    answer = jobs.api.create(pod("asked", [container()], node=jobs.machine.instance.node_name), dry_run=True)
    assert answer.ok, answer.message
    found = answer.body["spec"]["containers"][0]["resources"].get("limits", {}).get("memory")
    return None if found is None else str(found)


def test_defaults_that_make_the_request_the_limit_take_swap_away(jobs: Jobs, defaults: str) -> None:
    """One with limits alone does it too: the API server takes a missing request for the limit."""
    found = memory(jobs.machine)
    node = SwapNode(found["MemTotal"], found["SwapTotal"])
    jobs.start("pod", container("silent"), container("names-its-request", request_mib=40))
    jobs.running("pod")
    resources = {one["name"]: one["resources"] for one in jobs.get("pod")["spec"]["containers"]}
    request = 79 if defaults == "a-request-below" else 80
    assert resources == {
        "silent": {"limits": {"memory": "80Mi"}, "requests": {"memory": f"{request}Mi"}},
        "names-its-request": {"limits": {"memory": "80Mi"}, "requests": {"memory": "40Mi"}},
    }
    expected = {
        "silent": container_grant_bytes(SwapContainer(request * MIB, 80 * MIB), node),
        "names-its-request": container_grant_bytes(SwapContainer(40 * MIB, 80 * MIB), node),
    }
    assert jobs.swap_limits("pod") == expected
    assert (expected["silent"] == 0) == (defaults in WITHOUT_SWAP)
