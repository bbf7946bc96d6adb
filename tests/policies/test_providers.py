"""Every resource says which cluster or account it goes to, and the provider of a cluster is a lasting one."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

EXPLICIT, LASTING = "provider-is-explicit", "kubernetes-provider-survives-a-new-kubeconfig"
KUBERNETES = "pulumi:providers:kubernetes"


@pytest.mark.parametrize(
    ("kind", "package", "name", "word"),
    [
        ("kubernetes:core/v1:ConfigMap", "kubernetes", "prod", None),
        ("kubernetes:karpenter.sh/v1:NodePool", "kubernetes", "prod", None),
        ("aws:sqs/queue:Queue", "aws", "prod", None),
        ("kubernetes:core/v1:ConfigMap", "kubernetes", "default_4_34_2", "uses the default kubernetes provider"),
        ("aws:sqs/queue:Queue", "aws", "default_7_51_0", "uses the default aws provider"),
        ("kubernetes:core/v1:ConfigMap", None, "", "uses the default kubernetes provider"),
        ("aws:sqs/queue:Queue", "kubernetes", "prod", "has a provider of type pulumi:providers:kubernetes"),
        ("kubernetes:helm.sh/v3:Release", None, "", "uses the default kubernetes provider"),
        # Made of other resources, which are judged one by one.
        ("kubernetes:helm.sh/v4:Chart", None, "", None),
        ("kubernetes:yaml/v2:ConfigGroup", None, "", None),
        ("kubernetes:helm.sh/v4:Chart", "kubernetes", "default_4_34_2", "uses the default kubernetes provider"),
        ("floodplain:index:SwapNodePool", None, "", None),
        ("pulumi:providers:kubernetes", None, "", None),
        ("pulumi:pulumi:Stack", None, "", None),
        ("nonsense", None, "", None),
    ],
)
def test_a_resource_has_an_explicit_provider_of_its_package(
    rules: Any, provider: Any, kind: str, package: str | None, name: str, word: str | None
) -> None:
    given = provider(package, name) if package else None
    messages = rules.on(EXPLICIT, kind, {"anything": UNKNOWN}, provider=given)
    assert [word in message for message in messages] == ([True] if word else []), messages


@pytest.mark.parametrize(
    ("props", "name", "words"),
    [
        ({"clusterIdentifier": "arn", "kubeconfig": UNKNOWN}, "prod", []),
        ({"kubeconfig": UNKNOWN}, "prod", ["clusterIdentifier: is not set"]),
        ({"clusterIdentifier": ""}, "prod", ["clusterIdentifier: is not set"]),
        ({"clusterIdentifier": UNKNOWN}, "prod", ["could not see everything"]),
        (
            {"clusterIdentifier": UNKNOWN, "enableServerSideApply": "false"},
            "prod",
            ["enableServerSideApply: is off", "could not see everything"],
        ),
        ({"clusterIdentifier": "arn", "enableServerSideApply": "true"}, "prod", []),
        ({"clusterIdentifier": "arn", "enableServerSideApply": False}, "prod", ["enableServerSideApply: is off"]),
        ({}, "default_4_34_2", []),
    ],
)
def test_a_new_kubeconfig_replaces_nothing(rules: Any, props: dict[str, Any], name: str, words: list[str]) -> None:
    messages = rules.on(LASTING, KUBERNETES, props, name=name)
    assert [word in message for message, word in zip(messages, words, strict=True)] == [True] * len(words), messages
