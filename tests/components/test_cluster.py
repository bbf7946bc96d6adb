"""Facts about a cluster: each refused by itself, all at once, pairs once both are sound."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from components.cluster import Cluster, ClusterVersions
from floodplain.problem import problems_of


def told(model: type[BaseModel], **values: Any) -> list[str]:
    with pytest.raises(ValidationError) as refused:
        model(**values)
    return [str(problem).split(";")[0] for problem in problems_of(refused.value, model)]


def test_every_wrong_fact_about_a_cluster_is_told_at_once() -> None:
    assert told(Cluster, name="a b", region="mars", account_id="12", kubernetes_version="1.32") == [
        "name: 'a b' is not an EKS cluster name",
        "region: 'mars' is not an AWS region",
        "accountId: '12' is not an AWS account id",
        "kubernetesVersion: '1.32' is too old a Kubernetes for swap in containers: 1.33 is the oldest supported",
    ]


def test_versions_of_a_pools_cluster_are_checked_one_by_one_and_then_together() -> None:
    assert told(ClusterVersions, name="a b", kubernetes_version="1", karpenter_version="1.14") == [
        "name: 'a b' is not an EKS cluster name",
        "kubernetesVersion: '1' is not a Kubernetes version",
        "karpenterVersion: '1.14' is not a release of Karpenter",
    ]
    assert told(ClusterVersions, name="a b", kubernetes_version="1.36", karpenter_version="1.12.0") == [
        "name: 'a b' is not an EKS cluster name",
        "karpenterVersion: '1.12.0' is too old a Karpenter for Kubernetes 1.36, which needs 1.13 or newer",
    ]
