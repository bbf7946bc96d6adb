"""Reads user data as Karpenter and cloud-init do: a MIME archive, or one bare NodeConfig or script.

Follows Go's mime/multipart, which Karpenter uses (karpenter-provider-aws v1.14.1, bootstrap/mime/mime.go), line by
line, and keeps what it would drop, so that a checker can say so. Judges nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from email.message import Message

from .shell_rules import is_yaml_map

SHELL = "text/x-shellscript"
NODE_CONFIG = "application/node.eks.aws"
HEADERS = ("MIME-Version:", "Content-Type:")
"""What Karpenter looks for at the start of the trimmed text to take it for an archive."""

_HEADER = re.compile(r"([!-9;-~]+):[ \t]*(.*)")


@dataclass(frozen=True)
class Part:
    """One part. `first_line` is the number of its body's first line in the whole text, from 1."""

    headers: dict[str, str]
    body: str
    first_line: int
    malformed: str = ""

    @property
    def media_type(self) -> str:
        """Lower case, without parameters; empty when the part names none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_shell(self) -> bool:
        return self.media_type == SHELL

    @property
    def is_node_config(self) -> bool:
        return self.media_type == NODE_CONFIG


@dataclass(frozen=True)
class Archive:
    """What was found. `bare` is text that is no archive, as the one part Karpenter makes of it.

    `lost` are line numbers with text before the first part or after the closing boundary; `malformed` is the number
    and text of the line among the archive's own headers that is none.
    """

    headers: dict[str, str]
    boundary: str
    parts: tuple[Part, ...]
    closed: bool
    bare: bool = False
    lost: tuple[int, ...] = ()
    malformed: tuple[int, str] | None = None

    def shell_parts(self) -> Iterator[tuple[int, Part]]:
        """(number from 1, part) of the shell parts."""
        return ((number, part) for number, part in enumerate(self.parts, start=1) if part.is_shell)

    def node_configs(self) -> Iterator[tuple[int, Part]]:
        """(number from 1, part) of the NodeConfig parts."""
        return ((number, part) for number, part in enumerate(self.parts, start=1) if part.is_node_config)


def read_archive(text: str) -> Archive:
    """The archive in `text`; never fails, however broken the text is."""
    if not text.strip().startswith(HEADERS):
        media_type = NODE_CONFIG if is_yaml_map(text) else SHELL
        part = Part({"content-type": media_type}, text, 1)
        return Archive({}, "", (part,), closed=True, bare=True)
    lines = text.replace("\r", "").split("\n")
    start = next(number for number, line in enumerate(lines) if line.strip())
    lines[start] = lines[start].lstrip()
    headers, position, stranger = _headers(lines, start)
    malformed = (position + 1, stranger) if stranger else None
    boundary = _parameter(headers.get("content-type", ""), "boundary")
    if not boundary:
        return Archive(headers, "", (), closed=False, malformed=malformed)
    return replace(_split(lines, position, headers, boundary), malformed=malformed)


@dataclass
class _Reader:
    """Lines collected while walking through the archive."""

    parts: list[Part] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    begin: int | None = None
    closed: bool = False


def _split(lines: list[str], position: int, headers: dict[str, str], boundary: str) -> Archive:
    reader = _Reader()
    for number in range(position, len(lines)):
        line = lines[number].rstrip(" \t")
        if not reader.closed and line in (f"--{boundary}", f"--{boundary}--"):
            if reader.begin is not None:
                reader.parts.append(_part(lines, reader.begin, number))
            reader.begin = number + 1
            reader.closed = line.endswith(f"{boundary}--")
        elif line and (reader.closed or reader.begin is None):
            reader.lost.append(number + 1)
    if reader.begin is not None and not reader.closed:
        reader.parts.append(_part(lines, reader.begin, len(lines)))
    return Archive(headers, boundary, tuple(reader.parts), reader.closed, lost=tuple(reader.lost))


def _part(lines: list[str], begin: int, end: int) -> Part:
    headers, position, malformed = _headers(lines[:end], begin)
    if not malformed and "" not in lines[begin:end]:
        # Headers go on into the boundary.
        malformed = lines[end] if end < len(lines) else "(the end of the text)"
    body = "\n".join(lines[position:end])
    return Part(headers, f"{body}\n" if body else "", position + 1, malformed)


def _headers(lines: list[str], start: int) -> tuple[dict[str, str], int, str]:
    """Headers by lower-case name, where the body begins, and the line that is no header, if any."""
    headers: dict[str, str] = {}
    name = ""
    for number in range(start, len(lines)):
        line = lines[number]
        # A line of spaces continues the header before it.
        if not line:
            return headers, number + 1, ""
        match = _HEADER.fullmatch(line)
        if match:
            name = match[1].lower()
            headers[name] = match[2].strip()
        elif line[0] in " \t" and name:
            headers[name] += f" {line.strip()}"
        else:
            return headers, number, line
    return headers, len(lines), ""


def _parameter(header: str, name: str) -> str:
    message = Message()
    message["Content-Type"] = header
    value = message.get_param(name)
    return value if isinstance(value, str) and message.get_content_maintype() == "multipart" else ""
