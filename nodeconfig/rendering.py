"""Templates to text: the environment, and the pieces that AL2023 and plain nodes share.

A missing variable is an error (StrictUndefined); nothing is escaped, since settings only hold checked text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from floodplain import duration
from floodplain.quantity import to_bytes

from . import reserve
from .boot_settings import BootSettings
from .paths import MOUNT_UNIT, NodePaths
from .plain_settings import PlainSettings
from .tuning import NodeTuning

# setup-local-disks runs before nodeadm starts kubelet, so the mount is there at once or never.
MOUNT_WAIT_MOST_SECONDS = 60


@cache
def _environment() -> Environment:
    return Environment(
        # The package has another name in the wheel.
        loader=PackageLoader(__package__ or "nodeconfig"),
        undefined=StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def render(template: str, **values: Any) -> str:
    """The text of one template; an unset variable raises jinja2.UndefinedError."""
    return _environment().get_template(template).render(**values)


def yaml_text(document: dict[str, Any]) -> str:
    """YAML in the order given, ASCII only."""
    return yaml.safe_dump(document, sort_keys=False, width=1000)


def kubelet_config(settings: NodeTuning, *, swap: bool) -> dict[str, Any]:
    """The kubelet settings that Karpenter's own block has no keys for."""
    swap_keys = {"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}} if swap else {}
    return {**swap_keys, "singleProcessOOMKill": settings.single_process_oom_kill, **settings.kubelet_config}


def memory_script(settings: NodeTuning, paths: NodePaths, *, swap: bool) -> str:
    """The program that sets the kernel's memory reserve for the node's size (reserve.kernel_reserve)."""
    return render(
        "memory.sh.j2",
        paths=paths,
        swap=swap,
        swappiness=settings.swappiness,
        page_cluster=settings.page_cluster,
        least_kib=reserve.MIN_FREE_LEAST_KIB,
        most_kib=reserve.MIN_FREE_MOST_KIB,
        gap_least_kib=reserve.GAP_LEAST_KIB,
        gap_most_kib=reserve.GAP_MOST_KIB,
        scale_least=reserve.SCALE_LEAST,
        scale_most=reserve.SCALE_MOST,
    )


def swap_script(settings: BootSettings | PlainSettings, paths: NodePaths, *, file: str, slices: tuple[str, ...]) -> str:
    """The program behind the swap unit."""
    instance_store = isinstance(settings, BootSettings)
    size = settings.swap_size if isinstance(settings, PlainSettings) else None
    return render(
        "swap.sh.j2",
        paths=paths,
        file=file,
        folder=file.rpartition("/")[0],
        size_bytes=None if size is None else to_bytes(size),
        thousandths=None if settings.swap_ratio is None else reserve.thousandths(settings.swap_ratio),
        reserve_bytes=to_bytes(settings.disk_reserve),
        instance_store=instance_store,
        mount_wait_seconds=min(MOUNT_WAIT_MOST_SECONDS, duration.parse(settings.start_timeout) // 2),
        io_latency=settings.io_latency,
        slices=slices,
    )


def unit(
    description: str, program: str, settings: BootSettings | PlainSettings, *, mount_unit: str | None = None
) -> str:
    """A oneshot unit that kubelet requires."""
    return render(
        "unit.j2",
        description=description,
        program=program,
        mount_unit=mount_unit,
        power_off=settings.power_off_on_failure,
        timeout_seconds=duration.parse(settings.start_timeout),
    )


def swap_unit(settings: BootSettings | PlainSettings, paths: NodePaths) -> str:
    """The unit of the swap file; on AL2023 it follows the mount that nodeadm makes at run time."""
    instance_store = isinstance(settings, BootSettings)
    return unit(
        "floodplain: swap file, before kubelet",
        f"{paths.programs}/floodplain-swap",
        settings,
        mount_unit=MOUNT_UNIT if instance_store else None,
    )


def memory_unit(settings: BootSettings | PlainSettings, paths: NodePaths) -> str:
    """The unit of the kernel's memory reserve."""
    return unit("floodplain: kernel memory reserve", f"{paths.programs}/floodplain-memory", settings)
