"""Faults of one part of a user data archive: its headers, its script or its NodeConfig. Used by `user_data_check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from floodplain.problem import ABSENT, Problem

from .archive import Part
from .kubelet_fields import OVERWRITTEN_BY_KARPENTER, SEEN_BY_KARPENTER
from .shell_rules import LOST_BACKSLASH, is_yaml_map, kernel_key_lines

_ENCODINGS = ("7bit", "8bit", "binary")


def part_problems(number: int, part: Part) -> Iterator[Problem]:
    """Faults of part `number` (from 1)."""
    place = f"part {number}"
    if part.malformed:
        yield Problem(
            f"{place}, line {part.first_line}",
            "is neither a header nor the blank line that ends the headers",
            "put a blank line after the part's headers",
            part.malformed,
        )
    encoding = part.headers.get("content-transfer-encoding", "").lower()
    if encoding and encoding not in _ENCODINGS:
        yield Problem(
            f"{place}, Content-Transfer-Encoding",
            "is dropped by Karpenter and the body passed on still encoded",
            "write the part as plain text",
            encoding,
        )
    if not (part.is_shell or part.is_node_config):
        yield Problem(
            f"{place}, Content-Type",
            "is not one that an AL2023 node acts on",
            'use application/node.eks.aws or text/x-shellscript; charset="us-ascii"',
            part.media_type or ABSENT,
        )
    for offset, text in enumerate(part.body.split("\n")):
        if text.startswith("--//"):
            yield Problem(
                f"{place}, line {part.first_line + offset}",
                "starts with the boundary that Karpenter writes, --//, and may end the part there",
                "indent or quote it",
                text,
            )
    yield from _shell_problems(place, part) if part.is_shell else _node_config_problems(place, part)


def _shell_problems(place: str, part: Part) -> Iterator[Problem]:
    if not part.body.startswith("#!"):
        yield Problem(
            f"{place}, line {part.first_line}",
            "has no shebang, so cloud-init does not run the script",
            "begin it with #!/bin/bash",
            part.body.split("\n", 1)[0],
        )
    for line, key in kernel_key_lines(part.body):
        yield Problem(
            f"{place}, line {part.first_line + line - 1}",
            "is a kernel setting that kubelet checks at start (protectKernelDefaults)",
            "remove it",
            key,
        )
    for offset, text in enumerate(part.body.split("\n")):
        if LOST_BACKSLASH in text:
            yield Problem(
                f"{place}, line {part.first_line + offset}",
                "has lost the backslash of the mount unit's name",
                r"write mnt-k8s\x2ddisks-0.mount",
                text.strip(),
            )
    if is_yaml_map(part.body):
        yield Problem(
            place, "parses as a YAML map, so Karpenter may take it for a NodeConfig", "add a command, such as set -e"
        )


def _node_config_problems(place: str, part: Part) -> Iterator[Problem]:
    if not part.is_node_config:
        return
    document, problem = _yaml_map(place, part.body)
    if problem:
        yield problem
        return
    if document.get("kind") != "NodeConfig":
        yield Problem(f"{place}, kind", "must be NodeConfig", "", document.get("kind", ABSENT))
    if document.get("apiVersion") != "node.eks.aws/v1alpha1":
        yield Problem(f"{place}, apiVersion", "must be node.eks.aws/v1alpha1", "", document.get("apiVersion", ABSENT))
    spec = as_map(document.get("spec"))
    if "cluster" in spec:
        yield Problem(f"{place}, spec.cluster", "is overwritten by Karpenter's part", "remove it")
    if "strategy" in as_map(as_map(spec.get("instance")).get("localStorage")):
        yield Problem(
            f"{place}, spec.instance.localStorage.strategy",
            "hides from Karpenter that pods live on the instance store",
            "set instanceStorePolicy: RAID0 on the EC2NodeClass",
        )
    config = _kubelet(document)
    for key in (*OVERWRITTEN_BY_KARPENTER, *SEEN_BY_KARPENTER):
        if key in config:
            fate = "is overwritten by" if key in OVERWRITTEN_BY_KARPENTER else "is hidden from the plans of"
            yield Problem(
                f"{place}, spec.kubelet.config.{key}",
                f"{fate} Karpenter",
                "set it in the NodePool or in EC2NodeClass spec.kubelet",
                config[key],
            )


def _yaml_map(place: str, text: str) -> tuple[dict[str, Any], Problem | None]:
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        return {}, Problem(place, f"is not YAML ({reason})", "mend it; nodeadm would stop the node's start")
    if not isinstance(document, dict):
        return {}, Problem(place, "is not a YAML map", "write a NodeConfig object")
    return document, None


def kubelet_config_of(part: Part) -> dict[str, Any]:
    """spec.kubelet.config of a NodeConfig part; empty when it has none or cannot be read."""
    return _kubelet(_yaml_map("", part.body)[0])


def _kubelet(document: dict[str, Any]) -> dict[str, Any]:
    return as_map(as_map(as_map(document.get("spec")).get("kubelet")).get("config"))


def as_map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
