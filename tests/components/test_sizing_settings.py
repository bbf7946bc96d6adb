"""Settings of the sizing service that cannot work are refused with the key, the value, the rule and what to do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from components.cluster import ClusterVersions
from components.pool_document import pool_document
from components.sizing_installation import SizingInstallation
from floodplain import pools
from floodplain.problem import problems_of

IMAGE = f"registry.example/floodplain/service@sha256:{'a' * 64}"
CLUSTER = {"name": "prod", "kubernetesVersion": "1.34"}
POOL: dict[str, Any] = {
    "name": "swap",
    "families": ["r6id"],
    "vcpus": [2],
    "limits": {"cpu": "64", "memory": "512Gi"},
    "ami": {"alias": "al2023@v20260714"},
}
GOOD: dict[str, Any] = {"image": IMAGE, "cluster": CLUSTER, "pools": [POOL]}


def document(**changes: Any) -> str:
    pool = SizingInstallation.model_validate(GOOD).pools[0]
    made = json.loads(pools.dump([pool_document(pool, ClusterVersions.model_validate(CLUSTER))]))
    made["pools"][0] |= changes
    return json.dumps(made)


def problems(**changes: Any) -> list[str]:
    given = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(ValidationError) as error:
        SizingInstallation.model_validate(given)
    return [str(one) for one in problems_of(error.value, SizingInstallation)]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"image": "registry.example/service:1"},
            [
                "image: 'registry.example/service:1' is not an image by digest; "
                "write repository@sha256:..., as a release prints it"
            ],
        ),
        (
            {"pools": []},
            [
                "pools: is empty, as is documents, so nothing could be planned; "
                "list the pools as SwapNodePool takes them; as documents those that something else makes"
            ],
        ),
        (
            {"cluster": None},
            ["cluster: is needed with pools, whose memory depends on it; give the one that SwapNodePool gets"],
        ),
        (
            {"pools": [POOL, POOL]},
            ["pools[1].name: 'swap' is used by pools[0] too; give each pool its own"],
        ),
        (
            {"documents": document()},
            ["documents: 'swap' has a pool that stands under pools too; leave the document out: pools says it already"],
        ),
        (
            {"pools": [], "documents": document(marginn=1, swapRatio=-1.0)},
            [
                "documents: pools[0].swapRatio should be greater than or equal to 0",
                "documents: pools[0].marginn is not a known key; did you mean `margin`?",
            ],
        ),
        (
            {"documents": "pools: []"},
            ["documents: is not JSON (Expecting value: line 1 column 1 (char 0)); write the file anew"],
        ),
        (
            {"pools": [{**POOL, "headroom": "16Gi"}]},
            [
                "pools[0].headroom: '16Gi' leaves no memory for a job on r6id.large, which has 14069 MiB for pods;"
                " lower headroom, overhead or what kubelet reserves, or leave the size out of vcpus"
            ],
        ),
        (
            {"sizing": {"namespace": "default"}},
            [
                "sizing.namespace: 'default' is a namespace of Kubernetes, and the service's takes in no other pods and"
                " shuts its network; give it a namespace of its own, such as floodplain"
            ],
        ),
        (
            {"sizing": {"namespace": "Sizing_1"}},
            [
                "sizing.namespace: 'Sizing_1' is not a Kubernetes name; "
                "use 1 to 63 lower-case letters, digits and dashes, no dash at the ends"
            ],
        ),
        (
            {"sizing": {"resources": {"memory": "64Mi"}}},
            [
                "sizing.resources.memory: '64Mi' is less than the service needs to start; set it to 128Mi or more",
            ],
        ),
        (
            {"sizing": {"settings": {"onDemandFromImages": -1}}},
            ["sizing.settings.onDemandFromImages: -1 should be greater than or equal to 0"],
        ),
        (
            {"sizing": {"doctor": {"schedule": "hourly", "push": "pushgateway"}}},
            [
                "sizing.doctor.schedule: 'hourly' is not a schedule of five fields (minute, hour, day of the month,"
                ' month, day of the week); write one such as "17 * * * *"',
                "sizing.doctor.push: 'pushgateway' is not the address of a pushgateway: http or https, a host, and its"
                " port; write one such as http://pushgateway.monitoring.svc:9091",
            ],
        ),
        (
            {"sizing": {"setting": {}}},
            ["sizing.setting: is not a known key; did you mean `settings`?"],
        ),
        (
            {"sizing": {"databaseUrl": "postgresql://me:password@db/floodplain"}},
            [
                "sizing.databaseUrl: is not a known key; known here: doctor, guardrails, metricsNamespace, "
                "namespace, nodeSelector, replicas, resources, settings"
            ],
        ),
    ],
)
def test_wrong_settings_are_told_with_a_remedy(changes: Any, told: list[str]) -> None:
    assert problems(**changes) == told


def test_documents_of_others_may_stand_beside_pools() -> None:
    made = SizingInstallation.model_validate({**GOOD, "documents": document(name="theirs")})
    assert [one.name for one in made.pool_documents] == ["swap", "theirs"]
