"""What a node that Karpenter launches on AL2023 does at boot, beyond what Karpenter itself must see.

Limits, eviction thresholds, reserves and taints are the pool's: Karpenter plans with them.
"""

from __future__ import annotations

from decimal import Decimal

from pydantic import Field, field_validator, model_validator

from floodplain import duration
from floodplain.duration import Duration
from floodplain.kubelet_keys import RESERVABLE
from floodplain.problem import RuleError
from floodplain.quantity import QuantityText, to_bytes

from .shell_rules import check_script
from .tuning import TIMEOUT_LEAST_SECONDS, NodeTuning, SwapRatio

SCRIPTS_MOST_BYTES = 4096
"""Room for a user's own scripts, so that the whole text stays within 12 KiB."""

PART_HEADER_BYTES = 64
"""Boundary and header of one more part, rounded up."""

TIMEOUT_MOST_SECONDS = 720
"""Karpenter gives a node 15 minutes to register, boot included (kubernetes-sigs/karpenter#357)."""


class BootSettings(NodeTuning):
    """What a node that Karpenter launches on AL2023 does at boot.

    `swap_ratio` is k, swap per byte of MemTotal (0: no swap). `start_timeout` bounds the swap unit; when it
    passes or the unit fails, `power_off_on_failure` ends the machine so that it is replaced, and without it
    kubelet stays stopped for a look. `system_reserved` repeats the pool's spec.kubelet.systemReserved, since the
    node's own drop-in wins over Karpenter's part. `extra_scripts` are shell parts that run after ours.
    """

    swap_ratio: SwapRatio = Decimal(2)
    start_timeout: Duration = "5m"
    power_off_on_failure: bool = True
    system_reserved: dict[str, QuantityText] = Field(default_factory=dict)
    extra_scripts: tuple[str, ...] = ()

    @field_validator("start_timeout")
    @classmethod
    def _timeout(cls, value: str) -> str:
        if not TIMEOUT_LEAST_SECONDS <= duration.parse(value) <= TIMEOUT_MOST_SECONDS:
            raise RuleError("must lie between 30s and 12m: Karpenter gives up on a node after 15 minutes", "write 5m")
        return value

    @model_validator(mode="after")
    def _reserved(self) -> BootSettings:
        for resource, value in self.system_reserved.items():
            if resource not in RESERVABLE:
                raise RuleError(
                    "is not a resource that can be reserved",
                    f"known: {', '.join(RESERVABLE)}",
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
