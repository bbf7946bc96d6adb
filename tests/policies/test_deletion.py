"""What must outlive a destroy: kinds that Karpenter's objects hang on, and whatever holds data."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

CRDS, DATA = "crds-outlive-the-stack", "data-is-protected-in-protected-stacks"
CRD, RELEASE = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "kubernetes:helm.sh/v3:Release"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
KEEP = {"helm.sh/resource-policy": "keep"}
CHART = "urn:pulumi:dev::floodplain::kubernetes:helm.sh/v4:Chart::karpenter"


@pytest.mark.parametrize(
    ("kind", "props", "passes"),
    [
        (RELEASE, {"chart": "oci://example.org/karpenter/karpenter-crd"}, False),
        (RELEASE, {"chart": "prometheus-operator-crds", "values": None}, False),
        (
            RELEASE,
            {"chart": "karpenter-crd", "values": {"additionalAnnotations": {"helm.sh/resource-policy": "x"}}},
            False,
        ),
        (RELEASE, {"chart": "karpenter-crd", "values": {"additionalAnnotations": KEEP}}, True),
        (RELEASE, {"chart": "karpenter-crd", "values": {"other": UNKNOWN, "additionalAnnotations": KEEP}}, True),
        (RELEASE, {"chart": "prometheus-operator-crds", "values": {"crds": {"annotations": KEEP}}}, True),
        (RELEASE, {"chart": "argo-crds", "values": {"crds": {"keep": True}}}, True),
        (RELEASE, {"chart": "karpenter"}, True),
        (CRD, {"metadata": {"name": "nodepools.karpenter.sh"}}, False),
        # Pulumi knows nothing of Helm's annotation on an object of its own.
        (CRD, {"metadata": {"annotations": KEEP}}, False),
        (CLAIM, {}, True),
    ],
)
def test_kinds_outlive_the_stack(rules: Any, options: Any, kind: str, props: dict[str, Any], passes: bool) -> None:
    assert (rules.on(CRDS, kind, props) == []) is passes
    assert rules.on(CRDS, kind, props, options=options(protect=True)) == []


def test_helms_annotation_counts_on_what_a_chart_made(rules: Any, options: Any) -> None:
    props = {"metadata": {"annotations": KEEP}}
    assert rules.on(CRDS, CRD, props, options=options(parent=CHART)) == []
    assert len(rules.on(CRDS, CRD, {"metadata": {}}, options=options(parent=CHART))) == 1


def test_retaining_counts_where_it_is_known(rules: Any, rendered_options: Any) -> None:
    props = {"metadata": {"name": "a"}}
    assert rules.on(CRDS, CRD, props, options=rendered_options(retain_on_delete=True)) == []
    assert len(rules.on(CRDS, CRD, props, options=rendered_options())) == 1


@pytest.mark.parametrize(
    "kind", [CLAIM, "aws:rds/instance:Instance", "aws:s3/bucket:Bucket", "aws:eks/cluster:Cluster"]
)
def test_data_is_protected_in_protected_stacks(rules: Any, options: Any, kind: str) -> None:
    assert len(rules.on(DATA, kind, {"x": UNKNOWN}, stack="prod")) == 1
    assert rules.on(DATA, kind, {"x": UNKNOWN}, stack="dev") == []
    assert rules.on(DATA, kind, {"x": UNKNOWN}, stack="prod", options=options(protect=True)) == []


def test_an_interruption_queue_holds_nothing_that_lasts(rules: Any) -> None:
    assert rules.on(DATA, "aws:sqs/queue:Queue", {}, stack="prod") == []


def test_an_unknown_chart_is_told(rules: Any) -> None:
    assert rules.on(CRDS, RELEASE, {"chart": UNKNOWN}) == [rules.UNKNOWN]
    assert rules.on(CRDS, CRD, {"metadata": UNKNOWN}, options=None) != []
