"""Which instance types can hold a pool's swap file: NVMe SSD, and room for the rest on the disk.

Karpenter has no requirement for disk per memory, so a pool lists families; this says which it may list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from floodplain.catalogue.instance_type import InstanceType
from floodplain.swap.disk import disk_shortfall_bytes, largest_ratio
from floodplain.swap.number import Number, exact_number


@dataclass(frozen=True)
class TypeFit:
    """How a swap ratio fits one instance type."""

    kind: InstanceType
    shortfall_bytes: int
    largest_ratio: Fraction
    """The largest ratio that fits beside ephemeral storage and images; 0 on a spinning disk."""
    spinning: bool

    @property
    def fits(self) -> bool:
        return not self.shortfall_bytes and not self.spinning


@dataclass(frozen=True)
class FamilyFit:
    """How a swap ratio fits the given types of one family."""

    family: str
    types: tuple[TypeFit, ...]

    @property
    def fits(self) -> bool:
        """Whether every type fits."""
        return all(one.fits for one in self.types)

    @property
    def largest_ratio(self) -> Fraction:
        """The largest ratio that fits every type."""
        return min(one.largest_ratio for one in self.types)


def type_fit(kind: InstanceType, *, ratio: Number, ephemeral_per_memory: Number, images_bytes: int) -> TypeFit:
    """Whether swap file, ephemeral storage and images fit the disk of one type.

    `ephemeral_per_memory` is the cap on a pod's ephemeral storage per byte of memory request. All pods of a
    node together request less than its advertised memory, so that bounds what they may ask of the disk.
    """
    ephemeral_bytes = math.ceil(exact_number(ephemeral_per_memory, "cap on ephemeral storage") * kind.memory_bytes)
    spinning = kind.storage != "ssd"
    shortfall = disk_shortfall_bytes(
        memory_bytes=kind.memory_bytes,
        nvme_bytes=kind.nvme_bytes,
        ratio=ratio,
        ephemeral_bytes=ephemeral_bytes,
        images_bytes=images_bytes,
    )
    largest = largest_ratio(
        memory_bytes=kind.memory_bytes,
        nvme_bytes=kind.nvme_bytes,
        ephemeral_bytes=ephemeral_bytes,
        images_bytes=images_bytes,
    )
    return TypeFit(kind, shortfall, Fraction(0) if spinning else largest, spinning)


def family_fits(
    types: Iterable[InstanceType], *, ratio: Number, ephemeral_per_memory: Number, images_bytes: int
) -> tuple[FamilyFit, ...]:
    """The verdict on each family among `types`, in alphabetical order."""
    families: dict[str, list[TypeFit]] = {}
    for kind in types:
        fit = type_fit(kind, ratio=ratio, ephemeral_per_memory=ephemeral_per_memory, images_bytes=images_bytes)
        families.setdefault(kind.family, []).append(fit)
    return tuple(FamilyFit(family, tuple(families[family])) for family in sorted(families))
