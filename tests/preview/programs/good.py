"""A small program with nothing wrong in it: a role, a secret, a pool that goes before its controller."""

import json

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions
from pulumi_kubernetes.apiextensions import CustomResource

config = pulumi.Config()
region = aws.Provider("aws", region="eu-central-1")
cluster = aws.eks.get_cluster_output(name="small", opts=pulumi.InvokeOptions(provider=region))
inside = kubernetes.Provider("kubernetes", kubeconfig=cluster.endpoint, cluster_identifier="small")
trust = json.dumps({"Version": "2012-10-17", "Statement": []})
role = aws.iam.Role("role", name="small-role", assume_role_policy=trust, opts=ResourceOptions(provider=region))
controller = kubernetes.helm.v3.Release(
    "controller",
    name="karpenter",
    namespace="kube-system",
    chart="oci://public.ecr.aws/karpenter/karpenter",
    version="1.14.1",
    skip_crds=True,
    values={
        "settings": {"clusterName": "small"},
        "serviceAccount": {"annotations": {"example.com/role": role.name}},
        # A null takes the chart's default away.
        "priorityClassName": None,
    },
    opts=ResourceOptions(provider=inside, depends_on=[role]),
)
node_class = CustomResource(
    "node-class",
    api_version="karpenter.k8s.aws/v1",
    kind="EC2NodeClass",
    metadata={"name": "small"},
    spec={
        "role": role.name,
        "amiSelectorTerms": [{"alias": "al2023@v20260714"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "small"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "small"}}],
    },
    opts=ResourceOptions(provider=inside, depends_on=[controller]),
)
CustomResource(
    "node-pool",
    api_version="karpenter.sh/v1",
    kind="NodePool",
    metadata={"name": "small"},
    spec={
        "limits": {"cpu": config.get("cpu") or "64", "memory": "512Gi"},
        "disruption": {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "1m",
            "budgets": [{"nodes": "1", "reasons": ["Drifted"]}],
        },
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "small"},
                "expireAfter": "720h",
                "terminationGracePeriod": "48h",
                "requirements": [
                    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                    {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["m6id"]},
                ],
                "taints": [{"key": "dedicated", "value": "small", "effect": "NoSchedule"}],
            }
        },
    },
    opts=ResourceOptions(provider=inside, depends_on=[node_class, controller]),
)
kubernetes.core.v1.Secret(
    "token",
    metadata={"name": "token", "namespace": "default"},
    string_data={"token": config.require_secret("token")},
    opts=ResourceOptions(provider=inside),
)
pulumi.export("role", role.arn)
