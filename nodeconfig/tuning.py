"""What every node with a swap file can be told: kernel tuning, protection of daemons, kubelet keys.

The base of `boot_settings` (EKS under Karpenter) and `plain_settings` (any other Linux with systemd).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, Field

from floodplain.problem import RuleError
from floodplain.quantity import BytesText
from floodplain.rules import RuledSettings, rule
from floodplain.settings import SEVERAL_LINES

from .kubelet_fields import broken_kubelet_rules
from .reserve import thousandths

KUBELET_MOST_BYTES = 1024
"""Room for extra kubelet settings, as YAML in the NodeConfig."""

TIMEOUT_LEAST_SECONDS = 30
"""Less than this and a busy machine fails for nothing."""

_PATH = re.compile(r"/[A-Za-z0-9._/-]{1,127}")


def _absolute(path: str) -> str:
    if not _PATH.fullmatch(path) or ".." in path or path.endswith("/"):
        raise RuleError(
            "is not a plain absolute path", "use letters, digits, dots, dashes and slashes, such as /var/lib/x"
        )
    return path


def _latency(value: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,5}(us|ms|s)", value):
        raise RuleError("is not a latency", "write a whole number and us, ms or s, such as 25ms")
    return value


def _exact(ratio: Decimal) -> Decimal:
    thousandths(ratio)
    return ratio


AbsolutePath = Annotated[str, AfterValidator(_absolute)]
Latency = Annotated[str, AfterValidator(_latency)]
SwapRatio = Annotated[Decimal, Field(ge=0, le=16), AfterValidator(_exact)]
"""k, swap per byte of MemTotal, in thousandths."""


class NodeTuning(RuledSettings):
    """What every node that swaps can be told.

    `swappiness` 0 to 200 (kernel default 60; low keeps anonymous memory resident until a container reaches
    its limit), `page_cluster` the power of two of pages read ahead from swap (kernel default 3; jobs that sweep
    their memory gain from it, random access prefers 0), `io_latency` the target that protects system daemons'
    IO from swap IO (cgroup io.latency; None leaves it), `disk_reserve` the room that must stay beside the swap
    file for images. `kubelet_config` holds further keys of KubeletConfiguration.
    """

    swappiness: int = Field(default=10, ge=0, le=200)
    page_cluster: int = Field(default=3, ge=0, le=6)
    io_latency: Latency | None = "25ms"
    disk_reserve: BytesText = "20Gi"
    single_process_oom_kill: bool = False
    kubelet_config: Annotated[dict[str, Any], SEVERAL_LINES] = Field(default_factory=dict)

    @rule("kubelet_config")
    def _kubelet_takes_it(self) -> Iterator[RuleError]:
        yield from broken_kubelet_rules(self.kubelet_config)
        try:
            size = len(yaml.safe_dump({"spec": {"kubelet": {"config": self.kubelet_config}}}))
        except yaml.YAMLError as error:
            reason = " ".join(str(error).split())
            yield RuleError(f"cannot be written as YAML ({reason})", "use plain values", ("kubeletConfig",))
            return
        if size > KUBELET_MOST_BYTES:
            yield RuleError(
                f"takes {size} bytes of boot text, more than {KUBELET_MOST_BYTES}",
                "keep only keys that differ from kubelet's defaults",
                ("kubeletConfig",),
            )
