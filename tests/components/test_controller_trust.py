from __future__ import annotations

import json

import pytest

from components.cloud_names import Place, place_of
from components.controller_trust import irsa_trust, node_trust, pod_identity_trust
from floodplain.problem import RuleError


@pytest.mark.parametrize(
    ("region", "service"), [("eu-central-1", "ec2.amazonaws.com"), ("cn-north-1", "ec2.amazonaws.com.cn")]
)
def test_only_ec2_takes_the_node_role(region: str, service: str) -> None:
    place: Place = place_of(region, "123456789012")
    assert json.loads(node_trust(place.partition)) == {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}],
    }


def test_pod_identity_trusts_one_service_account_of_one_cluster() -> None:
    cluster = "arn:aws:eks:eu-central-1:123456789012:cluster/prod"
    assert json.loads(pod_identity_trust(cluster, "kube-system", "karpenter")) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Condition": {
                    "StringEquals": {
                        "aws:RequestTag/eks-cluster-arn": cluster,
                        "aws:RequestTag/kubernetes-namespace": "kube-system",
                        "aws:RequestTag/kubernetes-service-account": "karpenter",
                    }
                },
            }
        ],
    }


def test_irsa_trusts_one_service_account_of_one_oidc_provider() -> None:
    issuer = "oidc.eks.cn-north-1.amazonaws.com.cn/id/ABC"
    provider = f"arn:aws-cn:iam::123456789012:oidc-provider/{issuer}"
    assert json.loads(irsa_trust(provider, "karpenter", "controller")) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Federated": provider},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {
                    "StringEquals": {
                        f"{issuer}:aud": "sts.amazonaws.com",
                        f"{issuer}:sub": "system:serviceaccount:karpenter:controller",
                    }
                },
            }
        ],
    }


@pytest.mark.parametrize(
    "text", ["", "https://oidc.eks.eu-central-1.amazonaws.com/id/ABC", "arn:aws:iam::123456789012:role/x"]
)
def test_what_is_no_oidc_provider_is_refused(text: str) -> None:
    with pytest.raises(RuleError, match="is not the ARN of an IAM OIDC provider"):
        irsa_trust(text, "kube-system", "karpenter")
