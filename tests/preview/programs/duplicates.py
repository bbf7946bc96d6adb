"""Registers one resource twice."""

import pulumi_aws as aws
from pulumi import ResourceOptions

region = aws.Provider("aws", region="eu-central-1")
for _ in range(2):
    aws.sqs.Queue("queue", name="small", opts=ResourceOptions(provider=region))
