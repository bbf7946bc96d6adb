"""What callers write about the cluster that exists already: the published schema of `cluster`."""

from typing import NotRequired, TypedDict


class PlacedClusterArgs(TypedDict):
    """An EKS cluster and where it is."""

    name: str
    """Name of the EKS cluster."""
    region: str
    """Its region, such as `eu-central-1`."""
    account_id: str
    """AWS account that owns it, 12 digits in quotes."""
    kubernetes_version: str
    """Its Kubernetes version, such as `"1.34"`. At least 1.33."""


class ClusterArgs(TypedDict):
    """The EKS cluster that a pool belongs to."""

    name: str
    """Name of the EKS cluster."""
    kubernetes_version: str
    """Its Kubernetes version, such as `"1.34"`. At least 1.33."""
    karpenter_version: NotRequired[str]
    """Version of Karpenter in it. Default `1.14.1`."""
    vm_memory_overhead_percent: NotRequired[float]
    """Karpenter's setting of that name, as a share. Default 0.075."""
