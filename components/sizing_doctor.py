"""`floodplain doctor` as a CronJob beside the sizing service, as plain manifests: its pod, its rights, its network.

What doctor looks at is in `floodplain.doctor`. How to run it by hand, with the same rights: docs/how-to/doctor.md.
"""

from __future__ import annotations

from typing import Any

from .push_address import namespace_of, port_of
from .sizing_installation import SizingInstallation
from .sizing_names import DOCTOR, POOLS_KEY, POOLS_VARIABLE, SIZING
from .sizing_surroundings import cluster_rights, network_policy, of_namespace, tcp, to_api_server
from .sizing_workloads import container, labels, pod_spec, selector

DEADLINE_SECONDS = 600
"""From the start of a run, the wait for a node included. A kubelet that does not answer costs 15 s, eight at a time."""


def cron_job(plan: SizingInstallation) -> dict[str, Any]:
    """One look at the cluster a time. Findings are in its log and, where there is a pushgateway, its metrics; they are
    no failure of the Job. It fails where doctor could not look, and is not tried again before the next time."""
    template = {
        "metadata": {"labels": labels(DOCTOR)},
        "spec": pod_spec(
            plan, DOCTOR, container(plan, "doctor", _arguments(plan), {POOLS_VARIABLE: POOLS_KEY}), token=True
        )
        | {"restartPolicy": "Never"},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": DOCTOR, "namespace": plan.sizing.namespace, "labels": labels(DOCTOR)},
        "spec": {
            "schedule": plan.sizing.doctor.schedule,
            # Otherwise that of the controller manager, which is whatever its machine has.
            "timeZone": "Etc/UTC",
            "concurrencyPolicy": "Forbid",
            "successfulJobsHistoryLimit": 1,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {
                "metadata": {"labels": labels(DOCTOR)},
                "spec": {"activeDeadlineSeconds": DEADLINE_SECONDS, "backoffLimit": 0, "template": template},
            },
        },
    }


def _arguments(plan: SizingInstallation) -> list[str]:
    settings = plan.sizing.doctor
    arguments = ["doctor", "--lines", "--exit-zero", "--namespace", plan.sizing.namespace]
    arguments += [] if settings.kubelets else ["--no-kubelets"]
    return [*arguments, *(["--push", settings.push] if settings.push else [])]


def rights(plan: SizingInstallation) -> dict[str, dict[str, Any]]:
    """All that doctor may do, by a word for each. Not the certificate's Secret, which holds the CA's key."""
    # Whoever has this may also run commands in pods, through kubelet (kubernetes/kubernetes#119640).
    kubelets = [_rule("", ["nodes/proxy"], "get")] if plan.sizing.doctor.kubelets else []
    rules = [
        _rule("", ["nodes", "pods", "namespaces", "limitranges"], "list"),
        *kubelets,
        _rule("apps", ["deployments"], "list"),
        _rule("karpenter.sh", ["nodepools"], "list"),
        _rule("karpenter.k8s.aws", ["ec2nodeclasses"], "list"),
        _rule("admissionregistration.k8s.io", ["mutatingwebhookconfigurations"], "get") | {"resourceNames": [SIZING]},
    ]
    return cluster_rights(plan, DOCTOR, rules)


def network(plan: SizingInstallation) -> dict[str, Any]:
    """Nobody calls doctor; it calls the API server and the pushgateway."""
    push = plan.sizing.doctor.push
    egress = [*to_api_server(), *([_to_pushgateway(push)] if push else [])]
    return network_policy(plan, DOCTOR, {"matchLabels": selector(DOCTOR)}, ingress=[], egress=egress)


def _to_pushgateway(address: str) -> dict[str, Any]:
    inside = namespace_of(address)
    # Of a namespace any port: policies see the pod's, which need not be the Service's.
    return {"to": [of_namespace(inside)]} if inside else {"ports": tcp([port_of(address)])}


def _rule(group: str, resources: list[str], verb: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": resources, "verbs": [verb]}
