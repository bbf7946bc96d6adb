"""`StackConfig`: what a stack file says, checked whole before anything is made.

The settings are the platform's own; what is added here is how they are spread over the file's keys.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Mapping
from typing import Any, cast

import pulumi
from pulumi.runtime.config import CONFIG, is_config_secret
from pydantic import ValidationError

from components import PlatformArgs
from components.platform_settings import PlatformSettings
from floodplain.problem import Problem, problems_of
from floodplain.settings_path import empty_maps

from .problems import StackProblemsError

PROJECT = "floodplain"
SECRET_KEYS = frozenset({"kubeconfig"})
"""Keys of their own, since one secret leaf makes the whole top-level key secret to Pulumi."""


class StackConfig(PlatformSettings):
    """One environment: the platform, as `floodplain:` keys of a stack file."""

    def platform_args(self) -> PlatformArgs:
        """The arguments of `components.Platform`; only what was set, so that defaults stay the components'."""
        return cast(PlatformArgs, self.model_dump(mode="json", exclude_unset=True))


def parse(stack: str, values: Mapping[str, Any]) -> StackConfig:
    """Check the values of a stack's `floodplain:` keys (without the prefix, secrets left out).

    Raises StackProblemsError with every problem.
    """
    problems = [
        Problem(place.text, "is empty and a map is meant", "write {} for the defaults, or remove the key")
        for place in empty_maps(values, StackConfig)
    ]
    try:
        config = StackConfig.model_validate(values, by_alias=True, by_name=False)
    except ValidationError as error:
        problems += problems_of(error, StackConfig)
    else:
        if not problems:
            return config
    raise StackProblemsError(
        stack,
        (Problem(f"{PROJECT}:{problem.path}", problem.rule, problem.remedy, problem.value) for problem in problems),
    )


def read_config(stack: str) -> StackConfig:
    """The configuration of the running program. Raises StackProblemsError."""
    # pulumi.Config can only be asked for keys one knows; a misspelt key would never be seen.
    given: Mapping[str, str] = CONFIG.get()
    problems = key_problems(given, {key for key in given if is_config_secret(key)})
    values = {
        key.removeprefix(f"{PROJECT}:"): _decoded(text)
        for key, text in given.items()
        if key.startswith(f"{PROJECT}:") and key.removeprefix(f"{PROJECT}:") not in SECRET_KEYS
    }
    try:
        config = parse(stack, values)
    except StackProblemsError as error:
        raise StackProblemsError(stack, (*error.problems, *problems)) from None
    if problems:
        raise StackProblemsError(stack, problems)
    return config


def key_problems(given: Collection[str], secret: Collection[str]) -> list[Problem]:
    """What is wrong with the keys of a stack themselves: a secret in clear text, a misspelt namespace."""
    clear = [
        Problem(
            f"{PROJECT}:{key}",
            "is a secret and stands in clear text",
            f"take it out, make it invalid, and set it anew with `pulumi config set --secret {PROJECT}:{key}`",
        )
        for key in sorted(SECRET_KEYS)
        if f"{PROJECT}:{key}" in given and f"{PROJECT}:{key}" not in secret
    ]
    misspelt = [
        Problem(key, "is a key of another project, and a likely misspelling", f"did you mean `{PROJECT}:{name}`?")
        for key in sorted(given)
        for namespace, _, name in [key.partition(":")]
        if namespace != PROJECT and difflib.get_close_matches(namespace.lower(), [PROJECT], cutoff=0.7)
    ]
    return [*clear, *misspelt]


def kubeconfig() -> pulumi.Output[str] | None:
    """The kubeconfig that the stack sets as a secret, if it does."""
    return pulumi.Config(PROJECT).get_secret("kubeconfig")


def _decoded(text: str) -> Any:
    """Pulumi hands maps, lists, numbers and booleans over as JSON, strings as they are."""
    try:
        return json.loads(text)
    except ValueError:
        return text
