"""Which container of a pod is the one to size. Not what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floodplain.admission.subject import containers
from floodplain.problem import Problem, did_you_mean

_ARGO_MAIN, _ARGO_OWN = "main", ("wait", "supervisor")
"""Argo Workflows' names for the user's container and for its own beside that (workflow/common/common.go).

The annotation `kubectl.kubernetes.io/default-container` does not help: where several containers are the user's, Argo
writes the last of them and service meshes the first.
"""
_MOST_NAMES = 10


def choose(spec: Mapping[str, Any], *, named: str | None, path: str, recorded: str | None = None) -> str | Problem:
    """The container's name, or why there is none.

    `named` is the user's annotation, which stands at `path`; `recorded` the container of an earlier plan, which still
    holds after another webhook has added one.
    """
    names: list[str] = [one["name"] for one in containers(spec)]
    initial: list[str] = [one["name"] for one in containers(spec, "initContainers")]
    if named is not None:
        if named in names:
            return named
        if named in initial:
            rule = "is an init container, and a job's peak comes after those"
            return Problem(path, rule, f"name one of {listed(names)}", named)
        near = did_you_mean(named[:_LONGEST_HINTED], names)
        rule = "is no container of the pod"
        return Problem(path, rule, " ".join(filter(None, (near, f"name one of {listed(names)}"))), named)
    if recorded in names and recorded is not None:
        return recorded
    if len(names) == 1:
        return names[0]
    if _ARGO_MAIN in names and any(own in (*names, *initial) for own in _ARGO_OWN):
        return _ARGO_MAIN
    rule = "is required, since the pod has more than one container"
    return Problem(path, rule, f"name the one that does the work: {listed(names)}")


_LONGEST_HINTED = 100


def listed(names: Sequence[str]) -> str:
    """Names for a sentence, long ones and many of them cut."""
    shown = ", ".join(repr(name if len(name) <= 63 else f"{name[:60]}...") for name in names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"
