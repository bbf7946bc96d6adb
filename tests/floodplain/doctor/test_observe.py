"""How a cluster is read: pages, answers that break off, kubelets that fail. The real API server is in tests/cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from floodplain.doctor.api import KubeApi, RefusedError
from floodplain.doctor.examine import examine
from floodplain.doctor.finding import Finding, Severity
from floodplain.doctor.observe import observe
from floodplain.quantity import GIB
from floodplain.sizing.default_pool import default_pool
from floodplain.swap import grant_bytes
from tests.floodplain.doctor.clusters import NOW
from tests.floodplain.doctor.test_kubelet_text import CONFIGZ

Answer = Callable[[httpx2.Request], httpx2.Response]


def api(answer: Answer) -> KubeApi:
    return KubeApi(httpx2.Client(base_url="https://cluster", transport=httpx2.MockTransport(answer)))


def page(names: list[str], token: str = "") -> httpx2.Response:
    items = [{"metadata": {"name": name, "uid": name}} for name in names]
    return httpx2.Response(200, json={"metadata": {"continue": token}, "items": items})


def items(answers: dict[str, httpx2.Response]) -> list[str]:
    """Names in a list whose pages are `answers` by their token; "all" is a request without a limit."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        query = request.url.params
        return answers[query.get("continue", "") if "limit" in query else "all"]

    return [one["metadata"]["name"] for one in api(answer).items("/api/v1/pods")]


def test_pages_follow_each_other() -> None:
    assert items({"": page(["a", "b"], "x"), "x": page(["c"], "y"), "y": page([])}) == ["a", "b", "c"]


def test_a_place_that_the_server_forgot_is_asked_for_once_more_and_nothing_given_twice() -> None:
    gone = httpx2.Response(410, json={"message": "The provided continue parameter is too old"})
    assert items({"": page(["a", "b"], "x"), "x": gone, "all": page(["a", "b", "c"])}) == ["a", "b", "c"]


BAD = {
    "not JSON": (httpx2.Response(200, text="<html>"), 0, "the answer is not JSON"),
    "no object": (httpx2.Response(200, text="[]"), 0, "the answer is not an object"),
    "a status": (httpx2.Response(403, json={"message": "pods is\nforbidden"}), 403, "pods is forbidden"),
    "a page of a proxy": (httpx2.Response(502, text="<html>\x1b[31mbad"), 502, "<html> [31mbad"),
    "nothing": (httpx2.Response(500), 500, "HTTP 500"),
}


@pytest.mark.parametrize(("response", "status", "message"), BAD.values(), ids=BAD)
def test_an_answer_that_is_none_is_told(response: httpx2.Response, status: int, message: str) -> None:
    with pytest.raises(RefusedError) as caught:
        api(lambda request: response).object("/version")
    assert (caught.value.status, str(caught.value)) == (status, message)


def test_an_answer_that_breaks_off_is_told() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow", request=request)

    with pytest.raises(RefusedError, match="ReadTimeout: slow"):
        api(answer).object("/version")


LABELS = {"floodplain.dev/pool": "example"}
RESOURCES = {"requests": {"memory": "1023Mi"}, "limits": {"memory": "1Gi"}}
GRANT = grant_bytes(1023 << 20, 16 * GIB, 32 * GIB)


def node(name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": LABELS, "uid": name},
        "status": {
            "capacity": {"memory": "16Gi"},
            "allocatable": {"memory": "15Gi"},
            "nodeInfo": {"kubeletVersion": "v1.36.3", "swap": {"capacity": 32 * GIB}},
        },
    }


def pod(name: str, node_name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "jobs", "name": name, "uid": name, **metadata},
        "spec": {"nodeName": node_name, "containers": [{"name": "job", "resources": RESOURCES}]},
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "containerStatuses": [{"name": "job", "state": {"running": {}}}],
        },
    }


