"""What the stand-in must know of one resource type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from testbed.pulumi.aws_standin.wire import Properties


class Cloud(Protocol):
    """An account in a region, as the provider was configured."""

    def client(self, service: str, region: str | None = None) -> Any:
        """The boto3 client, of the resource's own region where it names one."""

    def tags(self, properties: Properties) -> dict[str, str]:
        """The resource's tags with the provider's default tags below them."""


@dataclass(frozen=True)
class Kind:
    """One resource type. Properties are in the spelling of the provider's schema.

    `read` returns the whole state, or None when the object does not exist (any more). `update` is called with the
    properties before and after; those that replace never differ in it.
    """

    token: str
    required: frozenset[str]
    optional: frozenset[str]
    replaces: frozenset[str]
    """Another value of one of these means another object."""
    computed: tuple[str, ...]
    """Outputs that AWS draws: unknown before creation, the same for as long as the object lives."""
    create: Callable[[Cloud, Properties], str]
    """Makes the object and returns its id."""
    read: Callable[[Cloud, str], dict[str, Any] | None]
    update: Callable[[Cloud, str, Properties, Properties], None]
    delete: Callable[[Cloud, str, Properties], None]
    documents: frozenset[str] = field(default_factory=frozenset)
    """Properties that are JSON: another spelling of the same is no change."""

    @property
    def inputs(self) -> frozenset[str]:
        return self.required | self.optional

    @property
    def tagged(self) -> bool:
        return "tags" in self.optional


def never(cloud: Cloud, identity: str, before: Properties, after: Properties) -> None:
    """The `update` of a type whose every property replaces."""
    raise AssertionError(f"{identity}: nothing of it can be updated")
