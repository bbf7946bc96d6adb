"""Component arguments as they stand in a stack file. No tests of its own."""

from __future__ import annotations

from typing import Any

from pydantic.alias_generators import to_camel

# What stands below these is the user's own.
FREE = frozenset({"values", "tags", "node_role_policies"})


def in_stack_spelling(value: Any) -> Any:
    """camelCase keys instead of snake_case, at every depth."""
    if isinstance(value, dict):
        return {to_camel(key): item if key in FREE else in_stack_spelling(item) for key, item in value.items()}
    return [in_stack_spelling(item) for item in value] if isinstance(value, list) else value
