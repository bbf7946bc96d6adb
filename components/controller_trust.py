"""Who may take the roles that Karpenter needs, as IAM documents: exact text, from plain values.

What the roles may do is in `controller_policies`.
"""

from __future__ import annotations

import re

from floodplain.problem import RuleError

from .cloud_names import ec2_principal
from .iam_document import document

_PROVIDER = re.compile(
    r"arn:aws[a-z-]*:iam::[0-9]{12}:oidc-provider/(?P<issuer>[A-Za-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9._~-]+)*)"
)


def node_trust(partition: str) -> str:
    """Who may take the node role: EC2."""
    principal = {"Service": ec2_principal(partition)}
    return document([{"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}])


def pod_identity_trust(cluster_arn: str, namespace: str, service_account: str) -> str:
    """Who may take the controller's role: that service account of this cluster, by EKS Pod Identity.

    The conditions are on the session tags that Pod Identity adds (EKS user guide, pod-id-abac): without them any
    association in the account could use the role.
    """
    tags = {
        "aws:RequestTag/eks-cluster-arn": cluster_arn,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    return document(
        [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Condition": {"StringEquals": tags},
            }
        ]
    )


def irsa_trust(oidc_provider_arn: str, namespace: str, service_account: str) -> str:
    """Who may take the controller's role: that service account, by the cluster's OIDC provider. Raises RuleError."""
    found = _PROVIDER.fullmatch(oidc_provider_arn)
    if not found:
        raise RuleError(
            "is not the ARN of an IAM OIDC provider",
            "it looks like arn:aws:iam::123456789012:oidc-provider/oidc.eks.eu-central-1.amazonaws.com/id/ABC",
            value=oidc_provider_arn,
        )
    issuer = found["issuer"]
    condition = {
        f"{issuer}:aud": "sts.amazonaws.com",
        f"{issuer}:sub": f"system:serviceaccount:{namespace}:{service_account}",
    }
    return document(
        [
            {
                "Effect": "Allow",
                "Principal": {"Federated": oidc_provider_arn},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {"StringEquals": condition},
            }
        ]
    )
