"""`Guardrails`: admission policies that keep every pod on the pools within memory limits and the disk cap."""

from typing import NotRequired, Optional, TypedDict

import pulumi
from pulumi import Output, ResourceOptions
from pulumi_kubernetes.admissionregistration.v1 import ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding

from floodplain.pools import POOL_LABEL

from .arguments import read_args
from .cluster_args import ClusterArgs
from .guardrail_rules import BINDING_KIND, manifests
from .guardrail_settings import GuardrailsSettings
from .pool_args import SwapPoolArgs, TaintArgs
from .pool_choices import GuardrailMode


class PoolGuardrailArgs(TypedDict):
    """What admission must know of a pool that `SwapNodePool` does not make."""

    pool: str
    """Name of the pool."""
    largest_allocatable: str
    """Allocatable memory of the largest node that the pool may launch, such as `718987Mi`."""
    headroom: NotRequired[str]
    """What DaemonSets take of that memory on each node. Default `0`."""
    overhead: NotRequired[str]
    """Memory overhead of the pool's RuntimeClass. Default `16Mi`. The rules use what admission wrote into the pod."""
    ephemeral_per_memory: NotRequired[float]
    """Most node disk a pod may use, in bytes per byte of its memory request. Default 1."""
    taint: NotRequired[TaintArgs]
    """Taint of the pool's nodes. Default `floodplain.dev/pool=<pool>:NoSchedule`."""
    node_selector: NotRequired[dict[str, str]]
    """The one label that the pool's nodes carry. Default `floodplain.dev/pool: <pool>`."""
    runtime_class: NotRequired[str]
    """Name of the pool's RuntimeClass. Default `floodplain-<pool>`."""
    swap: NotRequired[bool]
    """Whether the pool's nodes have swap. Default true; false leaves out the rules about who gets it."""
    mode: NotRequired[GuardrailMode]
    """What to do about a pod that breaks a rule. Default enforce."""


class GuardrailsArgs(TypedDict):
    """The pools to guard, and whom to leave alone."""

    cluster: NotRequired[ClusterArgs]
    """The EKS cluster of `pools`, as `SwapNodePool` takes it. Not needed for `others` alone."""
    pools: NotRequired[list[SwapPoolArgs]]
    """Pools, as `SwapNodePool` takes them: the figures are derived, the mode is the pool's `guardrails`."""
    others: NotRequired[list[PoolGuardrailArgs]]
    """Pools that something else makes, on any cluster."""
    exempt_namespaces: NotRequired[list[str]]
    """Namespaces that no rule looks at. kube-system always is one."""
    daemon_set_controllers: NotRequired[list[str]]
    """User names whose DaemonSet pods are left alone. Default: Kubernetes' own DaemonSet controller."""
    judge_node_names: NotRequired[bool]
    """Whether a pod that sets spec.nodeName itself is judged, since a NoSchedule taint does not keep it from a pool's
    node. Default true. Such pods are rare: node debugging (use kube-system) and some storage drivers."""
    unsized: NotRequired[GuardrailMode]
    """What to do about a pod that asks to be sized, in a namespace whose pods `SizingService` sizes, and has no plan.
    Default off."""


class Guardrails(pulumi.ComponentResource):
    """ValidatingAdmissionPolicies for the pods of pools, and for those that would end up there.

    For each pool a policy that refuses what would break the sum of limits on a node or its disk, or warns in audit
    mode, and a policy that only gives advice. Pods of DaemonSets and of kube-system are left alone. On demand one more
    for pods that should have been sized and were not.
    """

    policy_names: Output[list[str]]
    """Names of the ValidatingAdmissionPolicies."""
    binding_names: Output[list[str]]
    """Names of the ValidatingAdmissionPolicyBindings."""

    def __init__(self, name: str, args: GuardrailsArgs, opts: Optional[ResourceOptions] = None) -> None:
        super().__init__("floodplain:index:Guardrails", name, {}, opts)
        settings = read_args(GuardrailsSettings, args)
        # The engine does not pass a component's dependencies on to its children.
        after = opts.depends_on if opts else None
        policies: list[pulumi.Resource] = []
        names: dict[str, list[str]] = {"policyNames": [], "bindingNames": []}
        for manifest in manifests(settings):
            metadata, spec = manifest["metadata"], manifest["spec"]
            purpose = metadata["name"].rsplit("-", 1)[1]
            pool = metadata.get("labels", {}).get(POOL_LABEL)
            child = child_name(name, pool, purpose) if pool else f"{name}-{purpose}"
            if manifest["kind"] == BINDING_KIND:
                ValidatingAdmissionPolicyBinding(
                    f"{child}-binding",
                    metadata=metadata,
                    spec=spec,
                    opts=ResourceOptions(parent=self, depends_on=[policies[-1]]),
                )
                names["bindingNames"].append(metadata["name"])
            else:
                policies.append(
                    ValidatingAdmissionPolicy(
                        child,
                        metadata=metadata,
                        spec=spec,
                        opts=ResourceOptions(parent=self, depends_on=after),
                    )
                )
                names["policyNames"].append(metadata["name"])
        self.policy_names = Output.from_input(names["policyNames"])
        self.binding_names = Output.from_input(names["bindingNames"])
        self.register_outputs(names)


def child_name(component: str, pool: str, purpose: str) -> str:
    """Name of a policy's resource: by pool and purpose, so that adding or reordering pools replaces nothing.

    A component that is called after the pool says it already: `prod-batch`, `prod-batch-advice`.
    """
    return f"{component}-{purpose}" if f"-{component}".endswith(f"-{pool}") else f"{component}-{pool}-{purpose}"
