"""Reads an output that preview/outputs.py does not know, and leaves a key without value."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions

region = aws.Provider("aws", region="eu-central-1")
inside = kubernetes.Provider("kubernetes", kubeconfig="{}", cluster_identifier="small")
role = aws.iam.Role("role", assume_role_policy="{}", opts=ResourceOptions(provider=region))
kubernetes.core.v1.ConfigMap(  # type: ignore[call-overload]  # the null is the point
    "facts",
    metadata={"name": "facts", "namespace": "default", "labels": {"empty": None}},
    data={"created": role.create_date, "arn": role.arn},
    opts=ResourceOptions(provider=inside),
)
pulumi.export("arn", role.arn)
