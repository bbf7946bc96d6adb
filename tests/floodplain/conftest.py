"""Hypothesis settings for this room: enough examples to find edges, few enough for two cores."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("floodplain", max_examples=100, deadline=None)
settings.load_profile("floodplain")
