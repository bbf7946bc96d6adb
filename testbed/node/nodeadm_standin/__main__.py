"""`python3 -m nodeadm_standin config|scripts|run`, inside the node, started by the units of the same names as AL2023's.

config    nodeadm-config.service: reads the user data, writes kubelet's files (`nodeadm init --skip run`).
scripts   cloud-final.service: cloud-init's part; runs the shell parts in order, once in an instance's life.
run       nodeadm-run.service: reads the user data and /etc/eks/nodeadm.d once more, writes kubelet's files again if
          they say something new, sets up the local disks, starts containerd, then kubelet, and waits without end
          until it runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .archive import NODE_CONFIG, SHELL, parts
from .kubelet import InstanceFacts, files
from .merge import merged

METADATA = Path("/run/instance-metadata")
DROP_INS = Path("/etc/eks/nodeadm.d")
CACHE = Path("/run/eks/nodeadm/config.json")
SCRIPTS = Path("/var/lib/cloud/instance/scripts")
HOST_LOOPBACK = "10.0.2.2"
"""Where QEMU's user network shows the host's own 127.0.0.1."""


def config() -> None:
    _configure(_node_config(with_drop_ins=False))


def scripts() -> None:
    """A script that fails does not stop the others, nor what comes after (facts: plain scripts fail open)."""
    done = SCRIPTS.parent / "sem.scripts_user"
    if done.exists():
        print("cloud-init stand-in: scripts ran in an earlier boot of this instance")
        return
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    done.touch()
    shell_parts = [part for part in parts(_user_data()) if part.media_type == SHELL]
    for number, part in enumerate(shell_parts, start=1):
        script = SCRIPTS / f"part-{number:03}"
        script.write_text(part.body)
        script.chmod(0o700)
        try:
            status = subprocess.run([script], stdin=subprocess.DEVNULL).returncode
        except OSError as error:  # no shebang, or a program that is not there
            print(f"cloud-init stand-in: {script.name}: {error}")
            continue
        print(f"cloud-init stand-in: {script.name} ended with status {status}")


def run() -> None:
    node_config = _node_config(with_drop_ins=True)
    if not CACHE.exists() or json.loads(CACHE.read_text()) != node_config:
        _configure(node_config)
    strategy = node_config["spec"].get("instance", {}).get("localStorage", {}).get("strategy", "none")
    subprocess.run(["/usr/bin/setup-local-disks", strategy.lower()], check=True)
    for name in ("containerd", "kubelet"):
        subprocess.run(["systemctl", "start", "--no-block", name], check=True)
        while subprocess.run(["systemctl", "is-active", "--quiet", name]).returncode:
            time.sleep(0.25)


def _configure(node_config: dict[str, Any]) -> None:
    for path, text in files(node_config, _facts()).items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    CACHE.write_text(json.dumps(node_config))
    _reach_host(node_config["spec"]["cluster"]["apiServerEndpoint"])


def _node_config(*, with_drop_ins: bool) -> dict[str, Any]:
    texts = [part.body for part in parts(_user_data()) if part.media_type == NODE_CONFIG]
    if with_drop_ins and DROP_INS.is_dir():
        found = (path for path in sorted(DROP_INS.iterdir()) if path.suffix in (".yaml", ".yml", ".json"))
        texts += [path.read_text() for path in found]
    return merged(texts)


def _user_data() -> bytes:
    return (METADATA / "user-data").read_bytes()


def _facts() -> InstanceFacts:
    return InstanceFacts(**json.loads((METADATA / "instance.json").read_text()), cpus=os.cpu_count() or 1)


def _reach_host(endpoint: str) -> None:
    """No trait of EC2: an API server on the host's loopback is reached there, under the name that the user data gives
    it, as kube-proxy makes node ports reachable on loopback."""
    address = urlsplit(endpoint)
    if address.hostname != "127.0.0.1":
        return
    target = ["-d", "127.0.0.1", "-p", "tcp", "--dport", str(address.port)]
    rules = (
        ("OUTPUT", [*target, "-j", "DNAT", "--to-destination", HOST_LOOPBACK]),
        ("POSTROUTING", ["-s", "127.0.0.1", "-d", HOST_LOOPBACK, "-j", "MASQUERADE"]),
    )
    for chain, rule in rules:
        iptables = ["iptables", "-w", "5", "-t", "nat"]
        if subprocess.run([*iptables, "-C", chain, *rule], stderr=subprocess.DEVNULL).returncode:
            subprocess.run([*iptables, "-A", chain, *rule], check=True)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    {"config": config, "scripts": scripts, "run": run}[sys.argv[1]]()
