"""Which properties may be unknown before the first update, and why. Everything else must be plain.

Only what AWS or the cluster draws belongs here. A name never does: names are given, so that they can be checked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .paths import without_indices


@dataclass(frozen=True)
class Expected:
    """`type` and `path` are whole regular expressions; paths have `[]` for every item of a list."""

    type: str
    path: str
    why: str


EXPECTED: tuple[Expected, ...] = (
    Expected("pulumi:providers:kubernetes", "kubeconfig", "the endpoint and certificate of the cluster"),
    Expected("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "policyArn", "the ARN of the policy"),
    Expected("aws:iam/role:Role", "assumeRolePolicy", "the identity provider of the cluster (IRSA)"),
    Expected("aws:sqs/queuePolicy:QueuePolicy", "queueUrl", "the URL of the queue"),
)


def reason_for(type_token: str, path: str) -> str | None:
    """Why this property may be unknown, or None when it may not."""
    place = without_indices(path)
    for entry in EXPECTED:
        if re.fullmatch(entry.type, type_token) and re.fullmatch(entry.path, place):
            return entry.why
    return None
