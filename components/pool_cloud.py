"""What a pool takes from AWS: machine image, subnets, security groups, root volume."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from floodplain.problem import RuleError
from floodplain.quantity import QuantityText
from floodplain.settings import Settings

OLDEST_AMI = 20251023
"""The first AL2023 release whose nodeadm reads drop-in NodeConfigs (amazon-eks-ami pull request 2427).
The drop-in takes the swap file out of the node's allocatable disk."""

_ALIAS = re.compile(r"al2023@(latest|v(\d{8}))")
_AMI_ID = re.compile(r"ami-[0-9a-z]+")


class AmiSettings(Settings):
    """The machine image: an `alias` such as `al2023@v20260714`, or `ids` of images made from AL2023."""

    alias: str | None = None
    ids: tuple[str, ...] = Field(default=(), max_length=30)

    @model_validator(mode="after")
    def _one_kind_of_term(self) -> AmiSettings:
        if bool(self.alias) == bool(self.ids):
            raise RuleError("needs either `alias` or `ids`", "for example alias: al2023@v20260714")
        if self.alias:
            match = _ALIAS.fullmatch(self.alias)
            if not match:
                raise RuleError(
                    "is not an AL2023 alias",
                    "write al2023@vYYYYMMDD; swap is set up by AL2023's nodeadm",
                    ("alias",),
                    self.alias,
                )
            if match[2] and int(match[2]) < OLDEST_AMI:
                raise RuleError(
                    "is too old: its nodeadm does not read the drop-in that takes swap out of allocatable disk",
                    f"use al2023@v{OLDEST_AMI} or newer",
                    ("alias",),
                    self.alias,
                )
        for index, ami in enumerate(self.ids):
            if not _AMI_ID.fullmatch(ami):
                raise RuleError("is not an image id", "write ami-...", ("ids", index), ami)
        return self

    @property
    def pinned(self) -> bool:
        """Whether the same settings always give the same image."""
        return self.alias is None or not self.alias.endswith("@latest")

    def terms(self) -> list[dict[str, str]]:
        """EC2NodeClass amiSelectorTerms."""
        return [{"alias": self.alias}] if self.alias else [{"id": ami} for ami in self.ids]


class SelectorTerm(Settings):
    """One term of a subnet or security group selector: `tags` (all must match) or an `id`."""

    tags: dict[str, str] = Field(default_factory=dict, max_length=20)
    id: str | None = None

    @model_validator(mode="after")
    def _tags_or_id(self) -> SelectorTerm:
        if bool(self.tags) == bool(self.id):
            raise RuleError("needs either `tags` or `id`", "for example tags: {karpenter.sh/discovery: my-cluster}")
        for key, value in self.tags.items():
            if not key or not value:
                raise RuleError("has an empty key or value", "give both", ("tags",), {key: value})
        return self

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


class VolumeType(StrEnum):
    """EBS volume types that suit a root volume."""

    GP3 = "gp3"
    """General purpose, performance set apart from size."""
    GP2 = "gp2"
    """General purpose, performance grows with size."""
    IO2 = "io2"
    """Provisioned IOPS."""


class RootVolume(Settings):
    """The root EBS volume. Pods, images and swap are on the instance store, so it may be small."""

    size: QuantityText = "30Gi"
    type: VolumeType = VolumeType.GP3
    iops: int | None = Field(default=None, ge=100)
    throughput: int | None = Field(default=None, ge=125)
    kms_key_id: str | None = None

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
