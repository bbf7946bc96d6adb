"""Values of kube-prometheus-stack that swap needs: which metrics are kept, where node exporter looks and runs.

Pure. The chart's defaults are made for nodes without swap: they drop the swap of each container, read a path that
kubelet no longer serves, and follow only the monitors of their own release.
"""

from __future__ import annotations

from typing import Any

from .node_text_import import TEXTFILE_DIRECTORY

SELECTORS = ("podMonitor", "probe", "rule", "scrapeConfig", "serviceMonitor")

# The chart's list is replaced as a whole, so that what stays dropped is said here too. Kept, unlike there:
# container_memory_swap and container_spec_memory_swap_limit_bytes. RE2 has no look-ahead, hence the long forms.
DROPPED_CADVISOR_METRICS = (
    "container_cpu_(cfs_throttled_seconds_total|load_average_10s|system_seconds_total|user_seconds_total)",
    "container_fs_(io_current|io_time_seconds_total|io_time_weighted_seconds_total|reads_merged_total"
    "|sector_reads_total|sector_writes_total|writes_merged_total)",
    "container_memory_mapped_file",
    "container_(file_descriptors|tasks_state|threads_max)",
    "container_spec_(cpu_period|cpu_quota|cpu_shares|memory_limit_bytes|memory_reservation_limit_bytes)",
)


def monitoring_values(
    *,
    retention: str,
    storage: str | None,
    storage_class: str | None,
    grafana_admin_secret: str | None,
    managed_control_plane: bool,
) -> dict[str, Any]:
    """Our values of the chart. Without `storage` Prometheus keeps its data as long as its pod."""
    prometheus: dict[str, Any] = {f"{kind}SelectorNilUsesHelmValues": False for kind in SELECTORS}
    prometheus["retention"] = retention
    if storage is not None:
        prometheus["storageSpec"] = {"volumeClaimTemplate": {"spec": _claim(storage, storage_class)}}
    values: dict[str, Any] = {
        # They come from the chart of their own, which also upgrades them.
        "crds": {"enabled": False},
        "grafana": _grafana(grafana_admin_secret),
        "kubelet": {
            "serviceMonitor": {
                "cAdvisorMetricRelabelings": _cadvisor_relabelings(),
                # Swap of nodes, pods and containers since 1.34; the chart still names the path of before 1.18.
                "resource": True,
                "resourcePath": "/metrics/resource",
            }
        },
        "prometheus": {"prometheusSpec": prometheus},
        "prometheus-node-exporter": {
            "extraArgs": _node_exporter_arguments(),
            # On every node, whatever a pool's taint is.
            "tolerations": [{"operator": "Exists"}],
        },
    }
    if managed_control_plane:
        # EKS does not let these be scraped; left on, each raises an alert for ever.
        values |= {
            part: {"enabled": False} for part in ("kubeControllerManager", "kubeEtcd", "kubeProxy", "kubeScheduler")
        }
    return values


def _claim(storage: str, storage_class: str | None) -> dict[str, Any]:
    claim: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return claim | ({"storageClassName": storage_class} if storage_class else {})


def _grafana(admin_secret: str | None) -> dict[str, Any]:
    if admin_secret is None:
        return {"enabled": False}
    # Never a password in values: it would be in clear text in the release and in the state.
    return {
        "admin": {"existingSecret": admin_secret, "passwordKey": "admin-password", "userKey": "admin-user"},
        "enabled": True,
        "sidecar": {"dashboards": {"enabled": True, "searchNamespace": "ALL"}},
    }


def _cadvisor_relabelings() -> list[dict[str, Any]]:
    by_name = [{"action": "drop", "regex": regex, "sourceLabels": ["__name__"]} for regex in DROPPED_CADVISOR_METRICS]
    return [
        *by_name,
        {
            "action": "drop",
            "regex": "container_memory_failures_total;hierarchy",
            "sourceLabels": ["__name__", "scope"],
        },
        {
            "action": "drop",
            "regex": "container_network_.*;(cali|cilium|cni|lxc|nodelocaldns|tunl).*",
            "sourceLabels": ["__name__", "interface"],
        },
        # Cgroups that are no pod's.
        {"action": "drop", "regex": ".+;", "sourceLabels": ["id", "pod"]},
    ]


def _node_exporter_arguments() -> list[str]:
    # The chart's list is replaced as a whole; its two filters keep container mounts out. /host/root is where the
    # chart mounts the node's root, so that the directory needs no mount of its own and may come later.
    return [
        "--collector.filesystem.mount-points-exclude="
        "^/(dev|proc|sys|run/containerd/.+|var/lib/docker/.+|var/lib/kubelet/.+)($|/)",
        "--collector.filesystem.fs-types-exclude="
        "^(autofs|binfmt_misc|bpf|cgroup2?|configfs|debugfs|devpts|devtmpfs|erofs|fusectl|hugetlbfs|iso9660|mqueue"
        "|nsfs|overlay|proc|procfs|pstore|rpc_pipefs|securityfs|selinuxfs|squashfs|sysfs|tracefs)$",
        f"--collector.textfile.directory=/host/root{TEXTFILE_DIRECTORY}",
    ]
