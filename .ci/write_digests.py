"""Write image digests into stack files, leaving comments, order and formatting as they are.

    python3 .ci/write_digests.py stacks/Pulumi.prod.yaml --images service=HOST/REPO/service@sha256:... agent=...

Edits text, not YAML trees: a parser that writes back would lose the comments that explain a stack. What the edit made
of the file is then read again with PyYAML, and refused unless exactly the images changed; so this needs PyYAML, which
GitHub's machines and the environment of `make setup` have. It does not check that an image exists.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]

KEY = "floodplain:images"
NAMES = ("service", "agent")
"""What a release builds. Other words may be no texts in YAML, such as `no`."""

_BY_DIGEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*@sha256:[0-9a-f]{64}")
_KEY_LINE = re.compile(rf"""(?P<indent>\s*)(["']?){KEY}\2:\s*(?P<value>[^#\s][^#]*?)?\s*(?P<comment>\#.*)?""")
_ENTRY = re.compile(
    r"""(?P<indent>\s+)(["']?)(?P<name>[\w-]+)\2:(?P<gap>\s*)(?P<value>[^#\s]\S*)?(?P<tail>\s*(?:(?<=\s)\#.*)?)"""
)


def with_images(text: str, images: Mapping[str, str]) -> str:
    """The stack file `text` with `images` (name to reference by digest) under `floodplain:images`.

    Names that are there get the new reference, others are added below them, and names not given stay.
    Raises ValueError for a reference without digest and for a form of the key that this cannot edit.
    """
    for name, reference in images.items():
        if name not in NAMES:
            raise ValueError(f"{name!r} is not the name of an image; known: {', '.join(NAMES)}")
        if not _BY_DIGEST.fullmatch(reference):
            raise ValueError(
                f"{name}: {reference!r} does not name an image by digest; write HOST/NAME@sha256:<64 hex digits>"
            )
    before = _read(text)
    lines = text.split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    inside = _config(lines)
    at = next((number for number in inside if _is_key(lines, number, inside)), None)
    if at is None:
        lines, at = _with_key(lines, inside)
    result = "\n".join(_edited(lines, at, dict(images))) + "\n"
    _check(before, result, images)
    return result


def _read(text: str) -> Any:
    """What a YAML reader sees. Raises ValueError."""
    if yaml is None:
        raise ValueError("cannot be checked without PyYAML; install it: python3 -m pip install pyyaml")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"is not YAML: {' '.join(str(error).split())}") from None


def _check(before: Any, result: str, images: Mapping[str, str]) -> None:
    """Raise ValueError unless a reader of `result` sees `before` with exactly these images changed."""
    config = before.get("config") if isinstance(before, dict) else None
    old = (config or {}).get(KEY) or {}
    if isinstance(old, dict):
        wanted = {**before, "config": {**(config or {}), KEY: {**old, **images}}}
        try:
            if _read(result) == wanted:
                return
        except ValueError:
            pass
    raise ValueError(f"{KEY} is written in a form that cannot be edited; write one image a line below the key")


def _config(lines: list[str]) -> list[int]:
    """Numbers of the lines below `config`."""
    start = next((number for number, line in enumerate(lines) if re.fullmatch(r"config:\s*(#.*)?", line)), None)
    if start is None:
        raise ValueError("no `config:` block to write the images into")
    return _block(lines, start) or [start]


def _is_key(lines: list[str], number: int, inside: list[int]) -> bool:
    """Whether the line is the key, as one of `config` itself and not a text further in."""
    return bool(_KEY_LINE.fullmatch(lines[number])) and _indent(lines[number]) == _depth(lines, inside)


def _depth(lines: list[str], inside: list[int]) -> int:
    first = (
        line for line in (lines[number] for number in inside) if line.strip() and not line.lstrip().startswith("#")
    )
    return next((_indent(line) for line in first if _indent(line)), 2)


def _with_key(lines: list[str], inside: list[int]) -> tuple[list[str], int]:
    """The lines with an empty `floodplain:images` at the end of `config`, and where it is."""
    end = inside[-1] + 1
    return [*lines[:end], " " * _depth(lines, inside) + f"{KEY}:", *lines[end:]], end


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


def _given(pairs: list[str]) -> dict[str, str]:
    """NAME=REFERENCE, each name once. Raises ValueError."""
    images: dict[str, str] = {}
    for pair in pairs:
        name, _, reference = pair.partition("=")
        if name in images:
            raise ValueError(f"{name} is given twice; give each image once")
        images[name] = reference
    return images


def main() -> int:
    """Edit every file given; report and stop at the first that cannot be edited, before any is written."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--images", nargs="+", required=True, metavar="NAME=REFERENCE")
    given = parser.parse_args()
    edited: dict[Path, str] = {}
    for file in given.files:
        try:
            edited[file] = with_images(file.read_text(encoding="utf-8"), _given(given.images))
        except OSError as error:
            print(f"{file}: cannot be read: {error.strerror}", file=sys.stderr)
            return 1
        except ValueError as error:
            print(f"{file}: {error}", file=sys.stderr)
            return 1
    for file, text in edited.items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
