"""A node of a pool in a real control plane, and objects for the length of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from testbed.cluster.api import Api
from testbed.cluster.control_plane import ControlPlane
from testbed.processes import wait_until
from tests.cluster.doctor.pool_node import NAMESPACE, NODE, NODE_POOL, STATUS, Manifest


@pytest.fixture(scope="module")
def api(cluster: ControlPlane) -> Iterator[Api]:
    """With a namespace and a node of a pool."""
    made = cluster.api
    made.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    wait_until("pods can be made", lambda: made.find(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"))
    made.must_apply(NODE_POOL)
    labels = {"floodplain.dev/pool": "doctor", "kubernetes.io/os": "linux"}
    made.must_apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE, "labels": labels}})
    assert made.patch(f"/api/v1/nodes/{NODE}/status", {"status": STATUS}).ok
    yield made
    made.delete(f"/api/v1/nodes/{NODE}")
    made.delete(made.path_of(NODE_POOL))
    # The next file makes the same one.
    made.delete(f"/api/v1/namespaces/{NAMESPACE}")
    wait_until("the namespace is gone", partial(_gone, made, f"/api/v1/namespaces/{NAMESPACE}"))


@pytest.fixture
def make(api: Api) -> Iterator[Callable[..., Manifest]]:
    """Create an object for the length of a test, with a status if one is given."""
    made: list[Manifest] = []

    def create(thing: Manifest, status: Manifest | None = None) -> Manifest:
        api.must_apply(thing)
        made.append(thing)
        if status is not None:
            answer = api.patch(f"{api.path_of(thing)}/status", {"status": status})
            assert answer.ok, answer.message
        return thing

    yield create
    for thing in made:
        api.delete(api.path_of(thing), grace_seconds=0)
        wait_until("it is gone", partial(_gone, api, api.path_of(thing)))


def _gone(api: Api, path: str) -> bool:
    return api.find(path) is None
