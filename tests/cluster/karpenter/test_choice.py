"""Does real Karpenter choose the instance type, or give the refusal, that floodplain predicts for a pending pod?"""

from __future__ import annotations

import pytest

from components.pool_document import pool_document
from components.pool_objects import headroom_daemon_set, runtime_class
from floodplain.quantity import MIB, from_bytes
from preview.pools import ceiling
from tests.cluster.karpenter import prediction
from tests.cluster.karpenter.bed import VERSIONS, Bed, alone, pod, swap_pool

INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def offered(bed: Bed, name: str) -> tuple[str, list[str]]:
    """The type launched for a pod, and all types that Karpenter would have taken for it, by name.

    By the NodeClaim that Karpenter nominated for the pod first: where it then runs is the scheduler's choice.
    """
    claim = bed.nominated(name)
    [values] = [one["values"] for one in claim["spec"]["requirements"] if one["key"] == INSTANCE_TYPE]
    return claim["metadata"]["labels"][INSTANCE_TYPE], sorted(values)


def test_a_request_to_the_mib_decides_between_types_as_predicted(bed: Bed) -> None:
    pool = bed.apply(swap_pool("edges", vcpus=[2, 4, 8]))
    edges = sorted({kind.allocatable_memory_bytes for kind in prediction.types(pool)})
    requests = {
        f"edge-{number}-{side}": edge + over
        for number, edge in enumerate(edges)
        for side, over in (("fits", 0), ("over", MIB))
    } | {"small": 64 * MIB}
    predicted = {name: prediction.fitting(pool, memory) for name, memory in requests.items()}
    refused = [name for name, names in predicted.items() if not names]
    assert refused == [f"edge-{len(edges) - 1}-over"]

    for name, memory in requests.items():
        bed.api.must_apply(alone(pod(name, pool, from_bytes(memory)), "edges"))
    seen = {name: offered(bed, name) for name in requests if name not in refused}
    assert seen == {name: (names[0], sorted(names)) for name, names in predicted.items() if names}
    assert "no instance type has enough resources" in bed.refusal(refused[0])


def test_the_largest_job_of_a_pool_document_is_the_largest_that_gets_a_node(bed: Bed) -> None:
    """With the pool's RuntimeClass, whose overhead counts, and its headroom on each node."""
    pool = bed.apply(swap_pool("largest", families=["m6id"], vcpus=[4], headroom="300Mi", overhead="24Mi"))
    bed.api.must_apply(runtime_class(pool))
    bed.api.must_apply(headroom_daemon_set(pool))
    largest = pool_document(pool, VERSIONS).largest_job_memory_bytes
    by_class = {"runtimeClassName": pool.runtime_class}
    for name, memory in (("largest", largest), ("larger", largest + MIB)):
        bed.api.must_apply(pod(name, None, from_bytes(memory), **by_class))
    assert offered(bed, "largest") == ("m6id.xlarge", ["m6id.xlarge"])
    node = bed.running("largest")["spec"]["nodeName"]
    # The DaemonSet's pod has room beside it.
    [beside] = bed.until(
        "the headroom pod is placed",
        lambda: bed.api.items("/api/v1/namespaces/kube-system/pods", fieldSelector=f"spec.nodeName={node}") or None,
    )
    assert beside["metadata"]["labels"]["app.kubernetes.io/name"] == "floodplain-headroom"
    assert "no instance type has enough resources" in bed.refusal("larger")
    bed.api.delete(f"/apis/apps/v1/namespaces/kube-system/daemonsets/floodplain-headroom-{pool.name}")


def test_a_pod_without_the_toleration_gets_no_node_of_a_pool(bed: Bed) -> None:
    pool = bed.apply(swap_pool("tainted", vcpus=[2]))
    bed.api.must_apply(pod("intolerant", None, "1Gi", nodeSelector={"floodplain.dev/pool": pool.name}))
    assert f"did not tolerate taint (taint=floodplain.dev/pool={pool.name}:NoSchedule)" in bed.refusal("intolerant")
    assert bed.claims(pool) == []


def test_a_pool_launches_as_many_nodes_as_its_limits_allow_and_then_says_so(bed: Bed) -> None:
    pool = bed.apply(swap_pool("limited", families=["m6id"], vcpus=[2], limits={"cpu": "5", "memory": "1Ti"}))
    document = pool_document(pool, VERSIONS)
    assert ceiling(document) == 2
    bed.run(*(alone(pod(f"within-{number}", pool, "1Gi"), "limited") for number in range(2)))
    bed.api.must_apply(alone(pod("beyond", pool, "1Gi"), "limited"))
    message = "all available instance types exceed limits for nodepool (NodePool=limited)"
    assert message in bed.refusal("beyond")
    assert len(bed.claims(pool)) == 2


def test_a_type_without_capacity_is_passed_over_for_the_next_cheapest(bed: Bed) -> None:
    pool = bed.apply(swap_pool("passed-over", families=["c6id", "c5d"], vcpus=[2, 4]))
    first, second, *_ = prediction.fitting(pool, MIB)
    bed.aws.starve(first)
    try:
        bed.run(pod("next", pool, "1Mi"))
    finally:
        bed.aws.feed()
    assert bed.instance_of(bed.running("next"))[0] == second


def test_a_pool_without_any_capacity_says_so(bed: Bed) -> None:
    pool = bed.apply(swap_pool("starved", families=["i4i"], vcpus=[2]))
    for kind in prediction.types(pool):
        bed.aws.starve(kind.name)
    try:
        bed.api.must_apply(pod("starved", pool, "1Mi"))
        events = "/api/v1/namespaces/default/events"
        [event, *_] = bed.until(
            "Karpenter tells of the missing capacity",
            lambda: bed.api.items(events, fieldSelector="reason=InsufficientCapacityError") or None,
        )
    finally:
        bed.aws.feed()
    assert "insufficient capacity" in event["message"]
    assert f"We currently do not have sufficient {kind.name} capacity" in event["message"]


@pytest.fixture(scope="module", autouse=True)
def _bed_is_up(bed: Bed) -> None:
    """Asks for the bed before the first test, so that its start is not counted as a test's time."""
