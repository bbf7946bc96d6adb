"""Network and metadata settings of an EC2NodeClass. Not where nodes start: see `selector`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from floodplain.problem import RuleError

from .model import CrdModel, Raw, has
from .scalars import one_of, whole

INTERFACES_MOST = 150
SWITCH = ("enabled", "disabled")


class MetadataOptions(CrdModel):
    """How the instance metadata service of a node can be reached."""

    http_endpoint: Annotated[str | None, one_of(*SWITCH)] = None
    http_protocol_ipv6: Annotated[str | None, one_of(*SWITCH)] = Field(default=None, alias="httpProtocolIPv6")
    http_put_response_hop_limit: Annotated[int | None, whole(1, 64)] = None
    http_tokens: Annotated[str | None, one_of("required", "optional")] = None


def _one_timeout(raw: Raw) -> Iterator[RuleError]:
    keys = ("tcpEstablishedTimeout", "udpStreamTimeout", "udpTimeout")
    if not any(has(raw, key) for key in keys):
        yield RuleError(f"has none of {', '.join(keys)}", "set one of them, or leave connectionTracking out")


class ConnectionTracking(CrdModel):
    """After how many seconds idle connections are forgotten."""

    rules = (_one_timeout,)

    tcp_established_timeout: Annotated[int | None, whole(60, 432_000)] = None
    udp_stream_timeout: Annotated[int | None, whole(60, 180)] = None
    udp_timeout: Annotated[int | None, whole(30, 60)] = None


class CpuOptions(CrdModel):
    """Options of the instance's processor."""

    nested_virtualization: Annotated[str | None, one_of(*SWITCH)] = None


class NetworkInterface(CrdModel):
    """A network interface that nodes start with."""

    network_card_index: Annotated[int, whole(0)]
    device_index: Annotated[int, whole(0)]
    interface_type: Annotated[str, one_of("interface", "efa-only")]


def interfaces_fit(raw: Raw) -> Iterator[RuleError]:
    """A primary interface, no slot used twice, one efa-only interface a network card at most."""
    key = "networkInterfaces"
    interfaces = raw.get(key) or ()
    slots = [(item["networkCardIndex"], item["deviceIndex"], item["interfaceType"]) for item in interfaces]
    if slots and (0, 0, "interface") not in slots:
        yield RuleError(
            "has no primary interface", "add networkCardIndex 0, deviceIndex 0, interfaceType interface", (key,)
        )
    for position, (card, device, kind) in enumerate(slots):
        if any((card, device) == earlier[:2] for earlier in slots[:position]):
            yield RuleError(
                f"takes device {device} of card {card} a second time", "give it another index", (key, position)
            )
        if kind == "efa-only" and (card, kind) in [(earlier[0], earlier[2]) for earlier in slots[:position]]:
            yield RuleError(f"is a second efa-only interface on card {card}", "give it another card", (key, position))
