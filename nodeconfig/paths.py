"""Where things live on a node. One `root` before every path lets tests run the rendered text in a folder.

Sources: kubelet.service, nodeadm-run.service and setup-local-disks of awslabs/amazon-eks-ami (templates/al2023).
"""

from __future__ import annotations

from dataclasses import dataclass

MOUNT_UNIT = r"mnt-k8s\x2ddisks-0.mount"
"""The unit nodeadm writes at run time for the RAID0 array; the backslash is part of its name."""

TEXTFILE_DIRECTORY = "/var/lib/node_exporter/textfile_collector"
"""Where nodes write the state of their swap, and node_exporter must be told to look."""


@dataclass(frozen=True)
class NodePaths:
    """Every path the node text names. `root` is empty on a node."""

    root: str = ""

    @property
    def mount(self) -> str:
        """Where setup-local-disks mounts the RAID0 array of the instance store."""
        return f"{self.root}/mnt/k8s-disks/0"

    @property
    def swap_file(self) -> str:
        return f"{self.mount}/floodplain.swap"

    @property
    def programs(self) -> str:
        return f"{self.root}/usr/local/sbin"

    @property
    def units(self) -> str:
        return f"{self.root}/etc/systemd/system"

    @property
    def nodeadm_drop_in(self) -> str:
        """Read by nodeadm-run after the user data, so it wins over Karpenter's part (amazon-eks-ami#2427)."""
        return f"{self.root}/etc/eks/nodeadm.d/50-floodplain.yaml"

    @property
    def metrics(self) -> str:
        """The text file that node_exporter reads."""
        return f"{self.root}{TEXTFILE_DIRECTORY}/floodplain_swap.prom"

    @property
    def meminfo(self) -> str:
        return f"{self.root}/proc/meminfo"

    @property
    def swaps(self) -> str:
        return f"{self.root}/proc/swaps"

    @property
    def block_devices(self) -> str:
        return f"{self.root}/sys/class/block"

    @property
    def cgroups(self) -> str:
        return f"{self.root}/sys/fs/cgroup"
