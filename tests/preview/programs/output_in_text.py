"""Puts an Output into an f-string."""

import pulumi_aws as aws
from pulumi import ResourceOptions

region = aws.Provider("aws", region="eu-central-1")
first = aws.sqs.Queue("first", name="first", opts=ResourceOptions(provider=region))
aws.sqs.Queue("second", name=f"{first.name}-more", opts=ResourceOptions(provider=region))
