"""Edits of the testbed's stack file, as a person would make them. Every one stands alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from testbed.pulumi.charts.catalogue import EARLIER_KARPENTER

Config = dict[str, Any]
Edit = Callable[[Config], None]


def pool(**settings: Any) -> Edit:
    """Settings of the pool; None takes one away."""

    def edit(config: Config) -> None:
        _set(config["floodplain:pools"][0], settings)

    return edit


def karpenter(**settings: Any) -> Edit:
    """Settings of Karpenter."""

    def edit(config: Config) -> None:
        _set(config["floodplain:karpenter"], settings)

    return edit


def keys(**settings: Any) -> Edit:
    """Whole keys of the file."""

    def edit(config: Config) -> None:
        _set(config, {f"floodplain:{key}": value for key, value in settings.items()})

    return edit


def both(*edits: Edit) -> Edit:
    def edit(config: Config) -> None:
        for one in edits:
            one(config)

    return edit


def second_pool(config: Config) -> None:
    first = config["floodplain:pools"][0]
    config["floodplain:pools"].append({**first, "name": "second"})


def _set(place: Config, settings: Mapping[str, Any]) -> None:
    for key, value in settings.items():
        if value is None:
            place.pop(key, None)
        else:
            place[key] = value


EDITS: dict[str, Edit] = {
    "nothing": lambda config: None,
    "more room": pool(limits={"cpu": "16", "memory": "64Gi"}),
    "another boot": pool(
        swap={"swappiness": 60},
        kubelet={"maxPods": 20},
        singleProcessOomKill=True,
        rootVolume={"size": "60Gi"},
        extraScripts=["#!/bin/sh\necho hello\n"],
    ),
    "another choice of nodes": pool(
        capacityTypes=["spot", "on-demand"], zones=["us-west-2a"], labels={"team": "survey"}, weight=50
    ),
    "a newer image": pool(ami={"alias": "al2023@v20260801"}),
    "one more family": pool(families=["c6id", "c8id"]),
    "larger sizes": pool(vcpus=[2, 4, 8], limits={"cpu": "16", "memory": "64Gi"}),
    "all on Arm": pool(families=["c6gd"], architecture="arm64"),
    "another taint": pool(taint={"key": "dedicated", "value": "batch"}),
    "a higher priority": pool(priority={"value": 1000}),
    "jobs that preempt": pool(priority={"preempts": True}),
    "guardrails that warn": pool(guardrails="audit"),
    "no guardrails": pool(guardrails="off"),
    "a larger overhead": pool(overhead="32Mi"),
    "more headroom": pool(headroom="512Mi"),
    "longer jobs": pool(longestJob="12h"),
    "a pool under another name": pool(name="batch"),
    "a second pool": second_pool,
    "other tags": keys(tags={"environment": "testbed", "owner": "platform"}),
    "protected": keys(protected=True),
    "more of Karpenter": karpenter(replicas=2, logLevel="debug"),
    "another Karpenter": karpenter(version=EARLIER_KARPENTER),
    "Karpenter elsewhere": karpenter(namespace="karpenter"),
    "another service account": karpenter(serviceAccount="controller"),
    "IRSA instead of Pod Identity": karpenter(credentials="Irsa"),
    "deaf to interruptions": karpenter(interruption=False),
    "nodes with a role of their own": karpenter(nodeRoleName="their-nodes", createAccessEntry=False),
    "a permissions boundary": karpenter(permissionsBoundary="arn:aws:iam::123456789012:policy/boundary"),
    "a policy more for nodes": karpenter(nodeRolePolicies={"logs": "arn:aws:iam::aws:policy/CloudWatchLogsFullAccess"}),
    "the role that Spot needs": karpenter(spotServiceLinkedRole="Create"),
    "job queues": keys(controllers={"kueue": {}}),
    "a service that sizes": keys(images={"service": f"images.example/floodplain/service@sha256:{'0' * 64}"}),
    "Karpenter that the cluster has": both(
        keys(installKarpenter=False), karpenter(nodeRoleName="KarpenterNodeRole-us-west-2-testbed")
    ),
}
