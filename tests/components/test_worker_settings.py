"""Settings of raster workers that cannot work are refused with the key, the value, the rule and what to do."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from components.worker_settings import WorkerPoolsSettings
from floodplain.problem import problems_of
from floodplain.quantity import GIB, MIB
from floodplain.raster import worker_memory

GOOD: dict[str, Any] = {
    "name": "tiles",
    "image": "registry.example/tiles:1.2",
    "small": {"memory": "8Gi"},
    "big": {"memory": "64Gi"},
}


def workers(changes: Any) -> dict[str, Any]:
    """Good ones with changes; maps are merged, None removes."""
    made = copy.deepcopy(GOOD)
    for key, value in changes.items():
        merged = {**made[key], **value} if isinstance(made.get(key), dict) and isinstance(value, dict) else value
        made[key] = {k: v for k, v in merged.items() if v is not None} if isinstance(merged, dict) else merged
    return {key: value for key, value in made.items() if value is not None}


def problems(changes: Any, **beside: Any) -> list[str]:
    with pytest.raises(ValidationError) as error:
        WorkerPoolsSettings.model_validate({"workers": workers(changes), **beside})
    return [str(one).removeprefix("workers.") for one in problems_of(error.value, WorkerPoolsSettings)]


FIGURES: list[tuple[Any, list[str]]] = [
    (
        {"small": {"threshold": "2Gi"}},
        [
            "small.threshold: '2Gi' is above the slot budget of 945 MiB: a task just below it would not fit its"
            " slot; write at most 990904320, better half of it, 495452160"
        ],
    ),
    (
        {"small": {"memory": "90Mi"}},
        [
            "small.memory: '90Mi' leaves nothing for 8 tasks at once: "
            "136 MiB = 1 x (baseline 120 MiB + cache 16 MiB) are"
            " taken before the first; raise it, or have fewer slots or processes, or a smaller cache"
        ],
    ),
    (
        {"small": {"memory": "512Mi", "processes": 8}},
        [
            "small.memory: '512Mi' leaves nothing for 8 tasks at once: "
            "1,088 MiB = 8 x (baseline 120 MiB + cache 16 MiB) are"
            " taken before the first; raise it, or have fewer slots or processes, or a smaller cache"
        ],
    ),
    (
        {"big": {"memory": "100Mi"}},
        ["big.memory: '100Mi' leaves nothing for a task after baseline, cache and agent; raise it above 632 MiB"],
    ),
    (
        {"big": {"memory": "512Mi"}},
        ["big.memory: '512Mi' leaves nothing for a task after baseline, cache and agent; raise it above 632 MiB"],
    ),
    (
        {"small": {"processes": 16}},
        ["small.processes: 16 are more than the 8 slots; a process without a slot only costs"],
    ),
    (
        {"small": {"memory": None}},
        ["small.memory: is not given, nor is taskPeak; set the limit of a worker, or the peak of a task"],
    ),
    (
        {"small": {"task_peak": "420Mi"}},
        ["small.memory: '8Gi' is given beside taskPeak, from which it follows; leave one of them out"],
    ),
    (
        {"big": {"memory": None, "task_peak": "0"}},
        ["big.taskPeak: '0' is less than 1 MiB; write what a task holds, with its unit"],
    ),
    ({"baseline": "67"}, ["baseline: '67' is less than 1 MiB; write it with its unit, such as 104Mi"]),
    (
        {"big": {"replicas": 2}},
        [
            "big.replicas: 2 cannot be set: the big pool is one worker of one slot, so that its tasks run one"
            " after the other; remove it"
        ],
    ),
    (
        {"big": {"slots": 2}},
        [
            "big.slots: 2 cannot be set: the big pool is one worker of one slot, so that its tasks run one after"
            " the other; remove it"
        ],
    ),
    (
        {"big": {"autoscaling": {"maxReplicas": 2}}},
        [
            "big.autoscaling: {'maxReplicas': 2} cannot be set: the big pool is one worker of one slot, so that"
            " its tasks run one after the other; remove it"
        ],
    ),
    (
        {"small": {"replicas": 2, "autoscaling": {"maxReplicas": 3, "minReplicas": 4}}},
        ["small.autoscaling.maxReplicas: 3 is below minReplicas (4); write 4 or more"],
    ),
]

CACHES: list[tuple[Any, list[str]]] = [
    (
        {"gdal": {"cache": 512}},
        [
            "gdal.cache: 512 has no unit: GDAL reads it as 536,870,912 bytes, and Kubernetes and rasterio.Env as"
            " 512; write the unit, such as 512Mi"
        ],
    ),
    (
        {"gdal": {"cache": "512"}},
        [
            "gdal.cache: '512' has no unit: GDAL reads it as 536,870,912 bytes, and Kubernetes and rasterio.Env"
            " as 512; write the unit, such as 512Mi"
        ],
    ),
    (
        {"gdal": {"cache": 268435456}},
        [
            "gdal.cache: 268435456 has no unit: GDAL reads it as 268,435,456 bytes, and Kubernetes and"
            " rasterio.Env as 268,435,456; write the unit, such as 256Mi"
        ],
    ),
    (
        {"gdal": {"cache": "5%"}},
        [
            "gdal.cache: '5%' is a share, which GDAL takes of whatever memory it believes to have; write a size,"
            " such as 256Mi"
        ],
    ),
    (
        {"gdal": {"cache": "256MB"}},
        ["gdal.cache: '256MB' is no quantity of Kubernetes, and GDAL's MB have 2**20 bytes; write 256Mi"],
    ),
    (
        {"gdal": {"cache": "256m"}},
        [
            "gdal.cache: '256m' is not a whole number of bytes; `m` means a thousandth: write 256M (decimal) or"
            " 256Mi (binary)"
        ],
    ),
    (
        {"gdal": {"cache": "1Mi"}},
        ["gdal.cache: '1Mi' is too small a cache: blocks are decoded again and again; write 16Mi or more"],
    ),
    (
        {"gdal": {"cache": "500M"}},
        [
            "gdal.cache: '500M' is not a whole number of MiB, the unit in which every version of GDAL reads it"
            " alike; write 476Mi"
        ],
    ),
    (
        {"gdal": {"cache": "1Gi"}, "small": {"processes": 8}},
        [
            "gdal.cache: '1Gi' is the cache of one process: 8 processes have one each, 8,192 MiB together, more"
            " than half of a small worker's 8,192 MiB; write 512Mi or less, or have fewer processes or more memory"
        ],
    ),
    (
        {"gdal": {"cache": "6Gi"}},
        [
            "gdal.cache: '6Gi' is the cache of one process, more than half of a small worker's 8,192 MiB; write"
            " 4096Mi or less, or have more memory"
        ],
    ),
    ({"gdal": {"curlCache": 16}}, ["gdal.curlCache: '16' is less than 1 MiB; write a size, such as 16Mi"]),
    (
        {"env": {"GDAL_CACHEMAX": "512"}},
        [
            "env.GDAL_CACHEMAX: '512' is set from gdal.cache; GDAL would read this as 536,870,912 bytes; set"
            " gdal.cache, with its unit"
        ],
    ),
    (
        {"small": {"env": {"GDAL_CACHEMAX": "75%", "MALLOC_ARENA_MAX": "1", "FLOODPLAIN_RASTER_SLOTS": "9"}}},
        [
            "small.env.GDAL_CACHEMAX: '75%' is set from gdal.cache; set gdal.cache, with its unit",
            "small.env.MALLOC_ARENA_MAX: '1' is set from malloc.arenas; set malloc.arenas",
            "small.env.FLOODPLAIN_RASTER_SLOTS: '9' follows from the figures of the pools; remove it",
        ],
    ),
    (
        {"env": {"VSI_CACHE": "yes", "GLIBC_TUNABLES": "glibc.cpu.x86_ibt=on:glibc.malloc.arena_max=9"}},
        [
            "env.VSI_CACHE: 'yes' is a cache for each open file (25 MB unless VSI_CACHE_SIZE is set), which no memory"
            " is counted for; remove it; gdal.curlCache is one a process and counted",
            "env.GLIBC_TUNABLES: 'glibc.cpu.x86_ibt=on:glibc.malloc.arena_max=9' sets malloc, and so would win over"
            " malloc.arenas and malloc.trimThreshold; leave glibc.malloc out of it and set malloc",
        ],
    ),
]

OTHERS: list[tuple[Any, list[str]]] = [
    (
        {"env": {"1A": "x"}},
        ["env.1A: '1A' is not a name of an environment variable; use letters, digits and _, no digit first"],
    ),
    (
        {
            "small": {
                "autoscaling": {"maxReplicas": 3, "metric": {"name": "queue", "average": "0", "selector": {"a": "b"}}}
            }
        },
        [
            "small.autoscaling.metric.average: '0' is nothing, and the pool is scaled by it; write 1 or more",
            "small.autoscaling.metric.selector: {'a': 'b'} selects an external metric, and this is one of the"
            " workers' pods; set external: true, or leave the selector out",
        ],
    ),
    (
        {"small": {"cpu": "0", "longestTask": "1d"}, "big": {"cpu": "1.00001", "longestTask": "0s"}},
        [
            "small.longestTask: '1d' is not a duration; write 24h",
            "small.cpu: '0' is no CPU, of which shares are counted; write 100m or more",
            "big.cpu: '1.00001' is finer than 1m, a thousandth of a core; round it to whole millicores",
            "big.longestTask: '0s' is not between 1s and 168h: a worker that is told to end is given so long;"
            " write how long a task may run, such as 15m",
        ],
    ),
    (
        {"name": "Tiles_1"},
        [
            "name: 'Tiles_1' is not a pool name; use 1 to 40 lower-case letters, digits and dashes, starting with"
            " a letter"
        ],
    ),
    (
        {"name": "default"},
        [
            "name: 'default' is a namespace of Kubernetes, which nobody else makes; name another, or set"
            " makeNamespace: false to use it"
        ],
    ),
    (
        {"namespace": "kube-system"},
        [
            "namespace: 'kube-system' is a namespace of Kubernetes, which nobody else makes; name another, or set"
            " makeNamespace: false to use it"
        ],
    ),
    (
        {"labels": {"app.kubernetes.io/name": "x", "a b": "c"}},
        [
            "labels.a b: 'a b' is no key: a name has 1 to 63 letters, digits, -, _ or . and begins and ends with"
            " a letter or digit; write [domain/]name, such as floodplain.dev/pool"
        ],
    ),
    (
        {"image": "registry.example/tiles"},
        [
            "image: 'registry.example/tiles' follows `latest`, so that two workers may run different programs;"
            " write repository:version or repository@sha256:..."
        ],
    ),
    (
        {"image": "registry.example/tiles:latest"},
        [
            "image: 'registry.example/tiles:latest' follows `latest`, so that two workers may run different"
            " programs; write repository:version or repository@sha256:..."
        ],
    ),
    (
        {"image": "registry.example/tiles@sha256:12"},
        [
            "image: 'registry.example/tiles@sha256:12' is not an image; write repository:version or"
            " repository@sha256:..."
        ],
    ),
    (
        {"runAsUser": 0, "scratch": "0", "headroom": 0.5},
        [
            "runAsUser: 0 should be greater than or equal to 1",
            "headroom: 0.5 should be greater than or equal to 1",
            "scratch: '0' is less than 1 MiB; write some, such as 10Gi",
        ],
    ),
    (
        {"liveness": {}, "readiness": {"port": 80, "command": ["true"], "path": "x", "period": "0s"}},
        [
            "liveness: asks by a command or by HTTP, one of them; set command or port",
            "readiness: asks by a command or by HTTP, one of them; set command or port",
            "readiness.path: 'x' is not a path; write /x",
            "readiness.period: '0s' is not between 1s and 24h; write some seconds or minutes",
        ],
    ),
    (
        {"account": {"name": "theirs", "annotations": {"a": "b"}}},
        [
            "account.annotations: are of an account that is made, and theirs is there already; annotate that one"
            " where it is made, or leave the name out"
        ],
    ),
    (
        {
            "big": {
                "swapPool": "swap",
                "priorityClass": "system-node-critical",
                "nodeSelector": {"floodplain.dev/pool": "x"},
            }
        },
        [
            "big.nodeSelector.floodplain.dev/pool: 'x' is selected by the RuntimeClass of swapPool; remove it",
            "big.priorityClass: 'system-node-critical' makes the pod critical, and kubelet grants critical pods"
            " no swap; leave it out for the swap pool's own",
        ],
    ),
    (
        # An escaped one, and one of somebody else, are none of ours.
        {
            "command": ["run", "--above", "$(FLOODPLAIN_RASTER_THRESHOLD_BYTES)", "$$(FLOODPLAIN_RASTER_X)", "$(X)"],
            "small": {"env": {"POOL": "on $(FLOODPLAIN_RASTER_POOLS)"}},
        },
        [
            "small.env.POOL: 'on $(FLOODPLAIN_RASTER_POOLS)' names FLOODPLAIN_RASTER_POOLS, which small workers do not"
            " have, so that it would stay as it is written; name FLOODPLAIN_RASTER_ with one of POOL, SLOTS, PROCESSES,"
            " SLOT_LIMIT_BYTES, BIG_BUDGET_BYTES, SLOT_BUDGET_BYTES, THRESHOLD_BYTES",
            "command: '$(FLOODPLAIN_RASTER_THRESHOLD_BYTES)' names FLOODPLAIN_RASTER_THRESHOLD_BYTES, which big workers"
            " do not have, so that it would stay as it is written; name FLOODPLAIN_RASTER_ with one of POOL, SLOTS,"
            " PROCESSES, SLOT_LIMIT_BYTES, BIG_BUDGET_BYTES",
        ],
    ),
    (
        {"args": ["$(FLOODPLAIN_RASTER_POOLS)"], "big": {"args": ["$(FLOODPLAIN_RASTER_POOL)"]}},
        [
            "args: '$(FLOODPLAIN_RASTER_POOLS)' names FLOODPLAIN_RASTER_POOLS, which small workers do not have, so that"
            " it would stay as it is written; name FLOODPLAIN_RASTER_ with one of POOL, SLOTS, PROCESSES,"
            " SLOT_LIMIT_BYTES, BIG_BUDGET_BYTES, SLOT_BUDGET_BYTES, THRESHOLD_BYTES"
        ],
    ),
    (
        {"small": {"nodeSelector": {"kubernetes.io/os": "windows"}}},
        ["small.nodeSelector.kubernetes.io/os: 'windows' is set for you; remove it"],
    ),
]


@pytest.mark.parametrize(("changes", "told"), FIGURES)
def test_figures_that_do_not_go_together_are_told_with_a_remedy(changes: Any, told: list[str]) -> None:
    assert problems(changes) == told


@pytest.mark.parametrize(("changes", "told"), CACHES)
def test_a_cache_in_a_wrong_unit_or_shared_by_processes_is_refused(changes: Any, told: list[str]) -> None:
    assert problems(changes) == told


@pytest.mark.parametrize(("changes", "told"), OTHERS)
def test_other_wrong_settings_are_told_with_a_remedy(changes: Any, told: list[str]) -> None:
    assert problems(changes) == told


def test_variables_that_take_no_memory_are_ones_own() -> None:
    env = {"VSI_CACHE": "off", "GLIBC_TUNABLES": "glibc.cpu.x86_ibt=on"}
    assert WorkerPoolsSettings.model_validate({"workers": workers({"env": env})}).workers.env == env


def test_a_protected_stack_names_the_image_by_digest() -> None:
    assert problems({}, protected=True) == [
        "image: 'registry.example/tiles:1.2' is not named by digest, so that a protected stack would run what somebody"
        " pushes later; append @sha256:... of the version"
    ]
    by_digest = f"registry.example/tiles:1.2@sha256:{'a' * 64}"
    WorkerPoolsSettings.model_validate({"workers": workers({"image": by_digest}), "protected": True})


def test_everything_wrong_is_told_at_once() -> None:
    wrong = {"image": "tiles", "gdal": {"cache": 512}, "small": {"threshold": "2Gi"}, "big": {"slots": 2}}
    assert [one.partition(":")[0] for one in problems(wrong, protected=True)] == ["image", "big.slots", "gdal.cache"]
    mended = {**wrong, "gdal": {"cache": "512Mi"}, "big": {}}
    assert [one.partition(":")[0] for one in problems(mended)] == ["image", "small.threshold"]


def pools(changes: Any) -> Any:
    return WorkerPoolsSettings.model_validate({"workers": workers(changes)}).workers.pools


def test_by_default_all_caches_of_a_small_worker_are_a_sixteenth_of_it_within_bounds() -> None:
    cases = {("8Gi", 1): 512, ("8Gi", 8): 64, ("2Gi", 1): 128, ("4Gi", 8): 32, ("2Gi", 8): 16, ("64Gi", 1): 512}
    found = {
        (memory, processes): pools({"small": {"memory": memory, "processes": processes}}).cache_bytes // MIB
        for memory, processes in cases
    }
    assert found == cases


def test_limits_follow_from_the_peak_of_a_task_by_the_worker_formula() -> None:
    made = pools({"small": {"memory": None, "task_peak": "420Mi"}, "big": {"memory": None, "task_peak": "6Gi"}})
    # (120 + 8 x 420 x 1.3) / 15 = 299.2: the cache is a sixteenth of what is then the limit.
    assert made.cache_bytes == 299 * MIB
    small = worker_memory(420 * MIB, slots=8, baseline_bytes=120 * MIB, cache_bytes=299 * MIB)
    big = worker_memory(6 * GIB, slots=1, baseline_bytes=120 * MIB, cache_bytes=299 * MIB)
    assert (made.small_limit_bytes, made.big_limit_bytes) == (small.limit_bytes, big.limit_bytes)
    assert made.small_limit_bytes == 4787 * MIB
    assert made.slot_budget_bytes == 546 * MIB
    assert made.threshold_bytes == 273 * MIB


@given(
    memory=st.integers(1, 512),
    slots=st.integers(1, 64),
    processes=st.integers(1, 64),
    baseline=st.integers(1, 500),
    big=st.integers(1, 1024),
)
def test_what_is_accepted_adds_up_and_what_is_refused_says_where(
    memory: int, slots: int, processes: int, baseline: int, big: int
) -> None:
    small = {"memory": f"{memory}Gi", "slots": slots, "processes": processes}
    try:
        made = pools({"small": small, "big": {"memory": f"{big}Gi"}, "baseline": f"{baseline}Mi"})
    except ValidationError as error:
        for problem in problems_of(error, WorkerPoolsSettings):
            assert problem.path.startswith(("workers.small.", "workers.big."))
            assert problem.remedy
        return
    assert made.fixed_bytes + slots * made.slot_budget_bytes <= memory * GIB
    assert 0 < made.threshold_bytes <= made.slot_budget_bytes // 2 < made.big_budget_bytes
