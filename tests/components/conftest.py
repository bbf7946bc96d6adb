"""The one way components are tested: run, record what goes over the wire, compare that."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import pytest

from preview.outputs import Apply, Plan
from preview.recorder import record
from preview.recording import Recording as Render


class Renderer(Protocol):
    def __call__(
        self,
        program: Callable[[], Any],
        *,
        apply: bool = True,
        config: Mapping[str, str] = {},
        secret_keys: Collection[str] = (),
    ) -> Render: ...


@pytest.fixture
def render() -> Renderer:
    """`render(program)`: what a callable that builds components asks the engine for.

    With `apply` every computed output has a realistic value, without it none is known (`preview.wire.UNKNOWN`).
    """

    def run(
        program: Callable[[], Any],
        *,
        apply: bool = True,
        config: Mapping[str, str] = {},
        secret_keys: Collection[str] = (),
    ) -> Render:
        return record(program, Apply() if apply else Plan(), config=config, secret_keys=secret_keys)

    return run
