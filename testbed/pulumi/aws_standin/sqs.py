"""SQS: a queue and its policy."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from testbed.pulumi.aws_standin.kind import Cloud, Kind
from testbed.pulumi.aws_standin.tags import tag_changes
from testbed.pulumi.aws_standin.wire import Properties

_RETENTION, _ENCRYPTED = "MessageRetentionPeriod", "SqsManagedSseEnabled"


def _region(identity: str) -> str | None:
    """Of a queue's address, where it tells it: https://sqs.REGION.amazonaws.com/ACCOUNT/NAME."""
    host = identity.split("/")[2]
    return host.split(".")[1] if host.startswith("sqs.") else None


def _attributes(given: Properties) -> dict[str, str]:
    found: dict[str, str] = {}
    if "messageRetentionSeconds" in given:
        found[_RETENTION] = str(given["messageRetentionSeconds"])
    if "sqsManagedSseEnabled" in given:
        found[_ENCRYPTED] = str(given["sqsManagedSseEnabled"]).lower()
    return found


def _create(cloud: Cloud, given: Properties) -> str:
    answer = cloud.client("sqs", given.get("region")).create_queue(
        QueueName=given["name"], Attributes=_attributes(given), tags=cloud.tags(given)
    )
    return str(answer["QueueUrl"])


def _all(cloud: Cloud, identity: str) -> dict[str, str] | None:
    try:
        answer = cloud.client("sqs", _region(identity)).get_queue_attributes(QueueUrl=identity, AttributeNames=["All"])
    except ClientError as error:
        if error.response["Error"]["Code"].endswith(("NonExistentQueue", "QueueDoesNotExist")):
            return None
        raise
    attributes: dict[str, str] = answer["Attributes"]
    return attributes


def _read(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    attributes = _all(cloud, identity)
    if attributes is None:
        return None
    arn = attributes["QueueArn"]
    return {
        "name": arn.rpartition(":")[2],
        "arn": arn,
        "url": identity,
        "region": arn.split(":")[3],
        "messageRetentionSeconds": int(attributes[_RETENTION]),
        "sqsManagedSseEnabled": attributes.get(_ENCRYPTED) == "true",
        "tagsAll": cloud.client("sqs", _region(identity)).list_queue_tags(QueueUrl=identity).get("Tags", {}),
    }


def _update(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    sqs = cloud.client("sqs", after.get("region"))
    if _attributes(before) != _attributes(after):
        # moto 5.2.5 forgets the policy when it is not set beside other attributes; AWS keeps it.
        kept = {key: text for key, text in (_all(cloud, identity) or {}).items() if key == "Policy"}
        sqs.set_queue_attributes(QueueUrl=identity, Attributes={**_attributes(after), **kept})
    gone, new = tag_changes(before, after)
    if gone:
        sqs.untag_queue(QueueUrl=identity, TagKeys=gone)
    if new:
        sqs.tag_queue(QueueUrl=identity, Tags=new)


def _delete(cloud: Cloud, identity: str, state: Properties) -> None:
    cloud.client("sqs", state.get("region")).delete_queue(QueueUrl=identity)


QUEUE = Kind(
    token="aws:sqs/queue:Queue",
    required=frozenset({"name"}),
    optional=frozenset({"messageRetentionSeconds", "sqsManagedSseEnabled", "region", "tags"}),
    replaces=frozenset({"name", "region"}),
    computed=("arn", "url"),
    create=_create,
    read=_read,
    update=_update,
    delete=_delete,
)


def _set_policy(cloud: Cloud, given: Properties, text: str) -> str:
    url = str(given["queueUrl"])
    cloud.client("sqs", given.get("region")).set_queue_attributes(QueueUrl=url, Attributes={"Policy": text})
    return url


def _create_policy(cloud: Cloud, given: Properties) -> str:
    return _set_policy(cloud, given, given["policy"])


def _read_policy(cloud: Cloud, identity: str) -> dict[str, Any] | None:
    attributes = _all(cloud, identity)
    if attributes is None or not attributes.get("Policy"):
        return None
    return {"queueUrl": identity, "policy": attributes["Policy"], "region": attributes["QueueArn"].split(":")[3]}


def _update_policy(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    _set_policy(cloud, after, after["policy"])


def _delete_policy(cloud: Cloud, identity: str, state: Properties) -> None:
    _set_policy(cloud, state, "")


QUEUE_POLICY = Kind(
    token="aws:sqs/queuePolicy:QueuePolicy",
    required=frozenset({"queueUrl", "policy"}),
    optional=frozenset({"region"}),
    replaces=frozenset({"queueUrl", "region"}),
    computed=(),
    documents=frozenset({"policy"}),
    create=_create_policy,
    read=_read_policy,
    update=_update_policy,
    delete=_delete_policy,
)
