"""The models as builders: Python arguments in, a manifest in stable order out, every error at once."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from components.crd import EC2NodeClassSpec, KubeletSpec, NodePoolSpec, Taint, violations
from components.crd.violation import violations_of
from floodplain.kubelet_keys import KARPENTERS_KEYS
from floodplain.problem import problems_of
from tests.components.crd.builders import manifest, need, pool_spec
from tests.components.crd.cases import cases
from tests.conftest import Golden

VALID = [case for case in cases() if case.file == "valid"]


def swap_pool() -> NodePoolSpec:
    return pool_spec(
        "swap-small",
        [
            need("kubernetes.io/arch", "In", "amd64"),
            need("karpenter.k8s.aws/instance-family", "In", "r6id", "m6id", minValues=2),
            need("node.kubernetes.io/instance-type", "NotIn", "r6id.metal"),
            need("karpenter.k8s.aws/instance-cpu", "Gt", "7"),
            need("karpenter.k8s.aws/instance-cpu", "Lt", "65"),
            need("topology.kubernetes.io/zone", "Exists"),
        ],
        labels={"floodplain.dev/pool": "swap-small"},
        taints=[Taint(key="floodplain.dev/pool", value="swap-small", effect="NoSchedule")],
        expire_after="Never",
        termination_grace_period="49h",
        disruption={"consolidation_policy": "WhenEmpty", "consolidate_after": "5m", "budgets": [{"nodes": "1"}]},
        limits={"cpu": 288, "memory": "2304Gi"},
        weight=10,
    )


def swap_class() -> EC2NodeClassSpec:
    return EC2NodeClassSpec(
        ami_selector_terms=[{"alias": "al2023@v20260625"}],
        role="Karpenter-nodes",
        subnet_selector_terms=[{"tags": {"karpenter.sh/discovery": "prod"}}],
        security_group_selector_terms=[{"tags": {"karpenter.sh/discovery": "prod"}}],
        instance_store_policy="RAID0",
        block_device_mappings=[
            {"device_name": "/dev/xvda", "ebs": {"volume_size": "80Gi", "kms_key_id": "alias/nodes"}}
        ],
        kubelet=KubeletSpec(
            cluster_dns=("10.100.0.10",),
            cpu_cfs_quota=True,
            image_gc_high_threshold_percent=85,
            system_reserved={"ephemeral-storage": "500Gi"},
            eviction_hard={"memory.available": "100Mi"},
        ),
        user_data="#!/bin/sh\n",
    )


def test_a_pool_built_from_arguments_is_a_manifest_to_read(golden: Golden) -> None:
    made = manifest(swap_pool(), "swap-small", labels={"team": "maps"}, annotations={"a/b": "c d"})
    assert violations(made) == []
    golden.check("components/crd/golden/nodepool.yaml", yaml.safe_dump(made, sort_keys=False))


def test_a_class_built_from_arguments_is_a_manifest_to_read(golden: Golden) -> None:
    made = manifest(swap_class(), "swap-small")
    assert violations(made) == []
    golden.check("components/crd/golden/ec2nodeclass.yaml", yaml.safe_dump(made, sort_keys=False))


def test_building_twice_gives_the_same_bytes() -> None:
    first, second = (
        yaml.safe_dump(manifest(swap_class(), "a"), sort_keys=False),
        yaml.safe_dump(manifest(swap_class(), "a"), sort_keys=False),
    )
    assert first == second


@pytest.mark.parametrize("case", VALID, ids=lambda case: case.name)
def test_a_valid_manifest_survives_the_models_unchanged(case: Any) -> None:
    model: type[NodePoolSpec] | type[EC2NodeClassSpec] = (
        NodePoolSpec if case.manifest["kind"] == "NodePool" else EC2NodeClassSpec
    )
    assert model.model_validate(case.manifest["spec"]).fragment() == without_nulls(case.manifest["spec"])


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def test_python_arguments_may_be_camel_or_snake_case_but_a_manifest_is_camel_case_only() -> None:
    assert KubeletSpec.model_validate({"max_pods": 5}) == KubeletSpec.model_validate({"maxPods": 5})
    made = manifest(swap_class(), "a")
    made["spec"]["kubelet"] = {"max_pods": 5}
    assert [str(item) for item in violations(made)] == [
        "spec.kubelet.max_pods: is not a key here, and the API server drops it with no more than a warning to Pulumi; "
        "did you mean `maxPods`?"
    ]


def test_every_error_of_a_constructor_is_told_at_once_in_either_spelling() -> None:
    with pytest.raises(ValidationError) as caught:
        pool_spec(
            "",
            [{"key": "a", "operator": "In"}, {"key": "b", "operator": "Exists", "min_values": 99}],
            limits={"memory": "10GB"},
            weight=5,
            replicas=3,
        )
    assert [item.path for item in problems_of(caught.value, NodePoolSpec, prefix="pool", snake=True)] == [
        "pool.template.spec.node_class_ref.name",
        "pool.template.spec.requirements[0].values",
        "pool.template.spec.requirements[1].min_values",
        "pool.limits.memory",
        "pool.limits.memory",
        "pool.weight",
    ]
    assert [item.path for item in violations_of(caught.value, ("spec",))] == [
        "spec.template.spec.nodeClassRef.name",
        "spec.template.spec.requirements[0].values",
        "spec.template.spec.requirements[1].minValues",
        "spec.limits.memory",
        "spec.limits.memory",
        "spec.weight",
    ]


def test_a_name_that_no_object_can_have_is_refused() -> None:
    (found,) = violations(manifest(swap_pool(), "Swap Small"))
    assert (found.path, found.where) == ("metadata.name", "crd")
    assert found.rule.startswith("is no object name")


@pytest.mark.parametrize("key", ["failSwapOn", "memorySwap", "featureGates", "cpuManagerPolicy"])
def test_kubelet_settings_that_karpenter_does_not_take_are_sent_to_user_data(key: str) -> None:
    made = manifest(swap_class(), "a")
    made["spec"]["kubelet"][key] = {}
    (found,) = violations(made)
    assert found.path == f"spec.kubelet.{key}"
    assert found.remedy == "put it in the NodeConfig of spec.userData, under spec.kubelet.config"


def test_the_kubelet_section_has_the_keys_that_everybody_takes_for_karpenters() -> None:
    assert sorted(field.alias or name for name, field in KubeletSpec.model_fields.items()) == list(KARPENTERS_KEYS)


@pytest.mark.parametrize(
    "manifest",
    [
        {},
        {"kind": "NodePool"},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
        {"apiVersion": "nodepools.example.com/v1", "kind": "NodePool"},
        {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "spec": {"x": 1}},
    ],
)
def test_other_kinds_have_no_violations(manifest: dict[str, Any]) -> None:
    assert violations(manifest) == []


def test_status_is_not_looked_at() -> None:
    assert violations(manifest(swap_pool(), "a") | {"status": {"nodes": 3, "anything": True}}) == []
