"""EKS: access entries, Pod Identity associations, and the description of the cluster that exists already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from testbed.pulumi.aws_standin.kind import Cloud, Kind
from testbed.pulumi.aws_standin.tags import tag_changes
from testbed.pulumi.aws_standin.wire import Properties


def _found(ask: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return ask()
    except ClientError as error:
        if error.response["Error"]["Code"] in ("ResourceNotFoundException", "NotFoundException"):
            return None
        raise


def _tag(cloud: Cloud, arn: str, before: Properties, after: Properties) -> None:
    eks = cloud.client("eks", after.get("region"))
    gone, new = tag_changes(before, after)
    if gone:
        eks.untag_resource(resourceArn=arn, tagKeys=gone)
    if new:
        eks.tag_resource(resourceArn=arn, tags=new)


def _create_entry(cloud: Cloud, given: Properties) -> str:
    cloud.client("eks", given.get("region")).create_access_entry(
        clusterName=given["clusterName"],
        principalArn=given["principalArn"],
        type=given["type"],
        tags=cloud.tags(given),
    )
    return f"{given['clusterName']}:{given['principalArn']}"


def _read_entry(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    cluster, _, principal = identity.partition(":")
    answer = _found(lambda: cloud.client("eks").describe_access_entry(clusterName=cluster, principalArn=principal))
    if answer is None:
        return None
    entry = answer["accessEntry"]
    return {
        "clusterName": cluster,
        "principalArn": principal,
        "type": entry["type"],
        "region": entry["accessEntryArn"].split(":")[3],
        "accessEntryArn": entry["accessEntryArn"],
        "userName": entry.get("username"),
        "tagsAll": entry.get("tags", {}),
    }


def _update_entry(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    _tag(cloud, before["accessEntryArn"], before, after)


def _delete_entry(cloud: Cloud, identity: str, state: Properties) -> None:
    cloud.client("eks", state.get("region")).delete_access_entry(
        clusterName=state["clusterName"], principalArn=state["principalArn"]
    )


ACCESS_ENTRY = Kind(
    token="aws:eks/accessEntry:AccessEntry",
    required=frozenset({"clusterName", "principalArn"}),
    optional=frozenset({"type", "region", "tags"}),
    replaces=frozenset({"clusterName", "principalArn", "type", "region"}),
    computed=("accessEntryArn", "userName"),
    create=_create_entry,
    read=_read_entry,
    update=_update_entry,
    delete=_delete_entry,
)


def _create_association(cloud: Cloud, given: Properties) -> str:
    answer = cloud.client("eks", given.get("region")).create_pod_identity_association(
        clusterName=given["clusterName"],
        namespace=given["namespace"],
        serviceAccount=given["serviceAccount"],
        roleArn=given["roleArn"],
        tags=cloud.tags(given),
    )
    return f"{given['clusterName']},{answer['association']['associationId']}"


def _read_association(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    cluster, _, association = identity.partition(",")
    answer = _found(
        lambda: cloud.client("eks").describe_pod_identity_association(clusterName=cluster, associationId=association)
    )
    if answer is None:
        return None
    found = answer["association"]
    return {
        "clusterName": cluster,
        "namespace": found["namespace"],
        "serviceAccount": found["serviceAccount"],
        "roleArn": found["roleArn"],
        "region": found["associationArn"].split(":")[3],
        "associationArn": found["associationArn"],
        "associationId": found["associationId"],
        "tagsAll": found.get("tags", {}),
    }


def _update_association(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    cluster, _, association = identity.partition(",")
    if before.get("roleArn") != after["roleArn"]:
        cloud.client("eks", after.get("region")).update_pod_identity_association(
            clusterName=cluster, associationId=association, roleArn=after["roleArn"]
        )
    _tag(cloud, before["associationArn"], before, after)


def _delete_association(cloud: Cloud, identity: str, state: Properties) -> None:
    cluster, _, association = identity.partition(",")
    cloud.client("eks", state.get("region")).delete_pod_identity_association(
        clusterName=cluster, associationId=association
    )


POD_IDENTITY_ASSOCIATION = Kind(
    token="aws:eks/podIdentityAssociation:PodIdentityAssociation",
    required=frozenset({"clusterName", "namespace", "serviceAccount", "roleArn"}),
    optional=frozenset({"region", "tags"}),
    replaces=frozenset({"clusterName", "namespace", "serviceAccount", "region"}),
    computed=("associationArn", "associationId"),
    create=_create_association,
    read=_read_association,
    update=_update_association,
    delete=_delete_association,
)


def get_cluster(cloud: Cloud, arguments: Properties) -> dict[str, Any]:
    """The function aws:eks/getCluster:getCluster, with what programs read of it."""
    cluster = cloud.client("eks", arguments.get("region")).describe_cluster(name=arguments["name"])["cluster"]
    access = cluster.get("accessConfig", {})
    return {
        "id": cluster["name"],
        "name": cluster["name"],
        "arn": cluster["arn"],
        "endpoint": cluster["endpoint"],
        "certificateAuthorities": [{"data": cluster["certificateAuthority"]["data"]}],
        "identities": [{"oidcs": [{"issuer": cluster["identity"]["oidc"]["issuer"]}]}],
        "accessConfigs": [{"authenticationMode": access.get("authenticationMode", "")}],
        "roleArn": cluster.get("roleArn", ""),
        "status": cluster["status"],
        "version": cluster["version"],
    }
