"""ODM's options: which there are, how people write them, and which of them move the memory peak.

Names and choices as ODM 3.5's command line takes them (OpenDroneMap/ODM, opendm/config.py). Not what they cost:
that is the predictor's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, model_validator

from floodplain.problem import RuleError, did_you_mean, raise_rules
from floodplain.settings import Settings


class Quality(StrEnum):
    """ODM's steps of quality; each below `ultra` halves the side of the images that a stage works on."""

    ULTRA = "ultra"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    LOWEST = "lowest"


Kind = Literal["flag", "count", "number", "quality", "text"]

_FLAGS = """
3d-tiles auto-boundary build-overviews cog debug dem-euclidean-map dsm dtm fast-orthophoto
force-gps gltf ignore-gsd merge-skip-blending no-gpu optimize-disk-space orthophoto-cutline orthophoto-kmz
orthophoto-no-tiled orthophoto-png pc-classify pc-copc pc-csv pc-ept pc-las pc-rectify pc-skip-geometric rerun-all
rolling-shutter sfm-no-partial skip-3dmodel skip-band-alignment skip-orthophoto skip-report sky-removal bg-removal
sm-no-align texturing-keep-unseen-faces texturing-single-material texturing-skip-global-seam-leveling tiles use-3dmesh
use-exif use-fixed-camera-params use-hybrid-bundle-adjustment verbose version
"""
_COUNTS = """
dem-decimation dem-gapfill-steps matcher-neighbors matcher-order max-concurrency mesh-octree-depth mesh-size
min-num-features resize-to rolling-shutter-readout split split-overlap video-limit video-resolution
"""
_NUMBERS = """
auto-boundary-distance crop dem-resolution gps-accuracy gps-z-offset orthophoto-resolution pc-filter pc-sample
smrf-scalar smrf-slope smrf-threshold smrf-window
"""
_TEXTS = """
align boundary camera-lens cameras copy-to end-with feature-type gcp geo matcher-type merge name orthophoto-compression
primary-band project-path radiometric-calibration rerun rerun-from sfm-algorithm sm-cluster split-image-groups
"""
_QUALITIES = "feature-quality pc-quality"
KINDS: dict[str, Kind] = {
    **dict.fromkeys(_FLAGS.split(), "flag"),
    **dict.fromkeys(_COUNTS.split(), "count"),
    **dict.fromkeys(_NUMBERS.split(), "number"),
    **dict.fromkeys(_TEXTS.split(), "text"),
    **dict.fromkeys(_QUALITIES.split(), "quality"),
}
"""Every option and what its value is."""

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "null", "")
_LONGEST = 10_000
_MOST_DIGITS = 12


