"""One EC2 instance type with instance storage: the facts that planning needs, in EC2's own units.

Not what a node offers to pods (that is catalogue.allocatable) and not what it costs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from floodplain.quantity import MIB

Architecture = Literal["amd64", "arm64"]
Storage = Literal["ssd", "hdd"]

GB = 10**9
_SCHEME = re.compile(r"(?P<category>[a-z]+)(?:-[0-9]+tb)?(?P<generation>[0-9]+)[^.]*\.(?P<size>[^.]+)")


@dataclass(frozen=True)
class InstanceType:
    """An instance type. None means that EC2 (and so Karpenter's label) says nothing."""

    name: str
    family: str
    category: str
    generation: int
    size: str
    vcpu: int
    memory_mib: int
    """As advertised by EC2; the node's MemTotal is a few per cent less."""
    nvme_gb: int
    """All instance store disks together, in decimal GB as in Karpenter's label."""
    storage: Storage
    """`hdd` for spinning disks behind an NVMe interface (d3, d3en): they carry the NVMe label too."""
    arch: Architecture
    pods: int
    """The ENI limit: (ENIs on the default card) x (IPv4 per ENI - 1) + 2."""
    hypervisor: str
    """`nitro`, `xen`, or empty for bare metal."""
    cpu_manufacturer: str
    network_mbps: int | None
    ebs_mbps: int | None
    gpu_count: int | None
    encryption_in_transit: bool

    @property
    def memory_bytes(self) -> int:
        return self.memory_mib * MIB

    @property
    def nvme_bytes(self) -> int:
        return self.nvme_gb * GB

    @property
    def metal(self) -> bool:
        return self.size.startswith("metal")


@dataclass(frozen=True)
class NameParts:
    """What the name of a type says."""

    family: str
    category: str
    generation: int
    size: str


def name_parts(name: str) -> NameParts | None:
    """Family, category, generation and size as Karpenter reads them from a name; None for other names.

    `im4gn.large` is category im, generation 4; `p6-b200.48xlarge` is family p6-b200, category p.
    """
    match = _SCHEME.fullmatch(name)
    if match is None:
        return None
    return NameParts(name.partition(".")[0], match["category"], int(match["generation"]), match["size"])
