"""Which files does kubelet start with? nodeadm's defaults, the user's settings as a drop-in, flags and credentials.

Pure: paths to texts. Follows nodeadm/internal/kubelet (config.go, environment.go), for Kubernetes 1.34 and later. Left
out: the cloud provider flag (no cloud controller runs here to take its taint off), serving certificates signed by the
cluster, the image credential provider.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]

CONFIG = "/etc/kubernetes/kubelet/config.json"
DROP_INS = "/etc/kubernetes/kubelet/config.json.d"
USER_DROP_IN = f"{DROP_INS}/40-nodeadm.conf"
ENVIRONMENT = "/etc/eks/kubelet/environment"
KUBECONFIG = "/var/lib/kubelet/kubeconfig"
CLUSTER_CA = "/etc/kubernetes/pki/ca.crt"
_TYPE = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}


@dataclass(frozen=True)
class InstanceFacts:
    """What nodeadm asks EC2 and the machine. `kubelet_port` is no trait of EC2: the port that the testbed forwards."""

    instance_id: str
    zone: str
    node_name: str
    node_ip: str
    eni_max_pods: int
    cpus: int
    kubelet_port: int


def files(node_config: Document, facts: InstanceFacts) -> dict[str, str]:
    """Every file nodeadm writes for kubelet, path to text."""
    spec = node_config.get("spec", {})
    user = spec.get("kubelet", {}).get("config") or {}
    flags = {
        "config": CONFIG,
        "hostname-override": facts.node_name,
        "kubeconfig": KUBECONFIG,
        "node-ip": facts.node_ip,
        **({"config-dir": DROP_INS} if user else {}),
    }
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    arguments += spec.get("kubelet", {}).get("flags") or []
    cluster = spec["cluster"]
    written = {
        CONFIG: _json(_defaults(facts)),
        ENVIRONMENT: f"NODEADM_KUBELET_ARGS={' '.join(arguments)}\nKUBELET_CONFIG_DROPIN_DIR_ALPHA=on\n",
        KUBECONFIG: _json(_kubeconfig(cluster["apiServerEndpoint"])),
        CLUSTER_CA: base64.b64decode(cluster["certificateAuthority"]).decode(),
    }
    if user:
        written[USER_DROP_IN] = _json({**_TYPE, **user})
    return written


def reserved(facts: InstanceFacts) -> dict[str, str]:
    """kubeReserved as nodeadm computes it from the type's network interfaces, whatever maxPods says."""
    return {
        "cpu": f"{reserved_millicores(facts.cpus)}m",
        "ephemeral-storage": "1Gi",
        "memory": f"{11 * facts.eni_max_pods + 255}Mi",
    }


def reserved_millicores(cpus: int) -> int:
    """6 % of the first core, 1 % of the second, 0.5 % of the next two, 0.25 % of all others."""
    tens = sum(600 if core == 0 else 100 if core == 1 else 50 if core < 4 else 25 for core in range(cpus))
    return tens // 10


def _defaults(facts: InstanceFacts) -> Document:
    return {
        **_TYPE,
        "address": "0.0.0.0",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True, "cacheTTL": "2m0s"},
            "x509": {"clientCAFile": CLUSTER_CA},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "systemd",
        "cgroupRoot": "/",
        "clusterDomain": "cluster.local",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
        "hairpinMode": "hairpin-veth",
        "kubeReserved": reserved(facts),
        "kubeReservedCgroup": "/runtime",
        "logging": {"verbosity": 2},
        "maxPods": facts.eni_max_pods,
        "port": facts.kubelet_port,
        "protectKernelDefaults": True,
        "providerID": f"aws:///{facts.zone}/{facts.instance_id}",
        "readOnlyPort": 0,
        "serializeImagePulls": False,
        "shutdownGracePeriod": "2m30s",
        "shutdownGracePeriodCriticalPods": "30s",
        "systemReservedCgroup": "/system",
    }


def _kubeconfig(endpoint: str) -> Document:
    """The real one asks for a token by the instance's role; here the instance was handed a certificate."""
    metadata = "/run/instance-metadata"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubernetes", "cluster": {"certificate-authority": CLUSTER_CA, "server": endpoint}}],
        "users": [
            {
                "name": "kubelet",
                "user": {"client-certificate": f"{metadata}/kubelet.crt", "client-key": f"{metadata}/kubelet.key"},
            }
        ],
        "contexts": [{"name": "kubelet", "context": {"cluster": "kubernetes", "user": "kubelet"}}],
        "current-context": "kubelet",
    }


def _json(document: Document) -> str:
    return json.dumps(document, indent=4) + "\n"
