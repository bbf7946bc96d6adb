"""What a pod has beside the container that is sized, and what its user has set on that one already. Not the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from floodplain.admission.figures import CPU, DISK, LIMITS, MEMORY, REQUESTS, Amount, Figures, figures, together
from floodplain.admission.limit_ranger import Default
from floodplain.admission.subject import Subject, containers, mapping
from floodplain.problem import Problem
from floodplain.quantity import MIB
from floodplain.sizing.fit import amount
from floodplain.sizing.given import Given
from floodplain.sizing.pod_rest import PodRest
from floodplain.swap import SYSTEM_CLUSTER_CRITICAL, request_bytes

_SMALLEST_LIMIT = 2 * MIB
_CRITICAL_CLASSES = ("system-cluster-critical", "system-node-critical")


@dataclass(frozen=True)
class PodReading:
    """A pod as the planner wants to know it."""

    rest: PodRest
    given: Given
    own: frozenset[tuple[str, str]]
    """What of the sized container's resources is the user's: `requests` or `limits`, and the resource."""
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]


def read_pod(subject: Subject, name: str, defaults: Collection[Default] = frozenset()) -> PodReading:
    """The pod around its container `name`. `defaults` are what a LimitRange set: nobody's wish, and ours to replace."""
    problems = list(_pod_level(subject))
    running = _read_all(subject, "containers", problems)
    initial = _read_all(subject, "initContainers", problems)
    chosen = next(one for one, _ in running if one.name == name)
    others = [one for one, _ in running if one is not chosen]
    filled = {(kind, resource) for container, kind, resource in defaults if container == name}
    user = Figures(
        name,
        _without(chosen.memory, filled, MEMORY),
        _without(chosen.cpu, filled, CPU),
        _without(chosen.disk, filled, DISK),
    )
    memory = together(others, initial, lambda one: one.memory.request)
    limits = together(others, initial, lambda one: one.memory.most)
    cpu = together(others, initial, lambda one: one.cpu.request)
    disk = together(others, initial, lambda one: one.disk.most)
    rest = PodRest(
        request_bytes=memory.running,
        limit_bytes=limits.running,
        cpu_millicores=cpu.running,
        ephemeral_bytes=disk.running,
        init_request_bytes=memory.starting,
        init_limit_bytes=limits.starting,
        init_cpu_millicores=cpu.starting,
        init_ephemeral_bytes=disk.starting,
        unlimited=tuple(one.name for one in [*others, *(one for one, _ in initial)] if one.memory.limit is None),
    )
    problems += _own(subject, user)
    given = _given(user, chosen.cpu.limit)
    notes = (*_notes(user), *_notes_of_defaults(filled))
    return PodReading(rest, given, frozenset(_set_by_user(user)), tuple(problems), notes)


def gets_no_swap(spec: Mapping[str, Any]) -> bool:
    """Whether kubelet takes the pod for critical; it grants those no swap (kubelet's kuberuntime, swap behaviour)."""
    priority = spec.get("priority")
    if isinstance(priority, int) and not isinstance(priority, bool) and priority >= SYSTEM_CLUSTER_CRITICAL:
        return True
    return spec.get("priorityClassName") in _CRITICAL_CLASSES


def _read_all(subject: Subject, key: str, problems: list[Problem]) -> list[tuple[Figures, bool]]:
    """Figures of the containers under a key, each with whether it is a sidecar."""
    return [
        (figures(one, subject.path("spec", f"{key}[{position}]"), problems), one.get("restartPolicy") == "Always")
        for position, one in enumerate(containers(subject.spec, key))
    ]


def _without(found: Amount, filled: Collection[tuple[str, str]], resource: str) -> Amount:
    """The amount without what a LimitRange has filled in."""
    return Amount(
        None if (REQUESTS, resource) in filled else found.own_request,
        None if (LIMITS, resource) in filled else found.limit,
    )


def _set_by_user(user: Figures) -> Iterator[tuple[str, str]]:
    for resource, found in ((MEMORY, user.memory), (CPU, user.cpu), (DISK, user.disk)):
        if found.own_request is not None:
            yield REQUESTS, resource
        if found.limit is not None:
            yield LIMITS, resource


def _given(user: Figures, cpu_limit: int | None) -> Given:
    memory, cpu, disk = user.memory, user.cpu, user.disk
    return Given(
        limit_bytes=memory.limit,
        least_request_bytes=(memory.own_request or None) if memory.limit is None else None,
        cpu_millicores=cpu.limit if cpu.own_request is None else cpu.own_request,
        # Whoever set it, it holds.
        cpu_limit_millicores=cpu_limit,
        ephemeral_bytes=disk.most or None,
    )


def _pod_level(subject: Subject) -> Iterator[Problem]:
    level = mapping(subject.spec.get("resources"))
    if level.get(REQUESTS) or level.get(LIMITS):
        rule = "is set for the pod as a whole, and limits and swap are granted by container"
        yield Problem(subject.path("spec", "resources"), rule, "set them in the resources of its containers")


def _own(subject: Subject, user: Figures) -> Iterator[Problem]:
    limit = user.memory.limit
    if limit is not None and limit < _SMALLEST_LIMIT:
        path = subject.path("spec", f"containers[{user.name}].resources.limits.memory")
        yield Problem(path, "is no limit that a job can have", "leave it out, and the plan sets one", f"{limit} bytes")


def _notes(user: Figures) -> Iterator[str]:
    memory = user.memory
    if memory.limit is None and memory.own_request:
        yield f"the memory request of {amount(memory.own_request)} is taken as the least that is wanted"
    elif memory.limit is not None and memory.request < request_bytes(memory.limit):
        yield (
            f"the memory request of {amount(memory.request)} is raised to 1 MiB below the limit:"
            " the scheduler packs by requests"
        )


def _notes_of_defaults(filled: Collection[tuple[str, str]]) -> Iterator[str]:
    if (LIMITS, MEMORY) in filled or (REQUESTS, MEMORY) in filled:
        yield "memory that a LimitRange set is replaced"
    if (LIMITS, CPU) in filled:
        yield "the CPU limit is a LimitRange's, and stands"
