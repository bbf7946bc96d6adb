"""Real engines, built from their Go modules: one small module a folder, so that go.mod and go.sum pin and hash them.

`path` and `module_folder` are what the rest of the testbed asks for; `python -m testbed build` makes what is missing.
"""

from testbed.engines.modules import module_folder
from testbed.engines.table import ENGINES, Engine, Tier, of_tier
from testbed.engines.where import path

__all__ = ["ENGINES", "Engine", "Tier", "module_folder", "of_tier", "path"]
