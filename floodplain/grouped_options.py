"""Commands that share options take a dataclass of them, in place of a parameter each. Pure.

typer reads a command's options from its signature, and has none for groups of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer wants it: each parameter that is a dataclass becomes an option for each of its fields.

    Options keep the order of parameters and fields. Names of all of them differ.
    """
    groups: dict[str, Any] = {}
    flat: list[Parameter] = []
    for name, parameter in signature(command, eval_str=True).parameters.items():
        group = parameter.annotation
        if not is_dataclass(group):
            flat.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            continue
        groups[name] = group
        hints = get_type_hints(group, include_extras=True)
        for field in fields(group):
            flat.append(
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
            )

    def call(**given: Any) -> None:
        made = {
            name: group(**{one.name: given.pop(one.name) for one in fields(group)}) for name, group in groups.items()
        }
        command(**made, **given)

    call.__name__, call.__doc__, call.__module__ = command.__name__, command.__doc__, command.__module__
    setattr(call, "__signature__", Signature(flat))  # noqa: B010 - mypy knows of none of a function
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return call
