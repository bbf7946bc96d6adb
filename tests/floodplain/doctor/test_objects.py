"""What doctor makes of the API server's objects, whole ones and such as make no sense."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floodplain.doctor import objects
from floodplain.doctor.seen import (
    ConditionSeen,
    ContainerSeen,
    Death,
    KarpenterSeen,
    LimitRangeSeen,
    NodeSeen,
    PodSeen,
    PoolSeen,
    WebhookSeen,
)
from floodplain.quantity import GIB, MIB
from floodplain.sizing.default_pool import default_pool
from floodplain.swap import Qos

POOL = PoolSeen("swap", ("floodplain.dev/pool", "swap"), 2.0, "floodplain-swap")


def test_a_node_of_a_pool_is_read_whole() -> None:
    node = {
        "metadata": {"name": "n1", "labels": {"floodplain.dev/pool": "swap"}},
        "status": {
            "capacity": {"memory": "64Gi"},
            "allocatable": {"memory": "63488Mi"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "swap": {"capacity": 128 * GIB}},
        },
    }
    assert objects.node(node, (POOL,)) == NodeSeen("n1", POOL, True, "v1.36.3", 64 * GIB, 62 * GIB, 128 * GIB)


def test_a_pod_is_read_whole() -> None:
    pod = {
        "metadata": {
            "namespace": "jobs",
            "name": "j",
            "annotations": {"floodplain.dev/plan": "{}"},
            "ownerReferences": [{"kind": "Job", "name": "j"}],
        },
        "spec": {
            "nodeName": "n1",
            "priority": 5,
            "runtimeClassName": "floodplain-swap",
            "containers": [
                {"name": "job", "resources": {"requests": {"memory": "1023Mi"}, "limits": {"memory": "1Gi"}}},
                {"name": "odd", "resources": {"requests": {"memory": "1500m"}}},
            ],
            "initContainers": [
                {"name": "side", "restartPolicy": "Always"},
                {"name": "first", "resources": {"limits": {"memory": "many"}}},
            ],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Burstable",
            "containerStatuses": [
                {
                    "name": "job",
                    "restartCount": 2,
                    "state": {"running": {}},
                    "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "then"}},
                }
            ],
        },
    }
    assert objects.pod(pod) == PodSeen(
        "jobs",
        "j",
        "n1",
        "Running",
        Qos.BURSTABLE,
        (
            ContainerSeen("job", 1023 * MIB, GIB, running=True, restarts=2, death=Death("OOMKilled", 137, "then")),
            ContainerSeen("odd", 2, None),
            ContainerSeen("side", None, None, sidecar=True),
            ContainerSeen("first", None, None, initial=True),
        ),
        priority=5,
        runtime_class="floodplain-swap",
        planned=True,
    )


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]}, (True, False)),
        ({"annotations": {"kubernetes.io/config.source": "file"}}, (True, False)),
        ({"annotations": {"kubernetes.io/config.source": "api"}}, (False, False)),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, (True, False)),
        ({"labels": {"app.kubernetes.io/name": "floodplain-headroom"}}, (False, True)),
    ],
)
def test_what_belongs_to_the_node_is_told_from_jobs(metadata: dict[str, Any], expected: tuple[bool, bool]) -> None:
    found = objects.pod({"metadata": metadata})
    assert (found.of_the_node, found.headroom) == expected


def test_a_pods_limit_is_the_larger_of_what_runs_together_and_of_each_that_starts_it() -> None:
    def one(name: str, limit: int, **more: Any) -> ContainerSeen:
        return ContainerSeen(name, limit, limit, **more)

    containers = (one("a", 1), one("b", 2), one("side", 4, sidecar=True))
    pod = PodSeen("n", "p", "", "", Qos.BURSTABLE, (*containers, one("init", 6, initial=True)))
    assert pod.limit_bytes == 7
    larger = PodSeen("n", "p", "", "", Qos.BURSTABLE, (*containers, one("init", 9, initial=True)))
    assert larger.limit_bytes == 9


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [("2", 2.0), ("0", 0.0), ("1.5", 1.5), ("", None), ("two", None), ("-1", None), ("nan", None), ("1e9", None)],
)
def test_a_node_pool_of_ours_is_a_pool_and_a_ratio_that_is_none_is_not_known(
    ratio: str, expected: float | None
) -> None:
    thing = {
        "metadata": {
            "labels": {"floodplain.dev/pool": "swap"},
            "annotations": {"floodplain.dev/swap-ratio": ratio},
        }
    }
    pool = PoolSeen("swap", ("floodplain.dev/pool", "swap"), expected, "floodplain-swap")
    assert objects.pool_of_node_pool(thing) == pool


def test_other_node_pools_are_no_pools() -> None:
    assert objects.pool_of_node_pool({"metadata": {"name": "web"}}) is None


def test_a_document_is_a_pool_with_its_own_label() -> None:
    document = default_pool()
    found = objects.documented_pool(document)
    assert (found.name, found.label, found.swap_ratio) == ("example", ("floodplain.dev/pool", "example"), 2.0)
    assert found.largest_limit_bytes == document.largest_job_memory_bytes


@pytest.mark.parametrize(
    ("container", "version", "queue"),
    [
        ({"env": [{"name": "INTERRUPTION_QUEUE", "value": "q"}]}, "1.14.1", "q"),
        ({"args": ["--interruption-queue=q"]}, "1.14.1", "q"),
        ({"command": ["karpenter", "--interruption-queue", "q"]}, "1.14.1", "q"),
        ({"env": [{"name": "INTERRUPTION_QUEUE"}]}, "1.14.1", ""),
        ({}, "1.14.1", ""),
    ],
)
def test_karpenters_queue_is_found_wherever_it_is_set(container: dict[str, Any], version: str, queue: str) -> None:
    image = "public.ecr.aws:443/karpenter/controller:1.14.1@sha256:abc"
    thing = {
        "metadata": {"namespace": "kube-system", "name": "karpenter"},
        "spec": {"template": {"spec": {"containers": [{"image": image, **container}]}}},
    }
    assert objects.karpenter(thing) == KarpenterSeen("kube-system", "karpenter", version, queue)


def test_a_limit_range_gives_an_item_for_containers_and_one_for_pods() -> None:
    thing = {
        "metadata": {"namespace": "jobs", "name": "limits"},
        "spec": {
            "limits": [
                {
                    "type": "Container",
                    "default": {"memory": "1Gi", "cpu": "1"},
                    "defaultRequest": {"memory": "1023Mi"},
                    "maxLimitRequestRatio": {"memory": "1500m"},
                },
                {"type": "Pod", "min": {"memory": "1Mi"}, "max": {"memory": "2Gi"}},
                {"type": "PersistentVolumeClaim", "max": {"storage": "1Ti"}},
            ]
        },
    }
    assert list(objects.limit_ranges(thing)) == [
        LimitRangeSeen("jobs", "limits", "Container", GIB, 1023 * MIB, ratio=1.5),
        LimitRangeSeen("jobs", "limits", "Pod", min_bytes=MIB, max_bytes=2 * GIB),
    ]


def test_a_webhook_gives_its_bundles_and_keeps_what_cannot_be_decoded() -> None:
    thing = {
        "metadata": {"name": "w"},
        "webhooks": [
            {"name": "a", "clientConfig": {"caBundle": base64.b64encode(b"pem").decode()}},
            {"name": "b", "clientConfig": {}},
            {"name": "c", "clientConfig": {"caBundle": "%"}},
        ],
    }
    assert objects.webhook(thing) == WebhookSeen("w", (("a", b"pem"), ("b", b""), ("c", b"%")))


def test_only_conditions_that_keep_nodes_from_coming_are_told() -> None:
    thing = {
        "metadata": {"name": "swap"},
        "status": {
            "conditions": [
                {"type": "Ready", "status": "False", "message": "NodeClass\nnot ready"},
                {"type": "NodeRegistrationHealthy", "status": "False", "reason": "LaunchFailed"},
                {"type": "NodeRegistrationHealthy", "status": "Unknown"},
                {"type": "Drifted", "status": "False"},
            ]
        },
    }
    assert list(objects.not_ready(thing, "NodePool")) == [
        ConditionSeen("NodePool swap", "Ready", "NodeClass not ready"),
        ConditionSeen("NodePool swap", "NodeRegistrationHealthy", "LaunchFailed"),
    ]


_KEYS = """metadata name namespace labels annotations spec status containers initContainers containerStatuses state
    lastState terminated resources requests limits memory capacity allocatable nodeInfo swap conditions type webhooks
    ownerReferences clientConfig caBundle template env args default maxLimitRequestRatio"""
KEYS = st.sampled_from(_KEYS.split())
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["Container"])
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=30
)
OBJECTS = st.dictionaries(KEYS, ANYTHING, max_size=6)


@given(OBJECTS)
def test_no_object_makes_doctor_stumble(thing: dict[str, Any]) -> None:
    assert isinstance(objects.node(thing, (POOL,)), NodeSeen)
    assert isinstance(objects.pod(thing), PodSeen)
    assert isinstance(objects.webhook(thing), WebhookSeen)
    assert all(isinstance(one, LimitRangeSeen) for one in objects.limit_ranges(thing))
    assert all(isinstance(one, ConditionSeen) for one in objects.not_ready(thing, "NodePool"))
    deployment = {"spec": {"template": {"spec": {"containers": [thing]}}}}
    assert isinstance(objects.karpenter(deployment), KarpenterSeen)
    assert isinstance(objects.pool_of_node_pool(thing), PoolSeen | None)
