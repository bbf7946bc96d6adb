"""Keep what a program marks as secret out of everything that is printed.

Checks and rules look below the marks, and their words may quote what they saw. So every text that is about to be
printed is searched for what stands below a mark in any of the recordings: the whole values, and pieces of longer
ones, since a secret that is put into a text makes that whole text secret. A piece that stands in clear elsewhere,
such as the name of a property, stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from . import wire
from .finding import Finding
from .model import Report
from .recording import Recording
from .stackfile import PLACEHOLDER

SHORTEST = 3
"""Fewer characters tell nothing, and would blacken half of every text."""
_PIECE = 8
"""Characters in a row that are no coincidence. Shorter pieces count as whole words only."""
_WORD = re.compile(r"[A-Za-z0-9_]+")
_PUNCTUATION = re.compile(r"[\s:;,.'\"`]")
_PLACEHOLDER = re.compile(re.escape(PLACEHOLDER) + r"[^\s\"',]*")
# What says which thing is meant, or is one of a few fixed words.
_KEPT = frozenset({"action", "change", "check", "effect", "former_urn", "project", "severity", "stack", "type", "urn"})


class Redactor:
    """Knows the secrets of some recordings. Without secrets it hands everything back as it is."""

    def __init__(self, recordings: Iterable[Recording]) -> None:
        self._recordings = tuple(recordings)
        found: set[str] = set()
        self._numbers: set[str] = set()
        for value in _secret_values(self._recordings):
            if isinstance(value, str):
                # A secret of the stack file has a placeholder here, which gives nothing away.
                found |= {part for part in _PLACEHOLDER.sub("\0", value).split("\0") if len(part.strip()) >= SHORTEST}
            elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 1000:
                self._numbers.add(str(value))
        self._texts = tuple(sorted(found - {wire.UNKNOWN, wire.SECRET}, key=lambda text: (-len(text), text)))

    def __bool__(self) -> bool:
        return bool(self._texts or self._numbers)

    def whole(self, text: str) -> str:
        """The text without the values that are secret as a whole."""
        return self._whole.sub(wire.SECRET, text) if self._texts else text

    def text(self, text: str) -> str:
        """The same, without pieces of them either."""
        if not self:
            return text
        kept = self.whole(text)
        if self._numbers:
            kept = re.sub(r"(?<![\w.])\d[\d.]*(?![\w.])", lambda hit: self._number(hit[0]), kept)
        return wire.SECRET.join(self._without_pieces(part) for part in kept.split(wire.SECRET))

    def value(self, value: Any) -> Any:
        """A value of any kind, before it is cut to a length that nobody recognises."""
        if not self:
            return value
        if isinstance(value, Mapping):
            return {self.text(str(key)): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        if isinstance(value, str):
            piece = len(value) >= SHORTEST and value not in self._public and any(value in text for text in self._texts)
            return wire.SECRET if piece else self.text(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return wire.SECRET if str(value) in self._numbers else value
        return value

    def finding(self, finding: Finding) -> Finding:
        if not self:
            return finding
        problem = finding.problem
        told = replace(
            problem,
            path=self.text(problem.path),
            rule=self.text(problem.rule),
            remedy=self.text(problem.remedy),
            value=self.value(problem.value),
        )
        return replace(finding, problem=told, property=self.text(finding.property))

    def report(self, report: Report) -> Report:
        return Report.model_validate(self._mapped(report.model_dump())) if self else report

    def _mapped(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: item if key in _KEPT else self._entry(key, item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._mapped(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _entry(self, key: str, item: Any) -> Any:
        return self.value(item) if key in ("before", "after") else self._mapped(item)

    @cached_property
    def _whole(self) -> re.Pattern[str]:
        """Longest first; what is as long as a word must be one."""
        spelt = {form for text in self._texts for form in _spellings(text)}
        options = (
            re.escape(form) if len(form) >= _PIECE else rf"(?<![A-Za-z0-9]){re.escape(form)}(?![A-Za-z0-9])"
            for form in sorted(spelt, key=lambda form: (-len(form), form))
        )
        return re.compile("|".join((re.escape(wire.SECRET), *options)))

    def _number(self, written: str) -> str:
        return wire.SECRET if written in self._numbers else written

    def _without_pieces(self, text: str) -> str:
        covered = [False] * len(text)
        for start, end in (*self._pieces(text), *self._words(text)):
            covered[start:end] = [True] * (end - start)
        kept: list[str] = []
        for place, character in enumerate(text):
            if not covered[place]:
                kept.append(character)
            elif place == 0 or not covered[place - 1]:
                kept.append(wire.SECRET)
        return "".join(kept)

    def _pieces(self, text: str) -> Iterator[tuple[int, int]]:
        """Runs of characters that stand in a secret, to the ends of their words."""
        start = 0
        while start + _PIECE <= len(text):
            if text[start : start + _PIECE] not in self._grams:
                start += 1
                continue
            end = start + _PIECE
            while end < len(text) and text[end - _PIECE + 1 : end + 1] in self._grams:
                end += 1
            words = [word for word in _WORD.finditer(text) if word.start() < end and start < word.end()]
            telling = _PUNCTUATION.sub("", text[start:end])
            if len(telling) >= _PIECE - 1 and not (words and all(word[0] in self._public for word in words)):
                first = end - len(text[start:end].lstrip())
                last = start + len(text[start:end].rstrip())
                yield min((first, *(word.start() for word in words))), max((last, *(word.end() for word in words)))
            start = end

    def _words(self, text: str) -> Iterator[tuple[int, int]]:
        """Short words of secrets: those with a digit, and those that are quoted."""
        for word in _WORD.finditer(text):
            if SHORTEST <= len(word[0]) < _PIECE and word[0] in self._secret_words and word[0] not in self._public:
                beside = text[max(word.start() - 1, 0) : word.start()] + text[word.end() : word.end() + 1]
                if any(map(str.isdigit, word[0])) or any(quote in beside for quote in "'\"`"):
                    yield word.span()

    @cached_property
    def _grams(self) -> frozenset[str]:
        return frozenset(
            form[place : place + _PIECE]
            for text in self._texts
            for form in _spellings(text)
            for place in range(len(form) - _PIECE + 1)
        )

    @cached_property
    def _secret_words(self) -> frozenset[str]:
        return frozenset(word for text in self._texts for word in _WORD.findall(text))

    @cached_property
    def _public(self) -> str:
        """All that stands outside of the marks."""
        return "\n".join(sorted({text for recording in self._recordings for text in _clear(recording)}))


def _spellings(text: str) -> set[str]:
    """A text as it is and as messages write it: quoted, in JSON, on one line."""
    return {text, repr(text)[1:-1], json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1],
            " ".join(text.split())}  # fmt: skip


def _parts(recording: Recording) -> Iterator[Any]:
    for resource in recording.resources:
        yield from (resource.inputs, resource.outputs)
    yield recording.outputs
    yield from (read.inputs for read in recording.reads)
    yield from (invoke.arguments for invoke in recording.invokes)


def _secret_values(recordings: Iterable[Recording]) -> Iterator[Any]:
    for recording in recordings:
        for part in _parts(recording):
            yield from _below_marks(part, marked=False)


def _below_marks(value: Any, *, marked: bool) -> Iterator[Any]:
    if isinstance(value, Mapping):
        if wire.RESOURCE not in value:
            for key, item in value.items():
                yield from _below_marks(item, marked=marked or (key == wire.SECRET and len(value) == 1))
    elif isinstance(value, list):
        for item in value:
            yield from _below_marks(item, marked=marked)
    elif marked:
        yield value


def _clear(recording: Recording) -> Iterator[str]:
    for resource in recording.resources:
        yield from (resource.urn, resource.name)
    for part in _parts(recording):
        yield from _strings(wire.conceal(part))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, str):
        yield value
