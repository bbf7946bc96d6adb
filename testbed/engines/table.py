"""Which engines there are, where each comes from, and how it is linked. Versions are in the go.mod beside."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from testbed.engine_error import EngineError

FOLDER = Path(__file__).parent


class Tier(StrEnum):
    """Tests that need engines: of a cluster, of a node, of both in one chain."""

    CLUSTER = "cluster"
    NODE = "node"
    CHAIN = "chain"


@dataclass(frozen=True)
class Engine:
    """One program. In `linked`, {version}, {major} and {minor} stand for those of the Go module."""

    name: str
    folder: str
    module: str
    package: str
    mebibytes: int
    tiers: frozenset[Tier]
    linked: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    data: tuple[str, ...] = ()  # files of the Go module that our main.go embeds: copied beside it for the build

    @property
    def sources(self) -> Path:
        """The folder with our go.mod."""
        return FOLDER / self.folder

    @cached_property
    def version(self) -> str:
        """As go.mod requires it, with its v."""
        return required_version((self.sources / "go.mod").read_text(encoding="utf-8"), self.module)

    @property
    def linker_flags(self) -> str:
        """What `go build -ldflags` is given: no symbols, and the version where the program tells it."""
        number = self.version.removeprefix("v")
        major, minor, *_ = number.split(".")
        names = {"version": number, "major": major, "minor": minor}
        return " ".join(["-s", "-w", *(f"-X {flag.format(**names)}" for flag in self.linked)])


def required_version(go_mod: str, module: str) -> str:
    """The version of `module` that the text of a go.mod requires."""
    found = re.search(rf"^(?:require\s+|\s+){re.escape(module)}\s+(v\S+)", go_mod, re.MULTILINE)
    if found is None:
        raise EngineError(f"go.mod does not require {module}")
    return found[1]


CONTROL_PLANE = frozenset(Tier)
CLUSTER = frozenset({Tier.CLUSTER, Tier.CHAIN})
NODE = frozenset({Tier.NODE, Tier.CHAIN})

_KUBERNETES_VERSION = tuple(
    f"k8s.io/component-base/version.{name}"
    for name in ("gitVersion=v{version}", "gitMajor={major}", "gitMinor={minor}")
)


def _kubernetes(name: str, mebibytes: int, tiers: frozenset[Tier]) -> Engine:
    package = f"k8s.io/kubernetes/cmd/{name}"
    return Engine(name, "kubernetes", "k8s.io/kubernetes", package, mebibytes, tiers, linked=_KUBERNETES_VERSION)


def _containerd(name: str, mebibytes: int) -> Engine:
    module = "github.com/containerd/containerd/v2"
    return Engine(
        name,
        "containerd",
        module,
        f"{module}/cmd/{name}",
        mebibytes,
        NODE,
        linked=(f"{module}/version.Version={{version}}",),
        # Snapshotters that need C headers or kernel modules; nodes use overlayfs.
        tags=("no_btrfs", "no_devmapper", "no_zfs"),
    )


_TABLE = (
    Engine("etcd", "etcd", "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3", 27, CONTROL_PLANE),
    _kubernetes("kube-apiserver", 105, CONTROL_PLANE),
    _kubernetes("kube-controller-manager", 96, CONTROL_PLANE),
    _kubernetes("kube-scheduler", 73, CONTROL_PLANE),
    _kubernetes("kubelet", 85, NODE),
    Engine("kwok", "kwok", "sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok", 64, CLUSTER),
    Engine(
        "karpenter",
        "karpenter",
        "github.com/aws/karpenter-provider-aws",
        "github.com/aws/karpenter-provider-aws/cmd/controller",
        110,
        CLUSTER,
    ),
    Engine(
        "kueue",
        "kueue",
        "sigs.k8s.io/kueue",
        "sigs.k8s.io/kueue/cmd/kueue",
        84,
        CLUSTER,
        linked=("sigs.k8s.io/kueue/pkg/version.GitVersion=v{version}",),
    ),
    Engine(
        "pulumi",
        "pulumi",
        "github.com/pulumi/pulumi/pkg/v3",
        "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
        122,
        CLUSTER,
        # The Automation API refuses a CLI that tells no version.
        linked=("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version={version}",),
    ),
    Engine(
        "pulumi-resource-kubernetes",
        "pulumi_kubernetes",
        "github.com/pulumi/pulumi-kubernetes/provider/v4",
        ".",
        169,
        CLUSTER,
        data=(
            "cmd/pulumi-resource-kubernetes/schema.json",
            "cmd/pulumi-resource-kubernetes/terraform-mapping.json",
        ),
    ),
    Engine(
        "pulumi-language-yaml",
        "pulumi_yaml",
        "github.com/pulumi/pulumi-yaml",
        "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
        60,
        CLUSTER,
    ),
    _containerd("containerd", 45),
    _containerd("containerd-shim-runc-v2", 12),
    _containerd("ctr", 25),
)

ENGINES: Mapping[str, Engine] = MappingProxyType({engine.name: engine for engine in _TABLE})


def of_tier(tier: Tier) -> tuple[str, ...]:
    """The names of what the tests of `tier` start."""
    return tuple(name for name, engine in ENGINES.items() if tier in engine.tiers)


def named(name: str) -> Engine:
    """The engine called `name`."""
    try:
        return ENGINES[name]
    except KeyError:
        raise EngineError(f"there is no engine {name!r}; known: {', '.join(ENGINES)}") from None
