"""One entry of EC2's DescribeInstanceTypes read as Karpenter reads it. No I/O: the edge is catalogue.refresh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from floodplain.catalogue.instance_type import Architecture, InstanceType, name_parts

_ARCHITECTURES: dict[str, Architecture] = {"x86_64": "amd64", "arm64": "arm64"}


def instance_type(info: Mapping[str, Any]) -> InstanceType | None:
    """The instance type of one entry, or None when Karpenter could not launch it with local NVMe.

    That is: no instance store behind NVMe, or an architecture that Kubernetes does not run on (Macs).
    """
    name = str(info["InstanceType"])
    parts = name_parts(name)
    storage = info.get("InstanceStorageInfo") or {}
    arch = _architecture(info)
    if parts is None or arch is None or not storage.get("TotalSizeInGB"):
        return None
    if storage.get("NvmeSupport", "unsupported") == "unsupported":
        return None
    spinning = any(disk.get("Type") == "hdd" for disk in storage.get("Disks", ()))
    return InstanceType(
        name=name,
        family=parts.family,
        category=parts.category,
        generation=parts.generation,
        size=parts.size,
        vcpu=int(info["VCpuInfo"]["DefaultVCpus"]),
        memory_mib=int(info["MemoryInfo"]["SizeInMiB"]),
        nvme_gb=int(storage["TotalSizeInGB"]),
        storage="hdd" if spinning else "ssd",
        arch=arch,
        pods=_eni_limit(info["NetworkInfo"]),
        hypervisor=str(info.get("Hypervisor") or ""),
        cpu_manufacturer=str(info["ProcessorInfo"].get("Manufacturer") or "").lower().replace(" ", "-"),
        network_mbps=_network_mbps(info["NetworkInfo"]),
        ebs_mbps=_ebs_mbps(info.get("EbsInfo") or {}),
        gpu_count=_gpu_count(info.get("GpuInfo") or {}),
        encryption_in_transit=bool(info["NetworkInfo"].get("EncryptionInTransitSupported")),
    )


def _architecture(info: Mapping[str, Any]) -> Architecture | None:
    supported = info["ProcessorInfo"].get("SupportedArchitectures", ())
    return next((_ARCHITECTURES[one] for one in supported if one in _ARCHITECTURES), None)


def _eni_limit(network: Mapping[str, Any]) -> int:
    # The VPC CNI uses the default card only; one address of each interface is the interface's own.
    cards = network.get("NetworkCards") or [{"MaximumNetworkInterfaces": network["MaximumNetworkInterfaces"]}]
    card = cards[network.get("DefaultNetworkCardIndex", 0)]
    return int(card["MaximumNetworkInterfaces"]) * (int(network["Ipv4AddressesPerInterface"]) - 1) + 2


def _network_mbps(network: Mapping[str, Any]) -> int | None:
    # Karpenter's label comes from AWS's documentation instead, which counts several cards differently.
    gbps = [card.get("BaselineBandwidthInGbps") for card in network.get("NetworkCards") or ()]
    return round(sum(gbps) * 1000) if gbps and all(gbps) else None


def _ebs_mbps(ebs: Mapping[str, Any]) -> int | None:
    optimized = ebs.get("EbsOptimizedInfo") or {}
    if ebs.get("EbsOptimizedSupport") != "default" or "MaximumBandwidthInMbps" not in optimized:
        return None
    return int(optimized["MaximumBandwidthInMbps"])


def _gpu_count(gpu: Mapping[str, Any]) -> int | None:
    # A fraction of a GPU (g6f) has no count in EC2, and Karpenter's label then says 0.
    kinds: Sequence[Mapping[str, Any]] = gpu.get("Gpus") or ()
    return int(kinds[0].get("Count") or 0) if len(kinds) == 1 else None
