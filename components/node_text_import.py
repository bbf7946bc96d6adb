"""The one module of components that imports the node text.

In the wheel that package is called `floodplain_nodeconfig`, so that no top-level `nodeconfig` lands in
somebody's environment; everywhere else it is the folder `nodeconfig`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__ == "components":
    from nodeconfig import TEXTFILE_DIRECTORY, BootSettings, kernel_reserve, user_data
else:
    from floodplain_nodeconfig import TEXTFILE_DIRECTORY, BootSettings, kernel_reserve, user_data

__all__ = ["TEXTFILE_DIRECTORY", "BootSettings", "kernel_reserve", "user_data"]
