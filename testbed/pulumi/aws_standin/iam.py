"""IAM: roles, policies, their attachments, service-linked roles. It has no regions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from testbed.pulumi.aws_standin.kind import Cloud, Kind, never
from testbed.pulumi.aws_standin.tags import listed, mapped, tag_changes
from testbed.pulumi.aws_standin.wire import Properties

VERSIONS_MOST = 5
"""Versions that IAM keeps of a policy."""


def _found(ask: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any] | None:
    try:
        return ask()
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchEntity":
            return None
        raise


def _text(document: Any) -> str:
    return document if isinstance(document, str) else json.dumps(document, separators=(",", ":"))


def _create_role(cloud: Cloud, given: Properties) -> str:
    optional = {"Description": given.get("description"), "PermissionsBoundary": given.get("permissionsBoundary")}
    cloud.client("iam").create_role(
        RoleName=given["name"],
        AssumeRolePolicyDocument=given["assumeRolePolicy"],
        Tags=listed(cloud.tags(given)),
        **{key: value for key, value in optional.items() if value},
    )
    return str(given["name"])


def _read_role(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    answer = _found(lambda: cloud.client("iam").get_role(RoleName=identity))
    if answer is None:
        return None
    role = answer["Role"]
    return {
        "name": role["RoleName"],
        "arn": role["Arn"],
        "uniqueId": role["RoleId"],
        "description": role.get("Description") or None,
        "assumeRolePolicy": _text(role["AssumeRolePolicyDocument"]),
        "permissionsBoundary": (role.get("PermissionsBoundary") or {}).get("PermissionsBoundaryArn"),
        "tagsAll": mapped(role.get("Tags", [])),
    }


def _update_role(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    iam = cloud.client("iam")
    if before.get("assumeRolePolicy") != after["assumeRolePolicy"]:
        iam.update_assume_role_policy(RoleName=identity, PolicyDocument=after["assumeRolePolicy"])
    if before.get("description") != after.get("description"):
        iam.update_role(RoleName=identity, Description=after.get("description") or "")
    if before.get("permissionsBoundary") != after.get("permissionsBoundary"):
        if after.get("permissionsBoundary"):
            iam.put_role_permissions_boundary(RoleName=identity, PermissionsBoundary=after["permissionsBoundary"])
        else:
            iam.delete_role_permissions_boundary(RoleName=identity)
    gone, new = tag_changes(before, after)
    if gone:
        iam.untag_role(RoleName=identity, TagKeys=gone)
    if new:
        iam.tag_role(RoleName=identity, Tags=listed(new))


def _delete_role(cloud: Cloud, identity: str, state: Properties) -> None:
    # As the real one without forceDetachPolicies: a role with policies is left as it is, and IAM says so.
    cloud.client("iam").delete_role(RoleName=identity)


ROLE = Kind(
    token="aws:iam/role:Role",
    required=frozenset({"name", "assumeRolePolicy"}),
    optional=frozenset({"description", "permissionsBoundary", "tags"}),
    replaces=frozenset({"name"}),
    computed=("arn", "uniqueId"),
    documents=frozenset({"assumeRolePolicy"}),
    create=_create_role,
    read=_read_role,
    update=_update_role,
    delete=_delete_role,
)


def _create_policy(cloud: Cloud, given: Properties) -> str:
    answer = cloud.client("iam").create_policy(
        PolicyName=given["name"],
        PolicyDocument=given["policy"],
        Tags=listed(cloud.tags(given)),
        **({"Description": given["description"]} if given.get("description") else {}),
    )
    return str(answer["Policy"]["Arn"])


def _read_policy(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    iam = cloud.client("iam")
    answer = _found(lambda: iam.get_policy(PolicyArn=identity))
    if answer is None:
        return None
    policy = answer["Policy"]
    version = iam.get_policy_version(PolicyArn=identity, VersionId=policy["DefaultVersionId"])["PolicyVersion"]
    return {
        "name": policy["PolicyName"],
        "arn": policy["Arn"],
        "policyId": policy["PolicyId"],
        "description": policy.get("Description") or None,
        "policy": _text(version["Document"]),
        "tagsAll": mapped(policy.get("Tags", [])),
    }


def _update_policy(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    iam = cloud.client("iam")
    if before.get("policy") != after["policy"]:
        versions = iam.list_policy_versions(PolicyArn=identity)["Versions"]
        if len(versions) >= VERSIONS_MOST:
            oldest = min((one for one in versions if not one["IsDefaultVersion"]), key=lambda one: one["CreateDate"])
            iam.delete_policy_version(PolicyArn=identity, VersionId=oldest["VersionId"])
        iam.create_policy_version(PolicyArn=identity, PolicyDocument=after["policy"], SetAsDefault=True)
    gone, new = tag_changes(before, after)
    if gone:
        iam.untag_policy(PolicyArn=identity, TagKeys=gone)
    if new:
        iam.tag_policy(PolicyArn=identity, Tags=listed(new))


def _delete_policy(cloud: Cloud, identity: str, state: Properties) -> None:
    iam = cloud.client("iam")
    for version in iam.list_policy_versions(PolicyArn=identity)["Versions"]:
        if not version["IsDefaultVersion"]:
            iam.delete_policy_version(PolicyArn=identity, VersionId=version["VersionId"])
    iam.delete_policy(PolicyArn=identity)


POLICY = Kind(
    token="aws:iam/policy:Policy",
    required=frozenset({"name", "policy"}),
    optional=frozenset({"description", "tags"}),
    replaces=frozenset({"name", "description"}),
    computed=("arn", "policyId"),
    documents=frozenset({"policy"}),
    create=_create_policy,
    read=_read_policy,
    update=_update_policy,
    delete=_delete_policy,
)


def _create_attachment(cloud: Cloud, given: Properties) -> str:
    cloud.client("iam").attach_role_policy(RoleName=given["role"], PolicyArn=given["policyArn"])
    return f"{given['role']}/{given['policyArn']}"


def _read_attachment(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    role, _, policy = identity.partition("/")
    answer = _found(lambda: cloud.client("iam").list_attached_role_policies(RoleName=role))
    if answer is None or all(one["PolicyArn"] != policy for one in answer["AttachedPolicies"]):
        return None
    return {"role": role, "policyArn": policy}


def _delete_attachment(cloud: Cloud, identity: str, state: Properties) -> None:
    cloud.client("iam").detach_role_policy(RoleName=state["role"], PolicyArn=state["policyArn"])


ATTACHMENT = Kind(
    token="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    required=frozenset({"role", "policyArn"}),
    optional=frozenset(),
    replaces=frozenset({"role", "policyArn"}),
    computed=(),
    create=_create_attachment,
    read=_read_attachment,
    update=never,
    delete=_delete_attachment,
)


def _create_service_linked_role(cloud: Cloud, given: Properties) -> str:
    answer = cloud.client("iam").create_service_linked_role(AWSServiceName=given["awsServiceName"])
    return str(answer["Role"]["Arn"])


def _read_service_linked_role(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    answer = _found(lambda: cloud.client("iam").get_role(RoleName=identity.rpartition("/")[2]))
    if answer is None:
        return None
    role = answer["Role"]
    service = str(role["Path"]).strip("/").rpartition("/")[2]
    return {"awsServiceName": service, "name": role["RoleName"], "path": role["Path"], "arn": role["Arn"]}


def _delete_service_linked_role(cloud: Cloud, identity: str, state: Properties) -> None:
    cloud.client("iam").delete_service_linked_role(RoleName=identity.rpartition("/")[2])


SERVICE_LINKED_ROLE = Kind(
    token="aws:iam/serviceLinkedRole:ServiceLinkedRole",
    required=frozenset({"awsServiceName"}),
    optional=frozenset(),
    replaces=frozenset({"awsServiceName"}),
    computed=("arn", "name", "path"),
    create=_create_service_linked_role,
    read=_read_service_linked_role,
    update=never,
    delete=_delete_service_linked_role,
)
