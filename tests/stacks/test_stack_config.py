"""What a stack file may say, and how its faults are told."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from stacks.config import StackConfig, key_problems, parse
from stacks.problems import StackProblemsError

ROOT = Path(__file__).parents[2]
STACKS = sorted(path.name.split(".")[1] for path in (ROOT / "stacks").glob("Pulumi.*.yaml"))

GOOD: dict[str, Any] = {
    "cluster": {"name": "c", "region": "eu-central-1", "accountId": "111122223333", "kubernetesVersion": "1.34"},
    "pools": [
        {
            "name": "swap",
            "families": ["r6id"],
            "limits": {"cpu": "256", "memory": "2Ti"},
            "ami": {"alias": "al2023@v20260714"},
        }
    ],
}


def stack(**changes: Any) -> dict[str, Any]:
    """A valid stack with some values set; `pools__0__name` goes to pools[0].name, None removes a key."""
    values = copy.deepcopy(GOOD)
    for path, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        place: Any = values
        for part in parents:
            place = place[part]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return values


def told(values: dict[str, Any]) -> list[str]:
    with pytest.raises(StackProblemsError) as caught:
        parse("test", values)
    return [str(problem) for problem in caught.value.problems]


def settings_of(name: str) -> dict[str, Any]:
    keys = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{name}.yaml").read_text())["config"]
    return {key.removeprefix("floodplain:"): value for key, value in keys.items() if key.startswith("floodplain:")}


def test_the_five_stacks_of_the_project_are_there() -> None:
    assert STACKS == ["dev", "hotosm", "prod", "staging", "testbed"]


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_of_the_project_has_no_faults(name: str) -> None:
    assert isinstance(parse(name, settings_of(name)), StackConfig)


def test_every_fault_of_a_file_is_told_at_once_with_its_path_and_a_suggestion() -> None:
    values = stack(
        cluster__accountId=111122223333,
        pool=[],
        pools__0__famlies=["r6id"],
        pools__0__limits__memory="10GB",
        karpenter={"verison": "1.14.1"},
    )
    assert told(values) == [
        "floodplain:cluster.accountId: 111122223333 should be text; put it in quotes",
        "floodplain:pools[0].limits.memory: '10GB' is not a quantity; write 10G (decimal) or 10Gi (binary)",
        "floodplain:pools[0].famlies: is not a known key; did you mean `families`?",
        "floodplain:karpenter.verison: is not a known key; did you mean `version`?",
        "floodplain:pool: is not a known key; did you mean `pools`?",
    ]


def test_rules_between_keys_are_told_in_the_same_go_as_faults_of_single_keys() -> None:
    wrong = {**GOOD["pools"][0], "name": "other", "families": ["d3"], "limits": {"cpu": "256"}, "longestJob": "900h"}
    values = stack(protected=True, pools__0__ami={"alias": "al2023@latest"}, cluster__kubernetesVersion="1.32")
    assert told({**values, "pools": [values["pools"][0], wrong]}) == [
        "floodplain:cluster.kubernetesVersion: '1.32' is too old a Kubernetes for swap in containers: 1.33 is the "
        "oldest supported; upgrade the control plane and nodes; 1.34 is recommended",
        "floodplain:pools[1].limits.memory: is required; set it",
        "floodplain:pools[1].disruption.expireAfter: '720h' (the default) is shorter than the longest job (900h), "
        "which node expiry would cut off; set it to 900h or more, or to Never",
        "floodplain:pools[1].families[0]: 'd3' has spinning disks, too slow for swap; choose a family with NVMe SSD",
        "floodplain:pools[0].ami.alias: 'al2023@latest' follows the newest image, so the fleet would roll whenever AWS "
        "publishes one; pin it in a protected stack, for example al2023@v20260714",
    ]


def test_the_text_of_the_error_names_the_file_and_counts_the_problems() -> None:
    with pytest.raises(StackProblemsError) as caught:
        parse("prod", stack(pools__0__limits=None))
    assert str(caught.value) == (
        "stacks/Pulumi.prod.yaml has 1 problem(s):\n  floodplain:pools[0].limits: is required; set it"
    )


RULES: list[tuple[dict[str, Any], list[str]]] = [
    (
        stack(pools=[GOOD["pools"][0], {**GOOD["pools"][0]}]),
        ["floodplain:pools[1].name: 'swap' is the name of pools[0] too; give each pool its own name"],
    ),
    (
        stack(
            pools=[
                {**GOOD["pools"][0], "taint": {"key": "dedicated", "value": "batch"}},
                {**GOOD["pools"][0], "name": "other", "taint": {"key": "dedicated", "value": "batch"}},
            ]
        ),
        [
            "floodplain:pools[1].taint: 'dedicated=batch' is the taint of pools[0] too, so their pods would mix; "
            "give each pool its own taint"
        ],
    ),
    (
        stack(protected=True, pools__0__ami={"alias": "al2023@latest"}),
        [
            "floodplain:pools[0].ami.alias: 'al2023@latest' follows the newest image, so the fleet would roll whenever "
            "AWS publishes one; pin it in a protected stack, for example al2023@v20260714"
        ],
    ),
    (
        stack(cluster__kubernetesVersion="1.32"),
        [
            "floodplain:cluster.kubernetesVersion: '1.32' is too old a Kubernetes for swap in containers: 1.33 is the "
            "oldest supported; upgrade the control plane and nodes; 1.34 is recommended"
        ],
    ),
    (
        stack(cluster__kubernetesVersion="1.36", karpenter={"version": "1.5.0"}),
        [
            "floodplain:karpenter.version: '1.5.0' is too old a Karpenter for Kubernetes 1.36, which needs 1.13 or "
            "newer; set Karpenter 1.14.1, or keep an older Kubernetes"
        ],
    ),
    (
        stack(pools__0__limits={"cpu": "1", "memory": "8Gi"}),
        [
            "floodplain:pools[0].limits.cpu: '1' is below the smallest node (r6id.large counts 2), so no node could "
            "launch; raise it: limits count whole nodes",
            "floodplain:pools[0].limits.memory: '8Gi' is below the smallest node (r6id.large has 16Gi), so no node "
            "could launch; raise it: limits count whole nodes",
        ],
    ),
    (
        stack(karpenter={"nodeRoleName": "arn:aws:iam::111122223333:role/nodes"}),
        [
            "floodplain:karpenter.nodeRoleName: 'arn:aws:iam::111122223333:role/nodes' is an ARN, while "
            "Karpenter compares names and makes instance profiles without end; write the role's name: nodes"
        ],
    ),
    (
        stack(installKarpenter=False),
        [
            "floodplain:karpenter.nodeRoleName: is needed when the cluster keeps the Karpenter it has "
            "(installKarpenter: false); name the IAM role its nodes use"
        ],
    ),
    (
        stack(karpenter={"runsOn": "Fargate"}),
        [
            "floodplain:karpenter.credentials: PodIdentity does not work on Fargate, where its agent cannot run; "
            "set credentials Irsa and give the cluster's OIDC provider"
        ],
    ),
    (
        stack(pools__0__headroom="500Gi"),
        [
            "floodplain:pools[0].headroom: '500Gi' leaves no memory for a job on r6id.large, which has 14069 MiB for "
            "pods; lower headroom, overhead or what kubelet reserves, or leave the size out of vcpus"
        ],
    ),
    (
        stack(karpenter={"vmMemoryOverheadPercent": 0.99}),
        [
            "floodplain:pools[0].headroom: '256Mi' leaves no memory for a job on r6id.large, which has 0 MiB for pods; "
            "lower headroom, overhead or what kubelet reserves, or leave the size out of vcpus"
        ],
    ),
    (
        stack(tags={"kubernetes.io/cluster/x": "owned"}),
        ["floodplain:tags.kubernetes.io/cluster/x: is set by Karpenter itself; leave it out"],
    ),
    (
        stack(pools__0__kubelet={"kubeReserved": {"cpu": "10"}}),
        [
            "floodplain:pools[0].kubelet.kubeReserved: {'cpu': '10'} leaves no CPU for a job on r6id.large, which "
            "has 2; reserve less, or leave the size out of vcpus"
        ],
    ),
    (
        stack(pools__0__zones=["us-east-1a"]),
        ["floodplain:pools[0].zones[0]: 'us-east-1a' is not in the region eu-central-1; correct it"],
    ),
    (
        stack(images={"service": "registry.example/floodplain:latest"}),
        [
            "floodplain:images.service: 'registry.example/floodplain:latest' is not an image by digest; "
            "write repository@sha256:..., as a release prints it"
        ],
    ),
    (
        stack(sizing={"namespace": "kube-system"}),
        [
            "floodplain:sizing.namespace: 'kube-system' is a namespace of Kubernetes, and the service's takes in no "
            "other pods and shuts its network; give it a namespace of its own, such as floodplain"
        ],
    ),
    (
        stack(sizing={"settings": {"ephemeralLeast": "10GB", "emphemeralShare": 0.2}}),
        [
            "floodplain:sizing.settings.ephemeralLeast: '10GB' is not a quantity; write 10G (decimal) or 10Gi (binary)",
            "floodplain:sizing.settings.emphemeralShare: is not a known key; did you mean `ephemeralShare`?",
        ],
    ),
    (
        stack(
            workerPools=[
                {
                    "name": "tiles",
                    "image": "registry.example/tiles:1.2",
                    "small": {"memory": "8Gi", "slot": 8},
                    "big": {"memory": "64Gi", "slots": 2, "swapPool": "swapp"},
                    "gdal": {"cache": 512},
                },
                {
                    "name": "tiles",
                    "image": "registry.example/tiles:1.2",
                    "small": {"memory": "8Gi", "threshold": "1Gi"},
                    "big": {"memory": "64Gi", "swapPool": "swapp"},
                },
            ]
        ),
        [
            "floodplain:workerPools[0].small.slot: is not a known key; did you mean `slots`?",
            "floodplain:workerPools[0].big.slots: 2 cannot be set: the big pool is one worker of one slot, so that its"
            " tasks run one after the other; remove it",
            "floodplain:workerPools[0].gdal.cache: 512 has no unit: GDAL reads it as 536,870,912 bytes, and Kubernetes"
            " and rasterio.Env as 512; write the unit, such as 512Mi",
            "floodplain:workerPools[1].small.threshold: '1Gi' is above the slot budget of 945 MiB: a task just below"
            " it would not fit its slot; write at most 990904320, better half of it, 495452160",
        ],
    ),
]


@pytest.mark.parametrize(("values", "lines"), RULES, ids=[lines[0][:70] for _, lines in RULES])
def test_rules_between_the_parts_of_a_stack_are_told_by_the_key_to_change(
    values: dict[str, Any], lines: list[str]
) -> None:
    assert told(values) == lines


def test_a_cluster_name_of_a_hundred_characters_in_the_longest_region_is_good_input() -> None:
    long = stack(cluster__name="c" * 100, cluster__region="ap-southeast-1")
    assert parse("test", long).cluster.name == "c" * 100


@pytest.mark.parametrize("chart", ["kueue", "argoWorkflows", "kubePrometheusStack"])
def test_a_key_without_a_value_is_not_taken_for_one_that_is_left_out(chart: str) -> None:
    line = (
        f"floodplain:controllers.{chart}: is empty and a map is meant; write {{}} for the defaults, or remove the key"
    )
    assert told(stack(controllers={chart: None})) == [line]
    assert told(stack(controllers={chart: None}, pool=[]))[0] == line
    assert parse("test", stack(controllers={chart: {}})).controllers.model_fields_set


def test_an_empty_taint_of_a_pool_is_told_by_its_place_and_nulls_in_chart_values_are_theirs() -> None:
    pool = {**GOOD["pools"][0], "taint": None}
    assert told(stack(pools=[pool])) == [
        "floodplain:pools[0].taint: is empty and a map is meant; write {} for the defaults, or remove the key"
    ]
    parse("test", stack(controllers={"kueue": {"values": {"a": None, "taint": None}}}))


CONTROL = [
    (stack(controllers={"kubePrometheusStack": {"storage": "1Gi", "storageClass": "gp3\n"}}), "storageClass"),
    (stack(karpenter={"imageRepository": "a\nb"}), "karpenter.imageRepository"),
    (stack(karpenter={"clusterEndpoint": "https://a\x00"}), "karpenter.clusterEndpoint"),
    (stack(karpenter={"values": {"a": ["b\x00"]}}), "karpenter.values.a.0"),
    (stack(karpenter={"values": {"a\nb": "c"}}), "karpenter.values"),
    (stack(tags={"a": "b\u2028c"}), "tags.a"),
    (stack(pools__0__extraScripts=["#!/bin/sh\nset -e\x00\n"]), "pools[0].extraScripts[0]"),
    (stack(pools__0__kubeletConfig={"a": "\x1b[31m"}), "pools[0].kubeletConfig.a"),
    (stack(tags={"a": "\ud800"}), "tags.a"),
]


@pytest.mark.parametrize(("values", "path"), CONTROL, ids=[path for _, path in CONTROL])
def test_control_characters_are_refused_in_every_text(values: dict[str, Any], path: str) -> None:
    lines = told(values)
    assert any(f"{path}: " in line and "control character U+" in line for line in lines), lines
    assert all(letter.isprintable() for line in lines for letter in line), lines


def test_scripts_and_chart_values_may_have_lines_and_tabs() -> None:
    several = "#!/bin/sh\n\tset -e\n"
    parse("test", stack(pools__0__extraScripts=[several], karpenter={"values": {"a": several}}))


def test_a_key_with_a_line_end_stays_on_one_line() -> None:
    (line,) = told({**GOOD, "x\n```\n# heading": 1})
    assert line.startswith(r"floodplain:x\n```\n# heading: is not a known key")


def test_a_kubeconfig_in_clear_text_is_refused() -> None:
    (problem,) = key_problems(["floodplain:kubeconfig", "floodplain:pools"], [])
    assert str(problem) == (
        "floodplain:kubeconfig: is a secret and stands in clear text; take it out, make it invalid, and set it "
        "anew with `pulumi config set --secret floodplain:kubeconfig`"
    )
    assert key_problems(["floodplain:kubeconfig"], ["floodplain:kubeconfig"]) == []


def test_a_misspelt_namespace_is_told_and_other_namespaces_are_left_alone() -> None:
    keys = ["floodplian:tags", "flood-plain:pools", "aws:region", "pulumi:disable-default-providers", "floodplain:tags"]
    assert [str(problem) for problem in key_problems(keys, [])] == [
        "flood-plain:pools: is a key of another project, and a likely misspelling; did you mean `floodplain:pools`?",
        "floodplian:tags: is a key of another project, and a likely misspelling; did you mean `floodplain:tags`?",
    ]


def test_stack_files_are_written_in_camel_case_alone_as_the_editor_schema_says() -> None:
    assert told(stack(pools__0__longest_job="3h")) == [
        "floodplain:pools[0].longestJob: is spelt another way, or twice; write `longestJob`, once"
    ]
