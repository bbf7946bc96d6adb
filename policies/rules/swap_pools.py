"""Is a NodePool a swap pool, and with which ratio? Read from the objects, however they were written."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from pulumi_policy import PolicyResource, StackValidationArgs

from floodplain.pools import POOL_LABEL, SWAP_RATIO_ANNOTATION

from .boot_text import BootText, boot_text_of
from .kinds import is_node_class
from .proxies import Unknowns, each, get, mapping, text
from .rule import resources_of

_LOCAL_NVME = "karpenter.k8s.aws/instance-local-nvme"
DEFAULT_RATIO = 2.0

RATIO_SCHEMA: Mapping[str, Mapping[str, object]] = {
    "swapRatio": {
        "type": "number",
        "default": DEFAULT_RATIO,
        "description": "Swap per byte of memory, for pools that do not show theirs",
    }
}


def requirements(props: object) -> Iterator[object]:
    """The requirements of a NodePool; unknowns raise last."""
    yield from each(get(props, "spec", "template", "spec", "requirements"))


def asks_for_swap(props: object) -> bool:
    """Whether a NodePool by itself asks for swap nodes: our label or annotation, or local NVMe."""
    labels = mapping(get(props, "spec", "template", "metadata", "labels"))
    annotations = mapping(get(props, "metadata", "annotations"))
    if POOL_LABEL in labels or SWAP_RATIO_ANNOTATION in annotations:
        return True
    unknowns = Unknowns()
    for requirement in requirements(props):
        with unknowns:
            asked = text(get(requirement, "key")) == _LOCAL_NVME
            if asked and text(get(requirement, "operator")) not in ("DoesNotExist", "Lt", "Lte"):
                return True
    unknowns.raise_first()
    return False


def annotated_ratio(props: object) -> float | None:
    """The swap ratio in a NodePool's annotation."""
    return _ratio(text(get(props, "metadata", "annotations", SWAP_RATIO_ANNOTATION)))


def ratio_or_default(value: object) -> float:
    """A configured ratio, or the default for what is no number above zero."""
    found = _ratio(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return DEFAULT_RATIO if found is None else found


def _ratio(written: str | None) -> float | None:
    try:
        number = float(written or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 < number <= 1000 else None


def boot_text_by_class(args: StackValidationArgs) -> dict[str, BootText]:
    """The boot text of each EC2NodeClass of the stack, by the class's name. What is unknown is left out."""
    found: dict[str, BootText] = {}
    unknowns = Unknowns()
    for resource in resources_of(args, is_node_class):
        with unknowns:
            name, boot = text(get(resource.props, "metadata", "name")), boot_text_of(resource.props)
            if name is not None and boot is not None:
                found[name] = boot
    return found


def class_of(pool: PolicyResource) -> str | None:
    """The name of the EC2NodeClass that a NodePool refers to."""
    return text(get(pool.props, "spec", "template", "spec", "nodeClassRef", "name"))
