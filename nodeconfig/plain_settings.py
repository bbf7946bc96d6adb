"""What makes a machine elsewhere than on EKS a node with a swap file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, field_validator

from floodplain import duration
from floodplain.duration import Duration
from floodplain.problem import RuleError
from floodplain.quantity import BytesText, to_bytes
from floodplain.rules import rule

from .tuning import TIMEOUT_LEAST_SECONDS, AbsolutePath, Latency, NodeTuning, SwapRatio


def _slice(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9_-]{1,60}\.slice", name):
        raise RuleError("is not a slice", "write a systemd slice such as system.slice")
    return name


class PlainSettings(NodeTuning):
    """What makes any Linux with systemd and cgroup v2 a node with a swap file on disk.

    Exactly one of `swap_ratio` (k x MemTotal) and `swap_size` (a quantity). `swap_file` lies on XFS or ext4.
    `kubelet_config_directory` is kubelet's --config-dir; without it the script says what to add by hand.
    `slices` hold kubelet, container runtime and daemons. Machines elsewhere are rarely replaced by themselves,
    so a failure leaves kubelet stopped unless `power_off_on_failure`.
    """

    swap_ratio: SwapRatio | None = None
    swap_size: BytesText | None = None
    swap_file: AbsolutePath = "/var/lib/floodplain/swap"
    start_timeout: Duration = "10m"
    power_off_on_failure: bool = False
    kubelet_config_directory: AbsolutePath | None = "/etc/kubernetes/kubelet.conf.d"
    slices: tuple[Annotated[str, AfterValidator(_slice)], ...] = ("system.slice",)
    io_latency: Latency | None = None

    @field_validator("start_timeout")
    @classmethod
    def _timeout(cls, value: str) -> str:
        if duration.parse(value) < TIMEOUT_LEAST_SECONDS:
            raise RuleError("is too short to make a swap file", "write 30s or more")
        return value

    @rule("swap_ratio", "swap_size")
    def _one_size(self) -> Iterator[RuleError]:
        if self.swap_ratio is None and self.swap_size is None:
            yield RuleError("is required unless swapSize is given", "write swapRatio: 2", ("swapRatio",))
        if self.swap_ratio is not None and self.swap_size is not None:
            yield RuleError("is given beside swapRatio", "keep one of them", ("swapSize",), self.swap_size)
        if self.swap_ratio == 0:
            yield RuleError("makes no swap at all", "write more than 0", ("swapRatio",), 0)
        if self.swap_size is not None and to_bytes(self.swap_size) == 0:
            yield RuleError("makes no swap at all", "write more than 0", ("swapSize",), 0)
