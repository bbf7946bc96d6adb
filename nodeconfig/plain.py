"""A script that makes any Linux with systemd, run as root, a node with a swap file on disk.

For clusters elsewhere than on EKS with Karpenter: the same unit, kernel reserve and protection of daemons, a
kubelet configuration drop-in instead of a NodeConfig. kubelet merges files of its --config-dir over its
configuration (kubernetes.io, "Set Kubelet Parameters Via A Configuration File"). It does not restart kubelet:
that is for whoever drains the node.
"""

from __future__ import annotations

from .paths import NodePaths
from .plain_settings import PlainSettings
from .rendering import kubelet_config, memory_script, memory_unit, render, swap_script, swap_unit, yaml_text


def plain_script(settings: PlainSettings, *, root: str = "") -> str:
    """The whole script; `root` is put before every path and stays empty outside tests."""
    paths = NodePaths(root)
    directory = settings.kubelet_config_directory
    kubelet = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        **kubelet_config(settings, swap=True),
    }
    return render(
        "plain.sh.j2",
        paths=paths,
        required_units=["floodplain-memory.service", "floodplain-swap.service"],
        memory_script=memory_script(settings, paths, swap=True),
        memory_unit=memory_unit(settings, paths),
        swap_script=swap_script(settings, paths, file=f"{root}{settings.swap_file}", slices=settings.slices),
        swap_unit=swap_unit(settings, paths),
        slices=settings.slices,
        kubelet_directory=None if directory is None else f"{root}{directory}",
        kubelet_text=yaml_text(kubelet),
    )
