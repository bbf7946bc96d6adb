"""What a node boots with, as text: user data, swap unit, kernel settings, kubelet keys. Never imports Pulumi."""

from .plain import plain_script
from .reserve import KernelReserve, kernel_reserve
from .settings import BootSettings, PlainSettings
from .user_data_check import problems_of_user_data
from .userdata import user_data
from .weak_points import files_written, weak_points_of_user_data

__all__ = [
    "BootSettings",
    "KernelReserve",
    "PlainSettings",
    "files_written",
    "kernel_reserve",
    "plain_script",
    "problems_of_user_data",
    "user_data",
    "weak_points_of_user_data",
]
