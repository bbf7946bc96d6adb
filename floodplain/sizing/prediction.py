"""What peak a job will have: the answer of a predictor, whichever it is. Not what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Confidence(StrEnum):
    """How far a predicted peak can be trusted."""

    HIGH = "high"
    """Between observations of the same kind, or measured."""
    MEDIUM = "medium"
    """Between observations, some of what moves the peak unknown."""
    LOW = "low"
    """Beyond what has been observed."""


@dataclass(frozen=True)
class Prediction:
    """A peak in bytes of memory (RAM and swap together), and how we know."""

    peak_bytes: int
    peak_source: str
    """What it rests on, for people: a model and its data."""
    confidence: Confidence
    confidence_reason: str
    notes: tuple[str, ...] = ()
    """What a user should know of it: clamps, ignored options, steps left out."""
    hot_share: float | None = None
    """Of the peak, what is touched all the time and must be resident, where that is known of such jobs; otherwise the
    pool says it of its jobs."""
