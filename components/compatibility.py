"""Which Karpenter goes with which Kubernetes, and since which Karpenter a thing exists.

Data and questions about it. Not for reading the versions of a live cluster, and not for the fields of Karpenter's
objects, which the CRD rules know.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from floodplain.problem import RuleError


@dataclass(frozen=True, order=True)
class Version:
    """A version as three numbers, so that 1.10 comes after 1.9."""

    major: int
    minor: int
    patch: int = 0

    @property
    def series(self) -> str:
        """Major and minor: `1.14`."""
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"{self.series}.{self.patch}"


DEFAULT_KARPENTER = "1.14.1"
"""What is installed unless a version is set; the one whose controller our own runs used, and whose CRDs the rules for
Karpenter's objects (`crd`) are taken from."""

OLDEST_KUBERNETES = Version(1, 33)
"""EKS's AL2023 images for 1.33 and newer boot kernel 6.12, which keeps tmpfs (Secrets, memory volumes) out of swap;
those for 1.32 and older boot 6.1, which cannot (awslabs/amazon-eks-ami, CHANGELOG)."""

RECOMMENDED_KUBERNETES = Version(1, 34)
"""Where kubelet's swap support is stable (KEP-2400)."""

# Upstream's matrix: website/content/en/v1.15/upgrading/compatibility.md, and the same as data in
# hack/docs/compatibilitymatrix_gen/compatibility.yaml of each release (1.37 appears with 1.15).
OLDEST_KARPENTER: dict[Version, Version] = {
    Version(1, 33): Version(1, 5),
    Version(1, 34): Version(1, 6),
    Version(1, 35): Version(1, 9),
    Version(1, 36): Version(1, 13),
    Version(1, 37): Version(1, 15),
}

NEWEST_KUBERNETES = max(OLDEST_KARPENTER)
NEWEST_KARPENTER = Version(1, 15)

KNOWN_BAD: dict[Version, str] = {
    Version(1, 8, 4): "may leave pods with topology spread constraints unscheduled (kubernetes-sigs/karpenter#2785)",
}

SINCE: dict[str, Version] = {
    "minValuesPolicy": Version(1, 6),
    "disableDryRun": Version(1, 6, 2),
    "iam:ListInstanceProfiles": Version(1, 7),
    "staticCapacity": Version(1, 8),
    "nodeOverlay": Version(1, 8),
    "operators Gte and Lte": Version(1, 9),
    "capacity reservation interruption events": Version(1, 10),
    "networkInterfaces": Version(1, 11),
    "placementGroupSelector": Version(1, 11),
    "ec2:DescribePlacementGroups": Version(1, 11),
    "ec2:DescribeInstanceStatus": Version(1, 12),
    "enableZonalShift": Version(1, 12),
    "arc-zonal-shift:GetManagedResource": Version(1, 12),
    "connectionTracking": Version(1, 13),
    "cpuOptions": Version(1, 13),
    "capacityBuffer": Version(1, 14),
    "consolidationPolicy Balanced": Version(1, 14),
}
"""First Karpenter with a field, setting, feature gate or needed permission (upstream's upgrade guide)."""

# At most four digits each: Python refuses to read numbers of thousands.
_KUBERNETES = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?(?:-eks-[0-9a-f]{1,40})?")
_KARPENTER = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})")


def kubernetes_version(text: str) -> Version:
    """Read `1.34`, `1.34.9` or what a server reports (`v1.34.9-eks-113cf36`). Raises RuleError."""
    found = _KUBERNETES.fullmatch(text)
    if not found:
        raise RuleError("is not a Kubernetes version", "write major and minor, such as 1.34", value=text)
    major, minor, patch = found.groups(default="0")
    return Version(int(major), int(minor), int(patch))


def karpenter_version(text: str) -> Version:
    """Read a release of Karpenter such as `1.14.1`. Raises RuleError for ranges, tags and release candidates."""
    found = _KARPENTER.fullmatch(text)
    if not found:
        remedy = f"write one release as three numbers, such as {DEFAULT_KARPENTER}, without a v"
        raise RuleError("is not a release of Karpenter", remedy, value=text)
    return Version(*(int(number) for number in found.groups()))


