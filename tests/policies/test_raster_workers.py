"""Raster workers fit their memory, and the big pool stays serial, however they were written."""

from __future__ import annotations

from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE as UNKNOWN

from components.worker_names import PREFIX, RASTER_POOL_LABEL
from policies.rules.raster_workers import POOL_LABEL, PROCESSES

CACHE, SERIAL = "gdal-cache-fits-its-worker", "big-raster-pool-is-serial"
DEPLOYMENT, STATEFUL_SET = "kubernetes:apps/v1:Deployment", "kubernetes:apps/v1:StatefulSet"


def workers(env: dict[str, str] | None = None, limit: Any = "8Gi", pool: str = "small", **spec: Any) -> dict[str, Any]:
    container = {
        "name": "worker",
        "env": [{"name": name, "value": value} for name, value in (env or {}).items()],
        "resources": {"limits": {"memory": limit} if limit is not None else {}},
    }
    template = {"metadata": {"labels": {"floodplain.dev/raster-pool": pool}}, "spec": {"containers": [container]}}
    return {"spec": {"template": template, **spec}}


def test_names_are_those_of_the_component() -> None:
    assert (RASTER_POOL_LABEL, f"{PREFIX}PROCESSES") == (POOL_LABEL, PROCESSES)


@pytest.mark.parametrize(
    ("env", "limit", "said"),
    [
        ({}, None, []),
        ({"GDAL_CACHEMAX": "512MB"}, "8Gi", []),
        ({"GDAL_CACHEMAX": "512"}, "8Gi", []),
        ({"GDAL_CACHEMAX": "512MB"}, 8 << 30, []),
        (
            {"GDAL_CACHEMAX": "512MB"},
            None,
            [
                "container worker: sets GDAL_CACHEMAX and has no memory limit, so nothing says how much its tasks may"
                " hold; set resources.limits.memory"
            ],
        ),
        (
            {"GDAL_CACHEMAX": "1024MB", "FLOODPLAIN_RASTER_PROCESSES": "8"},
            "8Gi",
            [
                "container worker: GDAL_CACHEMAX: '1024MB' makes 8 caches of 1,024 MiB, one a process, in a worker of"
                " 8,192 MiB: above half of it; write 256MB or less, or have fewer processes"
            ],
        ),
        (
            {"GDAL_CACHEMAX": "1GB"},
            "8Gi",
            ["container worker: GDAL_CACHEMAX: '1GB' is 1 MiB to GDAL 3.10, which reads no units; write 1024MB"],
        ),
        ({"GDAL_CACHEMAX": "512MB"}, UNKNOWN, ["could not see everything"]),
    ],
)
def test_gdals_cache_is_judged_as_gdal_reads_it(rules: Any, env: dict[str, str], limit: Any, said: list[str]) -> None:
    assert rules.on(CACHE, DEPLOYMENT, workers(env, limit)) == said


TOO_LARGE = [
    "container worker: GDAL_CACHEMAX: '6144MB' makes a cache of 6,144 MiB in a worker of 8,192 MiB: above half of it;"
    " write 2048MB or less, or have fewer processes"
]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        pytest.param([{"name": "GDAL_CACHEMAX", "value": "6144MB"}], TOO_LARGE, id="too large"),
        pytest.param(
            [{"name": "GDAL_CACHEMAX", "value": "6144MB"}, {"name": "GDAL_CACHEMAX", "value": "512MB"}],
            [],
            id="the last of two counts",
        ),
        pytest.param(
            [{"name": "GDAL_CACHEMAX", "value": "512MB"}, {"name": "GDAL_CACHEMAX", "value": "6144MB"}],
            TOO_LARGE,
            id="also where it is the wrong one",
        ),
        pytest.param(
            [
                {"name": "GDAL_CACHEMAX", "value": "6144MB"},
                {"name": "GDAL_CACHEMAX", "valueFrom": {"configMapKeyRef": {"name": "gdal", "key": "cache"}}},
            ],
            [],
            id="the last comes from elsewhere",
        ),
        pytest.param(
            [{"name": "CACHE", "value": "512"}, {"name": "GDAL_CACHEMAX", "value": "$(CACHE)MB"}],
            [],
            id="put together by kubelet",
        ),
        pytest.param(
            [{"name": "BUCKET", "value": UNKNOWN}, {"name": "GDAL_CACHEMAX", "value": "6144MB"}],
            TOO_LARGE,
            id="beside a variable that is not known yet",
        ),
        pytest.param(
            [{"name": "GDAL_CACHEMAX", "value": UNKNOWN}], ["could not see everything"], id="itself not known yet"
        ),
    ],
)
def test_the_variable_that_counts_is_the_one_that_the_process_gets(
    rules: Any, env: list[dict[str, Any]], said: list[str]
) -> None:
    made = workers()
    made["spec"]["template"]["spec"]["containers"][0]["env"] = env
    assert rules.on(CACHE, DEPLOYMENT, made) == said


