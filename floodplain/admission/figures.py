"""What a container asks for in `resources`, in bytes and millicores. Not what that means for its pod.

Amounts are rounded up as the API server does; a request that is absent is the limit, as it fills in for pods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from floodplain.admission.subject import at, mapping
from floodplain.problem import Problem
from floodplain.quantity import QuantityError, exact

MEMORY, CPU, DISK = "memory", "cpu", "ephemeral-storage"
REQUESTS, LIMITS = "requests", "limits"


@dataclass(frozen=True)
class Amount:
    """Of one resource. None is what the container does not say; a limit of zero limits nothing."""

    own_request: int | None
    limit: int | None

    @property
    def request(self) -> int:
        return (self.limit or 0) if self.own_request is None else self.own_request

    @property
    def most(self) -> int:
        """The limit or, where there is none, the request."""
        return max(self.limit or 0, self.request)


@dataclass(frozen=True)
class Figures:
    """Of one container."""

    name: str
    memory: Amount
    cpu: Amount
    disk: Amount


def figures(container: Mapping[str, Any], path: str, problems: list[Problem]) -> Figures:
    """The container's figures; amounts that are none are added to `problems` and count as absent."""

    def amount(resource: str, units: int) -> Amount:
        values = {}
        for kind in (REQUESTS, LIMITS):
            values[kind] = _units(container, kind, resource, units, f"{path}.resources.{kind}", problems)
        return Amount(values[REQUESTS], values[LIMITS] or None)

    for kind in (None, REQUESTS, LIMITS):
        value = at(container, "resources", *filter(None, [kind]))
        if value is not None and not isinstance(value, Mapping):
            place = ".".join(filter(None, [path, "resources", kind]))
            problems.append(Problem(place, "is not a map", "write name: quantity lines", value))
    return Figures(container["name"], amount(MEMORY, 1), amount(CPU, 1000), amount(DISK, 1))


def _units(
    container: Mapping[str, Any], kind: str, resource: str, units: int, path: str, problems: list[Problem]
) -> int | None:
    value = mapping(mapping(container.get("resources")).get(kind)).get(resource)
    if value is None:
        return None
    try:
        count = math.ceil(exact(value) * units)
    except QuantityError as error:
        problems.append(Problem(f"{path}.{resource}", error.rule, error.remedy, value))
        return None
    if count < 0:
        problems.append(Problem(f"{path}.{resource}", "is negative", "write zero or more", value))
        return None
    return count


def same_quantity(first: Any, second: Any) -> bool:
    """Whether two quantities are of the same value: `16Gi` and 17179869184 are."""
    return _value(first) is not None and _value(first) == _value(second)


def _value(text: Any) -> Fraction | None:
    try:
        return exact(text)
    except QuantityError:
        return None


@dataclass(frozen=True)
class Together:
    """What containers need of one figure: while the pod works, and at most while its init containers run."""

    running: int
    starting: int


def together(
    running: Iterable[Figures], initial: Iterable[tuple[Figures, bool]], of: Callable[[Figures], int]
) -> Together:
    """Sums as the scheduler makes them; `initial` in order, each with whether it is a sidecar.

    Sidecars run beside everything after them; any other init container runs alone with the sidecars before it
    (KEP-753; component-helpers/resource/helpers.go, AggregateContainerRequests).
    """
    sidecars = largest = 0
    for one, sidecar in initial:
        if sidecar:
            sidecars += of(one)
        else:
            largest = max(largest, sidecars + of(one))
    return Together(sidecars + sum(of(one) for one in running), largest)
