"""Forgets providers: on a resource, with one of the wrong package, on a call, on a look-up, on a remote component."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions

inside = kubernetes.Provider("kubernetes", kubeconfig="{}", cluster_identifier="small")
aws.sqs.Queue("without", name="without")
aws.sqs.Queue("wrong", name="wrong", opts=ResourceOptions(provider=inside))
kubernetes.helm.v4.Chart("chart", chart="oci://example.com/chart", version="1.2.3")
found = aws.eks.get_cluster_output(name="small")
looked_up = aws.sqs.Queue.get("looked-up", "https://sqs.eu-central-1.amazonaws.com/111122223333/old")
pulumi.export("cluster", found.arn)
