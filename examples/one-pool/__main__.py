"""One pool whose jobs put their memory peak into swap, in a cluster that has Karpenter already."""

import pulumi
import pulumi_kubernetes as kubernetes
from floodplain_pulumi import Guardrails, SwapNodePool

config = pulumi.Config()
cluster = config.require("cluster")

# Said outright: the pool can then land in no other cluster than the one of this context.
provider = kubernetes.Provider("cluster", context=config.require("context"), cluster_identifier=cluster)
through = pulumi.ResourceOptions(providers=[provider])

versions = {"name": cluster, "kubernetes_version": config.require("kubernetesVersion")}
pool = {
    "name": "batch",
    "families": ["r6id"],
    "vcpus": [4, 8, 16],
    "limits": {"cpu": "64", "memory": "512Gi"},
    "ami": {"alias": "al2023@v20260714"},
    "longest_job": "12h",
    "guardrails": "audit",
}

# The rules know the pool's nodes by the same entry that makes them, and are there before the first node.
rules = Guardrails("batch", {"cluster": versions, "pools": [pool]}, through)
batch = SwapNodePool(
    "batch",
    {"cluster": versions, "pool": pool, "node_role_name": config.require("nodeRoleName")},
    pulumi.ResourceOptions(providers=[provider], depends_on=[rules]),
)

pulumi.export("runtimeClass", batch.runtime_class_name)
pulumi.export("priorityClass", batch.priority_class_name)
pulumi.export("taint", batch.taint)
