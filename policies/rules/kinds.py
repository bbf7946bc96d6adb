"""What kind of thing is a resource? Read from its type token, whatever API version it is written in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Kind:
    """A type token in parts: `kubernetes:karpenter.sh/v1:NodePool` is package, module and name."""

    package: str
    module: str
    name: str

    @property
    def group(self) -> str:
        """The module without its version: `karpenter.sh`, `apps`, `iam/policy`; `core` for plain `v1`."""
        if self.package != "kubernetes":
            return self.module
        group, _, version = self.module.rpartition("/")
        return group or ("core" if version.startswith("v") else version)


@lru_cache(maxsize=1024)
def kind_of(resource_type: str) -> Kind:
    """The parts of a type token. Something that is no token has empty parts."""
    parts = resource_type.split(":")
    return Kind(*parts) if len(parts) == 3 else Kind("", "", "")


def is_node_pool(resource_type: str) -> bool:
    """Karpenter's NodePool."""
    kind = kind_of(resource_type)
    return (kind.package, kind.group, kind.name) == ("kubernetes", "karpenter.sh", "NodePool")


def is_node_class(resource_type: str) -> bool:
    """Karpenter's EC2NodeClass."""
    kind = kind_of(resource_type)
    return (kind.package, kind.group, kind.name) == ("kubernetes", "karpenter.k8s.aws", "EC2NodeClass")


def is_chart(resource_type: str) -> bool:
    """A Helm chart, as a Release or as a Chart of the Kubernetes provider, of any version."""
    kind = kind_of(resource_type)
    return kind.package == "kubernetes" and kind.group == "helm.sh" and kind.name in ("Release", "Chart")


def is_kubernetes_object(resource_type: str) -> bool:
    """Anything of the Kubernetes provider that becomes objects in a cluster."""
    return kind_of(resource_type).package == "kubernetes"


def is_kubernetes(resource_type: str, group: str, *names: str) -> bool:
    """A Kubernetes object of this API group (`core` for the group without a name) and one of these kinds."""
    kind = kind_of(resource_type)
    return kind.package == "kubernetes" and kind.group == group and kind.name in names
