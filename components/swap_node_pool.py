"""`SwapNodePool`: one Karpenter pool whose nodes put the memory peak of jobs into swap on local NVMe."""

from typing import Any, NotRequired, Optional, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.node.v1 import RuntimeClass
from pulumi_kubernetes.scheduling.v1 import PriorityClass

from floodplain import duration, pools
from floodplain.problem import Problem, RuleError

from . import crd, pool_objects
from .arguments import property_errors, read_args
from .cluster_args import ClusterArgs
from .pool_args import SwapPoolArgs
from .pool_document import pool_document
from .swap_pool import SwapNodePoolSettings, role_name

DRAIN_MARGIN_SECONDS = 3600


class SwapNodePoolArgs(TypedDict):
    """A swap-backed pool and the cluster it belongs to."""

    pool: SwapPoolArgs
    """The pool, as it would stand under `pools` in a stack file."""
    cluster: ClusterArgs
    """The EKS cluster that exists already."""
    node_role_name: Input[str]
    """Name (not ARN) of the IAM role of the nodes; `KarpenterController` outputs it."""
    subnet_ids: NotRequired[Input[list[Input[str]]]]
    """Ids of subnets made by the same program, instead of the pool's `subnets`."""
    security_group_ids: NotRequired[Input[list[Input[str]]]]
    """Ids of security groups made by the same program, instead of the pool's `security_groups`."""
    protected: NotRequired[bool]
    """Whether the stack is protected: the machine image must then be pinned. Default false."""


class SwapNodePool(pulumi.ComponentResource):
    """A tainted Karpenter pool with swap on local NVMe for batch jobs whose memory peaks briefly.

    Makes an EC2NodeClass, a NodePool, a RuntimeClass and a PriorityClass for its jobs, and a DaemonSet that keeps
    memory for other DaemonSets. What it depends on (`depends_on`) its Karpenter objects depend on too, so that they
    are deleted while the controller still runs.
    """

    pool_name: Output[str]
    """Name of the NodePool and EC2NodeClass."""
    runtime_class_name: Output[str]
    """Name of the RuntimeClass that jobs name in runtimeClassName."""
    priority_class_name: Output[str]
    """Name of the PriorityClass for jobs."""
    headroom_daemon_set_name: Output[str]
    """Name of the headroom DaemonSet, in kube-system."""
    taint: Output[str]
    """The taint, as `key=value:effect`."""
    pool_document: Output[str]
    """The pool for sizing and tools: JSON, as `python -m preview show pools --json` prints it."""

    def __init__(self, name: str, args: SwapNodePoolArgs, opts: Optional[ResourceOptions] = None) -> None:
        super().__init__("floodplain:index:SwapNodePool", name, {}, opts)
        settings = read_args(SwapNodePoolSettings, args, inputs=("node_role_name", "subnet_ids", "security_group_ids"))
        pool = settings.pool
        node_class = pool_objects.node_class(
            pool,
            settings.cluster,
            _checked_role(args["node_role_name"]),
            _id_terms(args.get("subnet_ids")),
            _id_terms(args.get("security_group_ids")),
        )
        node_pool = pool_objects.node_pool(pool)
        # What other resources still have to make is left out: the rest is refused before anything is registered.
        _refuse_broken_manifests(pool_objects.node_class(pool, settings.cluster, "known-later"), node_pool)

        # The engine does not pass a component's dependencies on to its children.
        after = opts.depends_on if opts else None
        drain = duration.parse(pool.disruption.grace_period(pool.longest_job)) + DRAIN_MARGIN_SECONDS
        draining = pulumi.CustomTimeouts(delete=duration.text(drain))
        made_class = CustomResource(
            f"{name}-nodeclass",
            api_version=node_class["apiVersion"],
            kind=node_class["kind"],
            metadata=node_class["metadata"],
            spec=node_class["spec"],
            opts=ResourceOptions(parent=self, depends_on=after, custom_timeouts=draining),
        )
        runtime_class = RuntimeClass(
            f"{name}-runtimeclass", **_typed(pool_objects.runtime_class(pool)), opts=ResourceOptions(parent=self)
        )
        CustomResource(
            f"{name}-nodepool",
            api_version=node_pool["apiVersion"],
            kind=node_pool["kind"],
            metadata=node_pool["metadata"],
            spec=node_pool["spec"],
            opts=ResourceOptions(
                parent=self,
                depends_on=[made_class, runtime_class, *_as_list(after)],
                custom_timeouts=draining,
            ),
        )
        PriorityClass(
            f"{name}-priorityclass",
            **_typed(pool_objects.priority_class(pool)),
            # The API server refuses a change of either (pulumi-kubernetes#1830).
            opts=ResourceOptions(parent=self, replace_on_changes=["value", "preemptionPolicy"]),
        )
        headroom = pool_objects.headroom_daemon_set(pool)
        # The same resource as pulumi_kubernetes.apps.v1.DaemonSet, whose module would double the start-up time.
        CustomResource(
            f"{name}-headroom",
            api_version=headroom["apiVersion"],
            kind=headroom["kind"],
            metadata=headroom["metadata"],
            spec=headroom["spec"],
            opts=ResourceOptions(parent=self),
        )

        taint = pool.node_taint
        outputs = {
            "pool_name": pool.name,
            "runtime_class_name": pool.runtime_class,
            "priority_class_name": pool.runtime_class,
            "headroom_daemon_set_name": headroom["metadata"]["name"],
            "taint": f"{taint.key}={taint.value}:{taint.effect.value}",
            "pool_document": pools.dump([pool_document(pool, settings.cluster)]).decode(),
        }
        for key, value in outputs.items():
            setattr(self, key, Output.from_input(value))
        self.register_outputs({_camel(key): value for key, value in outputs.items()})


def _typed(manifest: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments of a typed Kubernetes resource; it knows its own apiVersion and kind."""
    names = {"globalDefault": "global_default", "preemptionPolicy": "preemption_policy"}
    return {names.get(key, key): value for key, value in manifest.items() if key not in ("apiVersion", "kind")}


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(part.capitalize() for part in tail)


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _id_terms(ids: Any) -> Any:
    """Selector terms from ids that other resources of the program may still have to make."""
    return None if ids is None else Output.from_input(ids).apply(lambda known: [{"id": one} for one in known])


def _checked_role(role: Any) -> Any:
    """Refuse an ARN at once when the value is plain, and when it becomes known otherwise."""
    if isinstance(role, str):
        return _role_or_error(role)
    return Output.from_input(role).apply(_role_or_error)


def _role_or_error(role: str) -> str:
    try:
        return role_name(role)
    except RuleError as error:
        problem = Problem("nodeRoleName", error.rule, error.remedy, role)
        raise property_errors("SwapNodePool", [problem]) from None


def _refuse_broken_manifests(*manifests: dict[str, Any]) -> None:
    problems = [problem for manifest in manifests for problem in crd.violations(manifest)]
    if problems:
        raise property_errors("SwapNodePool", problems)
