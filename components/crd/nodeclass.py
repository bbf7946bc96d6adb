"""karpenter.k8s.aws/v1 EC2NodeClass, as the CRD of Karpenter 1.14.1 has it, and what breaks after it.

Not floodplain's own demands (a pinned AMI, swap in user data), nor what user data holds: see `nodeconfig`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from floodplain.problem import RuleError

from ..cloud_names import role_name_problems
from .disk import DEVICES_MOST, BlockDeviceMapping, one_root_volume
from .kubelet import KubeletSpec
from .model import CrdModel, Raw, counted, has
from .network import (
    INTERFACES_MOST,
    ConnectionTracking,
    CpuOptions,
    MetadataOptions,
    NetworkInterface,
    interfaces_fit,
)
from .scalars import flag, listed, not_empty, one_of, text, text_map, whole
from .selector import (
    ALIAS_FAMILIES,
    TERMS_MOST,
    AmiTerm,
    CapacityReservationTerm,
    PlacementGroup,
    SecurityGroupTerm,
    SubnetTerm,
    alone_in_terms,
)
from .violation import RuntimeRuleError

API_VERSION = "karpenter.k8s.aws/v1"
KIND = "EC2NodeClass"
AMI_FAMILIES = ("AL2", "AL2023", "Bottlerocket", "Custom", "Windows2019", "Windows2022", "Windows2025")
USER_DATA_BYTES_MOST = 16_384
"""EC2's limit before base64, with what Karpenter adds to it."""

EC2_TAG_KEY_MOST, EC2_TAG_VALUE_MOST = 128, 256
KARPENTERS_TAGS = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)


_IGNORED = "is ignored in silence"
_WIDER = "makes a second, wider search"


def _role(value: str) -> Iterator[RuleError]:
    yield from not_empty(value)
    for error in role_name_problems(value) if value else ():
        yield RuntimeRuleError(error.rule, error.remedy, value=value)


def _instance_profile(value: str) -> Iterator[RuleError]:
    yield from not_empty(value)
    if value.startswith("arn:"):
        yield RuntimeRuleError(
            "is an ARN, while EC2 wants a name here",
            f"write the profile's name: {value.rsplit('/', 1)[-1]}",
            value=value,
        )


def _user_data(value: str) -> Iterator[RuleError]:
    size = len(value.encode())
    if size > USER_DATA_BYTES_MOST:
        yield RuntimeRuleError(
            f"has {size} bytes and EC2 takes {USER_DATA_BYTES_MOST}, Karpenter's own part included",
            f"shorten it by at least {size - USER_DATA_BYTES_MOST} bytes; it cannot be compressed",
            value=f"{value[:20]}...",
        )


def is_tag_of_karpenter(key: str) -> bool:
    """Whether Karpenter itself sets this tag on instances, so that a class that names it is refused."""
    return key in KARPENTERS_TAGS or key.startswith("kubernetes.io/cluster")


def _tags(tags: Mapping[str, Any]) -> Iterator[RuleError]:
    for key, value in tags.items():
        if not key:
            yield RuleError("has an empty key", "name the tag", (key,))
        elif is_tag_of_karpenter(key):
            yield RuleError("is set by Karpenter itself", "leave it out", (key,))
        elif key.lower().startswith("aws:"):
            yield RuntimeRuleError("is in AWS's own domain, which EC2 refuses", "rename it", (key,))
        if len(key) > EC2_TAG_KEY_MOST or len(str(value)) > EC2_TAG_VALUE_MOST:
            yield RuntimeRuleError(
                f"is longer than EC2's {EC2_TAG_KEY_MOST} (key) or {EC2_TAG_VALUE_MOST} (value) characters",
                "shorten it",
                (key,),
                value,
            )


def _one_identity(raw: Raw) -> Iterator[RuleError]:
    if has(raw, "role") and has(raw, "instanceProfile"):
        yield RuleError(
            "may not stand beside role", "leave one of the two out", ("instanceProfile",), raw["instanceProfile"]
        )
    if not has(raw, "role") and not has(raw, "instanceProfile"):
        yield RuleError("has neither role nor instanceProfile", "set role to the node role's name")


