"""What can be said about a node's boot: swap, kernel tuning, kubelet keys, what happens when it fails.

Two models over one base: a node that Karpenter launches on EKS, and any other Linux with systemd. Not for what
Karpenter must see (limits, reserves, taints): that is the pool's.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import yaml
from pydantic import Field, field_validator, model_validator

from floodplain import duration
from floodplain.duration import Duration
from floodplain.problem import RuleError, raise_rules
from floodplain.quantity import BytesText, QuantityText, to_bytes
from floodplain.settings import Settings

from .kubelet_fields import broken_kubelet_rules
from .reserve import thousandths
from .shell_rules import check_script

SCRIPTS_MOST_BYTES = 4096
"""Room for a user's own scripts, so that the whole text stays within 12 KiB."""

PART_HEADER_BYTES = 64
"""Boundary and header of one more part, rounded up."""

KUBELET_MOST_BYTES = 1024
"""Room for extra kubelet settings, as YAML in the NodeConfig."""

TIMEOUT_LEAST_SECONDS, TIMEOUT_MOST_SECONDS = 30, 720
"""Karpenter gives a node 15 minutes to register, boot included (kubernetes-sigs/karpenter#357)."""

_PATH = re.compile(r"/[A-Za-z0-9._/-]{1,127}")
_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")


def _absolute(path: str) -> str:
    if not _PATH.fullmatch(path) or ".." in path or path.endswith("/"):
        raise RuleError(
            "is not a plain absolute path", "use letters, digits, dots, dashes and slashes, such as /var/lib/x"
        )
    return path


