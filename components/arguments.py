"""From what a caller passes to a component to a validated model, or to errors tied to property paths.

Not for the resources themselves: those are built from the model that `read_args` returns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeVar

import pulumi
from pulumi.errors import InputPropertiesError, InputPropertyErrorDetails
from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel

from floodplain.problem import Problem, problems_of
from floodplain.settings_path import Location, locate

M = TypeVar("M", bound=BaseModel)


def read_args(model: type[M], args: Mapping[str, Any], *, inputs: Collection[str] = ()) -> M:
    """Validate the plain part of a component's `args` (snake_case keys, as the SDK passes them).

    Keys named in `inputs` (`role` or `karpenter.role`) may hold Outputs and are left to the component. None means
    "not set".
    Raises `InputPropertiesError` with every problem and its camelCase property path, which the engine shows
    without a traceback in any Pulumi language.
    """
    if not isinstance(args, Mapping):
        raise property_errors(model.__name__, [Problem("args", "should be a map", "write its keys", args)])
    plain = _without_inputs(args, inputs)
    computed = [
        Problem(
            locate(place, model).text,
            "is computed by another resource",
            "give a plain value, so that preview can check it",
        )
        for place in _outputs(plain)
    ]
    if computed:
        raise property_errors(model.__name__, computed)
    try:
        return model.model_validate(_without_none(plain))
    except ValidationError as error:
        raise property_errors(model.__name__, problems_of(error, model)) from None


def text_problems(args: Mapping[str, Any], key: str) -> Iterator[Problem]:
    """What is wrong with an input that must hold a text: missing or of another type. Outputs pass."""
    value, path = args.get(key), to_camel(key)
    if value is None:
        yield Problem(path, "is required", "set it")
    elif not isinstance(value, pulumi.Output | str):
        yield Problem(path, "should be text", "write it in quotes", value)


def texts_problems(args: Mapping[str, Any], key: str) -> Iterator[Problem]:
    """What is wrong with an optional input that must hold a list of texts. Outputs pass, as a whole or one by one."""
    value, path = args.get(key), to_camel(key)
    if value is None or isinstance(value, pulumi.Output):
        return
    if not isinstance(value, list | tuple) or not value:
        yield Problem(path, "should be a list of at least one", "write a list, also for one item", value)
        return
    for index, item in enumerate(value):
        if not isinstance(item, pulumi.Output | str):
            yield Problem(f"{path}[{index}]", "should be text", "write it in quotes", item)


def property_errors(subject: str, problems: Collection[Problem]) -> InputPropertiesError:
    """The error that reports `problems` by property path; its text alone says everything too."""
    lines = "\n".join(f"  {problem}" for problem in problems)
    details = [InputPropertyErrorDetails(property_path=problem.path, reason=str(problem)) for problem in problems]
    return InputPropertiesError(f"{subject} has {len(problems)} problem(s):\n{lines}", details)


def _without_inputs(args: Mapping[str, Any], inputs: Collection[str]) -> dict[str, Any]:
    plain = {key: value for key, value in args.items() if key not in inputs}
    for path in inputs:
        key, dot, rest = path.partition(".")
        if dot and isinstance(plain.get(key), Mapping):
            plain[key] = _without_inputs(plain[key], (rest,))
    return plain


def _outputs(value: Any, place: Location = ()) -> Iterator[Location]:
    """Where Outputs stand in a value."""
    if isinstance(value, pulumi.Output):
        yield place
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _outputs(item, (*place, str(key)))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _outputs(item, (*place, index))


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value
