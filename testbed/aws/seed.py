"""What the account holds before anything of ours is made: a network with tags that Karpenter looks for, and a cluster.

The stacks expect it to exist. Roles, policies, queue and rules are theirs to make.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from testbed.aws.account import Account

DISCOVERY = "karpenter.sh/discovery"


class Clients(Protocol):
    """Gives boto3 clients by service."""

    def __call__(self, service: str) -> Any: ...


@dataclass(frozen=True)
class Network:
    """Ids of what was made. Subnets are in the order of the account's zones."""

    vpc: str
    subnets: tuple[str, ...]
    security_group: str


def seed(account: Account, client: Clients) -> Network:
    """Make the network and the cluster; nodes' subnets and group carry karpenter.sh/discovery: CLUSTER."""
    ec2, found_by = client("ec2"), {"Key": DISCOVERY, "Value": account.cluster_name}
    vpc = ec2.create_vpc(CidrBlock="10.50.0.0/16")["Vpc"]["VpcId"]
    subnets = []
    for number, zone in enumerate(account.zones):
        made = ec2.create_subnet(VpcId=vpc, CidrBlock=f"10.50.{number * 32}.0/19", AvailabilityZone=zone)
        subnets.append(made["Subnet"]["SubnetId"])
        name = {"Key": "Name", "Value": f"{account.cluster_name}-{zone}"}
        ec2.create_tags(Resources=[subnets[-1]], Tags=[found_by, name])
    group = ec2.create_security_group(GroupName=f"{account.cluster_name}-node", Description="nodes", VpcId=vpc)[
        "GroupId"
    ]
    ec2.create_tags(Resources=[group], Tags=[found_by])
    role = client("iam").create_role(
        RoleName=f"{account.cluster_name}-cluster", AssumeRolePolicyDocument=_trust("eks.amazonaws.com")
    )
    client("eks").create_cluster(
        name=account.cluster_name,
        version=account.kubernetes_versions[-1],
        roleArn=role["Role"]["Arn"],
        resourcesVpcConfig={"subnetIds": subnets, "securityGroupIds": [group]},
        kubernetesNetworkConfig={"serviceIpv4Cidr": account.service_range},
    )
    return Network(vpc, tuple(subnets), group)


def _trust(service: str) -> str:
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