def test_every_container_is_judged_by_its_own_limit_or_else_by_that_of_its_pod(rules: Any) -> None:
    made = workers({"GDAL_CACHEMAX": "512MB"}, "8Gi")
    spec = made["spec"]["template"]["spec"]
    env = [{"name": "GDAL_CACHEMAX", "value": "512MB"}]
    limits = {"limits": {"memory": "512Mi"}}
    spec["initContainers"] = [{"name": "sidecar", "restartPolicy": "Always", "env": env, "resources": limits}]
    spec["containers"].append({"name": "second", "env": env})
    small = (
        "container sidecar: GDAL_CACHEMAX: '512MB' makes a cache of 512 MiB in a worker of 512 MiB: above half of it;"
        " write 128MB or less, or have fewer processes"
    )
    unlimited = (
        "container second: sets GDAL_CACHEMAX and has no memory limit, so nothing says how much its tasks may hold;"
        " set resources.limits.memory"
    )
    assert rules.on(CACHE, DEPLOYMENT, made) == [small, unlimited]
    spec["resources"] = {"limits": {"memory": "9Gi"}}
    assert rules.on(CACHE, DEPLOYMENT, made) == [small]


POD = {"metadata": {"labels": {"floodplain.dev/raster-pool": "big"}}, "spec": {"containers": [{"name": "worker"}]}}


@pytest.mark.parametrize(
    ("kind", "made", "said"),
    [
        (
            "kubernetes:batch/v1:CronJob",
            {"spec": {"jobTemplate": {"spec": {"template": POD}}}},
            [
                "spec: is the big raster pool as a CronJob, which may start a pod while another one still runs; make"
                " it a StatefulSet of one replica"
            ],
        ),
        (
            "kubernetes:core/v1:Pod",
            POD,
            [
                "spec: is the big raster pool as a Pod, which may start a pod while another one still runs; make"
                " it a StatefulSet of one replica"
            ],
        ),
        (STATEFUL_SET, {"metadata": POD["metadata"], "spec": {"replicas": 3}}, []),
        (STATEFUL_SET, workers(pool="big", replicas=UNKNOWN), ["could not see everything"]),
        # Paused; and the default.
        (STATEFUL_SET, workers(pool="big", replicas=0), []),
        (STATEFUL_SET, workers(pool="big", replicas=None), []),
    ],
)
def test_pods_are_known_by_their_labels_wherever_their_template_stands(
    rules: Any, kind: str, made: dict[str, Any], said: list[str]
) -> None:
    assert rules.on(SERIAL, kind, made) == said


@pytest.mark.parametrize(
    ("kind", "made", "said"),
    [
        (STATEFUL_SET, workers(pool="big", replicas=1), []),
        (STATEFUL_SET, workers(pool="big"), []),
        (DEPLOYMENT, workers(replicas=5), []),
        (
            STATEFUL_SET,
            workers(pool="big", replicas=2),
            ["spec.replicas: 2 in the big raster pool, whose tasks run one by one; write 1"],
        ),
        (
            DEPLOYMENT,
            workers(pool="big", replicas=1),
            [
                "spec: is the big raster pool as a Deployment, which may start a pod while another one still runs; make"
                " it a StatefulSet of one replica"
            ],
        ),
    ],
)
def test_the_big_pool_is_one_pod_of_a_stateful_set(
    rules: Any, kind: str, made: dict[str, Any], said: list[str]
) -> None:
    assert rules.on(SERIAL, kind, made) == said
