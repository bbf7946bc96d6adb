"""User data as Karpenter would merge it, for a node that is booted without Karpenter. A stand-in: the chain test boots
what the real one wrote into a launch template.

The form was observed with Karpenter 1.14.1: our parts unchanged and in order, then its own NodeConfig, last.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

HEADER = 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
END = "--//--\n"


def merged_user_data(
    ours: str,
    *,
    endpoint: str,
    certificate_authority: bytes,
    kubelet: Mapping[str, Any],
    taints: Sequence[Mapping[str, str]] = (),
    labels: Mapping[str, str] | None = None,
    raid0: bool = True,
) -> bytes:
    """Our user data with Karpenter's part behind it. `kubelet` is spec.kubelet of the EC2NodeClass and maxPods."""
    if not ours.startswith(HEADER) or not ours.rstrip().endswith("--//--"):
        raise ValueError("user data is not an archive with the boundary //")
    document = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "metadata": {},
        "spec": {
            "cluster": {
                "apiServerEndpoint": endpoint,
                "certificateAuthority": base64.b64encode(certificate_authority).decode(),
                "cidr": "10.96.0.0/16",
                "name": "testbed",
            },
            "containerd": {},
            **({"instance": {"localStorage": {"strategy": "RAID0"}}} if raid0 else {}),
            "kubelet": {
                "config": {"clusterDNS": ["10.96.0.10"], **kubelet, "registerWithTaints": [dict(t) for t in taints]},
                "flags": [_labels_flag(labels or {})],
            },
        },
    }
    own = f"# Karpenter Generated NodeConfig\n{yaml.safe_dump(document)}\n"
    part = f"--//\nContent-Type: application/node.eks.aws\n\n{own}"
    return (ours.rstrip().removesuffix("--//--") + part + END).encode()


def _labels_flag(labels: Mapping[str, str]) -> str:
    """In quotes, as Karpenter writes it."""
    return f'--node-labels="{",".join(f"{key}={value}" for key, value in sorted(labels.items()))}"'
