"""The choices that settings of raster workers offer, each with what it means. Published in the package's schema."""

from enum import StrEnum


class Drains(StrEnum):
    """What a drain of its node may do to the big worker."""

    REFUSE = "refuse"
    """Evictions are refused and Karpenter leaves the node alone: somebody deletes the pod at a quiet moment."""
    FINISH = "finish"
    """Evictions are allowed: the worker is told to end and has the time of its longest task for it."""


class SiblingFiles(StrEnum):
    """What GDAL does about the folder of a raster that it opens (GDAL_DISABLE_READDIR_ON_OPEN)."""

    EMPTY_DIR = "EMPTY_DIR"
    """Takes the folder for empty: one or two requests a header. Masks and overviews in files beside it are not seen."""
    PROBE = "TRUE"
    """Does not list the folder and asks for each sidecar by its name: some ten requests a header."""
    LIST = "FALSE"
    """Lists the folder, as GDAL does by itself: slow where it holds many objects."""