def supports(karpenter: str, thing: str) -> bool:
    """Whether that Karpenter knows `thing`, a key of `SINCE`."""
    return karpenter_version(karpenter) >= SINCE[thing]


def oldest_karpenter(kubernetes: str) -> Version | None:
    """The oldest Karpenter for that Kubernetes, or None when it is newer than what is known here."""
    wanted = kubernetes_version(kubernetes)
    return OLDEST_KARPENTER.get(Version(wanted.major, wanted.minor))


def check_kubernetes(text: str) -> str:
    """The text again. Raises RuleError when it is no version of Kubernetes, or one too old for swap."""
    if kubernetes_version(text) < OLDEST_KUBERNETES:
        raise RuleError(
            f"is too old a Kubernetes for swap in containers: {OLDEST_KUBERNETES.series} is the oldest supported",
            f"upgrade the control plane and nodes; {RECOMMENDED_KUBERNETES.series} is recommended",
            value=text,
        )
    return text


def check_karpenter(text: str) -> str:
    """The text again. Raises RuleError when it is not one release of Karpenter."""
    karpenter_version(text)
    return text


KubernetesVersion = Annotated[str, AfterValidator(check_kubernetes)]
KarpenterVersion = Annotated[str, AfterValidator(check_karpenter)]


def check(kubernetes: str, karpenter: str) -> None:
    """Raise RuleError when the two do not go together, or when Kubernetes is too old for swap.

    A version newer than those known here passes; `warnings` says so.
    """
    controller = karpenter_version(karpenter)
    cluster = kubernetes_version(check_kubernetes(kubernetes))
    oldest = oldest_karpenter(kubernetes)
    if oldest and controller < oldest:
        raise RuleError(
            f"is too old a Karpenter for Kubernetes {cluster.series}, which needs {oldest.series} or newer",
            f"set Karpenter {max(oldest, karpenter_version(DEFAULT_KARPENTER))}, or keep an older Kubernetes",
            value=karpenter,
        )


def warnings(kubernetes: str, karpenter: str) -> tuple[str, ...]:
    """What is allowed but should be known: each a line for a person. Both versions must pass `check`."""
    cluster, controller = kubernetes_version(kubernetes), karpenter_version(karpenter)
    found = []
    if cluster < RECOMMENDED_KUBERNETES:
        found.append(
            f"Kubernetes {cluster.series}: {RECOMMENDED_KUBERNETES.series} or newer is recommended, "
            "where kubelet's swap support is stable"
        )
    if Version(cluster.major, cluster.minor) > NEWEST_KUBERNETES:
        found.append(
            f"Kubernetes {cluster.series} is newer than {NEWEST_KUBERNETES.series}, the newest known here: "
            "check Karpenter's compatibility matrix"
        )
    if Version(controller.major, controller.minor) > NEWEST_KARPENTER:
        found.append(
            f"Karpenter {controller} is newer than {NEWEST_KARPENTER.series}, the newest known here: "
            "read its upgrade guide for new permissions and chart settings"
        )
    known = karpenter_version(DEFAULT_KARPENTER)
    if controller.series != known.series:
        found.append(
            f"Karpenter {controller}: its objects and what an edit of them does to nodes are checked by the rules of "
            f"{known}; for fields that came or went in between, only the cluster's own answer counts"
        )
    if controller in KNOWN_BAD:
        found.append(f"Karpenter {controller} {KNOWN_BAD[controller]}: use a later patch")
    return tuple(found)


def table() -> list[tuple[str, str, str]]:
    """Rows (Kubernetes, oldest Karpenter, remark) for the docs, oldest Kubernetes first."""
    remarks = {RECOMMENDED_KUBERNETES: "recommended, or newer", OLDEST_KUBERNETES: "oldest supported"}
    return [
        (kubernetes.series, karpenter.series, remarks.get(kubernetes, ""))
        for kubernetes, karpenter in sorted(OLDEST_KARPENTER.items())
    ]
