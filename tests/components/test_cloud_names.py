from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components import cloud_names
from components.cloud_names import DNS_LABEL, EVENT_RULE, IAM_POLICY, IAM_ROLE, SQS_QUEUE, Kind, cloud_name
from floodplain.problem import RuleError

KINDS = (IAM_ROLE, IAM_POLICY, SQS_QUEUE, EVENT_RULE, DNS_LABEL)
# Written apart from the module: what each service says it accepts.
ACCEPTED = {
    IAM_ROLE: r"[\w+=,.@-]{1,64}",
    IAM_POLICY: r"[\w+=,.@-]{1,128}",
    SQS_QUEUE: r"[A-Za-z0-9_-]{1,80}",
    EVENT_RULE: r"[.\-_A-Za-z0-9]{1,64}",
    DNS_LABEL: r"(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?",
}
CLUSTERS = st.from_regex(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", fullmatch=True)
FREE = st.one_of(CLUSTERS, st.text(max_size=120))


def test_a_name_that_fits_stays_as_one_would_write_it() -> None:
    assert {
        kind.what: cloud_name(kind, words, "prod")
        for kind, words in ((IAM_ROLE, "KarpenterNodeRole"), (SQS_QUEUE, "Karpenter"), (DNS_LABEL, "headroom"))
    } == {
        "IAM role": "KarpenterNodeRole-prod",
        "SQS queue": "Karpenter-prod",
        "Kubernetes name": "headroom-prod",
    }


def test_a_long_name_keeps_its_start_and_ends_in_a_hash_of_all_of_it() -> None:
    name = cloud_name(IAM_ROLE, "KarpenterNodeRole-eu-central-1", "a" * 100)
    assert name == "KarpenterNodeRole-eu-central-1-" + "a" * 20 + "-6807ee34ccc3"
    assert len(name) == 64


@given(kind=st.sampled_from(KINDS), words=st.sampled_from(["", "Karpenter", "w" * 70]), free=FREE)
@settings(max_examples=300)
def test_a_name_is_always_valid(kind: Kind, words: str, free: str) -> None:
    name = cloud_name(kind, words, free)
    assert re.fullmatch(ACCEPTED[kind], name, re.ASCII), name


@given(kind=st.sampled_from(KINDS), frees=st.lists(FREE, min_size=2, max_size=2, unique=True))
@settings(max_examples=300)
def test_two_things_never_share_a_name(kind: Kind, frees: list[str]) -> None:
    one, other = (cloud_name(kind, "Karpenter", free) for free in frees)
    assert one != other
    if kind.case_blind:
        assert one.lower() != other.lower()


@given(kind=st.sampled_from(KINDS), cluster=CLUSTERS)
def test_a_cluster_called_like_a_shortened_name_gets_another_one(kind: Kind, cluster: str) -> None:
    shortened = cloud_name(kind, "", f"{cluster}!")
    assert cloud_name(kind, "", shortened) != shortened


@given(kind=st.sampled_from(KINDS), free=FREE)
def test_a_name_is_the_same_on_every_run(kind: Kind, free: str) -> None:
    assert cloud_name(kind, "Karpenter", free) == cloud_name(kind, "Karpenter", free)


def test_clusters_that_differ_by_case_only_get_roles_that_iam_can_tell_apart() -> None:
    names = [cloud_name(IAM_ROLE, "KarpenterNodeRole", cluster) for cluster in ("prod", "Prod", "PROD")]
    assert len({name.lower() for name in names}) == 3
    assert names[0] == "KarpenterNodeRole-prod"


def test_the_fixed_words_of_a_kind_never_run_into_the_free_part() -> None:
    # The same cluster in two regions of one account, and clusters called like regions.
    clusters = ["prod", "1-prod", "us-east-1", "east-1-prod"]
    regions = ["us-east-1", "us-gov-east-1", "eu-central-1"]
    names = [
        cloud_name(IAM_ROLE, f"{words}-{region}", cluster)
        for words in ("KarpenterNodeRole", "KarpenterController")
        for region in regions
        for cluster in clusters
    ]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("region", "partition"),
    [
        ("us-east-1", "aws"),
        ("ap-southeast-4", "aws"),
        ("mx-central-1", "aws"),
        ("us-gov-west-1", "aws-us-gov"),
        ("cn-northwest-1", "aws-cn"),
    ],
)
def test_a_region_tells_its_partition(region: str, partition: str) -> None:
    assert cloud_names.partition_of(region) == partition


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("", "is not an AWS region; write it as eu-central-1"),
        ("eu-central-1a", "is not an AWS region; write it as eu-central-1"),
        ("frankfurt", "is not an AWS region; write it as eu-central-1"),
        (
            "us-isob-east-1",
            "is in a partition that is not supported; use a region of the partitions aws, aws-us-gov or aws-cn",
        ),
        (
            "eusc-de-east-1",
            "is in a partition that is not supported; use a region of the partitions aws, aws-us-gov or aws-cn",
        ),
    ],
)
def test_what_is_not_a_supported_region_is_refused(region: str, message: str) -> None:
    with pytest.raises(RuleError) as refused:
        cloud_names.partition_of(region)
    assert str(refused.value) == message


@pytest.mark.parametrize("account", ["", "12345678901", "1234567890123", "12345678901a", "\uff11" * 12])
def test_an_account_id_has_twelve_digits(account: str) -> None:
    with pytest.raises(RuleError, match="is not an AWS account id"):
        cloud_names.place_of("us-east-1", account)


def test_arns_follow_from_the_place() -> None:
    place = cloud_names.place_of("us-gov-west-1", "012345678901")
    assert [
        place.iam("role/nodes"),
        place.aws_policy("AmazonEKSWorkerNodePolicy"),
        place.regional("sqs", "queue"),
    ] == [
        "arn:aws-us-gov:iam::012345678901:role/nodes",
        "arn:aws-us-gov:iam::aws:policy/AmazonEKSWorkerNodePolicy",
        "arn:aws-us-gov:sqs:us-gov-west-1:012345678901:queue",
    ]
