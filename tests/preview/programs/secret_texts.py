"""Secrets of the program itself in places whose rules quote what they find."""

import json

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions
from pulumi_kubernetes.apiextensions import CustomResource

secret = pulumi.Output.secret("SUPERSECRET1")
region = aws.Provider("aws", region="eu-central-1")
inside = kubernetes.Provider("kubernetes", context="small")
opts = ResourceOptions(provider=inside)
CustomResource(
    "node-class",
    api_version="karpenter.k8s.aws/v1",
    kind="EC2NodeClass",
    metadata={"name": "small"},
    spec={"role": secret.apply(lambda text: f"role {text}"), "userData": pulumi.Output.concat("TOKEN: ", secret, "\n")},
    opts=opts,
)
CustomResource(
    "node-pool",
    api_version="karpenter.sh/v1",
    kind="NodePool",
    metadata={"name": "small", "annotations": {"password": secret}},
    spec={"limits": {"cpu": secret, "memory": secret.apply(lambda text: f"{text[:7]} Gi")}},
    opts=opts,
)
aws.iam.Policy(
    "policy",
    policy=secret.apply(
        lambda text: json.dumps(
            {
                "Version": "2012-10-17",
                "Statement": [{"Sid": text, "Effect": "Allow", "Action": [f"{text}:*", "*"], "Resource": "*"}],
            }
        )
    ),
    opts=ResourceOptions(provider=region),
)
aws.sqs.Queue("queue", policy=secret, opts=ResourceOptions(provider=region))
pulumi.log.warn("the program says SUPERSECRET1")
