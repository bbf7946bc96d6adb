from __future__ import annotations

import pytest

from preview.origin import place
from preview.recording import Recorded
from preview.stackfile import StackFile

FILE = StackFile(
    project="floodplain",
    stack="prod",
    path="stacks/Pulumi.prod.yaml",
    config={},
    values={
        "floodplain:karpenter": {"version": "1.14.1"},
        "floodplain:pools": [
            {"name": "small", "limits": {"cpu": "8"}},
            {"name": "large", "limits": {"cpu": "8"}, "disruption": {"expireAfter": "720h"}},
        ],
        "floodplain:workerPools": [{"name": "tiles"}, {"name": "large"}],
    },
    secret_keys=frozenset(),
    secrets={},
)
PLATFORM = "urn:pulumi:prod::floodplain::floodplain:index:Platform"


def resource(chain: str, name: str, object_name: str = "", parent: str = "") -> Recorded:
    urn = f"{PLATFORM}{chain}::{name}"
    inputs = {"metadata": {"name": object_name}} if object_name else {}
    return Recorded(urn, chain.rsplit("$", 1)[-1] or "x", name, parent=parent, inputs=inputs)


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("", "pools[1]"),
        ("spec.limits.memory", "pools[1].limits.memory"),
        ("spec.limits", "pools[1].limits"),
        ("spec.amiSelectorTerms[0].alias", "pools[1].ami"),
        ("spec.template.spec.expireAfter", "pools[1].disruption.expireAfter"),
        ("spec.disruption.budgets[0].nodes", "pools[1].disruption.budgets"),
        ("spec.disruption.consolidateAfter", "pools[1].disruption.consolidateAfter"),
        ("spec.kubelet.maxPods", "pools[1].kubelet.maxPods"),
        ('spec.template.metadata.labels["example.com/a"]', 'pools[1].labels["example.com/a"]'),
        ("spec.userData line 3", "pools[1]"),
        ("spec.somethingElse", "pools[1]"),
    ],
)
def test_a_property_of_a_pool_leads_to_its_setting(path: str, key: str) -> None:
    pool = resource(
        "$floodplain:index:SwapNodePool$kubernetes:karpenter.sh/v1:NodePool", "platform-large-nodepool", "large"
    )
    assert place(FILE, pool, path) == f"stacks/Pulumi.prod.yaml: floodplain:{key}"


def test_objects_beside_the_node_pool_lead_to_the_pool_too() -> None:
    for name in ("floodplain-small", "floodplain-headroom-small"):
        beside = resource("$floodplain:index:SwapNodePool$kubernetes:apps/v1:DaemonSet", "x", name)
        assert place(FILE, beside) == "stacks/Pulumi.prod.yaml: floodplain:pools[0]"


def test_what_a_component_makes_leads_to_the_component_s_key() -> None:
    queue = resource("$floodplain:index:KarpenterController$aws:sqs/queue:Queue", "platform-karpenter-queue")
    assert place(FILE, queue) == "stacks/Pulumi.prod.yaml: floodplain:karpenter"


def test_what_no_key_makes_has_no_place() -> None:
    assert place(FILE, resource("$floodplain:index:Controllers$kubernetes:helm.sh/v3:Release", "kueue")) == ""


def test_objects_of_raster_workers_lead_to_their_entry_though_a_pool_is_called_the_same() -> None:
    chain = "$floodplain:index:WorkerPools$kubernetes:apps/v1:StatefulSet"
    labels = {"floodplain.dev/workers": "large"}
    big = Recorded(f"{PLATFORM}{chain}::x", "x", "x", inputs={"metadata": {"name": "large-big", "labels": labels}})
    assert place(FILE, big, "spec.template.spec") == "stacks/Pulumi.prod.yaml: floodplain:workerPools[1]"
    pool = resource("$floodplain:index:SwapNodePool$kubernetes:karpenter.sh/v1:NodePool", "x", "large")
    assert place(FILE, pool) == "stacks/Pulumi.prod.yaml: floodplain:pools[1]"
