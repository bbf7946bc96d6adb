"""The base of every model here: reads manifests or Python arguments and reports everything wrong at once.

pydantic alone runs rules over several fields only when each field is sound; the API server's messages come in
portions too. Here such rules always run, so that one look is enough. Not a model of any object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

from pydantic import ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator
from pydantic_core import InitErrorDetails

from floodplain.problem import RuleError, did_you_mean
from floodplain.settings import Settings

from .scalars import kind_of

Raw = Mapping[str, Any]
"""A part of a manifest with camelCase keys, without nulls; when its structure is broken, anything."""

CrossRule = Callable[[Raw], Iterable[RuleError]]

MANIFEST = "manifest"
"""Validation context: only camelCase keys count, since the API server knows no others."""

DROPPED = "is not a key here, and the API server drops it with no more than a warning to Pulumi"
"""kubectl asks for strict field validation and is refused; the provider does not."""


class CrdModel(Settings):
    """A part of an object. Raises ValidationError with every broken rule, its own and its parts'."""

    plain_texts: ClassVar[bool] = False

    rules: ClassVar[tuple[CrossRule, ...]] = ()
    """Rules over several fields."""

    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Keys that are often tried here, with what to do instead."""

    def fragment(self) -> dict[str, Any]:
        """The part as it stands in a manifest: camelCase, in the order of the fields, without nulls."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @model_validator(mode="wrap")
    @classmethod
    def _all_at_once(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if isinstance(data, cls):
            return data
        if not isinstance(data, Mapping):
            raise RuleError(f"is {kind_of(data)} and must be a map", "write key: value pairs", value=data)
        known, unknown = cls._sorted_out(data, manifest=info.context == MANIFEST)
        model: Self | None = None
        lines: list[InitErrorDetails] = []
        try:
            model = handler(known)
        except ValidationError as error:
            lines = [
                InitErrorDetails(type=line["type"], loc=line["loc"], input=line["input"], ctx=line.get("ctx", {}))
                for line in error.errors(include_url=False)
            ]
        for rule in (*unknown, *cls._broken(known, model)):
            lines.append(InitErrorDetails(type="value_error", loc=(), input=known, ctx={"error": rule}))
        if model is None or lines:
            raise ValidationError.from_exception_data(cls.__name__, lines)
        return model

    @classmethod
    def _sorted_out(cls, data: Mapping[Any, Any], manifest: bool) -> tuple[dict[str, Any], list[RuleError]]:
        """What is known, by camelCase key and without nulls, and a rule for each key that is not."""
        aliases = {field.alias or name: field.alias or name for name, field in cls.model_fields.items()}
        if not manifest:
            aliases |= {name: field.alias or name for name, field in cls.model_fields.items()}
        known: dict[str, Any] = {}
        unknown: list[RuleError] = []
        for key, value in data.items():
            if key in aliases:
                if value is not None:
                    known[aliases[key]] = value
            else:
                unknown.append(cls._stranger(str(key)))
        return known, unknown

    @classmethod
    def _stranger(cls, key: str) -> RuleError:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        remedy = cls.elsewhere.get(key) or did_you_mean(key, known) or f"known here: {', '.join(sorted(known))}"
        return RuleError(DROPPED, remedy, (key,))

    @classmethod
    def _broken(cls, known: Raw, model: Self | None) -> Iterator[RuleError]:
        """Rules over several fields; over the raw data if the structure is broken, as far as that goes."""
        raw = known if model is None else model.fragment()
        for rule in cls.rules:
            try:
                yield from rule(raw)
            except (TypeError, AttributeError, LookupError, ValueError):
                if model is not None:
                    raise


def has(part: Any, key: str) -> bool:
    """Whether a key is set, as CEL's `has()` sees it: null is not, an empty list, map or text is."""
    return isinstance(part, Mapping) and part.get(key) is not None


def counted(key: str, most: int, least: int = 0) -> CrossRule:
    """A rule: the list or map under `key` has from `least` to `most` entries."""

    def rule(raw: Raw) -> Iterator[RuleError]:
        if not has(raw, key):
            return
        count = len(raw[key])
        if count > most:
            yield RuleError(f"has {count} entries and may have {most}", f"leave {count - most} out", (key,))
        if count < least:
            yield RuleError(f"has {count} entries and needs {least}", "add one", (key,))

    return rule
