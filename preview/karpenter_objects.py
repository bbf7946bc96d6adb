"""NodePools and EC2NodeClasses among recorded resources: their type tokens and how one names the other."""

from __future__ import annotations

from collections.abc import Mapping

from .recording import Recorded

NODE_POOL = "karpenter.sh/v1:NodePool"
NODE_CLASS = "karpenter.k8s.aws/v1:EC2NodeClass"
"""Ends of type tokens, for `Recording.of`."""


def object_name(resource: Recorded) -> str:
    """The name of a Kubernetes object, "" where the program gives none."""
    metadata = resource.inputs.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def class_name(pool: Recorded) -> str:
    """The name of the EC2NodeClass that a NodePool refers to, "" where it refers to none."""
    try:
        return str(pool.inputs["spec"]["template"]["spec"]["nodeClassRef"]["name"])
    except (KeyError, TypeError):
        return ""
