"""What a node that Karpenter launches on AL2023 does at boot, beyond what Karpenter itself must see.

Limits, eviction thresholds, reserves and taints are the pool's: Karpenter plans with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated

from pydantic import Field, field_validator

from floodplain import duration
from floodplain.duration import Duration
from floodplain.kubelet_keys import RESERVABLE
from floodplain.problem import RuleError
from floodplain.quantity import QuantityError, QuantityText, to_bytes
from floodplain.rules import rule
from floodplain.settings import SEVERAL_LINES

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
    extra_scripts: Annotated[tuple[str, ...], SEVERAL_LINES] = ()

    @field_validator("start_timeout")
    @classmethod
    def _timeout(cls, value: str) -> str:
        if not TIMEOUT_LEAST_SECONDS <= duration.parse(value) <= TIMEOUT_MOST_SECONDS:
            raise RuleError("must lie between 30s and 12m: Karpenter gives up on a node after 15 minutes", "write 5m")
        return value

    @rule("system_reserved")
    def _resources_can_be_reserved(self) -> Iterator[RuleError]:
        for resource, value in self.system_reserved.items():
            place = ("systemReserved", resource)
            if resource not in RESERVABLE:
                yield RuleError(
                    "is not a resource that can be reserved", f"known: {', '.join(RESERVABLE)}", place, value
                )
            if resource == "ephemeral-storage":
                try:
                    to_bytes(value)
                except QuantityError as error:
                    yield RuleError(error.rule, error.remedy, place, value)

    @rule(each="extra_scripts")
    def _script_suits_its_part(self, script: str) -> Iterator[RuleError]:
        try:
            check_script(script)
        except RuleError as error:
            yield error

    @rule("extra_scripts")
    def _scripts_fit(self) -> Iterator[RuleError]:
        size = sum(len(script) + PART_HEADER_BYTES for script in self.extra_scripts)
        if size > SCRIPTS_MOST_BYTES:
            yield RuleError(
                f"take {size} bytes of the {SCRIPTS_MOST_BYTES} that the boot text has room for",
                "shorten them, or fetch the rest at boot",
                ("extraScripts",),
            )
