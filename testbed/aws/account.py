"""Which account do the tests pretend to have? Ids, region, zones, cluster and the machine images it finds.

Values only, in a form that can be handed to the server's process. What is made from them is in `seed` and `images`.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

ACCOUNT = "123456789012"
REGION = "us-west-2"
AMI_VERSIONS = ("20260714", "20260801", "20260901")
"""The first is the one that the project's stacks name."""
KUBERNETES_VERSIONS = ("1.33", "1.34", "1.35", "1.36")


@dataclass(frozen=True)
class Account:
    """`cluster_endpoint` and `certificate_authority` (base64) are what EKS is to tell of the cluster, None for what
    moto makes up."""

    cluster_name: str
    account_id: str = ACCOUNT
    region: str = REGION
    zone_letters: tuple[str, ...] = ("a", "b", "c")
    kubernetes_versions: tuple[str, ...] = KUBERNETES_VERSIONS
    ami_versions: tuple[str, ...] = AMI_VERSIONS
    service_range: str = "10.96.0.0/16"
    cluster_endpoint: str | None = None
    certificate_authority: str | None = None

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(f"{self.region}{letter}" for letter in self.zone_letters)

    def as_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Account:
        found: dict[str, Any] = json.loads(text)
        values: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in found.items()}
        return cls(**values)
