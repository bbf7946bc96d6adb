"""What do several NodeConfigs say together? Later ones win, kubelet's configuration is merged key by key, and its flags
are put one after the other (nodeadm/internal/api/merge.go)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

Document = dict[str, Any]
API_VERSION = "node.eks.aws/v1alpha1"


def read(text: str) -> Document:
    """One NodeConfig. Raises ValueError for anything else, which ends nodeadm, and with it the node's start."""
    document = yaml.safe_load(text)
    if not isinstance(document, dict):
        raise ValueError(f"user data: a NodeConfig part is no YAML map: {text[:80]!r}")  # noqa: TRY004
    if (document.get("apiVersion"), document.get("kind")) != (API_VERSION, "NodeConfig"):
        raise ValueError(f"user data: a part is no {API_VERSION} NodeConfig: {text[:80]!r}")
    return document


def merged(texts: Iterable[str]) -> Document:
    """All NodeConfigs in order. Raises ValueError when there is none."""
    result: Document = {}
    for text in texts:
        result = _merge(result, read(text))
    if not result:
        raise ValueError("user data: could not find a NodeConfig")
    return result


def _merge(earlier: Any, later: Any, path: tuple[str, ...] = ()) -> Any:
    if isinstance(earlier, dict) and isinstance(later, dict):
        keys = dict.fromkeys((*earlier, *later))
        return {
            key: _merge(earlier[key], later[key], (*path, key))
            if key in earlier and key in later
            else later.get(key, earlier.get(key))
            for key in keys
        }
    if path == ("spec", "kubelet", "flags"):
        return [*earlier, *later]
    return later
