"""Edge: reads a cluster for doctor. Whatever cannot be read becomes an `Unseen` with its remedy, never a failure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

from floodplain.doctor import kubelet_text, objects
from floodplain.doctor.api import KubeApi, RefusedError
from floodplain.doctor.finding import Severity
from floodplain.doctor.seen import (
    Cluster,
    ConditionSeen,
    KarpenterSeen,
    LimitRangeSeen,
    NodeSeen,
    PodSeen,
    PoolSeen,
    Unseen,
    WebhookSeen,
)
from floodplain.pools import PoolDocument

NAMESPACE = "floodplain"
WEBHOOK = "floodplain-sizing"
SECRET = "floodplain-admission-tls"
_KUBELETS_AT_ONCE = 8
_FORBIDDEN = (401, 403)
_NOT_THERE = 404
_ENDPOINTS = {
    "configz": "configz",
    "summary": "stats/summary",
    "resource": "metrics/resource",
    "cadvisor": "metrics/cadvisor",
}
_ADDRESS = re.compile(r"\[?[0-9a-f]*[:.][0-9a-f:.]+\]?:[0-9]+")
T = TypeVar("T")


def observe(
    api: KubeApi,
    *,
    pools: Sequence[PoolDocument] = (),
    namespace: str = NAMESPACE,
    kubelets: bool = True,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Cluster:
    """What can be seen of a cluster. Pools are those of the documents, else those that NodePools of ours make.

    Without `kubelets` none is asked: for a user who has no right to, and who knows.
    """
    return _Observation(api, namespace, kubelets).cluster(tuple(objects.documented_pool(one) for one in pools), now())


class _Observation:
    """One look at a cluster, and what it could not see."""

    def __init__(self, api: KubeApi, namespace: str, kubelets: bool) -> None:
        self._api = api
        self._namespace = namespace
        self._ask_kubelets = kubelets
        self._unseen: list[Unseen] = []

    def cluster(self, pools: tuple[PoolSeen, ...], now: datetime) -> Cluster:
        node_pools, conditions = self._node_pools()
        pools = pools or node_pools
        nodes = self._nodes(pools)
        pods = self._pods(nodes or (), pools)
        # Kubelets last: what has started in the meantime they may know, the other way round they never would.
        measured = None if nodes is None else self._with_kubelets(nodes)
        return Cluster(
            now=now,
            server_version=self._version(),
            pools=pools,
            nodes=measured,
            pods=pods,
            limit_ranges=self._limit_ranges(),
            sized_namespaces=self._sized_namespaces(),
            webhook=self._webhook(),
            secret_ca=self._secret_ca(),
            karpenters=self._karpenters(),
            conditions=conditions,
            kubelets_asked=self._ask_kubelets,
            unseen=tuple(self._unseen),
        )

    def _list(
        self,
        path: str,
        what: str,
        right: str,
        read: Callable[[dict[str, Any]], Iterable[T]],
        *,
        severity: Severity = Severity.WARNING,
        absent: bool = False,
        **query: str,
    ) -> tuple[T, ...] | None:
        """Everything that `read` finds in a list. With `absent`, a kind that is not served is an empty list."""
        try:
            return tuple(found for thing in self._api.items(path, **query) for found in read(thing))
        except RefusedError as error:
            if absent and error.status == _NOT_THERE:
                return ()
            self._unseen.append(Unseen(what, _why(error), _remedy(error, right), severity=severity))
            return None

    def _version(self) -> str:
        try:
            return objects.text(self._api.object("/version"), "gitVersion")
        except RefusedError as error:
            self._unseen.append(Unseen("the API server's version", _why(error), "grant get on /version"))
            return ""

    def _node_pools(self) -> tuple[tuple[PoolSeen, ...], tuple[ConditionSeen, ...]]:
        pools: list[PoolSeen] = []

        def read(thing: dict[str, Any]) -> Iterable[ConditionSeen]:
            found = objects.pool_of_node_pool(thing)
            pools.extend([found] if found else [])
            return objects.not_ready(thing, "NodePool")

        conditions = self._list(
            "/apis/karpenter.sh/v1/nodepools", "NodePools", "list on nodepools.karpenter.sh", read, absent=True
        )
        classes = self._list(
            "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
            "EC2NodeClasses",
            "list on ec2nodeclasses.karpenter.k8s.aws",
            lambda thing: objects.not_ready(thing, "EC2NodeClass"),
            absent=True,
        )
        return tuple(pools), (*(conditions or ()), *(classes or ()))

    def _nodes(self, pools: tuple[PoolSeen, ...]) -> tuple[NodeSeen, ...] | None:
        return self._list(
            "/api/v1/nodes",
            "nodes",
            "list on nodes",
            lambda thing: [objects.node(thing, pools)],
            severity=Severity.ERROR,
        )

    def _with_kubelets(self, nodes: tuple[NodeSeen, ...]) -> tuple[NodeSeen, ...]:
        if not self._ask_kubelets:
            if any(node.pool is not None for node in nodes):
                remedy = "leave --no-kubelets out, as a user who may get nodes/proxy"
                what, why = "what kubelets set and measure", "they were not asked (--no-kubelets)"
                self._unseen.append(Unseen(what, why, remedy, severity=Severity.INFO))
            return nodes
        with ThreadPoolExecutor(_KUBELETS_AT_ONCE) as threads:
            return tuple(threads.map(self._with_kubelet, nodes))

    def _with_kubelet(self, node: NodeSeen) -> NodeSeen:
        """Kubelets of pools only: those of others are nobody's business here."""
        if node.pool is None or not node.name:
            return node
        texts: dict[str, str] = {}
        for key, endpoint in _ENDPOINTS.items():
            path = f"/api/v1/nodes/{quote(node.name, safe='')}/proxy/{endpoint}"
            try:
                texts[key] = self._api.text(path)
            except RefusedError as error:
                # Without what differs from node to node, so that one cause is told once.
                why = _ADDRESS.sub("ADDRESS", _why(error).replace(node.name, "NODE"))
                remedy = _remedy(error, "get on nodes/proxy", "is the node up, and its kubelet reachable?")
                self._unseen.append(Unseen(f"kubelet's /{endpoint}", why, remedy, node.name))
                if error.status != _NOT_THERE:
                    break  # the others would fail in the same way, each after its timeout
        return replace(node, kubelet=kubelet_text.kubelet(**texts)) if texts else node

    def _pods(self, nodes: Iterable[NodeSeen], pools: Iterable[PoolSeen]) -> tuple[PodSeen, ...] | None:
        """Those on pools' nodes, those meant for them, and those with a plan: others are read and forgotten."""
        ours = {node.name for node in nodes if node.pool is not None}
        classes = {pool.runtime_class for pool in pools}

        def read(thing: dict[str, Any]) -> Iterable[PodSeen]:
            found = objects.pod(thing)
            return [found] if found.node in ours or found.runtime_class in classes or found.planned else []

        return self._list("/api/v1/pods", "pods", "list on pods", read, severity=Severity.ERROR)

    def _limit_ranges(self) -> tuple[LimitRangeSeen, ...] | None:
        return self._list("/api/v1/limitranges", "LimitRanges", "list on limitranges", objects.limit_ranges)

    def _sized_namespaces(self) -> dict[str, str] | None:
        found = self._list(
            "/api/v1/namespaces",
            "which namespaces are sized",
            "list on namespaces",
            lambda thing: [
                (
                    objects.text(thing, "metadata", "name"),
                    objects.text(thing, "metadata", "labels", objects.SIZING_LABEL),
                )
            ],
            labelSelector=objects.SIZING_LABEL,
        )
        return None if found is None else dict(found)

    def _webhook(self) -> WebhookSeen | None:
        kind = "mutatingwebhookconfigurations"
        path = f"/apis/admissionregistration.k8s.io/v1/{kind}/{WEBHOOK}"
        try:
            return objects.webhook(self._api.object(path))
        except RefusedError as error:
            if error.status == _NOT_THERE:
                told = Unseen(
                    "the admission webhook",
                    f"there is no MutatingWebhookConfiguration {WEBHOOK}",
                    "deploy SizingService if pods are to be sized at admission",
                    severity=Severity.INFO,
                )
            else:
                told = Unseen("the admission webhook", _why(error), _remedy(error, f"get on {kind}"))
            self._unseen.append(told)
            return None

    def _secret_ca(self) -> bytes | None:
        """The CA as the service keeps it. Rights to that Secret are rights to the CA's key, so they are not asked."""
        try:
            secret = self._api.object(f"/api/v1/namespaces/{quote(self._namespace, safe='')}/secrets/{SECRET}")
        except RefusedError as error:
            if error.status != _NOT_THERE:
                remedy = "run doctor as an administrator once; do not grant it for good: it holds the CA's key"
                told = Unseen(
                    f"Secret {self._namespace}/{SECRET}",
                    _why(error),
                    remedy if error.status in _FORBIDDEN else _remedy(error, ""),
                    severity=Severity.INFO,
                )
                self._unseen.append(told)
            return None
        return objects.decoded(objects.get(secret, "data", "ca.crt"))

    def _karpenters(self) -> tuple[KarpenterSeen, ...] | None:
        return self._list(
            "/apis/apps/v1/deployments",
            "Karpenter's Deployment",
            "list on deployments.apps",
            lambda thing: [found] if (found := objects.karpenter(thing)) else [],
            labelSelector="app.kubernetes.io/name=karpenter",
        )


def _why(error: RefusedError) -> str:
    return str(error) or f"HTTP {error.status}"


def _remedy(error: RefusedError, right: str, otherwise: str = "look at the API server's answer, and try again") -> str:
    return f"grant {right}" if error.status in _FORBIDDEN and right else otherwise
