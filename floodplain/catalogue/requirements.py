"""Which instance types a NodePool's requirements admit, by Karpenter's label semantics.

Capacity type, zone, operating system and labels of one's own do not narrow the types; they are ignored
here. Whether a requirement is well formed for the API server is not asked here (components do), only
what selection needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final, Literal, get_args

from floodplain.catalogue.instance_type import InstanceType
from floodplain.problem import RuleError, did_you_mean

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
OPERATORS: Final[tuple[str, ...]] = get_args(Operator)

AWS_DOMAIN: Final = "karpenter.k8s.aws"
_AWS = f"{AWS_DOMAIN}/"
# The labels under karpenter.k8s.aws that a NodePool may use: of a type first, then of a launch.
_AWS_NAMES = """
    instance-category instance-family instance-generation instance-size instance-cpu instance-cpu-manufacturer
    instance-cpu-sustained-clock-speed-mhz instance-memory instance-local-nvme instance-network-bandwidth
    instance-ebs-bandwidth instance-hypervisor instance-encryption-in-transit-supported instance-capability-flex
    instance-gpu-name instance-gpu-manufacturer instance-gpu-count instance-gpu-memory
    instance-accelerator-name instance-accelerator-manufacturer instance-accelerator-count
    instance-tenancy capacity-reservation-type capacity-reservation-id capacity-reservation-interruptible
    ec2nodeclass placement-group-id placement-group-partition
"""
AWS_LABELS: Final[tuple[str, ...]] = tuple(f"{_AWS}{name}" for name in _AWS_NAMES.split())
"""The only keys of karpenter.k8s.aws that a NodePool may name."""

ALIASES: Final[Mapping[str, str]] = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}
"""Old label keys that Karpenter reads as the new ones."""


class _State(Enum):
    ABSENT = "the type has no such label"
    UNKNOWN = "the type has the label, but the catalogue does not know its value"


@dataclass(frozen=True)
class Requirement:
    """One entry of spec.template.spec.requirements."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    min_values: int | None = None
    """How many distinct values must stay possible. It does not narrow the types."""


def select(types: Iterable[InstanceType], requirements: Sequence[Requirement]) -> tuple[InstanceType, ...]:
    """The types that meet every requirement, in their order.

    Raises RuleError for an operator without the values it needs, an unknown operator, and a label whose
    values the catalogue does not know (for instance the name of a GPU).
    """
    for requirement in requirements:
        _check(requirement)
    return tuple(kind for kind in types if all(matches(kind, one) for one in requirements))


def matches(kind: InstanceType, requirement: Requirement) -> bool:
    """Whether one type meets one requirement. A label the type lacks meets only NotIn and DoesNotExist."""
    label = _labels(kind).get(ALIASES.get(requirement.key, requirement.key))
    if label is None:
        return True
    if label is _State.ABSENT:
        return requirement.operator in ("NotIn", "DoesNotExist")
    if requirement.operator in ("Exists", "DoesNotExist"):
        return requirement.operator == "Exists"
    if isinstance(label, _State):
        raise RuleError(
            "is a label whose values the catalogue does not know",
            "select by instance-family or node.kubernetes.io/instance-type",
            ("key",),
            requirement.key,
        )
    if requirement.operator in ("In", "NotIn"):
        return (label in requirement.values) == (requirement.operator == "In")
    return _compare(label, requirement)


@cache
def _labels(kind: InstanceType) -> dict[str, str | _State]:
    gpu = _State.ABSENT if kind.gpu_count is None else _State.UNKNOWN
    accelerator = _State.UNKNOWN if kind.category in ("inf", "trn") else _State.ABSENT
    return {
        "node.kubernetes.io/instance-type": kind.name,
        "kubernetes.io/arch": kind.arch,
        f"{_AWS}instance-category": kind.category,
        f"{_AWS}instance-family": kind.family,
        f"{_AWS}instance-generation": str(kind.generation),
        f"{_AWS}instance-size": kind.size,
        f"{_AWS}instance-cpu": str(kind.vcpu),
        f"{_AWS}instance-cpu-manufacturer": kind.cpu_manufacturer,
        f"{_AWS}instance-cpu-sustained-clock-speed-mhz": _State.UNKNOWN,
        f"{_AWS}instance-memory": str(kind.memory_mib),
        f"{_AWS}instance-local-nvme": _number(kind.nvme_gb or None),
        f"{_AWS}instance-network-bandwidth": _number(kind.network_mbps),
        f"{_AWS}instance-ebs-bandwidth": _number(kind.ebs_mbps),
        # Bare metal has the label with an empty value, so `NotIn nitro` and `Exists` admit it.
        f"{_AWS}instance-hypervisor": kind.hypervisor,
        f"{_AWS}instance-encryption-in-transit-supported": str(kind.encryption_in_transit).lower(),
        f"{_AWS}instance-capability-flex": str("-flex" in kind.family).lower(),
        f"{_AWS}instance-gpu-count": _number(kind.gpu_count),
        **dict.fromkeys((f"{_AWS}instance-gpu-{part}" for part in ("name", "manufacturer", "memory")), gpu),
        **dict.fromkeys(
            (f"{_AWS}instance-accelerator-{part}" for part in ("name", "manufacturer", "count")), accelerator
        ),
    }


def _number(value: int | None) -> str | _State:
    return _State.ABSENT if value is None else str(value)


def _compare(label: str, requirement: Requirement) -> bool:
    # A label that is no integer (a size, say) never meets a comparison.
    try:
        here, bound = int(label), int(requirement.values[0])
    except ValueError:
        return False
    return {"Gt": here > bound, "Lt": here < bound, "Gte": here >= bound, "Lte": here <= bound}[requirement.operator]


def _check(requirement: Requirement) -> None:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if key.startswith(_AWS) and key not in AWS_LABELS:
        remedy = did_you_mean(key, AWS_LABELS) or f"use one of {', '.join(AWS_LABELS)}"
        raise RuleError("is not a label of Karpenter for AWS", remedy, ("key",), key)
    if operator not in OPERATORS:
        raise RuleError("is not an operator", f"use one of {', '.join(OPERATORS)}", ("operator",), operator)
    if operator == "In" and not values:
        raise RuleError("needs at least one value with In", "list the values", ("values",), list(values))
    if operator in ("Exists", "DoesNotExist") and values:
        raise RuleError(f"must be empty with {operator}", "remove them", ("values",), list(values))
    if operator in ("Gt", "Lt", "Gte", "Lte") and not (
        len(values) == 1 and values[0].isascii() and values[0].isdigit()
    ):
        remedy = "write one whole number, zero or more, in quotes"
        raise RuleError(f"must be one whole number with {operator}", remedy, ("values",), list(values))
