"""`SwapNodePool`: one Karpenter pool whose nodes put the memory peak of jobs into swap on local NVMe."""

from typing import Any, NotRequired, Optional, TypedDict

import pulumi
from pulumi import Input, Output, ResourceOptions
from pydantic.alias_generators import to_camel

from floodplain import duration, pools
from floodplain.problem import Problem

from . import pool_objects
from .arguments import property_errors, read_args, text_problems, texts_problems
from .cloud_names import role_name_problems
from .cluster_args import ClusterArgs
from .kubernetes_object import kubernetes_object
from .pool_args import SwapPoolArgs
from .pool_document import pool_document
from .swap_pool import SwapNodePoolSettings, SwapPool

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
        _check_inputs(args)
        pool, cluster = settings.pool, settings.cluster
        role = _checked_role(args["node_role_name"])
        subnets, groups = _id_terms(args.get("subnet_ids")), _id_terms(args.get("security_group_ids"))
        node_class = kubernetes_object(
            f"{name}-nodeclass",
            pool_objects.node_class(pool, cluster, role, subnets, groups),
            self._karpenter_options(opts, pool),
        )
        runtime_class = kubernetes_object(
            f"{name}-runtimeclass", pool_objects.runtime_class(pool), ResourceOptions(parent=self)
        )
        kubernetes_object(
            f"{name}-nodepool",
            pool_objects.node_pool(pool),
            self._karpenter_options(opts, pool, node_class, runtime_class),
        )
        kubernetes_object(
            f"{name}-priorityclass",
            pool_objects.priority_class(pool),
            # The API server refuses a change of either (pulumi-kubernetes#1830), and the name stays.
            ResourceOptions(parent=self, replace_on_changes=["value", "preemptionPolicy"], delete_before_replace=True),
        )
        headroom = pool_objects.headroom_daemon_set(pool)
        kubernetes_object(f"{name}-headroom", headroom, ResourceOptions(parent=self))

        taint = pool.node_taint
        outputs = {
            "pool_name": pool.name,
            "runtime_class_name": pool.runtime_class,
            "priority_class_name": pool.runtime_class,
            "headroom_daemon_set_name": headroom["metadata"]["name"],
            "taint": f"{taint.key}={taint.value}:{taint.effect.value}",
            "pool_document": pools.dump([pool_document(pool, cluster)]).decode(),
        }
        for key, value in outputs.items():
            setattr(self, key, Output.from_input(value))
        self.register_outputs({to_camel(key): value for key, value in outputs.items()})

    def _karpenter_options(
        self, given: Optional[ResourceOptions], pool: SwapPool, *after: pulumi.Resource
    ) -> ResourceOptions:
        """Of the objects whose deletion Karpenter must still see through: a drain may take as long as a job."""
        drain = duration.parse(pool.disruption.grace_period(pool.longest_job)) + DRAIN_MARGIN_SECONDS
        return ResourceOptions.merge(
            # The engine does not pass a component's dependencies on to its children.
            ResourceOptions(depends_on=given.depends_on if given else None),
            ResourceOptions(
                parent=self,
                depends_on=list(after),
                custom_timeouts=pulumi.CustomTimeouts(delete=duration.text(drain)),
            ),
        )


def _id_terms(ids: Any) -> Any:
    """Selector terms from ids that other resources of the program may still have to make."""
    return None if ids is None else Output.from_input(ids).apply(lambda known: [{"id": one} for one in known])


def _check_inputs(args: SwapNodePoolArgs) -> None:
    """Refuse inputs of a wrong kind while they are plain."""
    problems = [
        *text_problems(args, "node_role_name"),
        *texts_problems(args, "subnet_ids"),
        *texts_problems(args, "security_group_ids"),
    ]
    if problems:
        raise property_errors("SwapNodePool", problems)


def _checked_role(role: Any) -> Any:
    """Refuse an ARN at once when the value is plain, and when it becomes known otherwise."""
    return _role_or_error(role) if isinstance(role, str) else Output.from_input(role).apply(_role_or_error)


def _role_or_error(role: str) -> str:
    problems = [Problem("nodeRoleName", error.rule, error.remedy, role) for error in role_name_problems(role)]
    if problems:
        raise property_errors("SwapNodePool", problems)
    return role
