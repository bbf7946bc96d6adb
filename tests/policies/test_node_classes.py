"""Rules about EC2NodeClasses apart from boot text: one role by name, one machine image."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
ROLE, PINNED = "node-role-is-a-name", "machine-image-is-pinned-in-protected-stacks"
PINNED_ELSEWHERE = "machine-image-is-pinned"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"role": "KarpenterNodeRole-prod"}, []),
        ({"instanceProfile": "profile"}, []),
        ({"role": "arn:aws:iam::123456789012:role/path/nodes"}, ["spec.role: 'arn:aws:iam::123456789012:role/path"]),
        ({"role": "path/nodes"}, ["holds a path, while Karpenter compares names"]),
        ({"role": ""}, ["spec.role: '' is no name of an IAM role"]),
        ({"role": "a" * 65}, ["is no name of an IAM role"]),
        ({"instanceProfile": "arn:aws:iam::123456789012:instance-profile/p"}, ["spec.instanceProfile"]),
        ({}, ["has neither role nor instanceProfile"]),
        ({"role": "a", "instanceProfile": "b"}, ["has role and instanceProfile; give exactly one"]),
        ({"role": UNKNOWN}, ["could not see everything"]),
        ({"role": "a", "userData": UNKNOWN, "amiSelectorTerms": UNKNOWN}, []),
        ({"role": "arn:a", "instanceProfile": UNKNOWN}, ["write the role's name: arn:a", "could not see everything"]),
    ],
)
def test_the_role_is_a_name(rules: Any, spec: dict[str, Any], words: list[str]) -> None:
    messages = rules.on(ROLE, NODE_CLASS, {"spec": spec})
    assert [word in message for message, word in zip(messages, words, strict=True)] == [True] * len(words), messages


IMAGES: list[tuple[Any, list[str]]] = [
    ([{"alias": "al2023@v20260714"}], []),
    ([{"id": "ami-0123456789abcdef0"}, {"id": "ami-1123456789abcdef0"}], []),
    ([{"ssmParameter": "/aws/service/eks/optimized-ami/1.34/x/amazon-eks-node-al2023-v20260714/image_id"}], []),
    ([{"ssmParameter": "/our/image:7"}], []),
    ([{"alias": "al2023@latest"}], ["spec.amiSelectorTerms[0]: alias 'al2023@latest' names no release; pin it"]),
    ([{"alias": "al2023"}], ["alias 'al2023' names no release"]),
    ([{"ssmParameter": "/aws/service/eks/optimized-ami/1.34/x/recommended/image_id"}], ["names no release"]),
    ([{"id": "ami-1"}, {"tags": {"Name": "ours"}}], ["spec.amiSelectorTerms[1]: a term by tags or name"]),
    ([{"name": "ours-*", "owner": "self"}], ["a term by tags or name takes the newest"]),
    ([{"id": "latest"}], ["id 'latest' is no image id"]),
    ([], ["is empty"]),
    (None, ["is empty"]),
    (UNKNOWN, ["could not see everything"]),
    ([{"alias": UNKNOWN}], ["could not see everything"]),
    ([{"alias": UNKNOWN}, {"alias": "al2023@latest"}], ["names no release", "could not see everything"]),
]


@pytest.mark.parametrize(("terms", "words"), IMAGES)
def test_the_image_is_pinned_in_protected_stacks(rules: Any, terms: Any, words: list[str]) -> None:
    props = {"spec": {"role": UNKNOWN, "amiSelectorTerms": terms}}
    messages = rules.on(PINNED, NODE_CLASS, props, stack="prod")
    assert [word in message for message, word in zip(messages, words, strict=True)] == [True] * len(words), messages
    # Elsewhere the advisory twin says the same, and only one of the two ever speaks.
    assert rules.on(PINNED_ELSEWHERE, NODE_CLASS, props, stack="dev") == messages
    assert rules.on(PINNED_ELSEWHERE, NODE_CLASS, props, stack="prod") == []
    assert rules.on(PINNED, NODE_CLASS, props, stack="dev") == []


@pytest.mark.parametrize(
    ("stack", "config", "protected"),
    [
        ("prod", None, True),
        ("production", None, True),
        ("hotosm", None, True),
        ("staging", None, False),
        ("prod-like", None, False),
        ("staging", {"protectedStacks": ["staging"]}, True),
        ("prod", {"protectedStacks": ["staging"]}, False),
        ("prod", {"protectedStacks": []}, False),
        ("prod", {"other": 1}, True),
    ],
)
def test_which_stacks_are_protected_is_configured(rules: Any, stack: str, config: Any, protected: bool) -> None:
    props = {"spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]}}
    assert bool(rules.on(PINNED, NODE_CLASS, props, stack=stack, config=config)) is protected
    assert bool(rules.on(PINNED_ELSEWHERE, NODE_CLASS, props, stack=stack, config=config)) is not protected
