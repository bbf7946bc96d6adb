"""What a pool takes from AWS: machine image, subnets, security groups, root volume."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from floodplain import quantity
from floodplain.problem import RuleError
from floodplain.quantity import BytesText
from floodplain.rules import RuledSettings, rule

OLDEST_AMI = 20251023
"""The first AL2023 release whose nodeadm reads drop-in NodeConfigs (amazon-eks-ami pull request 2427).
The drop-in takes the swap file out of the node's allocatable disk."""

_ALIAS = re.compile(r"al2023@(latest|v([0-9]{4}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])))")
_AMI_ID = re.compile(r"ami-[0-9a-z]+")


class AmiSettings(RuledSettings):
    """The machine image: an `alias` such as `al2023@v20260714`, or `ids` of images made from AL2023."""

    alias: str | None = None
    ids: tuple[str, ...] = Field(default=(), max_length=30)

    @model_validator(mode="before")
    @classmethod
    def _map_not_text(cls, given: Any) -> Any:
        if isinstance(given, str):
            key = f"{{ids: [{given}]}}" if given.startswith("ami-") else f"{{alias: {given}}}"
            raise RuleError("is a text where a map is wanted", f"write {key}", value=given)
        return given

    @rule("alias", "ids")
    def _one_kind_of_term(self) -> Iterator[RuleError]:
        if bool(self.alias) == bool(self.ids):
            yield RuleError("needs either `alias` or `ids`", "for example alias: al2023@v20260714")

    @rule("alias")
    def _alias_is_recent_al2023(self) -> Iterator[RuleError]:
        if not self.alias:
            return
        match = _ALIAS.fullmatch(self.alias)
        if not match:
            remedy = "write al2023@vYYYYMMDD; swap is set up by AL2023's nodeadm"
            yield RuleError("is not an AL2023 alias", remedy, ("alias",), self.alias)
        elif match[2] and int(match[2]) < OLDEST_AMI:
            yield RuleError(
                "is too old: its nodeadm does not read the drop-in that takes swap out of allocatable disk",
                f"use al2023@v{OLDEST_AMI} or newer",
                ("alias",),
                self.alias,
            )

    @rule("ids")
    def _ids_are_of_images(self) -> Iterator[RuleError]:
        for index, ami in enumerate(self.ids):
            if not _AMI_ID.fullmatch(ami):
                yield RuleError("is not an image id", "write ami-...", ("ids", index), ami)

    @property
    def pinned(self) -> bool:
        """Whether the same settings always give the same image."""
        return self.alias is None or not self.alias.endswith("@latest")

    def terms(self) -> list[dict[str, str]]:
        """EC2NodeClass amiSelectorTerms."""
        return [{"alias": self.alias}] if self.alias else [{"id": ami} for ami in self.ids]


class SelectorTerm(RuledSettings):
    """One term of a subnet or security group selector: `tags` (all must match) or an `id`."""

    tags: dict[str, str] = Field(default_factory=dict, max_length=20)
    id: str | None = None

    @rule("tags", "id")
    def _tags_or_id(self) -> Iterator[RuleError]:
        if bool(self.tags) == bool(self.id):
            yield RuleError("needs either `tags` or `id`", "for example tags: {karpenter.sh/discovery: my-cluster}")
        for key, value in self.tags.items():
            if not key or not value:
                yield RuleError("has an empty key or value", "give both", ("tags",), {key: value})

    def manifest(self) -> dict[str, object]:
        """The term as Karpenter reads it."""
        return {"id": self.id} if self.id else {"tags": dict(sorted(self.tags.items()))}


def _terms(id_prefix: str) -> AfterValidator:
    """Refuse ids of another kind, and terms given twice."""

    def check(terms: tuple[SelectorTerm, ...]) -> tuple[SelectorTerm, ...]:
        seen: list[SelectorTerm] = []
        for index, term in enumerate(terms):
            if term.id and not re.fullmatch(rf"{id_prefix}-[0-9a-z]+", term.id):
                raise RuleError(f"is not an id of this kind ({id_prefix}-...)", "check it", (index, "id"), term.id)
            if term in seen:
                raise RuleError("is given twice", "remove one", (index,), term.manifest())
            seen.append(term)
        return terms

    return AfterValidator(check)


SubnetTerms = Annotated[tuple[SelectorTerm, ...], Field(max_length=30), _terms("subnet")]
SecurityGroupTerms = Annotated[tuple[SelectorTerm, ...], Field(max_length=30), _terms("sg")]


_AMI_ROOT_GIB = 20


class VolumeType(StrEnum):
    """EBS volume types that suit a root volume."""

    GP3 = "gp3"
    """General purpose, performance set apart from size."""
    GP2 = "gp2"
    """General purpose, performance grows with size."""
    IO2 = "io2"
    """Provisioned IOPS."""


class RootVolume(RuledSettings):
    """The root EBS volume. Pods, images and swap are on the instance store, so it may be small."""

    size: BytesText = "30Gi"
    type: VolumeType = VolumeType.GP3
    iops: int | None = Field(default=None, ge=100)
    throughput: int | None = Field(default=None, ge=125)
    kms_key_id: str | None = Field(default=None, pattern=r"^[A-Za-z0-9:/_-]{1,2048}$")

    @rule("size")
    def _image_fits(self) -> Iterator[RuleError]:
        if quantity.to_bytes(self.size) < _AMI_ROOT_GIB * quantity.GIB:
            yield RuleError(
                f"is smaller than AL2023's image, whose snapshot has {_AMI_ROOT_GIB} GiB",
                f"set it to {_AMI_ROOT_GIB}Gi or more",
                ("size",),
                self.size,
            )

    @rule("type", "iops", "throughput")
    def _performance_suits_the_type(self) -> Iterator[RuleError]:
        if self.type is VolumeType.IO2 and self.iops is None:
            yield RuleError("is required with type io2", "set it, or use gp3", ("iops",))
        if self.type is VolumeType.GP2 and self.iops is not None:
            yield RuleError("cannot be set for gp2, where it follows from the size", "use gp3", ("iops",), self.iops)
        if self.type is not VolumeType.GP3 and self.throughput is not None:
            yield RuleError("can be set for gp3 only", "use gp3, or leave it out", ("throughput",), self.throughput)

    def mapping(self) -> dict[str, object]:
        """EC2NodeClass blockDeviceMappings entry; AL2023's root device is /dev/xvda."""
        ebs: dict[str, object] = {
            "volumeSize": self.size,
            "volumeType": self.type.value,
            "encrypted": True,
            "deleteOnTermination": True,
        }
        optional = {"iops": self.iops, "throughput": self.throughput, "kmsKeyID": self.kms_key_id}
        ebs.update({key: value for key, value in optional.items() if value is not None})
        return {"deviceName": "/dev/xvda", "rootVolume": True, "ebs": ebs}
