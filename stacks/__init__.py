"""Stack files and the typed model that reads them. One file an environment, one program for all."""

from .config import StackConfig, read_config
from .problems import StackProblemsError

__all__ = ["StackConfig", "StackProblemsError", "read_config"]
