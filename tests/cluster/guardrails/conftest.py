"""A control plane of its own for admission policies, with an audit log and with users that may do anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import yaml

from testbed.cluster.api import Api
from testbed.cluster.control_plane import ControlPlane, Options, control_plane
from testbed.processes import Processes, wait_until
from testbed.state import State
from tests.cluster.guardrails.audit_log import AuditLog
from tests.components.guardrails.api_server import NAMESPACES

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "resources": [{"group": "", "resources": ["pods", "pods/*"]}]}],
}
# Admission is under test, not authorization.
EVERYBODY_MAY = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "everybody-may"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:authenticated"}],
}
ROOM = {"cpu": "64", "memory": "512Gi", "pods": "500", "ephemeral-storage": "2Ti"}


@pytest.fixture(scope="session")
def state() -> Iterator[State]:
    with State() as state:
        yield state


@pytest.fixture(scope="session")
def audit_log(state: State) -> AuditLog:
    return AuditLog(state.path("audit.log"))


@pytest.fixture(scope="session")
def cluster(state: State, audit_log: AuditLog) -> Iterator[ControlPlane]:
    """As for the other tests, with policies of its own: they would judge the pods of others."""
    policy = state.path("audit-policy.yaml")
    policy.write_text(yaml.safe_dump(AUDIT_POLICY))
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={audit_log.path}")
    with Processes(state) as processes, control_plane(state, processes, Options(api_server_flags=flags)) as running:
        running.api.must_apply(EVERYBODY_MAY)
        for name, labels in NAMESPACES.items():
            metadata = {"name": name, "labels": dict(labels)}
            running.api.must_apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for name in (*NAMESPACES, "kube-system"):
            account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            wait_until(f"pods can be made in {name}", partial(running.api.find, account))
        yield running


@pytest.fixture(scope="session")
def as_user(cluster: ControlPlane) -> Callable[[dict[str, Any]], Api]:
    """`as_user({"username": ..., "groups": [...]})`: the API with a certificate of that user."""
    known: dict[str, Api] = {}

    def api(user: dict[str, Any]) -> Api:
        name = user["username"]
        if name not in known:
            # The server adds system:authenticated; a certificate of ours names one group beside it.
            groups = [group for group in user.get("groups", ()) if group != "system:authenticated"]
            (group,) = groups or [None]
            pair = cluster.authority.issue(f"user-{len(known)}", name, group)
            known[name] = Api(cluster.endpoint, cluster.authority.certificate, pair)
        return known[name]

    return api


@pytest.fixture(scope="session")
def node(cluster: ControlPlane) -> str:
    """A node without a kubelet, with room for pods that are placed on it by hand."""
    name = "n1"
    cluster.api.must_apply(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux"}}}
    )
    answer = cluster.api.patch(f"/api/v1/nodes/{name}/status", {"status": {"capacity": ROOM, "allocatable": ROOM}})
    assert answer.ok, answer.message
    return name
