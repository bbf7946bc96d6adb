"""What somebody wants to run: the question that a prediction and a plan answer.

Not where it comes from (a command line, a request, a pod's annotations) and not what it needs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticKnownError

from floodplain.problem import RuleError
from floodplain.quantity import MIB, BytesText, from_bytes, to_bytes
from floodplain.settings import Settings
from floodplain.sizing.odm.options import OdmOptions

MOST_IMAGES = 1_000_000
"""Above this a count is a mistake: the largest public ODM job has 11,972."""


LEAST_PEAK_BYTES = MIB
"""Below this a peak lacks its unit: no process holds less."""
LONGEST_ESTIMATE = 500


class Engine(StrEnum):
    """Programs whose memory is known before they run."""

    ODM = "odm"
    """OpenDroneMap: predicted from the count of images."""
    RASTER = "raster"
    """A raster task: estimated from headers before, by `floodplain raster`, and only carried here."""


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
    """One job. Of odm `images` must be given, of raster `peak`; everything else may be left out."""

    engine: Engine = Engine.ODM
    images: Annotated[int, Field(strict=True), BeforeValidator(_count)] | None = None
    """How many images an odm job reads."""
    options: OdmOptions = OdmOptions()
    """ODM's own options: `dsm,pc-quality=high` or a list."""
    megapixels: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] | None = None
    """Of one image of an odm job; unknown if left out."""
    peak: BytesText | None = None
    """Of a raster task: the most its container will hold, baseline of the process included, as a quantity."""
    estimate: str | None = None
    """How that peak was found, in a few words. Only shown."""
    capacity_type: CapacityType | None = None
    """Asked for by the user; None leaves it to the planner."""
    deadline_seconds: Annotated[int, Field(gt=0, strict=True)] | None = None
    """After which the job is ended anyway."""

    @field_validator("images", "options", "megapixels", "peak", "estimate", mode="before")
    @classmethod
    def _of_the_engine(cls, value: Any, info: ValidationInfo) -> Any:
        """What one engine needs another refuses. Nothing is said where the engine itself is wrong."""
        engine, field = info.data.get("engine"), str(info.field_name)
        if engine is None:
            return value
        if value is None and field == REQUIRED[engine]:
            raise PydanticKnownError("missing")
        if field not in _FIELDS[engine] and value != cls.model_fields[field].default:
            other = next(one for one, fields in _FIELDS.items() if field in fields)
            raise RuleError(f"does not go with engine {engine.value}", f"leave it out, or set engine to {other.value}")
        return value

    @field_validator("peak")
    @classmethod
    def _a_peak(cls, value: str | None) -> str | None:
        if value is not None and to_bytes(value) < LEAST_PEAK_BYTES:
            rule = f"is less than {from_bytes(LEAST_PEAK_BYTES)}, which every process holds"
            raise RuleError(rule, "write the unit too, such as 1536Mi", value=value)
        return value

    @field_validator("estimate")
    @classmethod
    def _short(cls, value: str | None) -> str | None:
        if value is not None and len(value) > LONGEST_ESTIMATE:
            raise RuleError(f"is longer than {LONGEST_ESTIMATE} characters", "keep the largest terms", value=value)
        return value

    @property
    def image_count(self) -> int:
        """Of an odm job. Raises ValueError for another engine's."""
        if self.images is None:
            raise ValueError(f"a job of engine {self.engine.value} has no images")
        return self.images

    @property
    def peak_bytes(self) -> int:
        """Of a raster task. Raises ValueError for another engine's."""
        if self.peak is None:
            raise ValueError(f"a job of engine {self.engine.value} carries no peak")
        return to_bytes(self.peak)


REQUIRED = {Engine.ODM: "images", Engine.RASTER: "peak"}
_FIELDS = {Engine.ODM: ("images", "options", "megapixels"), Engine.RASTER: ("peak", "estimate")}
"""Fields of one engine alone."""
