"""Which edits roll the fleet. The verdicts here were compared with the hashes of Karpenter 1.14.1's own Go code."""

from __future__ import annotations

from typing import Any

import pytest

from components.crd import DriftedField, drift_fields
from floodplain.problem import ABSENT
from tests.components.crd.cases import cases, merged

POOL = next(case.manifest for case in cases() if case.name == "the smallest pool")
CLASS = next(case.manifest for case in cases() if case.name == "the smallest class")
LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
FAMILIES = "karpenter.k8s.aws/instance-family"


def pool(spec: dict[str, Any] | None = None, **template: Any) -> dict[str, Any]:
    return dict(merged(POOL, {"spec": {**(spec or {}), "template": {"spec": template}}}))


def labelled(**labels: str) -> dict[str, Any]:
    return dict(merged(POOL, {"spec": {"template": {"metadata": {"labels": labels}}}}))


def node_class(**spec: Any) -> dict[str, Any]:
    return dict(merged(CLASS, {"spec": spec}))


def families(*values: str, operator: str = "In") -> dict[str, Any]:
    return pool(requirements=[LINUX, {"key": FAMILIES, "operator": operator, "values": list(values)}])


A = {"key": "a", "effect": "NoSchedule"}
B = {"key": "b", "effect": "NoSchedule", "value": "x"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (pool(), pool({"limits": {"cpu": 5}, "weight": 7, "disruption": {"consolidateAfter": "1m"}})),
        (pool(), pool(expireAfter="720h")),
        (pool(expireAfter="48h"), pool(expireAfter="2880m")),
        (pool(terminationGracePeriod="48h"), pool(terminationGracePeriod="47h60m")),
        (pool(taints=[A, B]), pool(taints=[B, A])),
        (pool(taints=[A]), pool(taints=[{**A, "value": None}])),
        (families("r6id"), families("r6id", "m6id")),
        (families("m6id"), families("r6id", operator="NotIn")),
        (families("r6id"), pool()),
        (families("r6id", "m6id"), families("m6id", "r6id")),
        (node_class(), node_class(ipPrefixCount=4)),
        (node_class(), node_class(amiFamily="AL2023")),
        (node_class(), node_class(metadataOptions={"httpTokens": "required"})),
        (
            node_class(blockDeviceMappings=[{"deviceName": "a", "ebs": {"volumeSize": "1024Gi"}}]),
            node_class(blockDeviceMappings=[{"deviceName": "a", "rootVolume": False, "ebs": {"volumeSize": "1Ti"}}]),
        ),
        (
            node_class(subnetSelectorTerms=[{"id": "subnet-1"}, {"id": "subnet-2"}]),
            node_class(subnetSelectorTerms=[{"id": "subnet-2"}, {"id": "subnet-1"}]),
        ),
        (pool(), node_class()),
        ({"kind": "ConfigMap", "apiVersion": "v1"}, {"kind": "ConfigMap", "apiVersion": "v1", "data": {}}),
    ],
)
def test_edits_that_replace_no_node(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert drift_fields(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (
            labelled(team="maps"),
            labelled(team="tiles"),
            DriftedField("spec.template.metadata.labels.team", "maps", "tiles", "NodePoolDrifted"),
        ),
        (
            pool(),
            labelled(team="maps"),
            DriftedField("spec.template.metadata.labels", ABSENT, {"team": "maps"}, "NodePoolDrifted"),
        ),
        (
            pool(expireAfter="Never"),
            pool(),
            DriftedField("spec.template.spec.expireAfter", "Never", "720h", "NodePoolDrifted"),
        ),
        (
            pool(taints=[A]),
            pool(taints=[A, B]),
            DriftedField("spec.template.spec.taints", [A], [A, B], "NodePoolDrifted"),
        ),
        (
            pool(terminationGracePeriod="48h"),
            pool(),
            DriftedField("spec.template.spec.terminationGracePeriod", "48h", ABSENT, "NodePoolDrifted"),
        ),
        (
            pool(),
            pool(nodeClassRef={**POOL["spec"]["template"]["spec"]["nodeClassRef"], "name": "other"}),
            DriftedField("spec.template.spec.nodeClassRef.name", "small", "other", "NodePoolDrifted"),
        ),
        (
            node_class(userData="a"),
            node_class(userData="a\n"),
            DriftedField("spec.userData", "a", "a\n", "NodeClassDrift"),
        ),
        (
            node_class(kubelet={"evictionHard": {"memory.available": "100Mi"}}),
            node_class(kubelet={"evictionHard": {"memory.available": "200Mi"}}),
            DriftedField('spec.kubelet.evictionHard["memory.available"]', "100Mi", "200Mi", "NodeClassDrift"),
        ),
        (
            node_class(),
            node_class(amiFamily="Custom"),
            DriftedField("spec.amiFamily", "AL2023", "Custom", "NodeClassDrift"),
        ),
        (
            node_class(),
            node_class(metadataOptions={"httpPutResponseHopLimit": 2}),
            DriftedField("spec.metadataOptions.httpPutResponseHopLimit", 1, 2, "NodeClassDrift"),
        ),
        (
            node_class(blockDeviceMappings=[{"deviceName": "a", "ebs": {"volumeSize": "1000G"}}]),
            node_class(blockDeviceMappings=[{"deviceName": "a", "ebs": {"volumeSize": "1000Gi"}}]),
            DriftedField("spec.blockDeviceMappings[0].ebs.volumeSize", "1000G", "1000Gi", "NodeClassDrift"),
        ),
        (
            node_class(),
            node_class(amiSelectorTerms=[{"alias": "al2023@v20260801"}]),
            DriftedField(
                "spec.amiSelectorTerms",
                [{"alias": "al2023@v20260625"}],
                [{"alias": "al2023@v20260801"}],
                "AMIDrift",
                "all",
            ),
        ),
        (
            node_class(),
            node_class(amiSelectorTerms=[{"alias": "al2023@latest"}]),
            DriftedField(
                "spec.amiSelectorTerms",
                [{"alias": "al2023@v20260625"}],
                [{"alias": "al2023@latest"}],
                "AMIDrift",
                "resolved",
            ),
        ),
        (
            node_class(),
            node_class(securityGroupSelectorTerms=[{"id": "sg-2"}]),
            DriftedField(
                "spec.securityGroupSelectorTerms",
                CLASS["spec"]["securityGroupSelectorTerms"],
                [{"id": "sg-2"}],
                "SecurityGroupDrift",
                "resolved",
            ),
        ),
        (
            node_class(),
            node_class(capacityReservationSelectorTerms=[{"id": "cr-1"}]),
            DriftedField(
                "spec.capacityReservationSelectorTerms",
                ABSENT,
                [{"id": "cr-1"}],
                "CapacityReservationDrift",
                "resolved",
            ),
        ),
        (
            families("r6id", "m6id"),
            families("r6id"),
            DriftedField(
                f'spec.template.spec.requirements["{FAMILIES}"]',
                [{"key": FAMILIES, "operator": "In", "values": ["r6id", "m6id"]}],
                [{"key": FAMILIES, "operator": "In", "values": ["r6id"]}],
                "RequirementsDrifted",
                "some",
            ),
        ),
        (
            families("r6id"),
            families("m6id"),
            DriftedField(
                f'spec.template.spec.requirements["{FAMILIES}"]',
                [{"key": FAMILIES, "operator": "In", "values": ["r6id"]}],
                [{"key": FAMILIES, "operator": "In", "values": ["m6id"]}],
                "RequirementsDrifted",
                "all",
            ),
        ),
        (
            pool(),
            families("r6id"),
            DriftedField(
                f'spec.template.spec.requirements["{FAMILIES}"]',
                ABSENT,
                [{"key": FAMILIES, "operator": "In", "values": ["r6id"]}],
                "RequirementsDrifted",
                "some",
            ),
        ),
    ],
)
def test_edits_that_replace_nodes(old: dict[str, Any], new: dict[str, Any], wanted: DriftedField) -> None:
    assert drift_fields(old, new) == [wanted]


@pytest.mark.parametrize("case", [case for case in cases() if case.file == "valid"], ids=lambda case: case.name)
def test_an_object_that_stays_the_same_drifts_nothing(case: Any) -> None:
    assert drift_fields(case.manifest, case.manifest) == []


def test_unsound_objects_are_compared_as_they_stand() -> None:
    broken = pool(requirements=[{"key": "a", "operator": "Gt"}])
    assert [field.path for field in drift_fields(pool(), broken)] == ["spec.template.spec.requirements"]
    assert drift_fields(broken, broken) == []
    odd = node_class(blockDeviceMappings=[{"deviceName": "a", "ebs": {"volumeSize": "big"}}])
    assert [field.path for field in drift_fields(node_class(), odd)] == ["spec.blockDeviceMappings"]
    assert [field.path for field in drift_fields(pool(), {**POOL, "spec": {}})] == ["spec.template.spec.nodeClassRef"]
