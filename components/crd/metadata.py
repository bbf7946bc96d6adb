"""What stands around a spec: apiVersion, kind, name, labels and annotations. Not the spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from floodplain.problem import RuleError

from .model import CrdModel, Raw, has
from .names import NAME_MOST, label_text, object_name, qualified_name
from .scalars import listed, text, text_map, whole
from .violation import RuntimeRuleError

ANNOTATIONS_BYTES_MOST = 256 * 1024


def name_of_nodes(value: str) -> Iterator[RuleError]:
    """Karpenter puts the names of pools and node classes into a label of every node."""
    if len(value) > NAME_MOST:
        yield RuntimeRuleError(
            f"has {len(value)} characters, while Karpenter puts it into a label's value of {NAME_MOST}",
            "shorten it",
            value=value,
        )


def _name(value: str) -> Iterator[RuleError]:
    wrong = object_name(value)
    if wrong:
        yield RuleError(wrong, "for example swap-small", value=value)
    else:
        yield from name_of_nodes(value)


def _keys(entries: Mapping[str, Any]) -> Iterator[RuleError]:
    for key in entries:
        wrong = qualified_name(key)
        if wrong:
            yield RuleError(wrong, "write name or domain/name", (key,))


def _annotation_keys(entries: Mapping[str, Any]) -> Iterator[RuleError]:
    """As for labels, but the domain may be written in capitals; all together at most 256 KiB."""
    for key in entries:
        wrong = qualified_name(key.lower())
        if wrong:
            yield RuleError(wrong, "write name or domain/name", (key,))
    size = sum(len(key.encode()) + len(str(value).encode()) for key, value in entries.items())
    if size > ANNOTATIONS_BYTES_MOST:
        yield RuleError(f"have {size} bytes and may have {ANNOTATIONS_BYTES_MOST}", "leave some out")


def _named(raw: Raw) -> Iterator[RuleError]:
    if not has(raw, "name") and not has(raw, "generateName"):
        yield RuleError("is required", "set it", ("name",))


class ObjectMetadata(CrdModel):
    """metadata of a cluster-scoped object: what a user may write and what the API server adds."""

    rules = (_named,)

    name: Annotated[str | None, text(_name)] = None
    generate_name: Annotated[str | None, text()] = None
    namespace: Annotated[str | None, text()] = None
    labels: Annotated[dict[str, str] | None, text_map(_keys, value=label_text)] = None
    annotations: Annotated[dict[str, str] | None, text_map(_annotation_keys)] = None
    finalizers: Annotated[tuple[Annotated[str, text()], ...] | None, listed] = None
    uid: Annotated[str | None, text()] = None
    resource_version: Annotated[str | None, text()] = None
    generation: Annotated[int | None, whole(0)] = None
    creation_timestamp: Annotated[str | None, text()] = None
    deletion_timestamp: Annotated[str | None, text()] = None
    deletion_grace_period_seconds: Annotated[int | None, whole(0)] = None
    self_link: Annotated[str | None, text()] = None
    owner_references: Any = None
    managed_fields: Any = None
