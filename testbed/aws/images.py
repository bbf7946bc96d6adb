"""Which machine images does the account see, and what does SSM say about them? AL2023 as EKS publishes it.

Names and parameter paths follow EKS (docs.aws.amazon.com, "Retrieve Amazon Linux AMI IDs"); the ids are made up.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbed.aws.account import Account

PUBLISHER = "602401143452"
ARCHITECTURES = ("x86_64", "arm64")
_PARAMETER = re.compile(
    r"/aws/service/eks/optimized-ami/(?P<kubernetes>[0-9.]+)/amazon-linux-2023/(?P<architecture>\w+)/standard/"
    r"(?P<name>[^/]+)/image_id"
)


@dataclass(frozen=True)
class Image:
    """`version` is the date in the alias al2023@v20260714."""

    kubernetes: str
    architecture: str
    version: str

    @property
    def name(self) -> str:
        return f"amazon-eks-node-al2023-{self.architecture}-standard-{self.kubernetes}-v{self.version}"

    @property
    def id(self) -> str:
        return f"ami-{hashlib.sha256(self.name.encode()).hexdigest()[:17]}"


def images(account: Account) -> tuple[Image, ...]:
    """All images of the account, the newest last."""
    return tuple(
        Image(kubernetes, architecture, version)
        for version in sorted(account.ami_versions)
        for kubernetes in account.kubernetes_versions
        for architecture in ARCHITECTURES
    )


def moto_table(found: Sequence[Image]) -> list[dict[str, Any]]:
    """The images as moto reads them from the file that MOTO_AMIS_PATH names."""
    return [
        {
            "ami_id": image.id,
            "name": image.name,
            "architecture": image.architecture,
            "owner_id": PUBLISHER,
            "public": True,
            "state": "available",
            "description": f"EKS-optimized Kubernetes {image.kubernetes} node",
            "image_location": f"amazon/{image.name}",
            "image_type": "machine",
            "platform": None,
            "root_device_name": "/dev/xvda",
            "root_device_type": "ebs",
            "sriov": "simple",
            "virtualization_type": "hvm",
            "hypervisor": "xen",
            "creation_date": f"{image.version[:4]}-{image.version[4:6]}-{image.version[6:]}T00:00:00.000Z",
        }
        for image in found
    ]


def named_by(parameter: str, found: Sequence[Image]) -> Image | None:
    """The image that an SSM parameter of EKS names; `recommended` is the newest. None where EKS has none."""
    match = _PARAMETER.fullmatch(parameter)
    if match is None:
        return None
    fitting = [
        image
        for image in found
        if (image.kubernetes, image.architecture) == (match["kubernetes"], match["architecture"])
        and match["name"] in ("recommended", image.name)
    ]
    return max(fitting, key=lambda image: image.version) if fitting else None
