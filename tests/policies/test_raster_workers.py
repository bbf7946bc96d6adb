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
