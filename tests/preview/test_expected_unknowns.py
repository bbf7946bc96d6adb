from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from preview.expected_unknowns import EXPECTED, reason_for
from preview.paths import leaves
from preview.render import Rendering
from preview.wire import UNKNOWN, reveal


@pytest.mark.parametrize(
    ("type_token", "path", "known"),
    [
        ("aws:sqs/queuePolicy:QueuePolicy", "queueUrl", False),
        ("aws:sqs/queuePolicy:QueuePolicy", "policy", True),
        ("aws:sqs/queue:Queue", "queueUrl", True),
        ("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass", "spec.role", True),
    ],
)
def test_only_listed_places_of_listed_types_may_be_unknown(type_token: str, path: str, known: bool) -> None:
    assert (reason_for(type_token, path) is None) is known


def test_no_entry_of_the_list_is_idle(edited: Callable[..., Rendering]) -> None:
    def irsa(config: dict[str, Any]) -> None:
        config["floodplain:karpenter"].update({"credentials": "Irsa", "runsOn": "Fargate"})

    used = {
        reason_for(resource.type, path)
        for rendering in (edited("prod"), edited("prod", irsa))
        for resource in rendering.plan.resources
        for path, value in leaves(reveal(dict(resource.inputs)))
        if value == UNKNOWN
    }
    assert {entry.why for entry in EXPECTED} == used