def cluster(kubelets: Answer) -> KubeApi:
    """Nodes n1 and n2 of a pool and web of none, a pod on each; `kubelets` answers for them."""
    web = node("web")
    web["metadata"]["labels"] = {}
    lists = {
        "/version": {"gitVersion": "v1.36.3"},
        "/api/v1/nodes": {"items": [node("n1"), node("n2"), web]},
        "/api/v1/pods": {"items": [pod("a", "n1"), pod("b", "n2"), pod("c", "web")]},
        "/api/v1/namespaces": {
            "items": [{"metadata": {"name": "jobs", "labels": {"floodplain.dev/sizing": "observe"}}}]
        },
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if "/proxy/" in path:
            return kubelets(request)
        return httpx2.Response(200, json=lists[path]) if path in lists else httpx2.Response(404, json={"message": "no"})

    return api(answer)


def metrics(request: httpx2.Request) -> httpx2.Response:
    """What the kubelet of n1 or n2 serves: n2's container has a page less than it should."""
    name, endpoint = request.url.path.removeprefix("/api/v1/nodes/").split("/proxy/")
    pod_name, grant = ("a", GRANT) if name == "n1" else ("b", GRANT - 4096)
    labels = f'{{container="job",namespace="jobs",pod="{pod_name}"}}'
    texts = {
        "configz": CONFIGZ,
        "stats/summary": "{}",
        "metrics/resource": f"container_swap_limit_bytes{labels} {float(grant)!r} 1785585600000\n",
    }
    assert name != "web"
    return httpx2.Response(200, text=texts[endpoint]) if endpoint in texts else httpx2.Response(404)


def test_only_nodes_of_pools_and_their_pods_are_looked_at() -> None:
    seen = observe(cluster(metrics), pools=[default_pool()], now=lambda: NOW)
    assert [pod.name for pod in seen.pods or ()] == ["a", "b"]
    assert [(one.name, one.pool.name if one.pool else None) for one in seen.nodes or ()] == [
        ("n1", "example"),
        ("n2", "example"),
        ("web", None),
    ]
    assert seen.sized_namespaces == {"jobs": "observe"}
    found = examine(seen)
    assert [(one.severity, one.object) for one in found if one.check == "grant"] == [
        (Severity.ERROR, "pod jobs/b, container job"),
        (Severity.OK, "1 container"),
    ]
    assert [one.seen for one in found if "cadvisor" in one.seen] == ["cannot see kubelet's /metrics/cadvisor: HTTP 404"]


def test_kubelets_behind_one_missing_right_are_told_once_and_asked_once() -> None:
    asked: list[str] = []

    def forbidden(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.path)
        name = request.url.path.split("/")[4]
        return httpx2.Response(403, json={"message": f'nodes "{name}" is forbidden: cannot get resource "nodes/proxy"'})

    seen = observe(cluster(forbidden), pools=[default_pool()], now=lambda: NOW)
    (one,) = [found for found in examine(seen) if "nodes/proxy" in found.seen]
    assert (one.object, one.seen, one.levers) == (
        "n1, n2",
        'cannot see kubelet\'s /configz: nodes "NODE" is forbidden: cannot get resource "nodes/proxy"',
        ("grant get on nodes/proxy",),
    )
    assert sorted(asked) == [f"/api/v1/nodes/{name}/proxy/configz" for name in ("n1", "n2")]


def test_kubelets_that_nobody_wants_to_ask_are_not_asked_and_no_warning() -> None:
    def never(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(request.url.path)

    seen = observe(cluster(never), pools=[default_pool()], now=lambda: NOW, kubelets=False)
    found = examine(seen)
    assert [one for one in found if one.check == "grant"] == []
    (told,) = [one for one in found if "kubelets" in one.seen]
    assert told == Finding(
        "cannot-see",
        Severity.INFO,
        "the cluster",
        "cannot see what kubelets set and measure: they were not asked (--no-kubelets)",
        levers=("leave --no-kubelets out, as a user who may get nodes/proxy",),
    )


def test_kubelets_that_are_down_are_told_once_whatever_their_addresses() -> None:
    def down(request: httpx2.Request) -> httpx2.Response:
        address = "10.0.0.1:10250" if "/n1/" in request.url.path else "[fd00::2]:10250"
        return httpx2.Response(503, json={"message": f"error trying to reach service: dial tcp {address}: refused"})

    seen = observe(cluster(down), pools=[default_pool()], now=lambda: NOW)
    (one,) = [found for found in examine(seen) if "dial tcp" in found.seen]
    assert (one.object, one.seen) == (
        "n1, n2",
        "cannot see kubelet's /configz: error trying to reach service: dial tcp ADDRESS: refused",
    )
    assert json.dumps(one.levers) == '["is the node up, and its kubelet reachable?"]'
