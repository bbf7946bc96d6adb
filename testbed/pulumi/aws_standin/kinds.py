"""The one table of resource types and functions: what is not here does not exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from testbed.pulumi.aws_standin import eks, events, iam, sqs
from testbed.pulumi.aws_standin.kind import Cloud, Kind
from testbed.pulumi.aws_standin.wire import Properties

KINDS: Mapping[str, Kind] = {
    kind.token: kind
    for kind in (
        iam.ROLE,
        iam.POLICY,
        iam.ATTACHMENT,
        iam.SERVICE_LINKED_ROLE,
        sqs.QUEUE,
        sqs.QUEUE_POLICY,
        events.RULE,
        events.TARGET,
        eks.ACCESS_ENTRY,
        eks.POD_IDENTITY_ASSOCIATION,
    )
}

FUNCTIONS: Mapping[str, Callable[[Cloud, Properties], dict[str, Any]]] = {
    "aws:eks/getCluster:getCluster": eks.get_cluster,
}
