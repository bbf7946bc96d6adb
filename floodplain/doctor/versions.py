"""Do the versions go together: API server, kubelets, Karpenter? Pure.

The table of Karpenter's versions is `components.compatibility`'s, which the command cannot import: a test holds the
two together.
"""

from __future__ import annotations

from collections.abc import Iterator

from floodplain.doctor.finding import Finding, Severity, names
from floodplain.doctor.seen import Cluster

CHECK = "versions"
OLDEST = (1, 33)
"""AL2023's kernel for it is the first that keeps tmpfs out of swap."""
RECOMMENDED = (1, 34)
"""Swap support is stable, and kubelet reports grants."""
OLDEST_KARPENTER = {(1, 33): (1, 5), (1, 34): (1, 6), (1, 35): (1, 9), (1, 36): (1, 13), (1, 37): (1, 15)}
_KUBELET_BEHIND = 3
"""Minor versions by which a kubelet may be older than the API server (Kubernetes' version skew policy)."""
_SKEW = "Kubernetes' version skew policy"


def check(cluster: Cluster) -> Iterator[Finding]:
    """Server, kubelets of pools, Karpenter."""
    server = minor(cluster.server_version)
    told = [*_server(cluster.server_version, server), *_kubelets(cluster, server), *_karpenters(cluster, server)]
    yield from told
    if server != (0, 0) and not told:
        yield Finding(CHECK, Severity.OK, f"Kubernetes {cluster.server_version}", "the versions go together")


def _server(text: str, server: tuple[int, int]) -> Iterator[Finding]:
    title = f"Kubernetes {text}"
    if server == (0, 0):
        return
    if server < OLDEST:
        seen = f"{_text(server)} is too old for swap in containers"
        yield Finding(CHECK, Severity.ERROR, title, seen, f"{_text(OLDEST)} or newer", ("upgrade the cluster",))
    elif server < RECOMMENDED:
        seen = f"{_text(server)}: swap is not yet stable, and kubelet does not report grants"
        yield Finding(CHECK, Severity.INFO, title, seen, f"{_text(RECOMMENDED)} or newer", ("upgrade the cluster",))


def _kubelets(cluster: Cluster, server: tuple[int, int]) -> Iterator[Finding]:
    by_version: dict[str, list[str]] = {}
    for node in cluster.pool_nodes:
        by_version.setdefault(node.kubelet_version, []).append(node.name)
    for text, nodes in sorted(by_version.items()):
        kubelet, title = minor(text), f"kubelet {text or 'without a version'} on {names(nodes)}"
        if kubelet == (0, 0):
            yield Finding(CHECK, Severity.INFO, title, "its version cannot be read")
        elif kubelet < OLDEST:
            seen = f"{_text(kubelet)} is too old for swap in containers"
            yield Finding(CHECK, Severity.ERROR, title, seen, f"{_text(OLDEST)} or newer", ("upgrade the pool's AMI",))
        elif server != (0, 0) and kubelet > server:
            seen = f"is newer than the API server ({_text(server)})"
            yield Finding(CHECK, Severity.ERROR, title, seen, "not newer", ("upgrade the control plane first",), _SKEW)
        elif server != (0, 0) and server[1] - kubelet[1] > _KUBELET_BEHIND:
            seen = f"is more than {_KUBELET_BEHIND} minor versions behind the API server ({_text(server)})"
            yield Finding(CHECK, Severity.ERROR, title, seen, "at most three", ("upgrade the pool's AMI",), _SKEW)


def _karpenters(cluster: Cluster, server: tuple[int, int]) -> Iterator[Finding]:
    for one in cluster.karpenters or ():
        title, version = f"Karpenter {one.namespace}/{one.name}", minor(one.version)
        oldest = OLDEST_KARPENTER.get(server)
        if version == (0, 0):
            yield Finding(CHECK, Severity.INFO, title, "its version cannot be read from its labels or image")
        elif oldest and version < oldest:
            seen = f"{one.version} is too old for Kubernetes {_text(server)}"
            expected = f"{_text(oldest)} or newer"
            source = "Karpenter's compatibility matrix"
            yield Finding(CHECK, Severity.ERROR, title, seen, expected, ("upgrade Karpenter",), source)


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def minor(version: str) -> tuple[int, int]:
    """Major and minor of `v1.34.9-eks-1`; (0, 0) for what is no version."""
    parts = version.lstrip("v").split(".")
    if len(parts) < 2 or not (parts[0].isascii() and parts[0].isdigit() and len(parts[0]) < 5):
        return (0, 0)
    digits = "".join(letter for letter in parts[1] if letter in "0123456789")[:4]
    return (int(parts[0]), int(digits)) if digits else (0, 0)
