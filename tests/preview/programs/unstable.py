"""Depends on the order of a set, which is another one in each process."""

import pulumi
import pulumi_aws as aws
from pulumi import ResourceOptions

region = aws.Provider("aws", region="eu-central-1")
words = {f"word-{number}" for number in range(50)}
aws.sqs.Queue("queue", name="small", tags={"words": ",".join(words)}, opts=ResourceOptions(provider=region))
pulumi.export("words", ",".join(words))
