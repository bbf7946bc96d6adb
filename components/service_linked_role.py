"""The service-linked role that EC2 Spot needs, where a stack is asked to make it.

It belongs to the account and is made once: a second creation is an error. Looking it up while deploying is no way
out. The first run finds none and makes it; the second finds it, no longer declares it, and Pulumi deletes what is no
longer declared. So it is a setting, and the role stays when the stack goes, since other Spot users rely on it.
"""

from __future__ import annotations

import pulumi
import pulumi_aws as aws


def spot_service_linked_role(name: str, parent: pulumi.Resource) -> aws.iam.ServiceLinkedRole:
    """AWSServiceRoleForEC2Spot, kept on deletion."""
    return aws.iam.ServiceLinkedRole(
        name,
        aws_service_name="spot.amazonaws.com",
        opts=pulumi.ResourceOptions(parent=parent, retain_on_delete=True),
    )
