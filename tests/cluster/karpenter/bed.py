"""The real Karpenter on a real control plane against the pretended AWS, with pools that our components render.

Only for tests: how they make pools and pods and wait for what becomes of them. It asserts nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from components.cluster import Cluster, ClusterVersions
from components.controller_policies import documents
from components.controller_trust import node_trust
from components.interruption import QUEUE_RETENTION_SECONDS, RULES, queue_policy
from components.karpenter_installation import KarpenterInstallation
from components.pool_objects import node_class, node_pool
from components.swap_pool import SwapPool
from testbed.aws import Aws, start_aws
from testbed.cluster.api import Api
from testbed.cluster.control_plane import ControlPlane, control_plane
from testbed.cluster.fake_kubelets import FakeKubelets, fake_kubelets
from testbed.cluster.karpenter import error_lines, start_karpenter
from testbed.processes import Process, Processes, held, wait_until
from testbed.state import State

REGION, ACCOUNT = "us-west-2", "123456789012"
CLUSTER = Cluster(name="floodplain-test", region=REGION, account_id=ACCOUNT, kubernetes_version="1.36")
INSTALLATION = KarpenterInstallation(cluster=CLUSTER)
VERSIONS = ClusterVersions(name=CLUSTER.name, kubernetes_version="1.36")
POOLS, CLASSES, CLAIMS = (
    "/apis/karpenter.sh/v1/nodepools",
    "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    "/apis/karpenter.sh/v1/nodeclaims",
)
PODS = "/api/v1/namespaces/default/pods"
PATIENCE_SECONDS = 150
"""Ten times what anything here takes on a quiet machine: only a thing that never comes is a failure."""
Object = dict[str, Any]
T = TypeVar("T")

_POOL: Object = {
    "name": "swap",
    "families": ["r6id", "m6id"],
    "limits": {"cpu": "256", "memory": "2Ti"},
    "ami": {"alias": "al2023@v20260714"},
}


def swap_pool(name: str, **settings: Any) -> SwapPool:
    """A pool's settings as they would stand in a stack file."""
    return SwapPool.model_validate({**_POOL, "name": name, **settings})


