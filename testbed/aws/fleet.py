"""Which pool does a fleet launch from? EC2 takes the cheapest that has capacity; moto takes the first one it is given.

Pure translations of CreateFleet: reading the pools of a request, leaving out the starved ones, writing the rest in the
order of their priority (which is the price Karpenter reckons with), and reporting what was left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree
from xml.etree.ElementTree import SubElement

from testbed.aws import query

ANY = "*"
_OVERRIDE = re.compile(r"LaunchTemplateConfigs\.(\d+)\.Overrides\.(\d+)\.(.+)")
_CONFIG = re.compile(r"LaunchTemplateConfigs\.(\d+)\.(.+)")


@dataclass(frozen=True)
class Pool:
    """One override of a launch template: an instance type in a zone."""

    config: int
    fields: Mapping[str, str]

    @property
    def instance_type(self) -> str:
        return self.fields.get("InstanceType", "")

    @property
    def zone(self) -> str:
        return self.fields.get("AvailabilityZone", "")

    @property
    def priority(self) -> float:
        """Lower goes first; a pool without one goes last."""
        return float(self.fields.get("Priority", "inf"))


@dataclass(frozen=True)
class Fleet:
    """A CreateFleet request taken apart."""

    rest: Mapping[str, str]
    configs: Mapping[int, Mapping[str, str]]
    pools: tuple[Pool, ...]

    @property
    def capacity_type(self) -> str:
        return self.rest.get("TargetCapacitySpecification.DefaultTargetCapacityType", "on-demand")

    def template(self, pool: Pool) -> str:
        """Name of the pool's launch template."""
        return self.configs[pool.config].get("LaunchTemplateSpecification.LaunchTemplateName", "")


def read(found: Mapping[str, str]) -> Fleet:
    """The parts of a request's form."""
    rest: dict[str, str] = {}
    configs: dict[int, dict[str, str]] = {}
    pools: dict[tuple[int, int], dict[str, str]] = {}
    for key, value in found.items():
        if match := _OVERRIDE.fullmatch(key):
            pools.setdefault((int(match[1]), int(match[2])), {})[match[3]] = value
        elif match := _CONFIG.fullmatch(key):
            configs.setdefault(int(match[1]), {})[match[2]] = value
        else:
            rest[key] = value
    return Fleet(rest, configs, tuple(Pool(config, pools[config, number]) for config, number in sorted(pools)))


def without_capacity(fleet: Fleet, starved: Collection[tuple[str, str]]) -> tuple[Pool, ...]:
    """Pools whose (instance type, zone) is starved; `*` stands for every type or zone."""
    return tuple(
        pool
        for pool in fleet.pools
        if any(kind in (ANY, pool.instance_type) and zone in (ANY, pool.zone) for kind, zone in starved)
    )


def by_priority(pools: Iterable[Pool]) -> list[Pool]:
    return sorted(pools, key=lambda pool: pool.priority)


def write(fleet: Fleet, pools: Iterable[Pool]) -> dict[str, str]:
    """The form of a request for these pools, in this order: the first pool's template first."""
    ordered = list(pools)
    written = dict(fleet.rest)
    for number, config in enumerate(dict.fromkeys(pool.config for pool in ordered), start=1):
        prefix = f"LaunchTemplateConfigs.{number}"
        written |= {f"{prefix}.{key}": value for key, value in fleet.configs[config].items()}
        own = [pool for pool in ordered if pool.config == config]
        for place, pool in enumerate(own, start=1):
            written |= {f"{prefix}.Overrides.{place}.{key}": value for key, value in pool.fields.items()}
    return written


def nothing_launched() -> ElementTree.Element:
    """The answer of a fleet that got no instance."""
    answer = ElementTree.Element("CreateFleetResponse")
    SubElement(answer, "requestId").text = "testbed"
    SubElement(answer, "fleetId").text = "fleet-00000000-0000-0000-0000-000000000000"
    SubElement(answer, "fleetInstanceSet")
    return answer


def report(answer: ElementTree.Element, fleet: Fleet, left_out: Iterable[Pool]) -> None:
    """Add EC2's errors about pools without capacity to an answer of CreateFleet."""
    errors = answer.find("errorSet")
    if errors is None:
        errors = SubElement(answer, "errorSet")
    for pool in left_out:
        item = SubElement(errors, "item")
        used = SubElement(item, "launchTemplateAndOverrides")
        template = SubElement(used, "launchTemplateSpecification")
        SubElement(template, "launchTemplateName").text = fleet.template(pool)
        SubElement(template, "version").text = "1"
        overrides = SubElement(used, "overrides")
        SubElement(overrides, "instanceType").text = pool.instance_type
        SubElement(overrides, "subnetId").text = pool.fields.get("SubnetId", "")
        SubElement(overrides, "availabilityZone").text = pool.zone
        SubElement(item, "lifecycle").text = fleet.capacity_type
        SubElement(item, "errorCode").text = "InsufficientInstanceCapacity"
        SubElement(item, "errorMessage").text = (
            f"We currently do not have sufficient {pool.instance_type} capacity in the Availability Zone you "
            f"requested ({pool.zone})."
        )


def instance_ids(answer: ElementTree.Element) -> list[str]:
    """Instances that a fleet launched."""
    return [item.text or "" for item in answer.iterfind("fleetInstanceSet/item/instanceIds/item")]


def security_groups(template: Mapping[str, str]) -> list[str]:
    """The groups that a launch template's form names, on its first network interface or for the whole instance."""
    prefix = "LaunchTemplateData"
    for name in (f"{prefix}.NetworkInterface.1.SecurityGroupId", f"{prefix}.SecurityGroupId"):
        if groups := query.numbered(template, name):
            return groups
    return []
