"""Faults of any user data text."""

from __future__ import annotations

from floodplain.problem import Problem


def problems_of_user_data(text: str) -> list[Problem]:
    """Placeholder until the checker lands."""
    return []
