"""Facts about the cluster that exists already: its name and what runs on it.

Versions that cannot go together are refused here, once, for every component.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from floodplain.problem import RuleError
from floodplain.rules import RuledSettings, rule
from floodplain.settings import Settings
from floodplain.settings_path import Location

from . import compatibility
from .cloud_names import Place, check_account_id, partition_of, place_of
from .compatibility import KarpenterVersion, KubernetesVersion

_CLUSTER_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")


def _cluster_name(name: str) -> str:
    if not _CLUSTER_NAME.fullmatch(name):
        raise RuleError(
            "is not an EKS cluster name",
            "use 1 to 100 letters, digits, dashes and underscores, starting with a letter or digit",
        )
    return name


def _region(region: str) -> str:
    partition_of(region)
    return region


ClusterName = Annotated[str, AfterValidator(_cluster_name)]
Region = Annotated[str, AfterValidator(_region)]
AccountId = Annotated[str, AfterValidator(check_account_id)]


class Cluster(Settings):
    """A cluster and where it is: what AWS resources for it must know."""

    name: ClusterName
    region: Region
    account_id: AccountId
    kubernetes_version: KubernetesVersion

    @property
    def place(self) -> Place:
        """Region, account and partition, which ARNs are made of."""
        return place_of(self.region, self.account_id)

    @property
    def arn(self) -> str:
        """The cluster's ARN; it also identifies the cluster to the Kubernetes provider."""
        return self.place.regional("eks", f"cluster/{self.name}")


class ClusterVersions(RuledSettings):
    """The cluster a pool belongs to.

    `vm_memory_overhead_percent` is Karpenter's setting of that name, a share (0.075 is 7.5 %): a pool's
    allocatable memory depends on it.
    """

    name: ClusterName
    kubernetes_version: KubernetesVersion
    karpenter_version: KarpenterVersion = compatibility.DEFAULT_KARPENTER
    vm_memory_overhead_percent: float = Field(default=0.075, ge=0, lt=1)

    @rule("kubernetes_version", "karpenter_version")
    def _versions_go_together(self) -> Iterator[RuleError]:
        yield from version_problems(self.kubernetes_version, self.karpenter_version, ("karpenter_version",))


def version_problems(kubernetes: str, karpenter: str, path: Location) -> Iterator[RuleError]:
    """What keeps two versions, each sound by itself, from going together; `path` is where Karpenter's stands."""
    try:
        compatibility.check(kubernetes, karpenter)
    except RuleError as error:
        yield RuleError(error.rule, error.remedy, path, error.value)