class OdmOptions(Settings):
    """The options of one job. Read from `dsm,pc-quality=high`, from a list of such texts, or from a map.

    `--` before a name may be written or not. Those that do not move the peak are kept in `others`.
    """

    dsm: bool = False
    dtm: bool = False
    fast_orthophoto: bool = False
    skip_3dmodel: bool = False
    skip_orthophoto: bool = False
    use_3dmesh: bool = False
    pc_skip_geometric: bool = False
    pc_quality: Quality | None = None
    """None is ODM's default, medium."""
    feature_quality: Quality | None = None
    """None is ODM's default, high."""
    split: int | None = Field(default=None, ge=1)
    """Images a submodel; None or more than the job has is no split."""
    split_overlap: int | None = Field(default=None, ge=0)
    resize_to: int | None = None
    """Longest side in pixels for feature extraction only; ODM dropped it with version 3. -1 is off."""
    max_concurrency: int | None = Field(default=None, ge=1)
    boundary: bool = False
    others: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What was given, as `name` or `name=value`, in alphabetical order."""
        found = list(self.others)
        for field in type(self).model_fields:
            value = getattr(self, field)
            name = field.replace("_", "-")
            if field == "others" or value is None or value is False:
                continue
            found.append(name if value is True else f"{name}={value}")
        return tuple(sorted(found))

    @model_validator(mode="before")
    @classmethod
    def _read(cls, given: Any) -> Any:
        if isinstance(given, OdmOptions):
            return given
        if isinstance(given, str):
            if len(given) > _LONGEST:
                raise RuleError(f"is longer than {_LONGEST:,} characters", "write fewer options")
            given = [part for part in re.split(r"[,\n]|\s(?=--)", given) if part.strip()]
        if isinstance(given, Mapping):
            if "others" in given:
                # No option of ODM: one of these models, written out and read again.
                if isinstance(given["others"], list | tuple):
                    raise_rules(_wrong(given["others"]))
                return dict(given)
            given = [_text(name, value) for name, value in given.items() if value is not None and value is not False]
        if not isinstance(given, list | tuple):
            raise RuleError("is not a list of options", "write dsm,pc-quality=high or a list of such texts")
        raise_rules(_wrong(given))
        return _settings([_pair(one) for one in given])


def _text(name: Any, value: Any) -> str:
    return str(name) if value is True else f"{name}={value}"


def _pair(text: str) -> tuple[str, str | None]:
    """Name and value of `name`, `--name`, `name=value` and `--name value`."""
    found = re.fullmatch(r"(?:--)?([^=\s]*)(?:\s*=\s*|\s+|$)(.*)", text.strip(), re.DOTALL)
    name, value = found.groups() if found else (text, "")
    has_value = bool(value) or "=" in text
    return name.lower().replace("_", "-"), value if has_value else None


def _wrong(given: list[Any] | tuple[Any, ...]) -> Iterator[RuleError]:
    seen: dict[str, str] = {}
    for position, text in enumerate(given):
        if not isinstance(text, str):
            yield RuleError("is not an option", "write its name, or name=value", (position,), text)
            continue
        name, value = _pair(text)
        kind = KINDS.get(name)
        if kind is None:
            hint = did_you_mean(name, sorted(KINDS)) or "see `odm --help` for the options there are"
            yield RuleError("is no option of ODM", hint, (position,), text)
            continue
        # That there is a boundary is all that counts here, and all that is kept.
        wrong = None if name == "boundary" else _wrong_value(kind, value)
        if wrong:
            yield RuleError(*wrong, (position,), text)
        elif name in seen and seen[name] != _meaning(kind, value):
            yield RuleError("is given twice with different values", "keep one of them", (position,), text)
        seen[name] = _meaning(kind, value)


def _meaning(kind: Kind, value: str | None) -> str:
    """The same text for the same value, however it is written."""
    if kind == "flag":
        return str(_is_on(value))
    text = str(value)
    return {"count": text.lstrip("0") or "0", "quality": text.lower()}.get(kind, text)


def _is_on(value: str | None) -> bool:
    return value is None or value.lower() not in _FALSE


def _wrong_value(kind: Kind, value: str | None) -> tuple[str, str] | None:
    if kind == "flag":
        if value is not None and value.lower() not in (*_TRUE, *_FALSE):
            return "takes no value", "write its name alone"
        return None
    if value is None or not value:
        return "needs a value", "write name=value"
    if kind == "quality" and value.lower() not in tuple(Quality):
        return "is no quality of ODM", f"write one of {', '.join(Quality)}"
    if kind == "count" and not (value.removeprefix("-").isascii() and value.removeprefix("-").isdigit()):
        return "is not a whole number", "write digits"
    if kind == "count" and len(value) > _MOST_DIGITS:
        return f"has more than {_MOST_DIGITS} digits", "write a smaller number"
    if kind == "number" and not _is_number(value):
        return "is not a number", "write digits"
    return None


def _is_number(text: str) -> bool:
    # ODM allows auto, such as `pc-filter=auto`.
    try:
        return text == "auto" or abs(float(text)) < 1e15
    except ValueError:
        return False


def _settings(pairs: list[tuple[str, str | None]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    others: list[str] = []
    for name, value in pairs:
        field = name.replace("-", "_")
        kind = KINDS[name]
        on = _is_on(value)
        if kind == "flag":
            if field in OdmOptions.model_fields:
                found[field] = on
            elif on:
                others.append(name)
        elif name == "boundary":
            found[field] = True
        elif field in OdmOptions.model_fields:
            text = str(value)
            found[field] = text.lower() if kind == "quality" else int(text)
        else:
            others.append(f"{name}={value}")
    return {**found, "others": tuple(sorted(set(others)))}
