"""Render a stack: the program file of a checkout with one stack's settings, as plan and as apply.

Everything that can keep a stack from being rendered becomes a PreviewError with lines a person can act on.
"""

from __future__ import annotations

import asyncio
import json
import pickle
import traceback
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from pulumi.errors import InputPropertiesError, InputPropertyError, RunError

from floodplain.problem import Problem

from . import document, elsewhere, missing_outputs, stackfile, wire
from .beside import Beside
from .monitor import Answers
from .outputs import Apply, Plan
from .paths import leaves
from .problems import PreviewError
from .recorder import DuplicateUrnError, record
from .recording import Recorded, Recording

Result = TypeVar("Result")
PROGRAM = "__main__.py"
OUTPUT_IN_TEXT = "__str__ on an Output"
"""In what the SDK says, or puts in place of the text, when an Output is made a str."""


@dataclass(frozen=True)
class Applied:
    """What the program asks for when everything computed is known."""

    stackfile: stackfile.StackFile
    apply: Recording

    @property
    def stack(self) -> str:
        return self.stackfile.stack


@dataclass(frozen=True)
class Rendering(Applied):
    """The same, and what it asks for when nothing computed is known (`plan`)."""

    plan: Recording
    unstable: tuple[str, ...] = ()
    """URNs (or `outputs`) that came out differently the second time, with the mode: `plan URN`."""
    missing_outputs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """URN and property that is null in `apply` -> the `TYPE.OUTPUT` that no table knows, where it can be told."""

    @cached_property
    def unknowns(self) -> tuple[tuple[Recorded, str], ...]:
        """Every property of `plan` that is not known yet: the resource and the place in it."""
        return tuple(
            (resource, path)
            for resource in self.plan.resources
            for path, value in leaves(wire.reveal(resource.inputs))
            if value == wire.UNKNOWN
        )


def render(stack: str, root: Path) -> Rendering:
    """Run the program of `root` for `stack` in both modes. Raises PreviewError."""
    settings = stackfile.load(root, stack)
    plan, apply = run(settings, root, Plan()), run(settings, root, Apply())
    return Rendering(settings, apply, plan, (), _missing(settings, root, apply))


def render_twice(stack: str, root: Path, meanwhile: Callable[[Applied], Result]) -> tuple[Rendering, Result]:
    """The same, and `apply` once more beside it, to find what differs from run to run. Raises PreviewError.

    `meanwhile` is called, and its result returned, while the copy of this process still works.
    """
    from components import Platform  # noqa: F401  the program's imports, once for both processes

    settings = stackfile.load(root, stack)

    def others() -> bytes:
        return pickle.dumps((run(settings, root, Plan()), _text(run(settings, root, Apply()))))

    with closing(Beside(others)) as beside:
        apply = run(settings, root, Apply())
        result = meanwhile(Applied(settings, apply))
        first = _text(apply)
        plan, second = pickle.loads(beside.result())
    unstable = () if first == second else differences({"apply": json.loads(first)}, {"apply": json.loads(second)})
    return Rendering(settings, apply, plan, unstable, _missing(settings, root, apply)), result


def render_elsewhere(stack: str, root: Path) -> Rendering:
    """The same, with both modes once more in another process, whose sets have another order. Raises PreviewError."""
    with closing(Beside(lambda: elsewhere.rendered(stack, root).encode())) as beside:
        rendering = render(stack, root)
        second = json.loads(beside.result())
    first = {"plan": document.of(rendering.plan), "apply": document.of(rendering.apply)}
    return replace(rendering, unstable=differences(first, second))


def _text(recording: Recording) -> str:
    return json.dumps(document.of(recording))


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[str, ...]:
    """`MODE URN` for each resource, `MODE PART` for each other part, that is not the same byte for byte."""
    found: list[str] = []
    for mode in first:
        one, two = first[mode], second[mode]
        if json.dumps(one) == json.dumps(two):
            continue
        before, after = ({item["urn"]: json.dumps(item) for item in each["resources"]} for each in (one, two))
        places = sorted(urn for urn in before | after if before.get(urn) != after.get(urn))
        places += [part for part in one if part != "resources" and json.dumps(one[part]) != json.dumps(two[part])]
        found += [f"{mode} {place}" for place in places or ["order"]]
    return tuple(found)


def _missing(settings: stackfile.StackFile, root: Path, apply: Recording) -> dict[tuple[str, str], str]:
    if not missing_outputs.has_nulls(apply):
        return {}
    try:
        return missing_outputs.found_in(run(settings, root, missing_outputs.Traced()))
    except PreviewError:  # a name where the program expects something else; the null itself is told anyway
        return {}


def run(settings: stackfile.StackFile, root: Path, answers: Answers) -> Recording:
    """One run in one mode. Raises PreviewError."""
    try:
        return record(
            root / PROGRAM,
            answers,
            project=settings.project,
            stack=settings.stack,
            config=settings.config,
            secret_keys=settings.secret_keys,
        )
    except RunError as error:
        raise PreviewError(str(error).splitlines()) from error
    except InputPropertiesError as error:
        raise PreviewError(str(error).splitlines()) from error
    except InputPropertyError as error:
        raise PreviewError([f"{error.property_path}: {error.reason}"]) from error
    except DuplicateUrnError as error:
        remedy = "give one of them another name; the engine refuses the second"
        raise PreviewError(Problem(urn, "is registered twice", remedy) for urn in error.urns) from error
    except SystemExit as error:
        rule = f"ends the program with sys.exit({'' if error.code is None else repr(error.code)})"
        remedy = "let it run to its end, or raise what is wrong"
        raise PreviewError([Problem(_place(error, root), rule, remedy)]) from error
    except (Exception, asyncio.CancelledError, GeneratorExit) as error:
        raise PreviewError([_fault(error, root)]) from error


def _fault(error: BaseException, root: Path) -> Problem:
    """A fault of the program itself."""
    place = _place(error, root)
    text = " ".join(str(error).split()) or "no message"
    if OUTPUT_IN_TEXT in text:
        return Problem(place, "puts an Output into a text", "use Output.format, Output.concat or apply")
    return Problem(place, f"fails with {type(error).__name__}: {text}", "run with --traceback to see the calls")


def _place(error: BaseException, root: Path) -> str:
    """The innermost line below `root`, which is where one starts to look."""
    base = root.resolve()
    place = PROGRAM
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename).resolve()
        if path.is_relative_to(base) and "site-packages" not in path.parts and path.parent != Path(__file__).parent:
            place = f"{path.relative_to(base)}:{frame.lineno}"
    return place
