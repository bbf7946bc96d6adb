"""Read `stacks/Pulumi.<stack>.yaml` as Pulumi's CLI would hand it to the program. Knows nothing of the keys' meaning.

Rules read in pulumi/pulumi, sdk/go/common: a scalar arrives as text, as it is written anew after reading
(workspace/loaders.go), anything else as JSON, and one `secure:` leaf makes its whole key secret
(resource/config/value.go). What cannot be decrypted here becomes a placeholder that the checks can recognise
wherever it ends up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from floodplain.problem import Problem, did_you_mean

from . import yamlfile
from .problems import PreviewError

PLACEHOLDER = "placeholder-of-the-secret-"
TOP_KEYS = ("config", "environment", "secretsprovider", "encryptedkey", "encryptionsalt")
"""All that Pulumi reads of a stack file; it passes over other keys in silence."""


@dataclass(frozen=True)
class StackFile:
    """What a stack's file says, with placeholders for what is encrypted."""

    project: str
    stack: str
    path: str
    """As a reader writes it, relative to the root of the program: `stacks/Pulumi.prod.yaml`."""
    config: Mapping[str, str]
    """What the program reads."""
    values: Mapping[str, Any]
    """The same before it became text."""
    secret_keys: frozenset[str]
    secrets: Mapping[str, str]
    """Placeholder to the path it stands at."""
    environments: tuple[str, ...] = ()
    """Pulumi ESC environments, which cannot be read offline."""

    @cached_property
    def named(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The entries of lists that have a `name`, with their paths: `floodplain:pools[0]`."""
        return tuple(
            (path, value)
            for path, value in paths_of(self.values)
            if path.endswith("]") and isinstance(value, dict) and isinstance(value.get("name"), str)
        )


def stacks_of(root: Path) -> list[str]:
    """Names of the stacks that have a file, sorted. Raises PreviewError where there is no program."""
    folder = root / _project(root).folder
    return sorted(
        path.name.removeprefix("Pulumi.").removesuffix(".yaml")
        for path in folder.glob("Pulumi.*.yaml")
        if _true_of(Path.is_file, path)
    )


def _true_of(question: Callable[[Path], bool], path: Path) -> bool:
    """False, too, below a folder that may not be read."""
    try:
        return question(path)
    except OSError:
        return False


def load(root: Path, stack: str) -> StackFile:
    """Raises PreviewError when the file is missing, is not YAML, or does not have the form of a stack file."""
    project = _project(root)
    shown = str(Path(project.folder) / f"Pulumi.{stack}.yaml")
    if not _true_of(Path.exists, root / shown):
        existing = stacks_of(root)
        meant = Path(stack).name.removeprefix("Pulumi.").removesuffix(".yaml")
        remedy = f"stacks that do: {', '.join(existing) or 'none'}"
        if meant != stack and meant in existing:
            remedy = f"give the stack's name alone: {meant}"
        raise PreviewError([Problem(shown, "does not exist", remedy)])
    read = yamlfile.read(root / shown, shown)
    unknown = list(_unknown_keys(read.content, shown))
    if unknown:
        raise PreviewError(unknown)
    config = read.content.get("config")
    if not isinstance(config, dict):
        rule = "must be a mapping from `namespace:key` to values"
        problem = Problem(f"{shown}: config", rule, f"write `{project.name}:...` keys below it", config)
        raise PreviewError([problem])
    values = dict(project.defaults)
    values.update({_qualified(str(key), project.name): value for key, value in config.items()})
    secrets: dict[str, str] = {}
    plain = {key: _without_ciphertext(value, key, secrets) for key, value in values.items()}
    return StackFile(
        project=project.name,
        stack=stack,
        path=shown,
        config={key: _text(value) for key, value in plain.items()},
        values=plain,
        secret_keys=frozenset(key for key in plain if any(_below(path, key) for path in secrets.values())),
        secrets=secrets,
        environments=_environments(read.content.get("environment"), shown),
    )


def _unknown_keys(content: Mapping[str, Any], shown: str) -> Iterator[Problem]:
    for key in content:
        if key not in TOP_KEYS:
            indent = "indent it below `config:`" if ":" in key or "config" in content else ""
            remedy = did_you_mean(key, TOP_KEYS) or indent or f"known here: {', '.join(TOP_KEYS)}"
            yield Problem(f"{shown}: {key}", "is read by nobody at the top of the file", remedy)


def _environments(value: Any, shown: str) -> tuple[str, ...]:
    """Names of the environments in any of the forms that Pulumi takes: a list, or a mapping with `imports`."""
    inline = ("values",) if isinstance(value, dict) and value.get("values") else ()
    listed = value.get("imports") if isinstance(value, dict) else value
    if not isinstance(listed, list | None) or any(not isinstance(one, str | dict) for one in listed or ()):
        remedy = "write `environment: [name]`"
        raise PreviewError([Problem(f"{shown}: environment", "must be a list of environments", remedy, value)])
    return (*(name for one in listed or () for name in ([one] if isinstance(one, str) else one)), *inline)


@dataclass(frozen=True)
class _Project:
    name: str
    folder: str
    defaults: Mapping[str, Any]


def _project(root: Path) -> _Project:
    path = root / "Pulumi.yaml"
    if not _true_of(Path.is_file, path):
        rule = "does not exist, so no Pulumi program is here"
        raise PreviewError([Problem("Pulumi.yaml", rule, "run from the root of the checkout, or give --root")])
    content = yamlfile.read(path, "Pulumi.yaml").content
    name = content.get("name")
    if not isinstance(name, str) or not name:
        raise PreviewError([Problem("Pulumi.yaml: name", "must be the project's name", "set it", name)])
    declared = content.get("config")
    defaults: dict[str, Any] = {}
    for key, entry in (declared if isinstance(declared, dict) else {}).items():
        if not isinstance(entry, dict):
            defaults[_qualified(str(key), name)] = entry
        elif "value" in entry or "default" in entry:
            defaults[_qualified(str(key), name)] = entry.get("value", entry.get("default"))
    return _Project(name, str(content.get("stackConfigDir") or "").strip("/"), defaults)


def _qualified(key: str, project: str) -> str:
    return key if ":" in key else f"{project}:{key}"


def _without_ciphertext(value: Any, path: str, secrets: dict[str, str]) -> Any:
    """The value with placeholders where ciphertext was; each is noted in `secrets` with its path."""
    if isinstance(value, dict):
        if set(value) == {"secure"}:
            placeholder = f"{PLACEHOLDER}{path}"
            secrets[placeholder] = path
            return placeholder
        return {str(key): _without_ciphertext(item, f"{path}.{key}", secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_ciphertext(item, f"{path}[{place}]", secrets) for place, item in enumerate(value)]
    return value


def _below(path: str, key: str) -> bool:
    return path == key or path.startswith((f"{key}.", f"{key}["))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def paths_of(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every place in the configuration with its path: `floodplain:pools[0].limits`."""
    for key, value in values.items():
        yield from _paths(key, value)


def _paths(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(f"{path}.{key}", item)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _paths(f"{path}[{place}]", item)
