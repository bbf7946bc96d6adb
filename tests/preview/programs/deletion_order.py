"""Everything of a small Karpenter in the wrong order: nothing depends on anything."""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions
from pulumi_kubernetes.apiextensions import CustomResource


class Karpenter(pulumi.ComponentResource):
    def __init__(self, providers: list[pulumi.ProviderResource]) -> None:
        super().__init__("test:index:Karpenter", "karpenter", {}, ResourceOptions(providers=providers))
        inside = ResourceOptions(parent=self)
        role = aws.iam.Role("role", name="small", assume_role_policy="{}", opts=inside)
        aws.iam.RolePolicyAttachment(
            "attached", role=role.name, policy_arn="arn:aws:iam::aws:policy/ReadOnlyAccess", opts=inside
        )
        aws.sqs.Queue("queue", name="small", opts=inside)
        kubernetes.helm.v3.Release(
            "crds", chart="oci://public.ecr.aws/karpenter/karpenter-crd", version="1.14.1", opts=inside
        )
        kubernetes.helm.v3.Release(
            "controller", chart="oci://public.ecr.aws/karpenter/karpenter", version="1.14.1", opts=inside
        )


outside = aws.Provider("aws", region="eu-central-1")
cluster = kubernetes.Provider("kubernetes", kubeconfig="{}", cluster_identifier="small")
Karpenter([outside, cluster])
CustomResource(
    "class",
    api_version="karpenter.k8s.aws/v1",
    kind="EC2NodeClass",
    metadata={"name": "small"},
    spec={"role": "small"},
    opts=ResourceOptions(provider=cluster),
)
CustomResource(
    "pool",
    api_version="karpenter.sh/v1",
    kind="NodePool",
    metadata={"name": "small"},
    spec={"template": {"spec": {"nodeClassRef": {"name": "small"}, "requirements": []}}},
    opts=ResourceOptions(provider=cluster),
)
