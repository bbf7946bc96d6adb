"""Write image digests into stack files, leaving comments, order and formatting as they are.

    python3 .ci/write_digests.py stacks/Pulumi.prod.yaml --images service=HOST/REPO/service@sha256:... agent=...

Edits text, not YAML trees: a parser that writes back would lose the comments that explain a stack. Standard library
only, since the release workflow runs it without the environment. It does not check that an image exists.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path

KEY = "floodplain:images"
_BY_DIGEST = re.compile(r"[^\s@#'\"]+@sha256:[0-9a-f]{64}")
_KEY_LINE = re.compile(rf"""(?P<indent>\s*)(["']?){KEY}\2:\s*(?P<value>[^#\s][^#]*?)?\s*(?P<comment>\#.*)?""")
_ENTRY = re.compile(
    r"""(?P<indent>\s+)(["']?)(?P<name>[\w-]+)\2:(?P<gap>\s*)(?P<value>[^#\s][^#]*?)?(?P<tail>\s*(\#.*)?)"""
)


def with_images(text: str, images: Mapping[str, str]) -> str:
    """The stack file `text` with `images` (name to reference by digest) under `floodplain:images`.

    Names that are there get the new reference, others are added below them, and names not given stay.
    Raises ValueError for a reference without digest and for a form of the key that this cannot edit.
    """
    for name, reference in images.items():
        if not _BY_DIGEST.fullmatch(reference):
            raise ValueError(
                f"{name}: {reference!r} does not name an image by digest; write HOST/NAME@sha256:<64 hex digits>"
            )
    lines = text.splitlines()
    at = _find_key(lines)
    if at is None:
        lines = [*_with_key(lines)]
        at = _find_key(lines)
        assert at is not None
    return "\n".join(_edited(lines, at, dict(images))) + "\n"


def _find_key(lines: list[str]) -> int | None:
    return next((number for number, line in enumerate(lines) if _KEY_LINE.fullmatch(line)), None)


def _with_key(lines: list[str]) -> list[str]:
    """The lines with an empty `floodplain:images` at the end of `config`."""
    try:
        start = next(number for number, line in enumerate(lines) if re.fullmatch(r"config:\s*(#.*)?", line))
    except StopIteration:
        raise ValueError("no `config:` block to write the images into") from None
    inside = _block(lines, start)
    depth = next((_indent(lines[number]) for number in inside if lines[number].strip()), 2)
    end = inside[-1] + 1 if inside else start + 1
    return [*lines[:end], " " * depth + f"{KEY}:", *lines[end:]]


def _block(lines: list[str], start: int) -> list[int]:
    """Numbers of the lines nested under line `start`, up to the last one that is not blank or a comment."""
    depth = _indent(lines[start])
    last = start
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if _indent(line) <= depth:
            break
        last = number
    return list(range(start + 1, last + 1))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _edited(lines: list[str], at: int, images: dict[str, str]) -> list[str]:
    key = _KEY_LINE.fullmatch(lines[at])
    assert key is not None
    if key["value"] not in (None, "{}"):
        raise ValueError(f"line {at + 1}: {KEY} is written as {key['value']!r}; write one image a line below the key")
    inside = _block(lines, at)
    out = list(lines)
    out[at] = re.sub(r"\s*\{\}", "", lines[at], count=1)
    indent = key["indent"] + "  "
    for number in inside:
        entry = _ENTRY.fullmatch(lines[number])
        if not entry:
            continue
        indent = entry["indent"]
        if entry["name"] in images:
            head = lines[number][: entry.start("gap")]
            out[number] = f"{head} {images.pop(entry['name'])}{entry['tail']}"
    end = inside[-1] + 1 if inside else at + 1
    return [*out[:end], *(f"{indent}{name}: {reference}" for name, reference in images.items()), *out[end:]]


def main() -> int:
    """Edit every file given; report and stop at the first that cannot be edited, before any is written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--images", nargs="+", required=True, metavar="NAME=REFERENCE")
    given = parser.parse_args()
    images = dict(image.partition("=")[::2] for image in given.images)
    edited: dict[Path, str] = {}
    for file in given.files:
        try:
            edited[file] = with_images(file.read_text(encoding="utf-8"), images)
        except ValueError as error:
            print(f"{file}: {error}", file=sys.stderr)
            return 1
    for file, text in edited.items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
