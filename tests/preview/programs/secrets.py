"""Reads a secret as if it were none: into an object, into a component's outputs and out of the stack."""

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions

config = pulumi.Config()
token = config.require("token")
nested = config.require_object("database")["password"]


class Leaky(pulumi.ComponentResource):
    def __init__(self) -> None:
        super().__init__("test:index:Leaky", "leaky")
        self.register_outputs({"url": f"postgres://user:{nested}@db"})


inside = kubernetes.Provider("kubernetes", kubeconfig="{}", cluster_identifier="small")
kubernetes.core.v1.ConfigMap(
    "facts",
    metadata={"name": "facts", "namespace": "default"},
    data={"token": token, "kept": config.require_secret("token")},
    opts=ResourceOptions(provider=inside),
)
kubernetes.core.v1.ConfigMap(
    "leak",
    metadata={"name": "leak", "namespace": "default", "annotations": {"token": token}},
    data={},
    opts=ResourceOptions(provider=inside),
)
Leaky()
pulumi.export("token", token)
pulumi.export("kept", config.require_secret("token"))
