"""What an instance learns of itself: its names and type, the user data, its credentials. Handed over on a small disk.

A stand-in for EC2's metadata service and for the instance role, by which a real kubelet gets its token.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Instance:
    """An instance's own facts. `node_name` is its private DNS name; `eni_max_pods` the pods that its type's network
    interfaces hold, from which nodeadm computes kubelet's reserve."""

    instance_id: str = "i-0f100d91a10000001"
    zone: str = "eu-west-1a"
    node_name: str = "ip-10-0-2-15.eu-west-1.compute.internal"
    node_ip: str = "10.0.2.15"
    eni_max_pods: int = 8

    @property
    def provider_id(self) -> str:
        return f"aws:///{self.zone}/{self.instance_id}"


def metadata_disk(
    instance: Instance, *, user_data: bytes, kubelet_port: int, certificate: str, key: str, authorized_key: str
) -> bytes:
    """The disk's content: a tar archive, read by the node's instance-metadata.service. `user_data` goes in as it is."""
    facts = {
        "instance_id": instance.instance_id,
        "zone": instance.zone,
        "node_name": instance.node_name,
        "node_ip": instance.node_ip,
        "eni_max_pods": instance.eni_max_pods,
        "kubelet_port": kubelet_port,
    }
    return _tar(
        {
            "user-data": user_data,
            "instance.json": json.dumps(facts).encode(),
            "hostname": f"{instance.node_name}\n".encode(),
            "kubelet.crt": certificate.encode(),
            "kubelet.key": key.encode(),
            "authorized_keys": authorized_key.encode(),
        }
    )


def _tar(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
