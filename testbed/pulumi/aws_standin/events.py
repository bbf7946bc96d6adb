"""EventBridge: rules on the default bus and their targets. The provider calls it cloudwatch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from testbed.pulumi.aws_standin.kind import Cloud, Kind
from testbed.pulumi.aws_standin.tags import listed, mapped, tag_changes
from testbed.pulumi.aws_standin.wire import Properties


def _found(ask: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
    try:
        return ask()
    except ClientError as error:
        if error.response["Error"]["Code"] == "ResourceNotFoundException":
            return None
        raise


def _put(cloud: Cloud, given: Properties, **more: Any) -> None:
    optional = {"Description": given.get("description")}
    cloud.client("events", given.get("region")).put_rule(
        Name=given["name"],
        EventPattern=given["eventPattern"],
        State="ENABLED",
        **{key: value for key, value in optional.items() if value},
        **more,
    )


def _create(cloud: Cloud, given: Properties) -> str:
    _put(cloud, given, Tags=listed(cloud.tags(given)))
    return str(given["name"])


def _read(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    events = cloud.client("events")
    rule = _found(lambda: events.describe_rule(Name=identity))
    if rule is None:
        return None
    return {
        "name": rule["Name"],
        "arn": rule["Arn"],
        "region": rule["Arn"].split(":")[3],
        "description": rule.get("Description") or None,
        "eventPattern": rule["EventPattern"],
        "tagsAll": mapped(events.list_tags_for_resource(ResourceARN=rule["Arn"])["Tags"]),
    }


def _update(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    _put(cloud, after)
    events = cloud.client("events", after.get("region"))
    gone, new = tag_changes(before, after)
    if gone:
        events.untag_resource(ResourceARN=before["arn"], TagKeys=gone)
    if new:
        events.tag_resource(ResourceARN=before["arn"], Tags=listed(new))


def _delete(cloud: Cloud, identity: str, state: Properties) -> None:
    # A rule that has targets is refused by EventBridge.
    cloud.client("events", state.get("region")).delete_rule(Name=identity)


RULE = Kind(
    token="aws:cloudwatch/eventRule:EventRule",
    required=frozenset({"name", "eventPattern"}),
    optional=frozenset({"description", "region", "tags"}),
    replaces=frozenset({"name", "region"}),
    computed=("arn",),
    documents=frozenset({"eventPattern"}),
    create=_create,
    read=_read,
    update=_update,
    delete=_delete,
)


def _put_target(cloud: Cloud, given: Properties) -> None:
    answer = cloud.client("events", given.get("region")).put_targets(
        Rule=given["rule"], Targets=[{"Id": given["targetId"], "Arn": given["arn"]}]
    )
    if answer["FailedEntryCount"]:
        raise ValueError(f"PutTargets {given['rule']}: {answer['FailedEntries'][0]['ErrorMessage']}")


def _create_target(cloud: Cloud, given: Properties) -> str:
    _put_target(cloud, given)
    return f"{given['rule']}-{given['targetId']}"


def _read_target(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    rule, _, target = identity.rpartition("-")
    events = cloud.client("events")
    answer = _found(lambda: events.list_targets_by_rule(Rule=rule)) or {"Targets": []}
    for one in answer["Targets"]:
        if one["Id"] == target:
            return {"rule": rule, "targetId": target, "arn": one["Arn"], "region": events.meta.region_name}
    return None


def _update_target(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    _put_target(cloud, after)


def _delete_target(cloud: Cloud, identity: str, state: Properties) -> None:
    cloud.client("events", state.get("region")).remove_targets(Rule=state["rule"], Ids=[state["targetId"]])


TARGET = Kind(
    token="aws:cloudwatch/eventTarget:EventTarget",
    required=frozenset({"rule", "targetId", "arn"}),
    optional=frozenset({"region"}),
    replaces=frozenset({"rule", "targetId", "region"}),
    computed=(),
    create=_create_target,
    read=_read_target,
    update=_update_target,
    delete=_delete_target,
)
