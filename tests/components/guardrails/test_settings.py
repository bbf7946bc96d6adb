"""Settings of guardrails that cannot work are refused with the key, the value, the rule and what to do."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from components.cluster import ClusterVersions
from components.guardrail_settings import GuardrailsSettings, PoolGuardrail, guardrail_of
from components.pool_choices import GuardrailMode, TaintEffect
from components.pool_document import pool_document
from components.pool_names import Taint
from floodplain.pools import PoolDocument, PoolLimits, PoolTaint, PoolType
from floodplain.problem import problems_of

K2 = {"pool": "k2", "largestAllocatable": "64Gi"}
CLUSTER = {"name": "prod", "kubernetesVersion": "1.34"}
SWAP: dict[str, Any] = {
    "name": "swap",
    "families": ["r6id"],
    "vcpus": [2],
    "limits": {"cpu": 64, "memory": "512Gi"},
    "ami": {"alias": "al2023@v20260714"},
}
LARGE = {**SWAP, "name": "large", "taint": {"value": "large"}}


def problems(settings: Any) -> list[str]:
    with pytest.raises(ValidationError) as error:
        GuardrailsSettings.model_validate(settings)
    return [str(one) for one in problems_of(error.value, GuardrailsSettings)]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"others": [K2, K2]}, ["others[1].pool: 'k2' is used by others[0] too; give each pool its own"]),
        (
            {"cluster": CLUSTER, "pools": [SWAP, SWAP]},
            ["pools[1].name: 'swap' is used by pools[0] too; give each pool its own"],
        ),
        (
            {"cluster": CLUSTER, "pools": [SWAP], "others": [{**K2, "pool": "swap"}]},
            ["others[0].pool: 'swap' is used by pools[0] too; give each pool its own"],
        ),
        (
            {
                "cluster": CLUSTER,
                "pools": [SWAP, {**LARGE, "taint": {"value": "swap"}}],
                "others": [{**K2, "taint": {"value": "large"}}, {**K2, "pool": "k3", "taint": {"value": "k2"}}],
            },
            ["pools[1].taint: 'floodplain.dev/pool=swap' is used by pools[0] too; give each pool its own"],
        ),
        (
            {
                "cluster": CLUSTER,
                "pools": [SWAP, LARGE],
                "others": [{**K2, "taint": {"value": "large"}, "runtimeClass": "floodplain-swap"}],
            },
            [
                "others[0].taint: 'floodplain.dev/pool=large' is used by pools[1] too; give each pool its own",
                "others[0].runtimeClass: 'floodplain-swap' is used by pools[0] too; give each pool its own",
            ],
        ),
        (
            {"pools": [SWAP]},
            [
                "cluster: is needed with pools, whose memory depends on it; give the one that SwapNodePool gets",
            ],
        ),
        (
            {},
            [
                "pools: is empty, as is others, so nothing would be guarded;"
                " list the pools as SwapNodePool takes them; under others those that something else makes"
            ],
        ),
        (
            {"cluster": CLUSTER, "pools": [LARGE, {**SWAP, "headroom": "16Gi"}]},
            [
                "pools[1].headroom: '16Gi' leaves no memory for a job on r6id.large, which has 14069 MiB for pods;"
                " lower headroom, overhead or what kubelet reserves, or leave the size out of vcpus"
            ],
        ),
        (
            {"cluster": {**CLUSTER, "vmMemoryOverheadPercent": 0.985}, "pools": [SWAP]},
            [
                "pools[0].headroom: '256Mi' leaves no memory for a job on r6id.large, which has 0 MiB for pods;"
                " lower headroom, overhead or what kubelet reserves, or leave the size out of vcpus"
            ],
        ),
        (
            {"others": [{**K2, "headroom": "64Gi"}]},
            [
                "others[0].largestAllocatable: '64Gi' leaves no memory for pods beside the headroom;"
                " write the allocatable memory of the pool's largest node"
            ],
        ),
        (
            {"others": [{**K2, "largestAllocatable": "64GB"}]},
            ["others[0].largestAllocatable: '64GB' is not a quantity; write 64G (decimal) or 64Gi (binary)"],
        ),
        (
            {"others": [K2], "daemonSetControllers": ["it's me"]},
            [
                'daemonSetControllers[0]: "it\'s me" is not a user name;'
                " write it as audit logs do, such as system:serviceaccount:NAMESPACE:NAME"
            ],
        ),
        (
            {"others": [K2], "exemptNamespace": ["tools"]},
            ["exemptNamespace: is not a known key; did you mean `exemptNamespaces`?"],
        ),
    ],
)
def test_wrong_settings_are_told_with_a_remedy(settings: Any, told: list[str]) -> None:
    assert problems(settings) == told


def test_faults_of_both_lists_and_of_the_whole_are_told_at_once() -> None:
    pools = [{**SWAP, "limits": {"cpu": 64, "memory": "512GB"}}]
    others = [{**K2, "headroom": "64Gi", "mode": "deny"}]
    assert [
        one.partition(":")[0] for one in problems({"pools": pools, "others": others, "exemptNamespaces": ["A"]})
    ] == [
        "pools[0].limits.memory",
        "others[0].mode",
        "others[0].largestAllocatable",
        "exemptNamespaces[0]",
    ]


def test_the_figures_of_a_pool_are_those_of_its_document() -> None:
    settings = GuardrailsSettings.model_validate(
        {"cluster": CLUSTER, "pools": [SWAP, {**LARGE, "guardrails": "audit"}], "others": [K2]}
    )
    versions = ClusterVersions.model_validate(CLUSTER)
    first, second = (pool_document(pool, versions) for pool in settings.pools)
    assert settings.guardrails == (
        guardrail_of(first),
        guardrail_of(second, GuardrailMode.AUDIT),
        PoolGuardrail.model_validate(K2),
    )


def test_the_figures_follow_karpenters_overhead() -> None:
    def room(share: float) -> int:
        cluster = {**CLUSTER, "vmMemoryOverheadPercent": share}
        (guardrail,) = GuardrailsSettings.model_validate({"cluster": cluster, "pools": [SWAP]}).guardrails
        return guardrail.room_bytes

    assert room(0.05) - room(0.075) == pytest.approx(0.025 * (16 << 30), abs=2 << 20)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ephemeralPerMemory", 0),
        ("taint", {"value": "k2", "effect": "PreferNoSchedule"}),
        ("nodeSelector", {"a": "1", "b": "2"}),
        ("nodeSelector", {"a'b": "1"}),
        ("runtimeClass", "it's"),
        ("pool", "K2"),
        ("mode", "deny"),
    ],
)
def test_a_value_that_would_break_a_promise_or_an_expression_is_refused(key: str, value: Any) -> None:
    with pytest.raises(ValidationError) as error:
        GuardrailsSettings.model_validate({"others": [{**K2, key: value}]})
    assert {problem.path.split(".")[1].split("[")[0] for problem in problems_of(error.value, GuardrailsSettings)} == {
        key
    }


def test_kube_system_is_exempt_whatever_is_set() -> None:
    settings = GuardrailsSettings.model_validate({"others": [K2], "exemptNamespaces": ["zoo", "apes"]})
    assert settings.all_exempt_namespaces == ("apes", "kube-system", "zoo")


def test_a_pool_document_says_all_that_admission_must_know() -> None:
    document = PoolDocument(
        name="k2",
        taint=PoolTaint(key="dedicated", value="jobs", effect="NoExecute"),
        node_selector={"team/pool": "jobs"},
        architecture="amd64",
        capacity_types=("on-demand",),
        families=("r6id",),
        types=(
            PoolType(
                name="r6id.large",
                vcpu=2,
                memory_bytes=16 << 30,
                nvme_bytes=118 * 10**9,
                allocatable_memory_bytes=14481 << 20,
                allocatable_cpu_millicores=1930,
                pods=29,
                swap_bytes_at_most=32 << 30,
                ephemeral_bytes_for_pods=60 << 30,
            ),
        ),
        swap_ratio=2.0,
        margin=0.2,
        hot_share=0.5,
        swappiness=10,
        limits=PoolLimits(cpu_millicores=8000, memory_bytes=64 << 30),
        longest_job_seconds=3600,
        runtime_class="floodplain-k2",
        overhead_bytes=16 << 20,
        headroom_bytes=256 << 20,
        ephemeral_bytes_per_memory_byte=1.5,
    )
    assert guardrail_of(document, GuardrailMode.AUDIT) == PoolGuardrail(
        pool="k2",
        largest_allocatable="14481Mi",
        headroom="256Mi",
        overhead="16Mi",
        ephemeral_per_memory=1.5,
        taint=Taint(key="dedicated", value="jobs", effect=TaintEffect.NO_EXECUTE),
        node_selector={"team/pool": "jobs"},
        runtime_class="floodplain-k2",
        swap=True,
        mode=GuardrailMode.AUDIT,
    )
