"""Rules between the keys of a settings model, told in the same go as faults of single keys.

Pydantic stops before its model validators when a single key is wrong. A person who mends a file wants to see
everything at once, so here each rule names the keys it needs and runs whenever those are sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Self, TypeVar

from pydantic import ModelWrapValidatorHandler, TypeAdapter, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from floodplain.problem import BrokenRulesError, RuleError, raise_rules
from floodplain.settings import Settings

_MARK = "__floodplain_rule__"
WHOLE = "*"
"""Needed by a rule that can look at nothing unless every field is sound."""
F = TypeVar("F", bound=Callable[..., Iterable[RuleError]])


@dataclass(frozen=True)
class _Rule:
    needs: frozenset[str]
    each: str | None
    check: Callable[..., Iterable[RuleError]]


def rule(*needs: str, each: str | None = None) -> Callable[[F], F]:
    """Mark a method that yields a RuleError for each way in which the model breaks a rule.

    It runs when the fields `needs` are sound, whatever else is wrong. With `each`, the name of a field that holds a
    list, it is called with one sound item after the other; the paths of its errors then start below the item.
    """

    def mark(check: F) -> F:
        setattr(check, _MARK, _Rule(frozenset(needs), each, check))
        return check

    return mark


class RuledSettings(Settings):
    """Settings with rules between their keys, as methods marked with `rule`."""

    @model_validator(mode="wrap")
    @classmethod
    def _tell_everything(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            model = handler(data)
        except ValidationError as error:
            broken = tuple(_broken_among_sound(cls, data, error)) if isinstance(data, Mapping) else ()
            if not broken:
                raise
            raise _joined(cls, data, error, broken) from None
        raise_rules(_broken(cls, model, set(cls.model_fields), lambda field, index: True))
        return model


def _broken(
    cls: type[Settings], model: Any, sound: set[str], item_is_sound: Callable[[str, int], bool]
) -> Iterator[RuleError]:
    for one in _rules_of(cls):
        needs = set(cls.model_fields) if WHOLE in one.needs else one.needs
        if not needs <= sound:
            continue
        if one.each is None:
            yield from one.check(model)
            continue
        for index, item in enumerate(getattr(model, one.each, ())):
            if item_is_sound(one.each, index):
                for error in one.check(model, item):
                    yield RuleError(error.rule, error.remedy, (one.each, index, *error.path), error.value)


def _broken_among_sound(cls: type[Settings], data: Mapping[str, Any], error: ValidationError) -> Iterator[RuleError]:
    """What the rules say of those keys, and of those items of lists, that have no fault of their own."""
    faulty = {(name, *where[1:]) for where in _locations(error) if (name := _field(cls, where)) is not None}
    faulty_fields = {where[0] for where in faulty}
    values: dict[str, Any] = {}
    for name, field in cls.model_fields.items():
        given = data.get(name, data.get(field.alias or name))
        if name not in faulty_fields and given is not None:
            values[name] = _adapter(cls, name).validate_python(given)
        elif isinstance(given, list | tuple):
            values[name] = _sound_items(
                cls, name, given, {where[1] for where in faulty if where[0] == name and where[1:]}
            )
    model = cls.model_construct(**values)
    yield from _broken(
        cls,
        model,
        set(cls.model_fields) - faulty_fields,
        lambda name, index: name in values and values[name][index] is not None,
    )


def _sound_items(cls: type[Settings], name: str, given: Any, faulty: set[Any]) -> list[Any]:
    """The items of a list, None in the place of each faulty one."""
    if not faulty:
        return [None for _ in given]
    whole = _adapter(cls, name)
    return [None if index in faulty else whole.validate_python([item])[0] for index, item in enumerate(given)]


def _joined(cls: type[Settings], data: Any, error: ValidationError, broken: Iterable[RuleError]) -> ValidationError:
    told: list[InitErrorDetails] = [
        {"type": one["type"], "loc": one["loc"], "input": one["input"], "ctx": one.get("ctx", {})}
        for one in error.errors()
    ]
    ours = BrokenRulesError(broken)
    told.append({"type": "value_error", "loc": (), "input": data, "ctx": {"error": ours}})
    return ValidationError.from_exception_data(cls.__name__, told)


def _locations(error: ValidationError) -> Iterator[tuple[Any, ...]]:
    for one in error.errors(include_url=False):
        cause = one.get("ctx", {}).get("error")
        rules = cause.errors if isinstance(cause, BrokenRulesError) else ()
        for found in rules or (cause,):
            yield (*one["loc"], *(found.path if isinstance(found, RuleError) else ()))


def _field(cls: type[Settings], where: tuple[Any, ...]) -> str | None:
    return next((name for name, field in cls.model_fields.items() if where and where[0] in (name, field.alias)), None)


@cache
def _rules_of(cls: type[Settings]) -> tuple[_Rule, ...]:
    """The rules of a model in the order in which they stand, those of its bases first."""
    found: dict[str, _Rule] = {}
    for owner in reversed(cls.__mro__):
        for name, value in vars(owner).items():
            if hasattr(value, _MARK):
                found[name] = getattr(value, _MARK)
    return tuple(found.values())


@cache
def _adapter(cls: type[Settings], name: str) -> TypeAdapter[Any]:
    field = cls.model_fields[name]
    annotation: Any = field.annotation
    for extra in field.metadata:
        annotation = Annotated[annotation, extra]
    return TypeAdapter(annotation)
