"""Facts about the cluster that exists already: its name and what runs on it.

Versions that cannot go together are refused here, once, for every component.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from floodplain.problem import RuleError
from floodplain.settings import Settings
from floodplain.settings_path import Location

from . import compatibility
from .cloud_names import Place, place_of

_CLUSTER_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")


def _cluster_name(name: str) -> str:
    if not _CLUSTER_NAME.fullmatch(name):
        raise RuleError(
            "is not an EKS cluster name",
            "use 1 to 100 letters, digits, dashes and underscores, starting with a letter or digit",
        )
    return name


ClusterName = Annotated[str, AfterValidator(_cluster_name)]


class Cluster(Settings):
    """A cluster and where it is: what AWS resources for it must know."""

    name: ClusterName
    region: str
    account_id: str
    kubernetes_version: str

    @model_validator(mode="after")
    def _place_exists(self) -> Cluster:
        try:
            place_of(self.region, self.account_id)
        except RuleError as error:
            key = "account_id" if error.value == self.account_id else "region"
            raise RuleError(error.rule, error.remedy, (key,), error.value) from None
        return self

    @property
    def place(self) -> Place:
        """Region, account and partition, which ARNs are made of."""
        return place_of(self.region, self.account_id)

    @property
    def arn(self) -> str:
        """The cluster's ARN; it also identifies the cluster to the Kubernetes provider."""
        return self.place.regional("eks", f"cluster/{self.name}")


class ClusterVersions(Settings):
    """The cluster a pool belongs to.

    `vm_memory_overhead_percent` is Karpenter's setting of that name, a share (0.075 is 7.5 %): a pool's
    allocatable memory depends on it.
    """

    name: ClusterName
    kubernetes_version: str
    karpenter_version: str = compatibility.DEFAULT_KARPENTER
    vm_memory_overhead_percent: float = Field(default=0.075, ge=0, lt=1)

    @model_validator(mode="after")
    def _versions_go_together(self) -> ClusterVersions:
        check_versions(self.kubernetes_version, self.karpenter_version, ("kubernetes_version",), ("karpenter_version",))
        return self


def check_versions(kubernetes: str, karpenter: str, kubernetes_path: Location, karpenter_path: Location) -> None:
    """Raise RuleError, at the path of the version to change, when the two do not go together."""
    try:
        compatibility.check(kubernetes, karpenter)
    except RuleError as error:
        path = karpenter_path if error.value == karpenter else kubernetes_path
        raise RuleError(error.rule, error.remedy, path, error.value) from None
