from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from components.swap_pool import SwapNodePoolSettings
from floodplain.problem import problems_of

GOOD: dict[str, Any] = {
    "name": "swap",
    "families": ["r6id"],
    "limits": {"cpu": "256", "memory": "2Ti"},
    "ami": {"alias": "al2023@v20260714"},
    "cluster": {"name": "prod", "kubernetesVersion": "1.34"},
}


@pytest.fixture
def pool() -> Callable[..., SwapNodePoolSettings]:
    """A valid pool with some keys set anew."""
    return lambda **changes: SwapNodePoolSettings.model_validate({**GOOD, **changes})


@pytest.fixture
def told() -> Callable[..., list[str]]:
    """What a person is told about a pool with some keys set anew."""

    def problems(**changes: Any) -> list[str]:
        settings = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
        try:
            SwapNodePoolSettings.model_validate(settings)
        except ValidationError as error:
            return [str(problem) for problem in problems_of(error, SwapNodePoolSettings)]
        return []

    return problems
