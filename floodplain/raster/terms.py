"""The answer of an estimate: terms that add up to a peak. Not how they are computed: that is `model`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One part of a peak in bytes, with what it is."""

    name: str
    """Short and stable: `destination`, `block cache`, `warp chunk`, `source array` ..."""
    bytes: int
    why: str
    """The arithmetic, in words and figures."""


@dataclass(frozen=True)
class Estimate:
    """The marginal peak of one task: memory beyond what a warmed-up worker process holds anyway."""

    terms: tuple[Term, ...]
    factor: float = 1.0
    """Of the layer's calibration; 1 without one."""
    notes: tuple[str, ...] = ()
    """What a user should know: hidden sidecars, an overview taken, a halo."""

    @property
    def peak_bytes(self) -> int:
        return round(sum(term.bytes for term in self.terms) * self.factor)
