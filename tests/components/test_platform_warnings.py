"""What is allowed in a platform but told, as a preview of any stack shows it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.node_text_import import kernel_reserve
from components.platform_settings import PlatformSettings
from components.platform_warnings import warnings
from floodplain.quantity import GIB, MIB
from tests.components.karpenter_program import CLUSTER

POOL: dict[str, Any] = {
    "name": "small",
    "families": ["r6id"],
    "limits": {"cpu": "256", "memory": "2Ti"},
    "ami": {"alias": "al2023@v20260714"},
}


def told(pool: dict[str, Any] | None = None, **platform: Any) -> list[str]:
    values = {"cluster": CLUSTER, "pools": [{**POOL, **(pool or {})}], **platform}
    return [str(problem) for problem in warnings(PlatformSettings.model_validate(values))]


def test_a_plain_platform_has_nothing_to_tell() -> None:
    assert told() == []


def test_metrics_that_go_with_their_pod_are_told() -> None:
    assert told(controllers={"kubePrometheusStack": {}}) == [
        "controllers.kubePrometheusStack.storage: is not set, so metrics are lost whenever Prometheus moves to another "
        "node; set a size, such as 50Gi"
    ]
    assert told(controllers={"kubePrometheusStack": {"storage": "50Gi"}}) == []


SERVICE = f"registry.example/floodplain/service@sha256:{'a' * 64}"


def test_sizing_that_is_set_up_and_stays_off_is_told() -> None:
    assert told(sizing={"replicas": 2}) == [
        "sizing: is set, but images.service holds no digest, so that nothing is sized; "
        "set images.service to the image of a release, by digest"
    ]
    assert told(sizing={"replicas": 2}, images={"service": SERVICE}) == []
    (text,) = told(sizing={"replicas": 2}, protected=True)
    assert text.startswith("images.service: holds no digest")


def test_sizing_that_may_be_missed_or_whose_metrics_nobody_reads_is_told() -> None:
    on: dict[str, Any] = {"images": {"service": SERVICE}}
    assert told(**on, sizing={"guardrails": "audit"}) == [
        "sizing.guardrails: 'audit' lets pods run unsized when the webhook has missed them; "
        "set it to enforce once the audit is quiet"
    ]
    controllers = {"kubePrometheusStack": {"storage": "50Gi", "namespace": "metrics"}}
    assert told(**on, controllers=controllers) == [
        "sizing.metricsNamespace: 'monitoring' is not the namespace of kubePrometheusStack (metrics), which then "
        "cannot read metrics of sizing; set it to that"
    ]
    assert told(**on, controllers=controllers, sizing={"metricsNamespace": "metrics"}) == []
    assert told(controllers=controllers) == []


def test_doctor_that_may_do_more_than_read_is_told() -> None:
    on: dict[str, Any] = {"images": {"service": SERVICE}}
    assert told(**on, sizing={"doctor": {"kubelets": True}}) == [
        "sizing.doctor.kubelets: True gives an account of the cluster get on nodes/proxy, which also allows running"
        " commands in pods (kubernetes/kubernetes#119640);"
        " see to it that nobody else may start pods in the namespace floodplain"
    ]
    assert told(**on, sizing={"doctor": {"kubelets": True, "enabled": False}}) == []


def test_weak_settings_of_a_controller_are_told_only_where_it_is_installed_here() -> None:
    weak = {"nodeRoleName": "nodes", "interruption": False, "replicas": 1}
    assert len(told(karpenter=weak)) == 3
    assert told(karpenter=weak, installKarpenter=False) == []
    old = {**weak, "version": "1.13.0"}
    (text,) = told(karpenter=old, installKarpenter=False)
    assert text.startswith("karpenter: Karpenter 1.13.0: its objects and what an edit of them does to nodes")


def test_network_interfaces_kept_from_pods_are_told_unless_the_pool_says_how_many_pods_fit() -> None:
    assert told(karpenter={"reservedEnis": 1}) == [
        "karpenter.reservedEnis: 1 lets fewer pods onto a node than floodplain counts with: its figures for pods per "
        "node know only the instance type (pools small); "
        "set kubelet.maxPods of these pools to what a node really takes"
    ]
    assert told({"kubelet": {"maxPods": 20}}, karpenter={"reservedEnis": 1}) == []


def test_a_threshold_at_which_kubelet_evicts_before_the_kernel_swaps_is_told() -> None:
    assert told({"vcpus": [2, 4], "kubelet": {"evictionHard": {"memory.available": "3Gi"}}}) == [
        "pools[0].kubelet.evictionHard.memory.available: '3Gi' is more than the kernel keeps free, so that kubelet "
        "evicts pods before the kernel swaps (r6id.large: 512Mi, r6id.xlarge: 512Mi); "
        "lower it below that; 256Mi suits nodes from 4 GiB on"
    ]


@pytest.mark.parametrize(
    ("threshold", "vcpus", "early"),
    [
        ("512Mi", [2], False),
        ("513Mi", [2], True),
        ("1Gi", [32], False),
        ("2Gi", [32], False),
        ("2049Mi", [32], True),
        # A share grows with the node, what the kernel keeps does not.
        ("1%", [2], False),
        ("1%", [32], True),
        ("0.1%", [2, 32], False),
    ],
)
@pytest.mark.parametrize("key", ["evictionHard", "evictionSoft"])
def test_the_line_is_what_the_kernel_keeps_free_on_that_node(
    key: str, threshold: str, vcpus: list[int], early: bool
) -> None:
    kubelet: dict[str, Any] = {key: {"memory.available": threshold}}
    if key == "evictionSoft":
        kubelet["evictionSoftGracePeriod"] = {"memory.available": "1m"}
    found = told({"vcpus": vcpus, "kubelet": kubelet})
    assert [text.split(":")[0] for text in found] == ([f"pools[0].kubelet.{key}.memory.available"] if early else [])


@given(st.integers(4, 1536))
@settings(max_examples=50)
def test_the_default_threshold_is_below_the_line_on_every_node_from_4_gib_on(gib: int) -> None:
    # 7.5 % less than advertised, as Karpenter counts.
    assert kernel_reserve(gib * GIB * 925 // 1000).min_free_kib * 1024 > 256 * MIB
