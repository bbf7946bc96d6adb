"""What will a node do with its user data? AL2023's archive, read as Karpenter and nodeadm read it.

Whether the text is well formed is nodeconfig's question; this finds the NodeConfigs and the shell text in any
text, also in one that somebody wrote by hand.
"""

from __future__ import annotations

import email
import email.errors
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import yaml

from .proxies import get, mapping

_SETS_UP_SWAP = re.compile(r"\bmkswap\b|\bswapon\b(?!\s+(-s\b|--show|--summary))|^\s*\[Swap\]\s*$", re.MULTILINE)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(?P<end>\w+)\1\s*\n(?P<body>.*?)\n\s*(?P=end)\b", re.DOTALL)
_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_FACTOR = re.compile(r"(?i)(?:memtotal|[a-z_]*(?:mem|ram)[a-z_]*)\W{0,4}\*\s*(\d+(?:\.\d+)?)(\s*\+\s*1000\b)?")
_LARGEST_FACTOR = 64
"""More than any swap ratio; larger factors turn units into each other (1024)."""


@dataclass(frozen=True)
class BootText:
    """User data in parts. `dropped_in` are NodeConfigs that the shell text writes, which win over Karpenter's."""

    node_configs: tuple[Mapping[str, object], ...]
    dropped_in: tuple[Mapping[str, object], ...]
    script: str
    """All shell parts, without comment lines."""

    @property
    def sets_up_swap(self) -> bool:
        """Whether the shell text makes swap or switches it on."""
        return _SETS_UP_SWAP.search(self.script) is not None

    def kubelet_configs(self) -> Iterator[Mapping[str, object]]:
        """The KubeletConfigurations in the archive's NodeConfigs, in the order of merging."""
        yield from _kubelet_configs(self.node_configs)

    def dropped_in_kubelet_configs(self) -> Iterator[Mapping[str, object]]:
        """The KubeletConfigurations that the shell text writes as drop-ins."""
        yield from _kubelet_configs(self.dropped_in)

    def kubelet(self, *path: str) -> object:
        """A kubelet setting: the last NodeConfig of the archive that has it wins."""
        found: object = None
        for config in self.kubelet_configs():
            value = get(config, *path)
            found = found if value is None else value
        return found

    @property
    def swap_ratio(self) -> float | None:
        """k, as far as the shell text shows by what it multiplies the memory; None where it does not."""
        factors = [float(number) / (1000 if thousandths else 1) for number, thousandths in _FACTOR.findall(self.script)]
        likely = [factor for factor in factors if 0 < factor <= _LARGEST_FACTOR]
        return max(likely, default=None)


def _kubelet_configs(documents: tuple[Mapping[str, object], ...]) -> Iterator[Mapping[str, object]]:
    for document in documents:
        yield mapping(get(document, "spec", "kubelet", "config"))


@lru_cache(maxsize=64)
def read_boot_text(user_data: str) -> BootText:
    """User data in parts. A text that is neither archive nor NodeConfig is one shell part, as for Karpenter."""
    configs: list[Mapping[str, object]] = []
    scripts: list[str] = []
    trimmed = user_data.strip()
    if trimmed.startswith(("MIME-Version:", "Content-Type:")):
        for kind, body in _parts(trimmed):
            if kind == "application/node.eks.aws":
                configs += _yaml_maps(body)
            else:
                scripts.append(body)
    else:
        documents = _yaml_maps(trimmed)
        if documents:
            configs += documents
        else:
            scripts.append(trimmed)
    raw = "\n".join(scripts)
    return BootText(tuple(configs), tuple(_dropped_in(raw)), _COMMENT.sub("", raw))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    try:
        message = email.message_from_string(text)
        for part in message.walk():
            body = part.get_payload()
            if isinstance(body, str):
                yield part.get_content_type(), body
    except (email.errors.MessageError, LookupError, ValueError):
        return


def _yaml_maps(text: str) -> list[Mapping[str, object]]:
    try:
        documents = list(yaml.safe_load_all(text))
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError):
        return []
    return [document for document in documents if isinstance(document, Mapping)]


def _dropped_in(script: str) -> Iterator[Mapping[str, object]]:
    for match in _HEREDOC.finditer(script):
        if "NodeConfig" in match["body"]:
            yield from _yaml_maps(match["body"])