def pod(name: str, pool: SwapPool | None, memory: str, *, cpu: str = "100m", **more: Any) -> Object:
    """A bare pod that asks for a pool's nodes, or, without one, for any node it tolerates. `more` goes into its spec;
    `annotations` into its metadata."""
    metadata: Object = {"name": name, "namespace": "default", "annotations": more.pop("annotations", {})}
    spec: Object = {
        "containers": [
            {"name": "job", "image": "job", "resources": {"requests": {"cpu": cpu, "memory": memory}}},
        ],
        "terminationGracePeriodSeconds": 5,
        **more,
    }
    if pool is not None:
        taint = pool.node_taint
        spec.setdefault("nodeSelector", {"floodplain.dev/pool": pool.name})
        spec.setdefault(
            "tolerations",
            [{"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect.value}],
        )
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def alone(wanted: Object, group: str) -> Object:
    """The same pod, which shares no node with others of its group, so that each has one launched for it."""
    wanted["metadata"]["labels"] = {"alone-in": group}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"alone-in": group}}}
    wanted["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return wanted


def condition(thing: Mapping[str, Any] | None, kind: str) -> Mapping[str, Any]:
    """A condition of an object's status, empty when it has none."""
    found = (thing or {}).get("status", {}).get("conditions", [])
    return next((one for one in found if one["type"] == kind), {})


@dataclass
class Bed:
    """Everything that runs, and the questions tests ask of it."""

    state: State
    control_plane: ControlPlane
    aws: Aws
    karpenter: Process
    kubelets: FakeKubelets

    @property
    def api(self) -> Api:
        return self.control_plane.api

    def errors(self) -> list[str]:
        """What Karpenter logged as errors, for a failing test."""
        return error_lines(self.karpenter.log)

    def node_class_of(self, pool: SwapPool, user_data: str | None = None) -> Object:
        """The pool's EC2NodeClass as our component renders it, with other user data if given."""
        made = node_class(pool, VERSIONS, INSTALLATION.node_role)
        if user_data is not None:
            made["spec"]["userData"] = user_data
        return made

    def objects(self, pool: SwapPool) -> tuple[Object, Object]:
        """The pool's EC2NodeClass and NodePool."""
        return self.node_class_of(pool), node_pool(pool)

    def apply(self, *pools: SwapPool) -> SwapPool:
        """Make or change the two objects of each pool, and wait until Karpenter takes them; the last pool."""
        for pool in pools:
            for made in self.objects(pool):
                self.api.must_apply(made)
        for pool in pools:
            self.ready(pool)
        return pools[-1]

    def ready(self, pool: SwapPool) -> None:
        """Wait until Karpenter takes a pool's objects as they are now."""
        self.until(f"pool {pool.name} is ready", lambda: self._ready(pool.name))

    def _ready(self, name: str) -> bool:
        both = [self.api.find(f"{path}/{name}") for path in (CLASSES, POOLS)]
        return all(
            condition(one, "Ready").get("status") == "True"
            and condition(one, "Ready")["observedGeneration"] == (one or {})["metadata"]["generation"]
            for one in both
        )

    def claims(self, pool: SwapPool) -> list[Object]:
        """The pool's NodeClaims, oldest first."""
        found = self.api.items(CLAIMS, labelSelector=f"karpenter.sh/nodepool={pool.name}")
        return sorted(found, key=lambda claim: (claim["metadata"]["creationTimestamp"], claim["metadata"]["name"]))

    def launched(self, pool: SwapPool) -> list[tuple[str, str]]:
        """Instance type and id of the pool's NodeClaims that have an instance."""
        return [
            (claim["metadata"]["labels"]["node.kubernetes.io/instance-type"], _instance_id(claim))
            for claim in self.claims(pool)
            if _instance_id(claim)
        ]

    def run(self, *wanted: Object) -> list[Object]:
        """Make pods together and wait until all run; the pods."""
        for one in wanted:
            self.api.must_apply(one)
        return [self.running(one["metadata"]["name"]) for one in wanted]

    def running(self, name: str) -> Object:
        """A pod, once it runs."""
        return self.until(f"pod {name} runs", lambda: self._pod_in(name, "Running"))

    def _pod_in(self, name: str, phase: str) -> Object | None:
        found = self.api.find(f"{PODS}/{name}")
        return found if found and found["status"].get("phase") == phase else None

    def node_of(self, wanted: Mapping[str, Any]) -> Object:
        """The node a running pod is on."""
        return self.api.get(f"/api/v1/nodes/{wanted['spec']['nodeName']}")

    def instance_of(self, wanted: Mapping[str, Any]) -> tuple[str, str]:
        """Instance type and id below a running pod."""
        node = self.node_of(wanted)
        kind = node["metadata"]["labels"]["node.kubernetes.io/instance-type"]
        return kind, node["spec"]["providerID"].rpartition("/")[2]

    def claim_of(self, wanted: Mapping[str, Any]) -> Object:
        """The NodeClaim below a running pod."""
        provider_id = self.node_of(wanted)["spec"]["providerID"]
        return next(one for one in self.api.items(CLAIMS) if one["status"].get("providerID") == provider_id)

    def initialized(self, claim: Mapping[str, Any]) -> None:
        """Wait until Karpenter holds a NodeClaim for initialized; before that it is not a candidate for disruption."""
        path = f"{CLAIMS}/{claim['metadata']['name']}"
        self.until(
            f"{path} is initialized", lambda: condition(self.api.find(path), "Initialized").get("status") == "True"
        )

    def nominated(self, name: str) -> Object:
        """The launched NodeClaim that Karpenter made for a pod, in its first decision about it."""

        def claim() -> Object | None:
            events = self._events(name, "Nominated")
            named = [found[1] for one in events if (found := re.search(r"nodeclaim/([a-z0-9-]+)", one["message"]))]
            made = self.api.find(f"{CLAIMS}/{named[0]}") if named else None
            return made if condition(made, "Launched").get("status") == "True" else None

        return self.until(f"a NodeClaim is launched for pod {name}", claim)

    def _events(self, name: str, reason: str) -> list[Object]:
        """Karpenter's events about a pod, oldest first."""
        found = self.api.items(
            "/api/v1/namespaces/default/events", fieldSelector=f"involvedObject.name={name},reason={reason}"
        )
        ours = [one for one in found if one.get("reportingComponent") == "karpenter"]
        return sorted(ours, key=lambda one: str(one["firstTimestamp"]))

    def refusal(self, name: str) -> str:
        """What Karpenter says about a pod that it cannot place, once it has said so."""
        events = self.until(f"Karpenter refuses pod {name}", lambda: self._events(name, "FailedScheduling"))
        return str(events[0]["message"])

    def finish(self, name: str) -> None:
        """Let a job end by itself."""
        self.api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Succeeded"}})

    def delete_pods(self) -> None:
        self.api.delete(PODS, grace_seconds=0)

    def remove(self, *pools: SwapPool) -> None:
        """Delete all pods of the namespace and these pools with their nodes."""
        self.delete_pods()
        for pool in pools:
            self.api.delete(f"{POOLS}/{pool.name}")
        for pool in pools:
            self._remove_one(pool)

    def _remove_one(self, pool: SwapPool) -> None:
        self.until(f"nodes of {pool.name} are gone", lambda: not self.claims(pool))
        path = f"{CLASSES}/{pool.name}"
        self.api.delete(path)
        self.until(f"EC2NodeClass {pool.name} is gone", lambda: self.api.find(path) is None)

    def until(self, question: str, ready: Callable[[], T | None], timeout_seconds: float = PATIENCE_SECONDS) -> T:
        """`wait_until`, and on failure what Karpenter complained of."""
        try:
            found = wait_until(question, ready, timeout_seconds=timeout_seconds, process=self.karpenter)
            assert found is not None
            return found
        except Exception as error:
            error.add_note("Karpenter's errors:\n" + "\n".join(self.errors()[-10:]))
            raise


def _instance_id(claim: Mapping[str, Any]) -> str:
    return str(claim.get("status", {}).get("providerID", "")).rpartition("/")[2]


@contextlib.contextmanager
def karpenter_bed() -> Iterator[Bed]:
    """All of it, started in some fifteen seconds."""
    with State() as state, Processes(state) as processes, control_plane(state, processes) as cluster:
        cluster.install_karpenter_crds()
        aws = start_aws(state, processes, cluster_name=CLUSTER.name, region=REGION, account=ACCOUNT)
        make_cloud(aws)
        # Ended before the API server, which waits for its clients.
        with (
            held(start_karpenter(state, processes, cluster, aws, settings(cluster))) as karpenter,
            fake_kubelets(state, cluster.api, aws) as kubelets,
        ):
            yield Bed(state, cluster, aws, karpenter, kubelets)


def settings(cluster: ControlPlane) -> dict[str, str]:
    """The settings that our component gives the chart, as the chart's template turns them into variables."""
    given = INSTALLATION.controller_values(cluster.endpoint, None)["settings"]
    gates = ",".join(
        f"{gate[0].upper()}{gate[1:]}={str(on).lower()}" for gate, on in sorted(given["featureGates"].items())
    )
    return {
        "CLUSTER_NAME": given["clusterName"],
        "CLUSTER_ENDPOINT": given["clusterEndpoint"],
        "INTERRUPTION_QUEUE": given["interruptionQueue"],
        "VM_MEMORY_OVERHEAD_PERCENT": str(given["vmMemoryOverheadPercent"]),
        "RESERVED_ENIS": given["reservedENIs"],
        "FEATURE_GATES": gates,
        "LOG_LEVEL": "debug",
    }


def make_cloud(aws: Aws) -> None:
    """What KarpenterController makes in AWS: node role, policies, queue and rules, by the component's own texts."""
    iam, sqs, events = (aws.client(service) for service in ("iam", "sqs", "events"))
    iam.create_role(RoleName=INSTALLATION.node_role, AssumeRolePolicyDocument=node_trust(CLUSTER.place.partition))
    for short, text in documents(INSTALLATION.policy_scope).items():
        iam.create_policy(PolicyName=INSTALLATION.policy_name(short), PolicyDocument=text)
    sqs.create_queue(
        QueueName=INSTALLATION.queue,
        Attributes={
            "MessageRetentionPeriod": str(QUEUE_RETENTION_SECONDS),
            "Policy": queue_policy(INSTALLATION.queue_arn, INSTALLATION.rule_arns, ACCOUNT),
        },
    )
    for rule in RULES:
        name = INSTALLATION.rule_name(rule.key)
        events.put_rule(Name=name, EventPattern=rule.pattern)
        events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": INSTALLATION.queue_arn}])
