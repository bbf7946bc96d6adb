"""Secrets that stand in clear text in the stack file, whoever reads the key: aws:secretKey, a kubeconfig, a token.

By their form and by the name of their key, as in the policies. Where a secret goes is in `values`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from floodplain.problem import Problem
from policies.rules.secret_texts import forms, is_literal, is_secret_name, kubeconfig_credentials

from ..finding import Finding
from ..paths import join
from ..render import Rendering
from ..stackfile import PLACEHOLDER


def check(rendering: Rendering) -> Iterator[Finding]:
    file = rendering.stackfile
    for key, value in file.values.items():
        for path, words in _secrets(value, key, key.rpartition(":")[2]):
            plain = path == key
            remedy = f"encrypt it: pulumi config set --secret {'' if plain else '--path '}'{path}'"
            problem = Problem(f"{file.path}: {path}", f"holds {words} in clear text", remedy)
            yield Finding("error", "secret", problem)


def _secrets(value: Any, path: str, name: str) -> Iterator[tuple[str, str]]:
    """Path and what is there, in words that do not repeat it."""
    if isinstance(value, dict):
        credentials = list(kubeconfig_credentials(json.dumps(value))) if isinstance(value.get("users"), list) else []
        if credentials:
            yield from ((path, words) for words in credentials)
            return
        for key, item in value.items():
            yield from _secrets(item, join(path, key), key)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _secrets(item, join(path, place), name)
    elif isinstance(value, str) and PLACEHOLDER not in value:
        found = list(forms(value))
        if not found and is_secret_name(name) and is_literal(value):
            found.append("a credential, by its name,")
        yield from ((path, words) for words in found)
