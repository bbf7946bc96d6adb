from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import compatibility, crd
from components.compatibility import Version
from floodplain.problem import RuleError

# Upstream's matrix as releases tell it: each Karpenter with the newest Kubernetes it supports
# (hack/docs/compatibilitymatrix_gen/compatibility.yaml of 1.14.1; the matrix of 1.15 adds the last row).
NEWEST_FOR = {
    "1.4": "1.32",
    "1.5": "1.33",
    "1.6": "1.34",
    "1.7": "1.34",
    "1.8": "1.34",
    "1.9": "1.35",
    "1.10": "1.35",
    "1.11": "1.35",
    "1.12": "1.35",
    "1.13": "1.36",
    "1.14": "1.36",
    "1.15": "1.37",
}

OTHER_RULES = (
    "Karpenter {}: its objects and what an edit of them does to nodes are checked by the rules of 1.14.1; "
    "for fields that came or went in between, only the cluster's own answer counts"
)


def passes(kubernetes: str, karpenter: str) -> bool:
    try:
        compatibility.check(kubernetes, karpenter)
    except RuleError:
        return False
    return True


def minor(text: str) -> int:
    return int(text.split(".")[1])


@pytest.mark.parametrize("kubernetes", ["1.33", "1.34", "1.35", "1.36", "1.37"])
@pytest.mark.parametrize("karpenter", NEWEST_FOR)
def test_two_versions_go_together_exactly_where_upstream_says_so(kubernetes: str, karpenter: str) -> None:
    assert passes(kubernetes, f"{karpenter}.0") == (minor(kubernetes) <= minor(NEWEST_FOR[karpenter]))


@pytest.mark.parametrize("kubernetes", ["1.29", "1.30", "1.32", "v1.32.9-eks-1"])
def test_kubernetes_without_dependable_swap_is_refused(kubernetes: str) -> None:
    with pytest.raises(RuleError) as refused:
        compatibility.check(kubernetes, "1.14.1")
    assert (refused.value.value, str(refused.value)) == (
        kubernetes,
        "is too old a Kubernetes for swap in containers: 1.33 is the oldest supported; "
        "upgrade the control plane and nodes; 1.34 is recommended",
    )


def test_the_refusal_of_a_pair_names_what_is_needed_and_what_to_set() -> None:
    with pytest.raises(RuleError) as refused:
        compatibility.check("1.36", "1.12.0")
    assert (refused.value.value, str(refused.value)) == (
        "1.12.0",
        "is too old a Karpenter for Kubernetes 1.36, which needs 1.13 or newer; "
        "set Karpenter 1.14.1, or keep an older Kubernetes",
    )


def test_versions_newer_than_those_known_are_a_warning_and_no_error() -> None:
    compatibility.check("1.40", "1.20.3")
    assert compatibility.warnings("1.40", "1.20.3") == (
        "Kubernetes 1.40 is newer than 1.37, the newest known here: check Karpenter's compatibility matrix",
        "Karpenter 1.20.3 is newer than 1.15, the newest known here: "
        "read its upgrade guide for new permissions and chart settings",
        OTHER_RULES.format("1.20.3"),
    )


def test_the_oldest_supported_kubernetes_comes_with_a_recommendation() -> None:
    assert compatibility.warnings("1.33", "1.14.1") == (
        "Kubernetes 1.33: 1.34 or newer is recommended, where kubelet's swap support is stable",
    )
    assert compatibility.warnings("1.34.9", "1.14.1") == ()


def test_a_release_that_upstream_warns_of_is_named() -> None:
    assert compatibility.warnings("1.34", "1.8.4") == (
        OTHER_RULES.format("1.8.4"),
        "Karpenter 1.8.4 may leave pods with topology spread constraints unscheduled (kubernetes-sigs/karpenter#2785): "
        "use a later patch",
    )


@pytest.mark.parametrize(
    ("karpenter", "told"), [("1.13.9", True), ("1.14.0", False), ("1.14.9", False), ("1.15.0", True)]
)
def test_a_karpenter_of_another_minor_than_the_rules_for_its_objects_is_told(karpenter: str, told: bool) -> None:
    assert (OTHER_RULES.format(karpenter) in compatibility.warnings("1.34", karpenter)) is told


def test_the_rules_for_karpenters_objects_are_those_of_the_default_release() -> None:
    assert crd.KARPENTER_VERSION == compatibility.DEFAULT_KARPENTER


@pytest.mark.parametrize(
    "text", ["", "latest", "1.14", "v1.14.1", "^1.14.0", ">=1.0.0", "1.14.0-rc.0", "1.x.0", "1.14.\u0661"]
)
def test_karpenter_is_one_exact_release(text: str) -> None:
    with pytest.raises(RuleError, match=r"is not a release of Karpenter; write one release as three numbers"):
        compatibility.karpenter_version(text)


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.34", Version(1, 34)), ("1.34.9", Version(1, 34, 9)), ("v1.34.9-eks-113cf36", Version(1, 34, 9))],
)
def test_kubernetes_is_read_as_people_and_servers_write_it(text: str, version: Version) -> None:
    assert compatibility.kubernetes_version(text) == version


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "latest", "1.34.x", "1,34", "1.34\n", "1.34-eks", "1.34.9-eks-$(id)", "v1.34.9-eks-1;id"),
        *("1.34+$(id)", "1.34.9-gke.1", "\u0661.\u0663\u0664", "1.\uff13\uff14", f"1.{'9' * 5000}"),
    ],
)
def test_what_is_no_kubernetes_version_is_refused(text: str) -> None:
    with pytest.raises(RuleError, match="is not a Kubernetes version"):
        compatibility.kubernetes_version(text)


@given(st.tuples(*[st.integers(0, 40)] * 3), st.tuples(*[st.integers(0, 40)] * 3))
def test_versions_order_by_number_not_by_text(one: tuple[int, int, int], other: tuple[int, int, int]) -> None:
    assert (Version(*one) < Version(*other)) == (one < other)


@pytest.mark.parametrize(
    ("thing", "before", "since"),
    [
        ("iam:ListInstanceProfiles", "1.6.9", "1.7.0"),
        ("operators Gte and Lte", "1.8.9", "1.9.0"),
        ("capacity reservation interruption events", "1.9.9", "1.10.0"),
        ("ec2:DescribeInstanceStatus", "1.11.2", "1.12.0"),
        ("capacityBuffer", "1.13.0", "1.14.0"),
    ],
)
def test_a_thing_exists_since_its_version(thing: str, before: str, since: str) -> None:
    assert (compatibility.supports(before, thing), compatibility.supports(since, thing)) == (False, True)


def test_either_version_alone_can_be_checked() -> None:
    assert (compatibility.check_kubernetes("1.34"), compatibility.check_karpenter("1.14.1")) == ("1.34", "1.14.1")
    with pytest.raises(RuleError, match="is not a Kubernetes version"):
        compatibility.check_kubernetes("latest")


def test_the_default_release_goes_with_every_kubernetes_it_knows() -> None:
    known = [str(version.series) for version in compatibility.OLDEST_KARPENTER if version < Version(1, 37)]
    assert [kubernetes for kubernetes in known if not passes(kubernetes, compatibility.DEFAULT_KARPENTER)] == []


def test_the_table_for_the_docs_has_a_row_for_each_kubernetes() -> None:
    assert compatibility.table() == [
        ("1.33", "1.5", "oldest supported"),
        ("1.34", "1.6", "recommended, or newer"),
        ("1.35", "1.9", ""),
        ("1.36", "1.13", ""),
        ("1.37", "1.15", ""),
    ]
