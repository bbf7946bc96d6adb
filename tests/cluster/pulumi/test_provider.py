"""What our components rest on in Pulumi's engine and Kubernetes provider: small programs on an empty cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest
from pulumi import ResourceOptions, automation

from components.kubernetes_object import kubernetes_object
from testbed.cluster.control_plane import ControlPlane, control_plane
from testbed.processes import Processes
from testbed.pulumi.engine import Engine
from testbed.pulumi.inline import inline_stack
from testbed.state import State

Object = dict[str, Any]
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh"
POOL = "/apis/karpenter.sh/v1/nodepools/theirs"


@dataclass
class Bench:
    """A cluster without Karpenter, and programs on it. `kubeconfig` is the text of the cluster's."""

    cluster: ControlPlane
    engine: Engine
    kubeconfig: str = ""
    stacks: list[automation.Stack] = field(default_factory=list)

    def provider(self, name: str = "cluster", **settings: Any) -> kubernetes.Provider:
        """As `Platform` makes it, by default."""
        given = {"kubeconfig": self.kubeconfig, "cluster_identifier": "bench", "enable_server_side_apply": True}
        return kubernetes.Provider(name, **{**given, **settings})

    def stack(self, name: str, program: Callable[[], Any]) -> automation.Stack:
        self.stacks.append(inline_stack(self.engine, name, program))
        return self.stacks[-1]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with State() as state, Processes(state) as processes, control_plane(state, processes) as cluster:
        bench = Bench(cluster, Engine(state, cluster), cluster.kubeconfig.read_text())
        yield bench


def config_map(name: str, **metadata: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "data": {"key": "value"},
    }


def priority_class(value: int, **metadata: Any) -> Object:
    """The server refuses values above a thousand million."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent", **metadata},
        "value": value,
    }


def node_pool(name: str, **spec: Any) -> Object:
    # Nobody here makes it ready.
    metadata = {"name": name, "annotations": {"pulumi.com/skipAwait": "true"}}
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "theirs"}
    requirement = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}
    template = {"spec": {"nodeClassRef": reference, "requirements": [requirement]}}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def previewed(stack: automation.Stack) -> dict[str, str]:
    """What a preview says becomes of each resource, by name; what stays the same is left out."""
    seen: list[Any] = []
    stack.preview(on_event=seen.append)
    steps = [event.resource_pre_event.metadata for event in seen if event.resource_pre_event]
    ops = {str(step.urn).rpartition("::")[2]: str(step.op.value) for step in steps}
    return {name: "replace" if "replace" in op else op for name, op in ops.items() if op != "same"}


def test_a_preview_checks_nothing_on_the_server_while_an_input_is_unknown(bench: Bench) -> None:
    """An annotation that another object's id fills: the preview passes what `up` then refuses."""
    known = [True]

    def program() -> None:
        through = ResourceOptions(provider=bench.provider())
        other = kubernetes_object("other", config_map("other"), through)
        after = "known" if known[0] else other.id
        kubernetes_object("urgent", priority_class(2_000_000_000, annotations={"after": after}), through)

    stack = bench.stack("unknown-input", program)
    with pytest.raises(automation.CommandError, match="maximum allowed value of a user defined priority"):
        stack.preview()
    known[0] = False
    assert {name: op for name, op in previewed(stack).items() if name == "urgent"} == {"urgent": "create"}
    with pytest.raises(automation.CommandError, match="maximum allowed value of a user defined priority"):
        stack.up()
    stack.destroy()


def test_a_preview_checks_nothing_on_the_server_while_a_kind_is_not_served(bench: Bench) -> None:
    def program() -> None:
        broken = node_pool("broken", weight=1000)
        kubernetes_object("broken", broken, ResourceOptions(provider=bench.provider()))

    stack = bench.stack("kind-not-served", program)
    assert bench.cluster.api.find(CRD) is None
    assert previewed(stack)["broken"] == "create"
    bench.cluster.install_karpenter_crds()
    with pytest.raises(automation.CommandError, match=r"spec\.weight"):
        stack.preview()


def test_an_object_of_the_same_name_is_taken_over_where_no_field_conflicts(bench: Bench) -> None:
    """And goes with the stack."""
    bench.cluster.install_karpenter_crds()
    api = bench.cluster.api
    by_hand = node_pool("theirs", limits={"cpu": "8"})
    assert api.apply(by_hand, field_manager="somebody").ok
    before = api.get(POOL)
    wanted = [node_pool("theirs", limits={"cpu": "16"}, weight=10)]
    stack = bench.stack(
        "taking-over",
        lambda: kubernetes_object("theirs", wanted[0], ResourceOptions(provider=bench.provider())),
    )
    with pytest.raises(automation.CommandError, match='conflict with "somebody"'):
        stack.up()
    wanted[0] = node_pool("theirs", limits={"cpu": "8"}, weight=10)
    stack.up()
    after = api.get(POOL)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == {**before["spec"], "weight": 10}
    stack.destroy()
    assert api.find(POOL) is None


def test_a_provider_with_a_cluster_identifier_is_not_replaced_when_the_kubeconfig_changes(bench: Bench) -> None:
    """The same server under another name. Without an identifier the provider goes, and all that it has made."""
    kubeconfig = [bench.kubeconfig]

    def program() -> None:
        for name, identifier in (("identified", "bench"), ("anonymous", None)):
            provider = bench.provider(name, kubeconfig=kubeconfig[0], cluster_identifier=identifier)
            kubernetes_object(f"of-{name}", config_map(f"of-{name}"), ResourceOptions(provider=provider))

    stack = bench.stack("kubeconfig-changes", program)
    stack.up()
    kubeconfig[0] = bench.kubeconfig.replace("https://127.0.0.1:", "https://localhost:")
    assert kubeconfig[0] != bench.kubeconfig
    assert previewed(stack) == {"identified": "update", "anonymous": "replace", "of-anonymous": "replace"}
    stack.destroy()


def test_a_components_dependencies_are_not_those_of_its_children(bench: Bench) -> None:
    def program() -> None:
        through = bench.provider()
        first = kubernetes_object("first", config_map("first"), ResourceOptions(provider=through))
        after = ResourceOptions(depends_on=[first], providers=[through])
        component = pulumi.ComponentResource("test:index:Component", "component", {}, after)
        kubernetes_object("child", config_map("child"), ResourceOptions(parent=component))
        last = ResourceOptions(parent=component, depends_on=[first])
        kubernetes_object("told-itself", config_map("told-itself"), last)

    stack = bench.stack("dependencies", program)
    stack.up()
    resources = (stack.export_stack().deployment or {})["resources"]
    names = {one["urn"]: one["urn"].rpartition("::")[2] for one in resources}
    depends = {names[one["urn"]]: [names[urn] for urn in one.get("dependencies") or ()] for one in resources}
    assert {name: depends[name] for name in ("component", "child", "told-itself")} == {
        "component": ["first"],
        "child": [],
        "told-itself": ["first"],
    }
    stack.destroy()
