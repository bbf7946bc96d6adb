"""What does an IAM policy document say? Documents in AWS resources, read into statements.

Not an IAM evaluator: it knows how documents are spelled, nothing of who is allowed what in the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from .proxies import Path, Unknowns, each, get, mapping, place, text, texts


class Role(Enum):
    """What a document is attached to. It decides the size AWS allows (IAM quotas, in characters)."""

    MANAGED = ("a managed policy", 6144)
    INLINE = ("an inline policy", 10240)
    TRUST = ("a trust policy", 2048)
    RESOURCE = ("a resource's policy", None)

    def __init__(self, words: str, limit: int | None) -> None:
        self.words, self.limit = words, limit


# Where documents are in the inputs. KMS key policies are left out: they must name kms:* for the account's root.
_PLACES: Mapping[str, tuple[tuple[Path, Role], ...]] = {
    "aws:iam/policy:Policy": ((("policy",), Role.MANAGED),),
    "aws:iam/rolePolicy:RolePolicy": ((("policy",), Role.INLINE),),
    "aws:iam/userPolicy:UserPolicy": ((("policy",), Role.INLINE),),
    "aws:iam/groupPolicy:GroupPolicy": ((("policy",), Role.INLINE),),
    "aws:iam/role:Role": ((("assumeRolePolicy",), Role.TRUST),),
    "aws:sqs/queue:Queue": ((("policy",), Role.RESOURCE),),
    "aws:sqs/queuePolicy:QueuePolicy": ((("policy",), Role.RESOURCE),),
    "aws:sns/topicPolicy:TopicPolicy": ((("policy",), Role.RESOURCE),),
    "aws:s3/bucketPolicy:BucketPolicy": ((("policy",), Role.RESOURCE),),
    "aws:ecr/repositoryPolicy:RepositoryPolicy": ((("policy",), Role.RESOURCE),),
}


@dataclass(frozen=True)
class Condition:
    """One key of a condition: `StringEquals`, `aws:SourceAccount` (in lower case) and the values."""

    operator: str
    key: str
    values: tuple[str, ...]

    @property
    def narrows(self) -> bool:
        """Whether the key must be there and be one of the values."""
        plain = self.operator.rsplit(":", 1)[-1].lower()
        return plain.startswith(("string", "arn")) and "not" not in plain and not plain.endswith("ifexists")


@dataclass(frozen=True)
class Statement:
    """One statement, with every "one or many" spelled as many."""

    label: str
    allows: bool
    actions: tuple[str, ...]
    not_actions: tuple[str, ...]
    resources: tuple[str, ...]
    not_resources: tuple[str, ...]
    principals: tuple[str, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Document:
    """A document where it stands. `statements` is None for a text that is no document."""

    where: str
    role: Role
    characters: int
    statements: tuple[Statement, ...] | None


def has_documents(resource_type: str) -> bool:
    """Whether resources of this type hold policy documents that these rules know."""
    return resource_type in _PLACES


def documents(resource_type: str, props: object) -> Iterator[Document]:
    """The documents in a resource's properties; unknowns raise last."""
    unknowns = Unknowns()
    for path, role in _PLACES.get(resource_type, ()):
        with unknowns:
            body = text(get(props, *path))
            if body:
                yield read_document(body, place(path), role)
    if resource_type == "aws:iam/role:Role":
        with unknowns:
            for position, inline in enumerate(each(get(props, "inlinePolicies"))):
                with unknowns:
                    body = text(get(inline, "policy"))
                    if body:
                        yield read_document(body, f"inlinePolicies[{position}].policy", Role.INLINE)
    unknowns.raise_first()


def read_document(body: str, where: str, role: Role) -> Document:
    """A document from its JSON text. Characters are counted as IAM does, without white space."""
    characters = len("".join(body.split()))
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return Document(where, role, characters, None)
    if not isinstance(content, Mapping):
        return Document(where, role, characters, None)
    listed = content.get("Statement")
    found = [listed] if isinstance(listed, Mapping) else list(each(listed))
    statements = tuple(_statement(item, position) for position, item in enumerate(found))
    return Document(where, role, characters, statements)


def _statement(item: object, position: int) -> Statement:
    principals = get(item, "Principal")
    named = texts(principals) or tuple(name for kind in mapping(principals).values() for name in texts(kind))
    return Statement(
        label=text(get(item, "Sid")) or f"Statement[{position}]",
        allows=text(get(item, "Effect")) == "Allow",
        actions=texts(get(item, "Action")),
        not_actions=texts(get(item, "NotAction")),
        resources=texts(get(item, "Resource")),
        not_resources=texts(get(item, "NotResource")),
        principals=named,
        conditions=tuple(
            Condition(operator, key.lower(), texts(values))
            for operator, keys in mapping(get(item, "Condition")).items()
            for key, values in mapping(keys).items()
        ),
    )
