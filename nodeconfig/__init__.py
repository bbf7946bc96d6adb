"""What a node boots with, as text: user data, swap unit, kernel settings, kubelet keys. Never imports Pulumi."""

from .arithmetic import KernelReserve, kernel_reserve, swap_bytes, swap_file_bytes
from .settings import BootSettings, PlainSettings
from .user_data_check import problems_of_user_data
from .userdata import user_data

__all__ = [
    "BootSettings",
    "KernelReserve",
    "PlainSettings",
    "kernel_reserve",
    "problems_of_user_data",
    "swap_bytes",
    "swap_file_bytes",
    "user_data",
]
