"""Tags in the forms of AWS's services. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from testbed.pulumi.aws_standin.difference import TAGS_ALL
from testbed.pulumi.aws_standin.wire import Properties


def listed(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """As IAM and EventBridge take them."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def mapped(tags: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """The same as a map."""
    return {tag["Key"]: tag["Value"] for tag in tags}


def tag_changes(before: Properties, after: Properties) -> tuple[list[str], dict[str, str]]:
    """Keys to take off, and tags to put on. The properties hold `tagsAll`."""
    old, new = before.get(TAGS_ALL) or {}, after.get(TAGS_ALL) or {}
    return sorted({*old} - {*new}), {key: value for key, value in sorted(new.items()) if old.get(key) != value}
