"""What Karpenter's controller may do, as IAM documents: exact text, from plain values.

The permissions are those of upstream's template (website/content/en/v1.14/getting-started/.../cloudformation.yaml)
under its statement ids, so that each can be looked up in Karpenter's reference. They are granted whole whatever the
version installed: a controller that is upgraded then finds what it newly needs (ec2:DescribeInstanceStatus from 1.12,
for one). Who may take the roles is in `controller_trust`. Not for attaching them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from floodplain.problem import RuleError, raise_rules

from .cloud_names import Place
from .iam_document import Statement, document

MANAGED_POLICY_LIMIT = 6144
"""Most characters of one managed policy, white space not counted (IAM quotas)."""

NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)
"""AWS's own policies that every node's role has."""

Conditions = Mapping[str, Mapping[str, str | list[str]]]


@dataclass(frozen=True)
class PolicyScope:
    """What the documents are about. `queue_arn` is None where interruption handling is off."""

    place: Place
    cluster_name: str
    node_role_arn: str
    queue_arn: str | None = None

    @property
    def owned(self) -> str:
        """The tag that marks what belongs to the cluster; its value is `owned`."""
        return f"kubernetes.io/cluster/{self.cluster_name}"

    def ec2(self, *kinds: str) -> list[str]:
        """ARNs of EC2 resources of the region. Any account: subnets and reservations may be shared with us."""
        return [f"arn:{self.place.partition}:ec2:{self.place.region}:*:{kind}/*" for kind in kinds]

    def public_ec2(self, *kinds: str) -> list[str]:
        """ARNs of EC2 resources that carry no account: images and snapshots."""
        return [f"arn:{self.place.partition}:ec2:{self.place.region}::{kind}/*" for kind in kinds]

    @property
    def instance_profiles(self) -> str:
        return self.place.iam("instance-profile/*")

    @property
    def cluster_arn(self) -> str:
        return self.place.regional("eks", f"cluster/{self.cluster_name}")


def controller_policies(scope: PolicyScope) -> dict[str, str]:
    """The controller's documents by short name: six, or five without a queue. Raises when any is too long."""
    found = documents(scope)
    raise_rules(policy_problems(found))
    return found


def documents(scope: PolicyScope) -> dict[str, str]:
    """The same, however long they are."""
    statements = {
        "NodeLifecycle": _node_lifecycle(scope),
        "IAMIntegration": _iam_integration(scope),
        "EKSIntegration": [
            _allow("AllowAPIServerEndpointDiscovery", "eks:DescribeCluster", scope.cluster_arn),
        ],
        "ZonalShift": _zonal_shift(scope),
        "ResourceDiscovery": _resource_discovery(scope),
    }
    if scope.queue_arn is not None:
        statements["Interruption"] = [
            _allow(
                "AllowInterruptionQueueActions",
                ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"],
                scope.queue_arn,
            )
        ]
    return {name: document(found) for name, found in sorted(statements.items())}


def policy_problems(texts: Mapping[str, str]) -> list[RuleError]:
    """One RuleError, with the number, for each document that IAM would refuse for its length."""
    return [
        RuleError(
            f"makes the policy {name} {length} characters long, {length - MANAGED_POLICY_LIMIT} more than the "
            f"{MANAGED_POLICY_LIMIT} that IAM allows one managed policy",
            "use a shorter cluster name",
            path=(name,),
        )
        for name, text in texts.items()
        if (length := policy_length(text)) > MANAGED_POLICY_LIMIT
    ]


def policy_length(text: str) -> int:
    """Characters of a document as IAM counts them."""
    return len("".join(text.split()))


def _allow(
    sid: str, actions: str | list[str], resources: str | list[str], conditions: Conditions | None = None
) -> Statement:
    statement: Statement = {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources}
    return statement | ({"Condition": dict(conditions)} if conditions else {})


