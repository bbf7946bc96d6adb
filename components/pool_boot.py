"""What the nodes of a pool must do at boot, and whether their boot text can be made at all."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic import ValidationError

from floodplain.problem import RuleError, problems_of
from floodplain.settings_path import Location

from .node_text_import import BootSettings, user_data

if TYPE_CHECKING:
    from .swap_pool import SwapPool

_KEYS: dict[str, Location] = {
    "swapRatio": ("swap", "ratio"),
    "swappiness": ("swap", "swappiness"),
    "pageCluster": ("swap", "page_cluster"),
    "startTimeout": ("swap", "start_timeout"),
    "powerOffOnFailure": ("swap", "power_off_on_failure"),
    "diskReserve": ("disk", "images"),
    "systemReserved": ("kubelet", "system_reserved"),
}
"""Where a boot setting stands among the pool's own."""


def boot_settings(pool: SwapPool) -> BootSettings:
    """The pool's settings as its nodes need them."""
    return BootSettings(
        swap_ratio=Decimal(str(pool.swap.ratio)),
        swappiness=pool.swap.swappiness,
        page_cluster=pool.swap.page_cluster,
        start_timeout=pool.swap.start_timeout,
        power_off_on_failure=pool.swap.power_off_on_failure,
        single_process_oom_kill=pool.single_process_oom_kill,
        disk_reserve=pool.disk.images,
        system_reserved=pool.kubelet.system_reserved,
        kubelet_config=pool.kubelet_config,
        extra_scripts=pool.extra_scripts,
    )


def boot_text(pool: SwapPool) -> str:
    """The user data of the pool's nodes, without Karpenter's own part."""
    return user_data(boot_settings(pool))


def boot_problems(pool: SwapPool) -> Iterator[RuleError]:
    """What keeps the boot text from being made, by the pool's keys."""
    try:
        boot_settings(pool)
    except ValidationError as error:
        for problem in problems_of(error, BootSettings):
            head, dot, rest = problem.path.partition(".")
            path = (*_KEYS.get(head, (head,)), *((rest,) if dot else ()))
            yield RuleError(problem.rule, problem.remedy, path, problem.value)