class NodeTuning(Settings):
    """What every node that swaps can be told.

    `swappiness` 0 to 200 (kernel default 60; low keeps anonymous memory resident until a container reaches
    its limit), `page_cluster` the power of two of pages read ahead from swap (kernel default 3; jobs that sweep
    their memory gain from it, random access prefers 0), `io_latency` the target that protects system daemons'
    IO from swap IO (cgroup io.latency; None leaves it), `disk_reserve` the room that must stay beside the swap
    file for images, `textfile_directory` where node_exporter reads text files (None writes no state).
    `kubelet_config` holds further keys of KubeletConfiguration.
    """

    swappiness: int = Field(default=10, ge=0, le=200)
    page_cluster: int = Field(default=3, ge=0, le=6)
    io_latency: str | None = "25ms"
    disk_reserve: BytesText = "20Gi"
    textfile_directory: str | None = "/var/lib/node_exporter/textfile_collector"
    single_process_oom_kill: bool = False
    kubelet_config: dict[str, Any] = Field(default_factory=dict)

    @field_validator("io_latency")
    @classmethod
    def _latency(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[1-9][0-9]{0,5}(us|ms|s)", value):
            raise RuleError("is not a latency", "write a whole number and us, ms or s, such as 25ms")
        return value

    @field_validator("textfile_directory")
    @classmethod
    def _textfile(cls, value: str | None) -> str | None:
        return None if value is None else _absolute(value)

    @model_validator(mode="after")
    def _kubelet(self) -> NodeTuning:
        raise_rules(broken_kubelet_rules(self.kubelet_config))
        size = len(yaml.safe_dump({"spec": {"kubelet": {"config": self.kubelet_config}}}))
        if size > KUBELET_MOST_BYTES:
            raise RuleError(
                f"takes {size} bytes of boot text, more than {KUBELET_MOST_BYTES}",
                "keep only keys that differ from kubelet's defaults",
                ("kubeletConfig",),
            )
        return self


def _timeout_is_sane(value: str) -> str:
    seconds = duration.parse(value)
    if not TIMEOUT_LEAST_SECONDS <= seconds <= TIMEOUT_MOST_SECONDS:
        raise RuleError("must lie between 30s and 12m: Karpenter gives up on a node after 15 minutes", "write 5m")
    return value


class BootSettings(NodeTuning):
    """What a node that Karpenter launches on AL2023 does at boot.

    `swap_ratio` is k, swap per byte of MemTotal (0: no swap). `start_timeout` bounds the swap unit; when it
    passes or the unit fails, `power_off_on_failure` ends the machine so that it is replaced, and without it
    kubelet stays stopped for a look. `system_reserved` repeats the pool's spec.kubelet.systemReserved, since the
    node's own drop-in wins over Karpenter's part. `extra_scripts` are shell parts that run after ours.
    """

    swap_ratio: Decimal = Field(default=Decimal(2), ge=0, le=16)
    start_timeout: Duration = "5m"
    power_off_on_failure: bool = True
    system_reserved: dict[str, QuantityText] = Field(default_factory=dict)
    kubernetes_version: str = "1.34"
    extra_scripts: tuple[str, ...] = ()

    @field_validator("swap_ratio")
    @classmethod
    def _ratio(cls, value: Decimal) -> Decimal:
        thousandths(value)
        return value

    @field_validator("start_timeout")
    @classmethod
    def _timeout(cls, value: str) -> str:
        return _timeout_is_sane(value)

    @field_validator("kubernetes_version")
    @classmethod
    def _version(cls, value: str) -> str:
        match = re.fullmatch(r"1\.([0-9]{1,3})(\.[0-9]+)?", value)
        if match is None:
            raise RuleError("is not a Kubernetes version", "write it as 1.34")
        if int(match[1]) < 33:
            raise RuleError(
                "is below 1.33, whose AL2023 kernel (6.1) cannot keep tmpfs out of swap", "use 1.33 or newer"
            )
        return value

    @model_validator(mode="after")
    def _reserved(self) -> BootSettings:
        for resource, value in self.system_reserved.items():
            if resource not in _RESERVABLE:
                raise RuleError(
                    "is not a resource that can be reserved",
                    f"known: {', '.join(_RESERVABLE)}",
                    ("systemReserved", resource),
                    value,
                )
            if resource == "ephemeral-storage":
                to_bytes(value)
        return self

    @model_validator(mode="after")
    def _scripts(self) -> BootSettings:
        for index, script in enumerate(self.extra_scripts):
            try:
                check_script(script)
            except RuleError as error:
                raise RuleError(error.rule, error.remedy, ("extraScripts", index), error.value) from None
        size = sum(len(script) + PART_HEADER_BYTES for script in self.extra_scripts)
        if size > SCRIPTS_MOST_BYTES:
            raise RuleError(
                f"take {size} bytes of the {SCRIPTS_MOST_BYTES} that the boot text has room for",
                "shorten them, or fetch the rest at boot",
                ("extraScripts",),
            )
        return self


class PlainSettings(NodeTuning):
    """What makes any Linux with systemd and cgroup v2 a node with a swap file on disk.

    Exactly one of `swap_ratio` (k x MemTotal) and `swap_size` (a quantity). `swap_file` lies on XFS or ext4.
    `kubelet_config_directory` is kubelet's --config-dir; without it the script says what to add by hand.
    `slices` hold kubelet, container runtime and daemons. Machines elsewhere are rarely replaced by themselves,
    so a failure leaves kubelet stopped unless `power_off_on_failure`.
    """

    swap_ratio: Decimal | None = Field(default=None, gt=0, le=16)
    swap_size: BytesText | None = None
    swap_file: str = "/var/lib/floodplain/swap"
    start_timeout: Duration = "10m"
    power_off_on_failure: bool = False
    kubelet_config_directory: str | None = "/etc/kubernetes/kubelet.conf.d"
    slices: tuple[str, ...] = ("system.slice",)
    io_latency: str | None = None

    @field_validator("swap_ratio")
    @classmethod
    def _ratio(cls, value: Decimal | None) -> Decimal | None:
        if value is not None:
            thousandths(value)
        return value

    @field_validator("start_timeout")
    @classmethod
    def _timeout(cls, value: str) -> str:
        if duration.parse(value) < TIMEOUT_LEAST_SECONDS:
            raise RuleError("is too short to make a swap file", "write 30s or more")
        return value

    @field_validator("swap_file", "kubelet_config_directory")
    @classmethod
    def _paths(cls, value: str | None) -> str | None:
        return None if value is None else _absolute(value)

    @field_validator("slices")
    @classmethod
    def _slices(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not re.fullmatch(r"[a-z0-9_-]{1,60}\.slice", name):
                raise RuleError("is not a slice", "write a systemd slice such as system.slice", value=name)
        return value

    @model_validator(mode="after")
    def _one_size(self) -> PlainSettings:
        if (self.swap_ratio is None) == (self.swap_size is None):
            raise RuleError("give either swapRatio or swapSize", "write one of them", ("swapSize",), self.swap_size)
        if self.swap_size is not None and to_bytes(self.swap_size) == 0:
            raise RuleError("makes no swap at all", "write a size such as 64Gi", ("swapSize",), self.swap_size)
        return self