def _node_lifecycle(scope: PolicyScope) -> list[Statement]:
    """Launch, tag and end what carries the cluster's tags, and read what a launch refers to."""
    launch = ["ec2:CreateFleet", "ec2:RunInstances"]
    made = ("fleet", "instance", "launch-template", "network-interface", "spot-instances-request", "volume")
    referred = ("capacity-reservation", "placement-group", "security-group", "subnet")
    asked = {f"aws:RequestTag/{scope.owned}": "owned", "aws:RequestTag/eks:eks-cluster-name": scope.cluster_name}
    asked_pool = {"aws:RequestTag/karpenter.sh/nodepool": "*"}
    ours: Conditions = {
        "StringEquals": {f"aws:ResourceTag/{scope.owned}": "owned"},
        "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
    }
    creators = ["CreateFleet", "CreateLaunchTemplate", "RunInstances"]
    return [
        _allow(
            "AllowScopedEC2InstanceAccessActions",
            launch,
            [*scope.public_ec2("image", "snapshot"), *scope.ec2(*referred)],
        ),
        _allow("AllowScopedEC2LaunchTemplateAccessActions", launch, scope.ec2("launch-template"), ours),
        _allow(
            "AllowScopedEC2InstanceActionsWithTags",
            [*launch, "ec2:CreateLaunchTemplate"],
            scope.ec2(*made),
            {"StringEquals": asked, "StringLike": asked_pool},
        ),
        _allow(
            "AllowScopedResourceCreationTagging",
            "ec2:CreateTags",
            scope.ec2(*made),
            {"StringEquals": asked | {"ec2:CreateAction": creators}, "StringLike": asked_pool},
        ),
        _allow(
            "AllowScopedResourceTagging",
            "ec2:CreateTags",
            scope.ec2("instance"),
            {
                **ours,
                "StringEqualsIfExists": {"aws:RequestTag/eks:eks-cluster-name": scope.cluster_name},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": ["Name", "eks:eks-cluster-name", "karpenter.sh/nodeclaim"]
                },
            },
        ),
        _allow(
            "AllowScopedDeletion",
            ["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"],
            scope.ec2("instance", "launch-template"),
            ours,
        ),
    ]


def _iam_integration(scope: PolicyScope) -> list[Statement]:
    """Make and fill instance profiles, with the node role only."""
    owner = {scope.owned: "owned", "topology.kubernetes.io/region": scope.place.region}
    ours = {f"aws:ResourceTag/{key}": value for key, value in owner.items()}
    ours_class = {"aws:ResourceTag/karpenter.k8s.aws/ec2nodeclass": "*"}
    asked = {f"aws:RequestTag/{key}": value for key, value in owner.items()} | {
        "aws:RequestTag/eks:eks-cluster-name": scope.cluster_name
    }
    asked_class = {"aws:RequestTag/karpenter.k8s.aws/ec2nodeclass": "*"}
    return [
        _allow(
            "AllowPassingInstanceRole",
            "iam:PassRole",
            scope.node_role_arn,
            {"StringEquals": {"iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]}},
        ),
        _allow(
            "AllowScopedInstanceProfileCreationActions",
            "iam:CreateInstanceProfile",
            scope.instance_profiles,
            {"StringEquals": asked, "StringLike": asked_class},
        ),
        _allow(
            "AllowScopedInstanceProfileTagActions",
            "iam:TagInstanceProfile",
            scope.instance_profiles,
            {"StringEquals": ours | asked, "StringLike": ours_class | asked_class},
        ),
        _allow(
            "AllowScopedInstanceProfileActions",
            ["iam:AddRoleToInstanceProfile", "iam:DeleteInstanceProfile", "iam:RemoveRoleFromInstanceProfile"],
            scope.instance_profiles,
            {"StringEquals": ours, "StringLike": ours_class},
        ),
    ]


def _zonal_shift(scope: PolicyScope) -> list[Statement]:
    # The action knows no resource ARNs for this use; the condition is what narrows it to the cluster.
    condition = {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": scope.cluster_arn}}
    return [_allow("AllowZonalShiftStatusReadOnly", "arc-zonal-shift:GetManagedResource", "*", condition)]


def _resource_discovery(scope: PolicyScope) -> list[Statement]:
    """Reading: what exists, what it costs, which image is meant."""
    described = (
        "CapacityReservations",
        "Images",
        "InstanceStatus",
        "InstanceTypeOfferings",
        "InstanceTypes",
        "Instances",
        "LaunchTemplates",
        "PlacementGroups",
        "SecurityGroups",
        "SpotPriceHistory",
        "Subnets",
    )
    parameters = f"arn:{scope.place.partition}:ssm:{scope.place.region}::parameter/aws/service/*"
    return [
        _allow(
            "AllowRegionalReadActions",
            [f"ec2:Describe{what}" for what in described],
            "*",
            {"StringEquals": {"aws:RequestedRegion": scope.place.region}},
        ),
        _allow("AllowSSMReadActions", "ssm:GetParameter", parameters),
        _allow("AllowPricingReadActions", "pricing:GetProducts", "*"),
        _allow("AllowUnscopedInstanceProfileListAction", "iam:ListInstanceProfiles", "*"),
        _allow("AllowInstanceProfileReadActions", "iam:GetInstanceProfile", scope.instance_profiles),
    ]