def _alias_alone(raw: Raw) -> Iterator[RuleError]:
    terms = raw.get("amiSelectorTerms") or ()
    for position, term in enumerate(terms):
        if has(term, "alias") and len(terms) > 1:
            yield RuleError(
                f"must be the only term, and there are {len(terms)}",
                "leave the others out",
                ("amiSelectorTerms", position, "alias"),
                term["alias"],
            )


def _family_fits(raw: Raw) -> Iterator[RuleError]:
    aliases = [term["alias"] for term in raw.get("amiSelectorTerms") or () if has(term, "alias")]
    family = raw.get("amiFamily")
    if family is None:
        if not aliases:
            yield RuleError(
                "is required without an alias in amiSelectorTerms", "set it, for example AL2023", ("amiFamily",)
            )
        return
    for alias in aliases:
        wanted = ALIAS_FAMILIES.get(alias.split("@")[0])
        if wanted and family not in (wanted, "Custom"):
            yield RuleError(
                f"does not go with the alias {alias}", f"leave it out or write {wanted}", ("amiFamily",), family
            )


class EC2NodeClassSpec(CrdModel):
    """The spec of an EC2NodeClass."""

    rules = (
        counted("amiSelectorTerms", TERMS_MOST, least=1),
        _alias_alone,
        _family_fits,
        counted("subnetSelectorTerms", TERMS_MOST),
        alone_in_terms("subnetSelectorTerms", ("id", {"tags": _IGNORED})),
        counted("securityGroupSelectorTerms", TERMS_MOST),
        alone_in_terms(
            "securityGroupSelectorTerms",
            ("id", {"tags": _IGNORED, "name": _IGNORED}),
            ("name", {"tags": _IGNORED, "id": _IGNORED}),
        ),
        counted("capacityReservationSelectorTerms", TERMS_MOST),
        alone_in_terms(
            "capacityReservationSelectorTerms",
            ("id", {"tags": _WIDER, "instanceMatchCriteria": _WIDER, "ownerID": _IGNORED}),
        ),
        _one_identity,
        counted("blockDeviceMappings", DEVICES_MOST),
        one_root_volume,
        counted("networkInterfaces", INTERFACES_MOST),
        interfaces_fit,
    )
    elsewhere = {
        "launchTemplate": "Karpenter makes launch templates itself; use userData and the other keys",
        "requirements": "they stand in the NodePool, spec.template.spec.requirements",
        "taints": "they stand in the NodePool, spec.template.spec.taints",
        "subnetSelector": "use subnetSelectorTerms",
        "securityGroupSelector": "use securityGroupSelectorTerms",
        "amiSelector": "use amiSelectorTerms",
    }

    ami_family: Annotated[str | None, one_of(*AMI_FAMILIES)] = None
    ami_selector_terms: Annotated[tuple[AmiTerm, ...], listed]
    role: Annotated[str | None, text(_role)] = None
    instance_profile: Annotated[str | None, text(_instance_profile)] = None
    subnet_selector_terms: Annotated[tuple[SubnetTerm, ...], listed]
    security_group_selector_terms: Annotated[tuple[SecurityGroupTerm, ...], listed]
    capacity_reservation_selector_terms: Annotated[tuple[CapacityReservationTerm, ...] | None, listed] = None
    placement_group_selector: PlacementGroup | None = None
    associate_public_ip_address: Annotated[bool | None, flag] = Field(default=None, alias="associatePublicIPAddress")
    ip_prefix_count: Annotated[int | None, whole(0)] = None
    network_interfaces: Annotated[tuple[NetworkInterface, ...] | None, listed] = None
    connection_tracking: ConnectionTracking | None = None
    instance_store_policy: Annotated[str | None, one_of("RAID0")] = None
    block_device_mappings: Annotated[tuple[BlockDeviceMapping, ...] | None, listed] = None
    metadata_options: MetadataOptions | None = None
    cpu_options: CpuOptions | None = None
    detailed_monitoring: Annotated[bool | None, flag] = None
    context: Annotated[str | None, text()] = None
    kubelet: KubeletSpec | None = None
    tags: Annotated[dict[str, str] | None, text_map(_tags)] = None
    user_data: Annotated[str | None, text(_user_data)] = None
