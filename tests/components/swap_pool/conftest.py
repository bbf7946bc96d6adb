from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from components.swap_pool import SwapPool
from floodplain.problem import problems_of

GOOD: dict[str, Any] = {
    "name": "swap",
    "families": ["r6id"],
    "limits": {"cpu": "256", "memory": "2Ti"},
    "ami": {"alias": "al2023@v20260714"},
}


@pytest.fixture
def pool() -> Callable[..., SwapPool]:
    """A valid pool with some keys set anew."""
    return lambda **changes: SwapPool.model_validate({**GOOD, **changes})


@pytest.fixture
def told() -> Callable[..., list[str]]:
    """What a person is told about a pool with some keys set anew."""

    def problems(**changes: Any) -> list[str]:
        settings = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
        try:
            SwapPool.model_validate(settings)
        except ValidationError as error:
            return [str(problem) for problem in problems_of(error, SwapPool)]
        return []

    return problems
