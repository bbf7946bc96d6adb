"""What a pod has beside the sized container, and what of that container is the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from floodplain.admission.figures import figures
from floodplain.admission.limit_ranger import defaults
from floodplain.admission.pod import PodReading, gets_no_swap, read_pod
from floodplain.admission.subject import Kind, Subject
from floodplain.quantity import GIB, MIB
from floodplain.sizing.given import Given
from floodplain.sizing.pod_rest import PodRest
from tests.floodplain.admission.objects import container, job, pod, sidecar


def of_pod(*containers: Any, limit_ranger: str | None = None, **spec: Any) -> PodReading:
    return read_pod(Subject(Kind.POD, pod(*containers, **spec)), "process", defaults(limit_ranger))


def rest(*containers: Any, **spec: Any) -> PodRest:
    return of_pod(container("process"), *containers, **spec).rest


def memory(name: str, request: str | None, limit: str | None, make: Any = container) -> Any:
    resources = {"requests": {"memory": request}} if request else {}
    return make(name, **resources, **({"limits": {"memory": limit}} if limit else {}))


def test_a_container_alone_has_nothing_beside_it() -> None:
    assert of_pod() == PodReading(PodRest(), Given(), frozenset(), (), ())


def test_the_sized_container_is_not_counted_beside_itself() -> None:
    assert of_pod(memory("process", "8Gi", "16Gi")).rest == PodRest()


def test_other_containers_are_summed_in_every_resource() -> None:
    wait = container(
        "wait",
        requests={"cpu": "100m", "memory": "64Mi", "ephemeral-storage": "1Gi"},
        limits={"cpu": "1", "memory": "64Mi", "ephemeral-storage": "2Gi"},
    )
    logs = container("logs", requests={"cpu": "0.25", "memory": "1M"}, limits={"memory": "0.5Gi"})
    assert rest(wait, logs) == PodRest(
        request_bytes=64 * MIB + 1_000_000,
        limit_bytes=64 * MIB + 512 * MIB,
        cpu_millicores=350,
        ephemeral_bytes=2 * GIB,
    )


def test_a_missing_request_is_the_limit_as_the_api_server_fills_it_in() -> None:
    lone = container("lone", limits={"cpu": "2", "memory": "1Gi", "ephemeral-storage": "3Gi"})
    assert rest(lone) == PodRest(request_bytes=GIB, limit_bytes=GIB, cpu_millicores=2000, ephemeral_bytes=3 * GIB)
    zero = container("zero", requests={"memory": "0"}, limits={"memory": "1Gi"})
    assert rest(zero) == PodRest(request_bytes=0, limit_bytes=GIB)


def test_amounts_are_rounded_up_as_the_api_server_does() -> None:
    odd = container("odd", requests={"cpu": "1u", "memory": "1500m"}, limits={"memory": "1e3"})
    assert rest(odd) == PodRest(request_bytes=2, limit_bytes=1000, cpu_millicores=1)


def test_containers_without_a_memory_limit_are_named() -> None:
    found = rest(
        memory("open", "1Gi", None),
        memory("zero", "1Gi", "0"),
        memory("closed", "1Gi", "1Gi"),
        initContainers=[memory("mesh", "1Gi", None, sidecar), container("fetch")],
    )
    assert found == PodRest(
        request_bytes=4 * GIB,
        limit_bytes=4 * GIB,
        init_request_bytes=GIB,
        init_limit_bytes=GIB,
        unlimited=("open", "zero", "mesh", "fetch"),
    )


# Init containers in order (request, limit, sidecar?), then what runs beside the job and what starts before it.
@pytest.mark.parametrize(
    ("initial", "running", "starting"),
    [
        ([], (0, 0), (0, 0)),
        ([("2Gi", "3Gi", False)], (0, 0), (2, 3)),
        ([("2Gi", "3Gi", False), ("4Gi", "4Gi", False)], (0, 0), (4, 4)),
        ([("2Gi", "3Gi", True)], (2, 3), (0, 0)),
        ([("1Gi", "2Gi", True), ("4Gi", "4Gi", False)], (1, 2), (5, 6)),
        ([("4Gi", "4Gi", False), ("1Gi", "2Gi", True)], (1, 2), (4, 4)),
        ([("1Gi", "2Gi", True), ("4Gi", "5Gi", False), ("1Gi", "1Gi", True), ("3Gi", "5Gi", False)], (2, 3), (5, 8)),
    ],
)
def test_sidecars_run_beside_everything_after_them(
    initial: list[tuple[str, str, bool]], running: tuple[int, int], starting: tuple[int, int]
) -> None:
    """KEP-753: an init container needs itself and the sidecars before it, the pod the larger of start and run."""
    listed = [
        memory(f"i{position}", request, limit, sidecar if stays else container)
        for position, (request, limit, stays) in enumerate(initial)
    ]
    assert rest(initContainers=listed) == PodRest(
        request_bytes=running[0] * GIB,
        limit_bytes=running[1] * GIB,
        init_request_bytes=starting[0] * GIB,
        init_limit_bytes=starting[1] * GIB,
    )


def test_the_largest_start_is_found_for_each_resource_apart() -> None:
    initial = [
        container("fetch", requests={"cpu": "4"}, limits={"memory": "1Gi"}),
        container("unpack", requests={"cpu": "1", "ephemeral-storage": "9Gi"}, limits={"memory": "2Gi"}),
    ]
    assert rest(initContainers=initial) == PodRest(
        init_request_bytes=2 * GIB, init_limit_bytes=2 * GIB, init_cpu_millicores=4000, init_ephemeral_bytes=9 * GIB
    )


PODS = [json.loads(line) for line in (Path(__file__).parent / "data" / "pod-requests.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("row", PODS, ids=[f"pod {number}" for number in range(len(PODS))])
def test_sums_are_those_of_kubernetes_own_code(row: Any) -> None:
    """What PodRequests and PodLimits of k8s.io/component-helpers v0.36.3 say of random pods, requests filled in."""
    found = read_pod(Subject(Kind.POD, {"spec": row["spec"]}), "process").rest
    sized = next(one for one in row["spec"]["containers"] if one["name"] == "process")
    own = figures(sized, "", [])
    assert max(own.memory.request + found.request_bytes, found.init_request_bytes) == row["memory"]
    assert max(own.cpu.request + found.cpu_millicores, found.init_cpu_millicores) == row["cpu"]
    assert max(own.memory.most + found.limit_bytes, found.init_limit_bytes) == row["limit"]


@pytest.mark.parametrize(
    ("resources", "given", "notes"),
    [
        ({}, Given(), ()),
        (
            {"limits": {"memory": "16Gi"}},
            Given(limit_bytes=16 * GIB),
            (),
        ),
        (
            {"limits": {"memory": "16Gi"}, "requests": {"memory": "16Gi"}},
            Given(limit_bytes=16 * GIB),
            (),
        ),
        (
            {"limits": {"memory": "16Gi"}, "requests": {"memory": "4Gi"}},
            Given(limit_bytes=16 * GIB),
            ("the memory request of 4096 MiB is raised to 1 MiB below the limit: the scheduler packs by requests",),
        ),
        (
            {"requests": {"memory": "4Gi"}},
            Given(least_request_bytes=4 * GIB),
            ("the memory request of 4096 MiB is taken as the least that is wanted",),
        ),
        ({"limits": {"memory": "0"}, "requests": {"memory": "0"}}, Given(), ()),
        ({"requests": {"cpu": "3"}}, Given(cpu_millicores=3000), ()),
        ({"limits": {"cpu": "3"}}, Given(cpu_millicores=3000, cpu_limit_millicores=3000), ()),
        ({"requests": {"cpu": "1"}, "limits": {"cpu": "3"}}, Given(cpu_millicores=1000, cpu_limit_millicores=3000), ()),
        ({"requests": {"ephemeral-storage": "5Gi"}}, Given(ephemeral_bytes=5 * GIB), ()),
        (
            {"requests": {"ephemeral-storage": "5Gi"}, "limits": {"ephemeral-storage": "7Gi"}},
            Given(ephemeral_bytes=7 * GIB),
            (),
        ),
    ],
)
def test_what_the_user_set_is_given(resources: Any, given: Given, notes: tuple[str, ...]) -> None:
    found = of_pod(container("process", **resources))
    assert (found.given, found.notes, found.problems) == (given, notes, ())
    assert found.own == {
        (kind, name)
        for kind, amounts in resources.items()
        for name, amount in amounts.items()
        if (kind, amount) != ("limits", "0")
    }


FULL = container(
    "process",
    requests={"cpu": "1", "memory": "256Mi", "ephemeral-storage": "1Gi"},
    limits={"cpu": "2", "memory": "512Mi", "ephemeral-storage": "2Gi"},
)
ALL_DEFAULTS = (
    "LimitRanger plugin set: cpu, ephemeral-storage, memory request for container process;"
    " cpu, ephemeral-storage, memory limit for container process"
)


def test_what_a_limit_range_set_is_nobodys_wish_but_its_cpu_limit_holds() -> None:
    found = of_pod(FULL, limit_ranger=ALL_DEFAULTS)
    assert found == PodReading(
        PodRest(),
        Given(cpu_limit_millicores=2000),
        frozenset(),
        (),
        ("memory that a LimitRange set is replaced", "the CPU limit is a LimitRange's, and stands"),
    )


def test_what_a_limit_range_set_elsewhere_changes_nothing_here() -> None:
    other = ALL_DEFAULTS.replace("process", "wait")
    assert of_pod(FULL, limit_ranger=other) == of_pod(FULL)
    assert of_pod(FULL, limit_ranger=other).given.limit_bytes == 512 * MIB


def test_a_limit_range_may_have_set_a_part() -> None:
    found = of_pod(FULL, limit_ranger="LimitRanger plugin set: memory limit for container process")
    assert found.given.limit_bytes is None
    assert found.given.least_request_bytes == 256 * MIB
    assert found.given.cpu_millicores == 1000


def test_a_limit_ranges_defaults_on_other_containers_count_as_they_stand() -> None:
    found = read_pod(
        Subject(Kind.POD, pod(container("process"), {**FULL, "name": "wait"})),
        "process",
        defaults(ALL_DEFAULTS.replace("process", "wait")),
    )
    assert found.rest == PodRest(
        request_bytes=256 * MIB, limit_bytes=512 * MIB, cpu_millicores=1000, ephemeral_bytes=2 * GIB
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "LimitRanger plugin set: cpu, memory request for container x; memory limit for container x;"
            " memory limit for init container y",
            {
                ("x", "requests", "cpu"),
                ("x", "requests", "memory"),
                ("x", "limits", "memory"),
                ("y", "limits", "memory"),
            },
        ),
        (
            "LimitRanger plugin set: ephemeral-storage, example.com/gpu request for container a-limit-for",
            {("a-limit-for", "requests", "ephemeral-storage"), ("a-limit-for", "requests", "example.com/gpu")},
        ),
        ("LimitRanger plugin set: ", set()),
        ("LimitRanger plugin set: nonsense; cpu limit for container x", {("x", "limits", "cpu")}),
        ("limitranger plugin set: cpu limit for container x", set()),
        ("", set()),
        (None, set()),
        (7, set()),
        ("LimitRanger plugin set: " + "cpu limit for container x; " * 10_000, set()),
    ],
)
def test_the_limit_rangers_annotation_is_read_as_it_is_written(text: Any, wanted: Any) -> None:
    assert defaults(text) == wanted


@pytest.mark.parametrize(
    ("containers", "spec", "wanted"),
    [
        (
            [container("process", limits={"memory": "lots"})],
            {},
            "spec.containers[0].resources.limits.memory: 'lots' is not a quantity; write a number with a Kubernetes"
            " suffix, such as 16Gi, 500M or 250m",
        ),
        (
            [container("process"), container("wait", requests={"cpu": "-1"})],
            {},
            "spec.containers[1].resources.requests.cpu: '-1' is negative; write zero or more",
        ),
        (
            [container("process")],
            {"initContainers": [container("init", limits={"ephemeral-storage": "9" * 30})]},
            "spec.initContainers[0].resources.limits.ephemeral-storage: '999999999999999999999999999999' is above"
            " 2^63 - 1, the largest quantity of Kubernetes; write less",
        ),
        (
            [{"name": "process", "resources": {"limits": ["memory"]}}],
            {},
            "spec.containers[0].resources.limits: ['memory'] is not a map; write name: quantity lines",
        ),
        (
            [container("process", limits={"memory": "1Mi"})],
            {},
            "spec.containers[process].resources.limits.memory: '1048576 bytes' is no limit that a job can have;"
            " leave it out, and the plan sets one",
        ),
        (
            [container("process")],
            {"resources": {"limits": {"memory": "64Gi"}}},
            "spec.resources: is set for the pod as a whole, and limits and swap are granted by container;"
            " set them in the resources of its containers",
        ),
    ],
)
def test_what_cannot_be_planned_with_is_told(containers: Any, spec: Any, wanted: str) -> None:
    assert [str(problem) for problem in of_pod(*containers, **spec).problems] == [wanted]


def test_a_jobs_problem_is_told_under_its_template() -> None:
    bad = job(container("process", limits={"memory": "lots"}))
    found = read_pod(Subject(Kind.JOB, bad), "process").problems
    assert [problem.path for problem in found] == ["spec.template.spec.containers[0].resources.limits.memory"]


def test_empty_pod_level_resources_are_no_problem() -> None:
    assert of_pod(resources={"limits": {}, "requests": None}).problems == ()


@pytest.mark.parametrize(
    ("spec", "critical"),
    [
        ({}, False),
        ({"priority": 1_000_000}, False),
        ({"priority": 2_000_000_000}, True),
        ({"priority": True, "priorityClassName": "batch"}, False),
        ({"priorityClassName": "system-node-critical"}, True),
        ({"priorityClassName": "system-cluster-critical"}, True),
    ],
)
def test_critical_pods_get_no_swap(spec: Any, critical: bool) -> None:
    assert gets_no_swap(spec) is critical
