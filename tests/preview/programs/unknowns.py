"""Names an object after something that is known only after the update."""

import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions

region = aws.Provider("aws", region="eu-central-1")
inside = kubernetes.Provider("kubernetes", kubeconfig="{}", cluster_identifier="small")
queue = aws.sqs.Queue("queue", opts=ResourceOptions(provider=region))
kubernetes.core.v1.ConfigMap(
    "facts",
    metadata={"name": queue.name, "namespace": "default"},
    data={},
    opts=ResourceOptions(provider=inside),
)
