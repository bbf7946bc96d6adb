"""`floodplain doctor` against a real API server: what it can see there, and what it says of what it cannot.

The nodes have no kubelet, so that everything a kubelet serves is told as not to be seen.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from floodplain.doctor import api as doctor_api
from floodplain.doctor.api import UnreachableError, connect
from floodplain.doctor.examine import examine
from floodplain.doctor.finding import Finding
from floodplain.doctor.observe import observe
from testbed.cluster.api import Answer, Api
from testbed.cluster.control_plane import ControlPlane, kubeconfig_for
from testbed.ports import free_port
from testbed.processes import wait_until
from tests.cluster.doctor.pool_node import GIB, NAMESPACE, NODE, Manifest, pod


def run(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "floodplain", "doctor", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def findings(cluster: ControlPlane) -> tuple[Finding, ...]:
    with connect(str(cluster.kubeconfig)) as reader:
        return examine(observe(reader))


def of(found: tuple[Finding, ...], check: str) -> list[tuple[str, str, str]]:
    return [(one.severity.value, one.object, one.seen) for one in found if one.check == check]


def test_a_node_without_a_kubelet_is_judged_by_what_the_api_server_knows(cluster: ControlPlane, api: Api) -> None:
    found = findings(cluster)
    assert [one for one in of(found, "swap-size") if one[0] != "info"] == [
        ("ok", "1 node", "swap is on and as large as the pool's ratio asks")
    ]
    assert of(found, "cannot-see")[0] == (
        "warning",
        NODE,
        "cannot see kubelet's /configz: no preferred addresses found; known addresses: []",
    )
    assert of(found, "versions") == [("ok", "Kubernetes v1.36.3", "the versions go together")]


def test_swap_that_went_away_is_an_error_and_status_2(cluster: ControlPlane, api: Api) -> None:
    path = f"/api/v1/nodes/{NODE}/status"
    assert api.patch(path, {"status": {"nodeInfo": {"swap": {"capacity": 8 * GIB}}}}).ok
    try:
        status, output, _ = run("--kubeconfig", str(cluster.kubeconfig), "--json")
    finally:
        assert api.patch(path, {"status": {"nodeInfo": {"swap": {"capacity": 32 * GIB}}}}).ok
    first = json.loads(output)["findings"][0]
    assert (status, first["check"], first["object"], first["expected"]) == (
        2,
        "swap-size",
        f"node {NODE}",
        "32.0 GiB (2 x its memory of 16.0 GiB)",
    )


def test_limits_that_pass_the_node_are_told_with_their_pods(
    cluster: ControlPlane, api: Api, make: Callable[..., Manifest]
) -> None:
    for number in (1, 2):
        make(pod(f"old-{number}", request="6Gi", limit="9Gi"))
    make(pod("ours", request="1023Mi", limit="1Gi"))
    assert of(findings(cluster), "containment") == [
        (
            "error",
            f"node {NODE}",
            "limits of 19.0 GiB and DaemonSets' 0 bytes pass what pods may have by 4096 MiB, so that kubelet may evict"
            f" while swap is empty; limits far above requests: {NAMESPACE}/old-1 (limit 9216 MiB, request 6144 MiB),"
            f" {NAMESPACE}/old-2 (limit 9216 MiB, request 6144 MiB)",
        )
    ]


def test_kills_and_evictions_are_read_from_the_status_of_pods(
    cluster: ControlPlane, api: Api, make: Callable[..., Manifest]
) -> None:
    ended = {"exitCode": 137, "reason": "OOMKilled", "startedAt": None, "finishedAt": "2026-08-01T12:00:00Z"}
    container = {"name": "job", "image": "i", "imageID": "i", "ready": False, "restartCount": 0}
    killed = {"phase": "Failed", "containerStatuses": [{**container, "state": {"terminated": ended}}]}
    message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 408Ki. "
    make(pod("killed", request="4095Mi", limit="4Gi"), killed)
    make(pod("evicted", request="1Gi", limit="2Gi"), {"phase": "Failed", "reason": "Evicted", "message": message})
    found = findings(cluster)
    assert of(found, "oom-kill") == [
        (
            "warning",
            f"pod {NAMESPACE}/killed, container job",
            "was killed for want of memory (OOMKilled) at 2026-08-01T12:00:00Z; it could hold 4096 MiB of memory and"
            " 8190 MiB of swap",
        )
    ]
    assert of(found, "eviction") == [("error", f"pod {NAMESPACE}/evicted", f"was evicted: {message.strip()}")]


def test_a_limit_range_that_takes_swap_away_is_what_the_server_makes_of_it(
    cluster: ControlPlane, api: Api, make: Callable[..., Manifest]
) -> None:
    limits = [{"type": "Container", "default": {"memory": "1Gi"}, "maxLimitRequestRatio": {"memory": "1"}}]
    metadata = {"name": "limits", "namespace": NAMESPACE}
    make(pod("there-before", request="1023Mi", limit="1Gi"))
    make({"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": limits}})
    title = f"LimitRange {NAMESPACE}/limits (Container)"
    assert of(findings(cluster), "limit-range") == [
        (
            "error",
            title,
            "maxLimitRequestRatio 1 for memory refuses a request below the limit, and so every pod that gets swap",
        ),
        ("warning", title, "gives containers without memory settings request = limit = 1024 MiB: no swap"),
    ]
    # The server's own verdict on the two.
    bare = pod("bare", request="1Mi", limit=None)
    del bare["spec"]["containers"][0]["resources"]
    answers = {
        one["metadata"]["name"]: wait_until_limited(api, one)
        for one in (bare, pod("ours", request="1023Mi", limit="1Gi"))
    }
    resources = answers["bare"].body["spec"]["containers"][0]["resources"]
    assert resources == {"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}
    assert (
        answers["ours"].status,
        "memory max limit to request ratio per Container is 1" in answers["ours"].message,
    ) == (
        403,
        True,
    )


def wait_until_limited(api: Api, thing: Manifest) -> Answer:
    """The answer to a pod once the server goes by the LimitRange, which it reads with a delay."""
    asked = thing["spec"]["containers"][0].get("resources")
    given: list[Answer] = []

    def judged() -> bool:
        given[:] = [api.create(thing, dry_run=True)]
        resources = given[0].body.get("spec", {}).get("containers", [{}])[0].get("resources")
        return resources not in ({}, asked)

    wait_until("the server goes by the LimitRange", judged)
    return given[0]


def test_a_webhook_without_a_ca_and_karpenter_without_a_queue_are_told(
    cluster: ControlPlane, api: Api, make: Callable[..., Manifest]
) -> None:
    service = {"service": {"name": "floodplain-admission", "namespace": "floodplain", "path": "/observe"}}
    entry = {
        "name": "observe.sizing.floodplain.dev",
        "clientConfig": service,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    make({**kind, "metadata": {"name": "floodplain-sizing"}, "webhooks": [entry]})
    labels = {"app.kubernetes.io/name": "karpenter", "app.kubernetes.io/version": "1.12.0"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "controller", "image": "karpenter"}]}}
    deployment = {"selector": {"matchLabels": labels}, "replicas": 0, "template": template}
    metadata = {"name": "karpenter", "namespace": NAMESPACE, "labels": labels}
    make({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": deployment})
    found = findings(cluster)
    assert of(found, "webhook-ca") == [
        (
            "error",
            "webhook observe.sizing.floodplain.dev",
            "has no CA bundle: the API server cannot call it",
        )
    ]
    title = f"Karpenter {NAMESPACE}/karpenter"
    assert [one[:2] for one in of(found, "interruption")] == [("warning", title)]
    assert of(found, "versions") == [("error", title, "1.12.0 is too old for Kubernetes 1.36")]


def stranger(cluster: ControlPlane, folder: Path) -> str:
    """A kubeconfig of somebody without any right."""
    pair = cluster.authority.issue("doctor-stranger", "stranger")
    path = folder / "stranger"
    path.write_text(yaml.safe_dump(kubeconfig_for(cluster.endpoint, cluster.authority, pair)))
    return str(path)


def test_without_rights_each_reading_says_what_to_grant(cluster: ControlPlane, api: Api, tmp_path: Path) -> None:
    status, output, _ = run("--kubeconfig", stranger(cluster, tmp_path), "--json")
    blind = [one for one in json.loads(output)["findings"] if one["check"] == "cannot-see"]
    assert status == 2
    assert [one["levers"][0] for one in blind] == [
        "grant list on nodes",
        "grant list on pods",
        "grant list on nodepools.karpenter.sh",
        "grant list on ec2nodeclasses.karpenter.k8s.aws",
        "grant list on limitranges",
        "grant list on namespaces",
        "grant get on mutatingwebhookconfigurations",
        "grant list on deployments.apps",
        "run doctor as an administrator once; do not grant it for good: it holds the CA's key",
    ]
    assert all("is forbidden" in one["seen"] for one in blind)


def test_the_rights_of_the_docs_are_enough_for_all_but_the_secret(
    cluster: ControlPlane, api: Api, make: Callable[..., Manifest], tmp_path: Path
) -> None:
    text = (Path(__file__).parents[3] / "docs" / "how-to" / "doctor.md").read_text()
    (rules,) = [block.partition("```")[0] for block in text.split("```yaml\n")[1:] if "kind: ClusterRole\n" in block]
    role = yaml.safe_load(rules)
    make(role)
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role["metadata"]["name"]}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "stranger"}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding"}
    make({**kind, "metadata": {"name": "doctor-stranger"}, "roleRef": reference, "subjects": [subject]})
    path = stranger(cluster, tmp_path)

    def blind() -> list[str] | None:
        with connect(path) as reader:
            found = [one.seen for one in examine(observe(reader)) if one.check == "cannot-see"]
        return None if any("nodes is forbidden" in one for one in found) else found

    assert wait_until("the server goes by the role", blind) == [
        "cannot see kubelet's /configz: no preferred addresses found; known addresses: []",
        "cannot see the admission webhook: there is no MutatingWebhookConfiguration floodplain-sizing",
        'cannot see Secret floodplain/floodplain-admission-tls: secrets "floodplain-admission-tls" is forbidden: User'
        ' "stranger" cannot get resource "secrets" in API group "" in the namespace "floodplain"',
    ]


def test_pods_come_page_by_page_each_once(
    cluster: ControlPlane, api: Api, make: Callable[..., Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"page-{number}" for number in range(11)]
    for name in names:
        make(pod(name, request="1Mi", limit="2Mi"))
    monkeypatch.setattr(doctor_api, "PAGE", 3)
    with connect(str(cluster.kubeconfig)) as reader:
        found = [one["metadata"]["name"] for one in reader.items(f"/api/v1/namespaces/{NAMESPACE}/pods")]
        assert sorted(found) == sorted(names)
        seen = observe(reader)
    assert sorted(one.name for one in seen.pods or ()) == sorted(names)


def test_a_server_that_is_not_there_is_status_3(tmp_path: Path, cluster: ControlPlane) -> None:
    gone = kubeconfig_for(f"https://127.0.0.1:{free_port()}", cluster.authority, cluster.authority.issue("x", "x"))
    path = tmp_path / "gone"
    path.write_text(yaml.safe_dump(gone))
    status, output, errors = run("--kubeconfig", str(path))
    assert (status, output, "does not answer (ConnectError" in errors) == (3, "", True)
    with pytest.raises(UnreachableError, match="check the address, the network and the context"):
        connect(str(path))
