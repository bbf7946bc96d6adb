"""What providers would answer: nothing (plan) or values derived from the inputs (apply).

The tables are in `outputs_aws` and `outputs_kubernetes`. An output that a program reads and no table knows
arrives as null, which the checks report with its type and name: add it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import outputs_aws, outputs_kubernetes
from .monitor import Request


@dataclass(frozen=True)
class Plan:
    """The first preview of a new stack: no id, no output, no function result is known."""

    known: bool = False

    def resource(self, request: Request) -> tuple[str, Mapping[str, Any]]:
        return "", {}

    def invoke(self, request: Request) -> Mapping[str, Any] | None:
        return None


@dataclass(frozen=True)
class Apply:
    """An update that succeeds. The same inputs give the same outputs, always."""

    known: bool = True

    def resource(self, request: Request) -> tuple[str, Mapping[str, Any]]:
        for table in (outputs_aws.RESOURCES, outputs_kubernetes.RESOURCES):
            derive = table.get(request.type)
            if derive is not None:
                outputs = dict(derive(request))
                identity = str(outputs.pop("id", "")) or request.id or _identity(request)
                return identity, outputs
        return request.id or _identity(request), {}

    def invoke(self, request: Request) -> Mapping[str, Any] | None:
        derive = outputs_aws.FUNCTIONS.get(request.type)
        if derive is None:
            raise LookupError(
                f"the program calls {request.type}, which has no entry in FUNCTIONS of preview/outputs_aws.py; "
                "add one that derives the result from the arguments"
            )
        return derive(request)


def _identity(request: Request) -> str:
    """Kubernetes names an object by namespace and name; others by the name the program gave, or its own."""
    if request.type.startswith("kubernetes:"):
        return outputs_kubernetes.identity(request)
    return str(request.inputs.get("name") or request.name)
