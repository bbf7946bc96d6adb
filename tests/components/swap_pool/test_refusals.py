"""Every bad input gets a line that names the key, the value, the rule and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"nmae": "x"}, ["nmae: is not a known key; did you mean `name`?"]),
    (
        {"limits": None},
        ["limits: is required; set it"],
    ),
    (
        {"limits": {"cpu": "256"}},
        ["limits.memory: is required; set it"],
    ),
    (
        {"limits": {"cpu": "256", "memory": "10GB"}},
        ["limits.memory: '10GB' is not a quantity; write 10G (decimal) or 10Gi (binary)"],
    ),
    (
        {"limits": {"cpu": "many", "memory": "2Ti"}},
        ["limits.cpu: 'many' is not a quantity; write a number with a Kubernetes suffix, such as 16Gi, 500M or 250m"],
    ),
    (
        {"families": ["m6i"]},
        [
            "families[0]: 'm6i' has no instance store, or is not in the catalogue; did you mean `m6id`? "
            "`python -m floodplain catalogue show` lists the families with local NVMe"
        ],
    ),
    (
        {"families": ["r6id.2xlarge"]},
        [
            "families[0]: 'r6id.2xlarge' is an instance type where a family is wanted; "
            "write r6id, and vcpus: [8] for that size alone"
        ],
    ),
    (
        {"ami": "ami-0123456789"},
        ["ami: 'ami-0123456789' is a text where a map is wanted; write {ids: [ami-0123456789]}"],
    ),
    (
        {"families": ["d3"]},
        ["families[0]: 'd3' has spinning disks, too slow for swap; choose a family with NVMe SSD"],
    ),
    (
        {"families": ["r6gd"]},
        [
            "families[0]: 'r6gd' is arm64, but the pool's architecture is amd64; choose a family of that "
            "architecture, or set architecture: arm64 if the images run on it"
        ],
    ),
    (
        {"families": ["r6id", "r6id"]},
        ["families[1]: 'r6id' is given twice; remove one"],
    ),
    (
        {"vcpus": [3]},
        [
            "families[0]: 'r6id' has no size among the pool's vcpus; "
            "its sizes have 2, 4, 8, 16, 32, 48, 64, 96, 128 vCPUs"
        ],
    ),
    (
        {"families": ["x2idn"]},
        [
            "families[0]: 'x2idn' cannot hold the swap: x2idn.16xlarge lacks 1,587.9 GiB of disk for swap of "
            "2 x 1,024.0 GiB, ephemeral storage and images within 85 % of 1900 GB; lower swap.ratio to at most 0.44, "
            "lower disk.perMemory or disk.images, or choose a family with more NVMe"
        ],
    ),
    (
        {"swap": {"ratio": 6}},
        [
            "families[0]: 'r6id' cannot hold the swap: r6id.large lacks 38.6 GiB of disk for swap of 6 x 16.0 GiB, "
            "ephemeral storage and images within 85 % of 118 GB; lower swap.ratio to at most 3.58, "
            "lower disk.perMemory or disk.images, or choose a family with more NVMe"
        ],
    ),
    (
        {"disruption": {"expireAfter": "24h"}},
        [
            "disruption.expireAfter: '24h' is shorter than the longest job (48h), which node expiry would cut off; "
            "set it to 48h or more, or to Never"
        ],
    ),
    (
        {"disruption": {"terminationGracePeriod": "1h"}},
        [
            "disruption.terminationGracePeriod: '1h' is shorter than the longest job (48h); at its end pods are "
            "killed; set it to 48h or more, or leave it out"
        ],
    ),
    (
        {"ami": {"alias": "bottlerocket@v1.50.0"}},
        [
            "ami.alias: 'bottlerocket@v1.50.0' is not an AL2023 alias; "
            "write al2023@vYYYYMMDD; swap is set up by AL2023's nodeadm"
        ],
    ),
    (
        {"ami": {"alias": "al2023@v20250101"}},
        [
            "ami.alias: 'al2023@v20250101' is too old: its nodeadm does not read the drop-in that takes swap out of "
            "allocatable disk; use al2023@v20251023 or newer"
        ],
    ),
    (
        {"ami": {}},
        ["ami: needs either `alias` or `ids`; for example alias: al2023@v20260714"],
    ),
    (
        {"subnets": [{"id": "subnet-0a"}, {"id": "subnet-0a"}]},
        ["subnets[1]: {'id': 'subnet-0a'} is given twice; remove one"],
    ),
    (
        {"securityGroups": [{"id": "subnet-0a"}]},
        ["securityGroups[0].id: 'subnet-0a' is not an id of this kind (sg-...); check it"],
    ),
    (
        {"kubelet": {"systemReserved": {"ephemeral-storage": "10Gi"}}},
        [
            "kubelet.systemReserved.ephemeral-storage: '10Gi' is computed on each node from its swap file; "
            "remove it; reserve disk for daemons in kubeReserved"
        ],
    ),
    (
        {"kubelet": {"evictionSoft": {"memory.available": "1Gi"}}},
        [
            "kubelet.evictionSoftGracePeriod: {} every soft threshold needs a grace period and the reverse; "
            "give evictionSoft and evictionSoftGracePeriod the same keys"
        ],
    ),
    (
        {"kubelet": {"failSwapOn": False}},
        [
            "kubelet.failSwapOn: is not a known key; known here: evictionHard, evictionMaxPodGracePeriod, "
            "evictionSoft, evictionSoftGracePeriod, imageGcHighThresholdPercent, imageGcLowThresholdPercent, "
            "kubeReserved, maxPods, podsPerCore, systemReserved"
        ],
    ),
    (
        {"tags": {"karpenter.sh/nodepool": "x"}},
        ["tags.karpenter.sh/nodepool: is set by Karpenter itself; leave it out"],
    ),
    (
        {"labels": {"floodplain.dev/pool": "x"}},
        ["labels.floodplain.dev/pool: 'x' is a label that is set for you; remove it"],
    ),
    (
        {"tags": {"aws:x": "y"}},
        ["tags.aws:x: is in AWS's own domain, which EC2 refuses; rename it"],
    ),
    (
        {"headroom": "0.5"},
        [
            "headroom: '0.5' is not a whole number of bytes; write whole bytes or a smaller unit, "
            "such as 1536Mi for 1.5Gi"
        ],
    ),
    (
        {"overhead": "0"},
        [
            "overhead: '0' is less than the 1 MiB by which a job's limit exceeds its request, so no job could be "
            "admitted; set it to 1Mi or more"
        ],
    ),
    (
        {"kubelet": {"imageGcHighThresholdPercent": 20, "evictionHard": {"nodefs.available": "60%", "x": "1"}}},
        [
            "kubelet.evictionHard.nodefs.available: '60%' would evict pods of a node that is used as planned, up "
            "to 85 % of its disk; set it to at most 15%",
            "kubelet.evictionHard.x: '1' is not an eviction signal; known: memory.available, nodefs.available, "
            "nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available",
            "kubelet.imageGcLowThresholdPercent: 80 must be below imageGcHighThresholdPercent (20); lower it",
            "kubelet.imageGcHighThresholdPercent: 20 would collect images on a node whose disk is used as planned, up "
            "to 85 %; set it to 85 or more",
        ],
    ),
    (
        {"kubelet": {"evictionHard": {"imagefs.available": "50%", "pid.available": "99%"}}},
        [
            "kubelet.evictionHard.imagefs.available: '50%' would evict pods of a node that is used as planned, up "
            "to 85 % of its disk; set it to at most 15%",
            "kubelet.evictionHard.pid.available: '99%' would evict pods of a node that is hardly used; "
            "set it to at most 50%",
        ],
    ),
    (
        {"kubelet": {"kubeReserved": {"ephemeral-storage": "1Ti"}}},
        [
            "families[0]: 'r6id' cannot hold the swap: r6id.large lacks 998.6 GiB of disk for swap of 2 x 16.0 GiB, "
            "ephemeral storage and images within 85 % of 118 GB; lower swap.ratio to at most 0.00, "
            "lower disk.perMemory or disk.images, or choose a family with more NVMe"
        ],
    ),
    ({"longestJob": "0s"}, ["longestJob: '0s' is no time at all; write how long a job may run, such as 24h"]),
    (
        {"taint": {"key": "karpenter.sh/disrupted", "value": "x"}},
        [
            "taint.key: 'karpenter.sh/disrupted' is a taint that Kubernetes or Karpenter sets and removes itself; "
            "use a domain of your own, or leave the taint out"
        ],
    ),
    (
        {"labels": {"topology.kubernetes.io/zone": "x"}},
        [
            "labels.topology.kubernetes.io/zone: 'x' is in Kubernetes' own domain, whose labels say what a node is; "
            "use a domain of your own"
        ],
    ),
    (
        {"rootVolume": {"size": "1Gi", "type": "io2"}},
        [
            "rootVolume.size: '1Gi' is smaller than AL2023's image, whose snapshot has 20 GiB; set it to 20Gi or more",
            "rootVolume.iops: is required with type io2; set it, or use gp3",
        ],
    ),
    (
        {"rootVolume": {"kmsKeyId": "a b"}},
        ["rootVolume.kmsKeyId: 'a b' string should match pattern '^[A-Za-z0-9:/_-]{1,2048}$'"],
    ),
    (
        {"ami": {"alias": "al2023@v99999999"}},
        [
            "ami.alias: 'al2023@v99999999' is not an AL2023 alias; "
            "write al2023@vYYYYMMDD; swap is set up by AL2023's nodeadm"
        ],
    ),
    (
        {"kubelet": {"systemReserved": {"memory": "500m"}}},
        [
            "kubelet.systemReserved.memory: '500m' is not a whole number of bytes; "
            "`m` means a thousandth: write 500M (decimal) or 500Mi (binary)"
        ],
    ),
    (
        {"headroomImage": "pause:latest"},
        [
            "headroomImage: 'pause:latest' is not an image by digest; "
            "write repository@sha256:..., as a release prints it"
        ],
    ),
    (
        {"kubeletConfig": {"maxPods": 3}},
        ["kubeletConfig.maxPods: 3 is overwritten by Karpenter's part; set it on the pool or remove it"],
    ),
    (
        {"labels": {"kubernetes.io/hostname": "a"}},
        ["labels.kubernetes.io/hostname: differs on every node; leave it out"],
    ),
    (
        {"zones": ["Frankfurt"]},
        ["zones[0]: 'Frankfurt' is not an availability zone; write it as eu-central-1a"],
    ),
    (
        {"rootVolume": {"size": "60000Gi"}},
        ["rootVolume: '60000Gi' is above 59000Gi; write less"],
    ),
    (
        {"disruption": {"budgets": [{"nodes": "1", "schedule": "x", "duration": "1h"}]}},
        [
            "disruption.budgets[0].schedule: 'x' is not a cron schedule; "
            "write five cron fields in UTC (0 9 * * mon-fri) or @daily and the like"
        ],
    ),
    (
        {"name": "Swap_Pool"},
        [
            "name: 'Swap_Pool' is not a pool name; use 1 to 40 lower-case letters, digits and dashes, "
            "starting with a letter"
        ],
    ),
]


@pytest.mark.parametrize(("changes", "lines"), CASES, ids=[str(changes)[:60] for changes, _ in CASES])
def test_each_fault_is_told_with_its_key_value_rule_and_remedy(
    changes: dict[str, Any], lines: list[str], told: Callable[..., list[str]]
) -> None:
    assert told(**changes) == lines


def test_all_faults_of_a_pool_are_told_at_once(told: Callable[..., list[str]]) -> None:
    lines = told(nmae="x", limits={"cpu": "256", "memory": "10GB"}, ami={"alias": "al2"}, longestJob="two days")
    assert [line.split(":")[0] for line in lines] == ["limits.memory", "ami.alias", "longestJob", "nmae"]


def test_a_valid_pool_has_no_faults(told: Callable[..., list[str]]) -> None:
    assert told() == []
