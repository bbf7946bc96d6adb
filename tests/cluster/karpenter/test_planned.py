"""Pods that admission has sized go to the nodes that their plans name: by the real scheduler, on types that the real
Karpenter chooses from the same list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from components.pool_document import pool_document
from components.pool_objects import headroom_daemon_set, runtime_class
from components.swap_pool import SwapPool
from floodplain.pools import PoolDocument
from floodplain.sizing.plan import Plan
from floodplain.sizing.settings import SizingSettings
from tests.cluster.admitted import admitted
from tests.cluster.karpenter.bed import VERSIONS, Bed, Object, alone, swap_pool

NO_OTHER_DAEMONSETS = SizingSettings(daemonset_memory="0", daemonset_cpu="0")
"""The cluster runs none but the pool's headroom, whose CPU of 1m Karpenter counts."""

INSTANCE_TYPE, CAPACITY_TYPE = "node.kubernetes.io/instance-type", "karpenter.sh/capacity-type"


@pytest.fixture(scope="module")
def pool(bed: Bed) -> Iterator[SwapPool]:
    """Nodes from 16 GiB to 1 TiB."""
    wide = {"limits": {"cpu": "2048", "memory": "16Ti"}, "capacityTypes": ["spot", "on-demand"]}
    vcpus = [4, 8, 16, 32, 64, 96, 128]
    made = bed.apply(swap_pool("planned", families=["m6id", "r6id"], vcpus=vcpus, **wide))
    headroom = headroom_daemon_set(made)
    bed.api.must_apply(runtime_class(made))
    bed.api.must_apply(headroom)
    yield made
    bed.api.delete(bed.api.path_of(headroom))


@pytest.fixture(scope="module")
def document(pool: SwapPool) -> PoolDocument:
    return pool_document(pool, VERSIONS)


def asked(name: str, images: int, **annotations: str) -> Object:
    """What a user writes."""
    given = {
        "engine": "odm",
        "images": str(images),
        **{key.replace("_", "-"): value for key, value in annotations.items()},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "annotations": {f"floodplain.dev/{key}": value for key, value in given.items()},
        },
        "spec": {"restartPolicy": "Never", "containers": [{"name": "odm", "image": "example.test/odm:1"}]},
    }


def chosen(bed: Bed, name: str) -> tuple[str, str, set[str]]:
    """Type and capacity type launched for a pod, and the types that Karpenter would have taken for it."""
    claim = bed.nominated(name)
    labels = claim["metadata"]["labels"]
    [values] = [one["values"] for one in claim["spec"]["requirements"] if one["key"] == INSTANCE_TYPE]
    return labels[INSTANCE_TYPE], labels[CAPACITY_TYPE], set(values)


COUNTS = (3, 150, 700, 2658, 5000, 11_000)


def test_karpenter_takes_exactly_the_types_that_the_plan_names(bed: Bed, document: PoolDocument) -> None:
    plans: dict[str, Plan] = {}
    for images in COUNTS:
        name = f"odm-{images}"
        thing, plans[name] = admitted(alone(asked(name, images), "planned"), [document], NO_OTHER_DAEMONSETS)
        bed.api.must_apply(thing)
    seen = {name: chosen(bed, name) for name in plans}
    assert {name: (capacity, types) for name, (_, capacity, types) in seen.items()} == {
        name: (plan.capacity_type, set(plan.instance_types)) for name, plan in plans.items()
    }
    assert [plan.capacity_type for plan in plans.values()] == ["spot"] * 4 + ["on-demand"] * 2
    for name, plan in plans.items():
        node = bed.node_of(bed.running(name))
        assert node["metadata"]["labels"][INSTANCE_TYPE] in plan.instance_types


def test_the_scheduler_puts_two_planned_pods_on_a_node_as_long_as_their_limits_fit_it(
    bed: Bed, document: PoolDocument
) -> None:
    """One node of the smallest type; the third pod of a third and a bit of its room gets another."""
    smallest = min(document.types, key=lambda kind: kind.memory_bytes)
    only = document.model_copy(update={"types": (smallest,)})
    room = smallest.allocatable_memory_bytes - document.headroom_bytes
    share = {"node.kubernetes.io/instance-type": smallest.name}
    things = []
    for number in range(3):
        thing = asked(f"share-{number}", 110)
        thing["spec"]["nodeSelector"] = share
        things.append(admitted(thing, [only], NO_OTHER_DAEMONSETS))
    limits = [plan.limit_bytes for _, plan in things]
    assert 2 * limits[0] <= room < 3 * limits[0]
    for thing, _ in things:
        bed.api.must_apply(thing)
    nodes = [bed.running(thing["metadata"]["name"])["spec"]["nodeName"] for thing, _ in things]
    assert sorted(nodes.count(node) for node in set(nodes)) == [1, 2]
