"""Block devices of an EC2NodeClass. Not the instance store: see instanceStorePolicy and `nodeconfig`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from floodplain.problem import RuleError

from .model import CrdModel, Raw, has
from .scalars import INT64_MAX, flag, one_of, text, whole
from .violation import RuntimeRuleError

DEVICES_MOST = 50
VOLUME_TYPES = ("standard", "io1", "io2", "gp2", "sc1", "st1", "gp3")
IOPS_TYPES = ("io1", "io2", "gp3")

_SIZES = {"Gi": 59_000, "G": 64_000, "Ti": 58, "T": 64}


def _size(value: str) -> Iterator[RuleError]:
    """A whole number of Gi, G, Ti or T within the CRD's bounds, with its two slips.

    Its pattern for Ti leaves out 18, 19, 28, 29 and so on up to 49, and both Ti and T may stand alone, which Go
    reads as zero.
    """
    found = re.fullmatch(r"([0-9]*)(Gi|G|Ti|T)", value)
    if not found:
        yield RuleError("is not a volume size", "write for example 80Gi; Gi, G, Ti and T are known", value=value)
        return
    number, unit = found[1], found[2]
    if not number and unit in ("Ti", "T"):
        yield RuntimeRuleError("has no number and so counts as a volume of no size", f"write 1{unit}", value=value)
    elif not number or number.startswith("0"):
        yield RuleError("is not a volume size", "write a number without leading zeros: 80Gi", value=value)
    elif int(number) > _SIZES[unit]:
        yield RuleError(f"is above {_SIZES[unit]}{unit}", "write less", value=value)
    elif unit == "Ti" and len(number) == 2 and number != "58" and number[1] in "89":
        yield RuleError("is a size that the CRD's pattern forgets", f"write {int(number) * 1024}Gi", value=value)


def _snapshot_or_size(raw: Raw) -> Iterator[RuleError]:
    if not has(raw, "snapshotID") and not has(raw, "volumeSize"):
        yield RuleError("has neither volumeSize nor snapshotID", "set volumeSize, for example 80Gi")
    if has(raw, "volumeInitializationRate") and not raw.get("snapshotID"):
        yield RuleError(
            "needs a snapshotID",
            "set it, or leave the rate out",
            ("volumeInitializationRate",),
            raw["volumeInitializationRate"],
        )


def _speed_fits_type(raw: Raw) -> Iterator[RuleError]:
    """Not checked before the first launch, which then fails (EC2's rules as the CRD's own text gives them)."""
    kind = raw.get("volumeType")
    if raw.get("iops") and kind is not None and kind not in IOPS_TYPES:
        yield RuntimeRuleError(
            f"cannot be set for {kind}", f"use {', '.join(IOPS_TYPES)} or leave it out", ("iops",), raw["iops"]
        )
    if raw.get("throughput") and kind not in (None, "gp3"):
        yield RuntimeRuleError(
            f"cannot be set for {kind}", "use gp3 or leave it out", ("throughput",), raw["throughput"]
        )


class Ebs(CrdModel):
    """The volume behind a device."""

    rules = (_snapshot_or_size, _speed_fits_type)

    volume_size: Annotated[str | None, text(_size)] = None
    volume_type: Annotated[str | None, one_of(*VOLUME_TYPES)] = None
    encrypted: Annotated[bool | None, flag] = None
    delete_on_termination: Annotated[bool | None, flag] = None
    iops: Annotated[int | None, whole(high=INT64_MAX)] = None
    throughput: Annotated[int | None, whole(high=INT64_MAX)] = None
    kms_key_id: Annotated[str | None, text()] = Field(default=None, alias="kmsKeyID")
    snapshot_id: Annotated[str | None, text()] = Field(default=None, alias="snapshotID")
    volume_initialization_rate: Annotated[int | None, whole(100, 300)] = None


def _whole_device(raw: Raw) -> Iterator[RuleError]:
    if not has(raw, "deviceName"):
        yield RuntimeRuleError("is missing, and EC2 refuses the launch", "set it: /dev/xvda", ("deviceName",))
    if not has(raw, "ebs"):
        yield RuntimeRuleError("is missing, on which Karpenter panics", "set it", ("ebs",))


class BlockDeviceMapping(CrdModel):
    """A device of the node and the volume behind it."""

    rules = (_whole_device,)

    device_name: Annotated[str | None, text()] = None
    root_volume: Annotated[bool | None, flag] = None
    ebs: Ebs | None = None


def one_root_volume(raw: Raw) -> Iterator[RuleError]:
    """At most one device is the root volume, and no device is mapped twice."""
    devices = raw.get("blockDeviceMappings") or ()
    roots = [position for position, device in enumerate(devices) if device.get("rootVolume")]
    for position in roots[1:]:
        yield RuleError(
            f"is the root volume as well as blockDeviceMappings[{roots[0]}]",
            "leave rootVolume out of one",
            ("blockDeviceMappings", position, "rootVolume"),
        )
    names = [device.get("deviceName") for device in devices]
    for position, name in enumerate(names):
        if name is not None and name in names[:position]:
            yield RuntimeRuleError(
                "is mapped twice, which EC2 refuses at launch",
                "leave one out",
                ("blockDeviceMappings", position, "deviceName"),
                name,
            )
