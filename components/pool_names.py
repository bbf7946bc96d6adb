"""What a pool and its labels and taint may be called."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from floodplain.pools import POOL_LABEL
from floodplain.problem import RuleError
from floodplain.settings import Settings

from . import crd
from .pool_choices import TaintEffect

# "floodplain-headroom-" and a pool name must fit a DNS label of 63 characters.
_POOL_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")


def _pool_name(name: str) -> str:
    if not _POOL_NAME.fullmatch(name):
        raise RuleError(
            "is not a pool name", "use 1 to 40 lower-case letters, digits and dashes, starting with a letter"
        )
    return name


def _label_value(value: str) -> str:
    wrong = crd.label_value(value)
    if wrong:
        raise RuleError(wrong, "correct it")
    return value


def _label_key(key: str) -> str:
    wrong = crd.qualified_name(key)
    if wrong:
        raise RuleError(wrong, f"write [domain/]name, such as {POOL_LABEL}")
    return key


PoolName = Annotated[str, AfterValidator(_pool_name)]
LabelValue = Annotated[str, AfterValidator(_label_value)]
LabelKey = Annotated[str, AfterValidator(_label_key)]


class Taint(Settings):
    """The taint that keeps unprepared pods away."""

    key: LabelKey = POOL_LABEL
    value: LabelValue
    effect: TaintEffect = TaintEffect.NO_SCHEDULE
