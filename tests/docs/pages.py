"""README and docs as their reader gets them: pages, fenced blocks, links, headings, code in running text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.tables import ROOT, pages

PAGES = [page for page in pages() if page.exists()]

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<body>.*?)^(?P=indent)```$", re.S | re.M)
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(?P<title>.+?) *$", re.M)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    line: int
    language: str
    body: str

    def __str__(self) -> str:
        return f"{name(self.page)}:{self.line}"


def name(page: Path) -> str:
    """A page as one would type it from the root."""
    return page.relative_to(ROOT).as_posix()


def blocks(*languages: str) -> list[Block]:
    """Every fenced block in one of these languages, its indentation taken off."""
    return [block for page in PAGES for block in _blocks(page) if block.language in languages]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        body = re.sub(rf"^{found['indent']}", "", found["body"], flags=re.M)
        yield Block(page, text.count("\n", 0, found.start()) + 1, found["language"], body)


@cache
def prose(page: Path) -> str:
    """The page without fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[str]:
    """Targets of the page's links."""
    return [found["target"] for found in _LINK.finditer(prose(page))]


def code_spans(page: Path) -> list[str]:
    """Code within running text."""
    return re.findall(r"`([^`\n]+)`", prose(page))


def footnotes(page: Path) -> dict[str, str]:
    """Text of the page's footnotes by label, each on one line. Raises ValueError when a label is given twice."""
    found: dict[str, str] = {}
    for label, text in re.findall(r"^\[\^([\w-]+)\]: (.*(?:\n {4}.*)*)$", prose(page), re.M):
        if label in found:
            raise ValueError(f"{name(page)}: two footnotes {label}")
        found[label] = " ".join(text.split())
    return found


@cache
def functions_of(path: str) -> set[str]:
    """Names of the test functions of a file, empty where there is no such file."""
    file = ROOT / path
    if not file.is_file():
        return set()
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return {one.name for one in body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")}


def anchors(page: Path) -> set[str]:
    """Anchors of the page's headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in _HEADING.finditer(prose(page)):
        title = _LINK.sub(lambda link: link["text"], heading["title"]).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        number = 0
        while (unique := f"{slug}-{number}" if number else slug) in found:
            number += 1
        found.add(unique)
    return found
