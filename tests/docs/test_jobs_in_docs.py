"""Jobs that a reader may copy pass the guardrails, get swap, and are sized by the formula."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from components import pool_objects
from components.guardrail_rules import manifests
from components.guardrail_settings import GuardrailsSettings
from components.swap_pool import SwapPool
from docs.samples import ROOT
from floodplain import duration
from floodplain.quantity import GIB, MIB, to_bytes
from floodplain.swap import SwapContainer, SwapNode, container_grant_bytes, limit_bytes
from stacks.config import PROJECT, parse
from tests.components.guardrails.api_server import Request, admitted, judge
from tests.docs.pages import blocks

CONFIG = yaml.safe_load((ROOT / "stacks" / "Pulumi.prod.yaml").read_text())["config"]
PROD = parse(
    "prod", {key.removeprefix(f"{PROJECT}:"): value for key, value in CONFIG.items() if key.startswith(PROJECT)}
)
SWAP = next(pool for pool in PROD.pools if pool.name == "swap")
EXAMPLE_POOL = SwapPool.model_validate(
    {
        "name": "batch",
        "families": ["r6id"],
        "vcpus": [4, 8, 16],
        "limits": {"cpu": "64", "memory": "512Gi"},
        "ami": {"alias": "al2023@v20260714"},
        "longestJob": "12h",
    }
)

# Where, the job, its pool, its peak.
JOBS: list[tuple[str, Any, SwapPool, int]] = [
    (str(block), yaml.safe_load(block.body), SWAP, 100 * GIB)
    for block in blocks("yaml")
    if "kind: Job" in block.body and "floodplain.dev/engine" not in block.body
] + [
    (
        "examples/one-pool/job.yaml",
        yaml.safe_load((ROOT / "examples" / "one-pool" / "job.yaml").read_text()),
        EXAMPLE_POOL,
        24 * GIB,
    )
]
EACH = pytest.mark.parametrize(("job", "pool", "peak"), [case[1:] for case in JOBS], ids=[case[0] for case in JOBS])


def pod_of(job: Any) -> Any:
    template = copy.deepcopy(job["spec"]["template"])
    return {**template, "metadata": {"name": "job-1", "namespace": "default", **template.get("metadata", {})}}


def test_there_are_jobs() -> None:
    assert len(JOBS) >= 3


@EACH
def test_a_job_is_admitted_without_a_word(job: Any, pool: SwapPool, peak: int) -> None:
    rules = GuardrailsSettings(cluster=PROD.cluster_versions, pools=(pool,))
    pod = admitted(pod_of(job), [pool_objects.runtime_class(pool)])
    verdict = judge(manifests(rules), Request(pod))
    assert verdict.complaints == ()
    assert pod["spec"]["nodeSelector"] == {"floodplain.dev/pool": pool.name}


@EACH
def test_a_job_has_the_limit_of_its_peak_and_swap_to_go_with_it(job: Any, pool: SwapPool, peak: int) -> None:
    resources = job["spec"]["template"]["spec"]["containers"][0]["resources"]
    request, limit = (to_bytes(resources[kind]["memory"]) for kind in ("requests", "limits"))
    swap = pool.swap
    assert limit == limit_bytes(peak, ratio=swap.ratio, margin=swap.margin, hot_share=swap.hot_share)
    assert request == limit - MIB
    node = SwapNode(mem_total_bytes=64 * GIB, swap_total_bytes=128 * GIB)
    grant = container_grant_bytes(SwapContainer(request, limit), node)
    assert limit + grant >= 1.2 * peak


@EACH
def test_a_job_ends_within_what_its_node_is_good_for(job: Any, pool: SwapPool, peak: int) -> None:
    assert job["spec"]["activeDeadlineSeconds"] <= duration.parse(pool.longest_job)
    assert job["spec"]["template"]["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "true"
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
