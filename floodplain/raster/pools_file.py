"""The two pools as a file holds them (raster.json, which the component WorkerPools writes). Pure: takes bytes.

One JSON map with the fields of `TwoPools`, in camelCase or snake_case; what it leaves out has TwoPools' default.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError

from floodplain.json_once import once
from floodplain.problem import Problem, ProblemsError, RuleError, problems_of
from floodplain.quantity import to_bytes
from floodplain.raster.counted import LEAST_BYTES
from floodplain.raster.two_pools import TwoPools
from floodplain.settings import Settings

_EXAMPLE = 'write one, such as {"slots": 8, "smallLimitBytes": "8Gi", "bigLimitBytes": "16Gi"}'


class PoolsFileError(ProblemsError):
    """A file of pools that cannot be used. `problems` lists everything wrong, each with its key."""


def size_bytes(text: str | int) -> int:
    """Bytes of a size as people write it: a Kubernetes quantity, or the same with a B behind (256MiB).

    Raises QuantityError. MB is refused, since GDAL means MiB by it and others a million bytes.
    """
    if isinstance(text, str) and text.strip().endswith("iB"):
        text = text.strip().removesuffix("B")
    return to_bytes(text.strip() if isinstance(text, str) else text)


def option_bytes(text: str) -> int:
    """The same for an option, where a bare 64 may mean MiB, as it does to GDAL. Raises RuleError below 1 MiB."""
    count = size_bytes(text)
    if 0 < count < LEAST_BYTES:
        remedy = f"write the unit too: {text}Mi if MiB are meant" if text.isdigit() else "write a size such as 256Mi"
        raise RuleError(f"{text!r} is less than 1 MiB", remedy)
    return count


def _bytes(value: Any) -> Any:
    return size_bytes(value) if isinstance(value, str) else value


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RuleError("should be a whole number", "write digits without quotes", value=value)
    return value


Size = Annotated[int, BeforeValidator(_count), BeforeValidator(_bytes)]
Count = Annotated[int, BeforeValidator(_count)]


class PoolsFile(Settings):
    """The file; None: TwoPools' own default."""

    slots: Count | None = None
    small_limit_bytes: Size | None = None
    big_limit_bytes: Size | None = None
    baseline_bytes: Size | None = None
    cache_bytes: Size | None = None
    processes: Count | None = None
    agent_bytes: Size | None = None
    given_threshold_bytes: Size | None = None

    @property
    def given(self) -> dict[str, int]:
        """What it says, by the names of TwoPools' fields."""
        return self.model_dump(exclude_none=True)


def read_pools_file(content: bytes) -> PoolsFile:
    """The pools in JSON bytes; rules over several fields are TwoPools'. Raises PoolsFileError with every problem."""
    try:
        loaded: Any = json.loads(content, object_pairs_hook=once)
    except RuleError as error:
        raise PoolsFileError([Problem("the pools", error.rule, error.remedy, error.value)]) from error
    except (ValueError, RecursionError) as error:
        raise PoolsFileError([Problem("the pools", f"are not JSON ({error})", _EXAMPLE)]) from error
    if not isinstance(loaded, dict):
        raise PoolsFileError([Problem("the pools", "are no map", _EXAMPLE)])
    try:
        return PoolsFile.model_validate(loaded)
    except ValidationError as error:
        raise PoolsFileError(problems_of(error, PoolsFile)) from error


def two_pools(*sources: dict[str, int]) -> TwoPools:
    """The pools of the defaults, then each source over those before it. Raises ProblemsError."""
    merged: dict[str, int] = {}
    for source in sources:
        merged |= source
    return TwoPools(**merged)
