"""A component whose name is a setting, with an alias to its former name if that is set."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import Alias, ResourceOptions

config = pulumi.Config()
former = config.get("former")


class Box(pulumi.ComponentResource):
    def __init__(self, name: str, opts: ResourceOptions) -> None:
        super().__init__("test:index:Box", name, {}, opts)
        inside = ResourceOptions(parent=self)
        aws.sqs.Queue(f"{name}-queue", name="fixed", opts=inside)
        kubernetes.core.v1.ConfigMap(
            f"{name}-facts",
            metadata={"name": "fixed", "namespace": "default"},
            data={"text": config.get("text") or "a\nb\nc\n"},
            opts=inside,
        )


region = aws.Provider("aws", region=config.get("region") or "eu-central-1")
cluster = kubernetes.Provider("kubernetes", kubeconfig="{}", cluster_identifier=config.get("cluster") or "one")
Box(
    config.require("name"),
    ResourceOptions(providers=[region, cluster], aliases=[Alias(name=former)] if former else []),
)
