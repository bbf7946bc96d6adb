"""What a node boots with, as text: user data, swap unit, kernel settings, kubelet keys. Never imports Pulumi."""

from .boot_settings import BootSettings
from .paths import TEXTFILE_DIRECTORY
from .plain import plain_script
from .plain_settings import PlainSettings
from .reserve import KernelReserve, kernel_reserve
from .user_data_check import problems_of_user_data
from .userdata import user_data
from .weak_points import files_written, weak_points_of_user_data

__all__ = [
    "TEXTFILE_DIRECTORY",
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
