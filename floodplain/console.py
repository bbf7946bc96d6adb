"""A rich console that is wide enough to show something. Edge: reads the environment."""

from __future__ import annotations

import os

from rich.console import Console


def console() -> Console:
    """As wide as COLUMNS says, where that is a width."""
    # Rich would believe COLUMNS=0 and show nothing.
    others = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    columns = os.environ.get("COLUMNS", "")
    readable = columns.isascii() and columns.isdigit() and int(columns[:5]) >= 20
    return Console(width=int(columns[:5]) if readable else None, highlight=False, _environ=others)
