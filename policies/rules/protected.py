"""Is the stack one that people depend on? Some rules are strict only there."""

from __future__ import annotations

from collections.abc import Mapping

from pulumi_policy import ResourceValidationArgs

from .proxies import texts

DEFAULT_PROTECTED_STACKS = ("prod", "production", "hotosm")

PROTECTED_STACKS_SCHEMA: Mapping[str, Mapping[str, object]] = {
    "protectedStacks": {
        "type": "array",
        "items": {"type": "string"},
        "default": list(DEFAULT_PROTECTED_STACKS),
        "description": "Names of the stacks in which this rule is strict",
    }
}


def stack_of(urn: str) -> str:
    """The stack's name in a URN (`urn:pulumi:<stack>::<project>::...`), or nothing."""
    head = urn.split("::", 1)[0]
    return head.removeprefix("urn:pulumi:") if head.startswith("urn:pulumi:") else ""


def is_protected(args: ResourceValidationArgs) -> bool:
    """Whether the resource is in a protected stack, by the rule's configuration or the defaults."""
    config = args.get_config()
    names = texts(config["protectedStacks"]) if "protectedStacks" in config else DEFAULT_PROTECTED_STACKS
    return stack_of(args.urn) in names
