"""Where in a settings model an error lies, as a person writes it: `pools[0].limits.memory`.

Follows pydantic's locations through fields, lists, maps, optionals and unions. Says nothing of the error.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

Location = tuple[str | int, ...]

_KEY_OF_MAP = "[key]"


@dataclass(frozen=True)
class Place:
    """A location as text, and the model that owns its last key."""

    text: str
    owner: type[BaseModel] | None


def locate(location: Location, model: type[BaseModel], *, prefix: str = "", snake: bool = False) -> Place:
    """Walk a location. Keys are written as in YAML (their aliases) or, with `snake`, as in Python.

    Pydantic puts the name of an alternative into the locations of a union; it is no key and is left out.
    """
    text = prefix
    options: list[Any] = [model]
    owner: type[BaseModel] | None = None
    for part in location:
        chosen = _alternative(options, part)
        if chosen is not None:
            options = chosen
            continue
        if isinstance(part, int) and (items := _arguments(options, (list, tuple, Sequence, set, frozenset))):
            text += f"[{part}]"
            options = items
            continue
        if part == _KEY_OF_MAP:
            continue
        owner, key, options = _step(options, part, snake)
        text += f".{key}" if text else key
    return Place(text, owner)


def empty_maps(value: Any, model: type[BaseModel]) -> Iterator[Place]:
    """Keys of `value` without a value where an optional map of settings is meant: they would count as left out."""
    for location in _empty_maps(value, [model], ()):
        yield locate(location, model)


def _empty_maps(value: Any, options: list[Any], location: Location) -> Iterator[Location]:
    if isinstance(value, list | tuple):
        items = _arguments(options, (list, tuple, Sequence))
        for index, item in enumerate(value):
            yield from _empty_maps(item, items, (*location, index))
    for model in _models(options) if isinstance(value, Mapping) else ():
        for name, field in model.model_fields.items():
            for key in {name, field.alias or name} & {*value}:
                below, place = _options(field.annotation), (*location, key)
                if value[key] is not None:
                    yield from _empty_maps(value[key], below, place)
                elif _models(below) and type(None) in typing.get_args(field.annotation):
                    yield place


def keys(model: type[BaseModel], snake: bool) -> list[str]:
    """The keys that a model knows, as YAML or Python writes them."""
    return [name if snake else (field.alias or name) for name, field in model.model_fields.items()]


def _step(options: list[Any], part: str | int, snake: bool) -> tuple[type[BaseModel] | None, str, list[Any]]:
    models = _models(options)
    for model in models:
        for name, field in model.model_fields.items():
            if part in (name, field.alias):
                return model, name if snake else (field.alias or name), _options(field.annotation)
    return (models[0] if models else None), str(part), _arguments(options, (dict,), index=1)


def _alternative(options: list[Any], part: str | int) -> list[Any] | None:
    """The options left when `part` names one alternative of a union, or None when it is a key or index."""
    if len(options) < 2 or not isinstance(part, str):
        return None
    kind = part.partition("[")[0]
    named = [option for option in options if getattr(option, "__name__", None) == kind]
    if named:
        return named
    keyed = any(part in (name, field.alias) for model in _models(options) for name, field in model.model_fields.items())
    return None if keyed or _arguments(options, (dict,)) else options[:1]


def _models(options: list[Any]) -> list[type[BaseModel]]:
    return [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]


def _options(annotation: Any) -> list[Any]:
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _options(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return [option for one in typing.get_args(annotation) for option in _options(one)]
    return [] if annotation in (None, type(None)) else [annotation]


def _arguments(options: list[Any], origins: tuple[Any, ...], index: int = 0) -> list[Any]:
    for option in options:
        if typing.get_origin(option) in origins:
            return _options(typing.get_args(option)[index])
        if option in origins:
            return [Any]
    return []
