"""What somebody wants to run: the question that a prediction and a plan answer.

Not where it comes from (a command line, a request, a pod's annotations) and not what it needs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from floodplain.problem import RuleError
from floodplain.settings import Settings
from floodplain.sizing.odm.options import OdmOptions

MOST_IMAGES = 1_000_000
"""Above this a count is a mistake: the largest public ODM job has 11,972."""


class Engine(StrEnum):
    """Programs whose memory we can predict."""

    ODM = "odm"


class CapacityType(StrEnum):
    """Karpenter's capacity types."""

    SPOT = "spot"
    ON_DEMAND = "on-demand"
    RESERVED = "reserved"


def _count(value: object) -> object:
    """A count as people write it: digits, as a number or as text (annotations hold only text)."""
    if isinstance(value, str):
        text = value.strip()
        if not text.isascii() or not text.isdigit() or len(text) > len(str(MOST_IMAGES)) + 1:
            raise RuleError("is not a count of images", f"write a whole number from 1 to {MOST_IMAGES}", value=value)
        value = int(text)
    if isinstance(value, float) and not isinstance(value, bool):
        raise RuleError("is not a whole number", "leave the fraction out", value=value)
    if isinstance(value, int) and not isinstance(value, bool) and not 1 <= value <= MOST_IMAGES:
        raise RuleError(f"is not from 1 to {MOST_IMAGES}", "write how many images the job reads", value=value)
    return value


class Workload(Settings):
    """One job. Everything but the count may be left out."""

    engine: Engine = Engine.ODM
    images: Annotated[int, Field(strict=True), BeforeValidator(_count)]
    """How many images the job reads."""
    options: OdmOptions = OdmOptions()
    """The engine's own options: `dsm,pc-quality=high` or a list."""
    megapixels: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = None
    """Of one image; unknown if left out."""
    capacity_type: CapacityType | None = None
    """Asked for by the user; None leaves it to the planner."""
    deadline_seconds: Annotated[int, Field(gt=0, strict=True)] | None = None
    """After which the job is ended anyway."""
