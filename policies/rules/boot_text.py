"""What will a node do with its user data, as far as a rule must know?

The archive is read by nodeconfig. Here are the questions that need the text beside the EC2NodeClass: is swap set
up, with which ratio, and what do NodeConfigs say that the shell text writes at boot?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import yaml

from nodeconfig import files_written
from nodeconfig.archive import read_archive

from .proxies import get, mapping, text

_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_SWAP_ON = re.compile(r"\bswapon\b(?!\s+(-s\b|--show|--summary))")
_FACTOR = re.compile(r"(?i)(?:memtotal|[a-z_]*(?:mem|ram)[a-z_]*)\W{0,4}\*\s*(\d+(?:\.\d+)?)(\s*\+\s*1000\b)?")
_LARGEST_FACTOR = 64
"""More than any swap ratio; larger factors turn units into each other (1024)."""

# What yaml.safe_load raises on text that somebody wrote by hand, dates such as 2026-99-99 included.
_NO_YAML = (yaml.YAMLError, ValueError, ArithmeticError, RecursionError)
_OTHER_FORMATS = ("bottlerocket", "windows")


@dataclass(frozen=True)
class BootText:
    """The shell text of user data without comment lines, and the kubelet settings that it writes as drop-ins."""

    script: str
    dropped_in: tuple[Mapping[str, object], ...]
    """KubeletConfigurations of NodeConfig drop-ins: they are merged last and win over Karpenter's part."""

    @property
    def sets_up_swap(self) -> bool:
        """Whether the shell text switches swap on."""
        return _SWAP_ON.search(self.script) is not None

    @property
    def swap_ratio(self) -> float | None:
        """k, as far as the shell text shows by what it multiplies the memory; None where it does not."""
        factors = [float(number) / (1000 if thousandths else 1) for number, thousandths in _FACTOR.findall(self.script)]
        likely = [factor for factor in factors if 0 < factor <= _LARGEST_FACTOR]
        return max(likely, default=None)


@lru_cache(maxsize=64)
def read_boot_text(user_data: str) -> BootText:
    """What a text does at boot. One that cannot be read at all does nothing that a rule could know."""
    try:
        raw = "\n".join(part.body for _, part in read_archive(user_data).shell_parts())
    except _NO_YAML:
        return BootText("", ())
    return BootText(_COMMENT.sub("", raw), tuple(_dropped_in(raw)))


def _dropped_in(script: str) -> Iterator[Mapping[str, object]]:
    for path, body in files_written(script).items():
        if "nodeadm" not in path:
            continue
        try:
            document = yaml.safe_load(body)
        except _NO_YAML:
            continue
        config = mapping(get(document, "spec", "kubelet", "config"))
        if config:
            yield config


def boot_text_of(props: object) -> BootText | None:
    """The boot text of an EC2NodeClass; None without user data, or in another format than AL2023's."""
    family = text(get(props, "spec", "amiFamily")) or text(get(props, "spec", "amiSelectorTerms", 0, "alias")) or ""
    if family.lower().startswith(_OTHER_FORMATS):
        return None
    user_data = text(get(props, "spec", "userData"))
    return read_boot_text(user_data) if user_data else None
