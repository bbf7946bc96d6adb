"""IAM documents as text: one form, the same bytes on every run. Not for what a document grants."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Statement = dict[str, Any]


def document(statements: Sequence[Statement]) -> str:
    """A policy document as compact JSON with sorted keys."""
    content = {"Version": "2012-10-17", "Statement": list(statements)}
    return json.dumps(content, separators=(",", ":"), sort_keys=True)
