"""`WorkerPools` as it goes over the wire: its objects, what pods know, and in which order they come and go."""

from __future__ import annotations

import copy
import json
from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError
from pulumi_kubernetes.core.v1 import ConfigMap

from components import WorkerPools
from floodplain.quantity import GIB, MIB, to_bytes
from floodplain.raster.gdal_cache import lint
from floodplain.raster.pools_file import read_pools_file, two_pools
from floodplain.raster.two_pools import TwoPools
from preview import document
from preview.wire import UNKNOWN

WORKERS: dict[str, Any] = {
    "name": "tiles",
    "image": f"registry.example/tiles:1.2@sha256:{'a' * 64}",
    "command": ["prefect", "worker", "start", "--pool", "tiles-$(FLOODPLAIN_RASTER_POOL)"],
    "env": {"PREFECT_API_URL": "http://prefect.prefect.svc:4200/api"},
    "env_from_secrets": ["tiles-storage"],
    "small": {"memory": "8Gi", "autoscaling": {"max_replicas": 20}, "tolerations": [{"key": "spot"}]},
    "big": {"memory": "64Gi", "swap_pool": "swap"},
    "readiness": {"command": ["prefect", "version"]},
}


def args(**changes: Any) -> Any:
    return {"workers": {**copy.deepcopy(WORKERS), **changes}}


def pod_of(made: Any, pool: str) -> Any:
    kind = {"small": ":Deployment", "big": ":StatefulSet"}[pool]
    return made.one(kind).inputs["spec"]["template"]["spec"]


def environment(made: Any, pool: str) -> dict[str, str]:
    (container,) = pod_of(made, pool)["containers"]
    return {one["name"]: one["value"] for one in container["env"]}


def memory(made: Any, pool: str) -> tuple[int, int]:
    (container,) = pod_of(made, pool)["containers"]
    request, limit = (container["resources"][key]["memory"] for key in ("requests", "limits"))
    return to_bytes(request), to_bytes(limit)


def read_by_the_command(text: str) -> TwoPools:
    """As `floodplain raster route --pools-file` reads it."""
    return two_pools(read_pools_file(text.encode()).given)


def directly_after(made: Any, name: str) -> set[str]:
    (found,) = [one for one in made.resources if one.name == name]
    return {urn.rsplit("::")[-1] for urn in found.depends_on}


def test_the_objects_of_two_pools(render: Any, golden: Any) -> None:
    made = render(lambda: WorkerPools("w", args()))
    shown = {f"{one.name} ({one.type.rsplit(':', 1)[-1]})": dict(one.inputs) for one in made.resources if one.custom}
    golden.check("components/golden/worker-pools.yaml", document.as_yaml(dict(sorted(shown.items()))))


def test_the_outputs_are_names_and_figures(render: Any) -> None:
    made = render(lambda: WorkerPools("w", args()))
    outputs = dict(made.one(":WorkerPools").outputs)
    raster = read_by_the_command(outputs.pop("raster"))
    assert outputs == {
        "namespace": "tiles",
        "smallName": "tiles-small",
        "bigName": "tiles-big",
        "serviceAccountName": "tiles",
        "configMapName": "tiles-raster",
        "slots": 8,
        "smallMemoryBytes": 8 * GIB,
        "bigMemoryBytes": 64 * GIB,
        "slotBudgetBytes": (8 * 1024 - 120 - 512) * MIB // 8,
        "thresholdBytes": (8 * 1024 - 120 - 512) * MIB // 16,
        "bigBudgetBytes": (64 * 1024 - 120 - 512) * MIB,
        "gdalCachemax": "512MB",
    }
    assert raster.threshold_bytes == outputs["thresholdBytes"]
    assert raster.big_budget_bytes == outputs["bigBudgetBytes"]


def test_everything_is_known_before_the_first_update_and_the_same_after_it(render: Any) -> None:
    plan, apply = (render(lambda: WorkerPools("w", args()), apply=apply) for apply in (False, True))
    assert [(one.urn, one.inputs) for one in plan.resources] == [(one.urn, one.inputs) for one in apply.resources]
    assert UNKNOWN not in json.dumps([dict(one.inputs) for one in plan.resources])


def test_the_config_map_the_output_and_the_environment_say_the_same(render: Any) -> None:
    made = render(lambda: WorkerPools("w", args(small={"memory": "8Gi", "threshold": "300Mi"})))
    outputs = made.one(":WorkerPools").outputs
    assert made.one(":ConfigMap").inputs["data"] == {"raster.json": outputs["raster"]}
    assert read_by_the_command(outputs["raster"]).threshold_bytes == 300 * MIB
    big = {"FLOODPLAIN_RASTER_BIG_BUDGET_BYTES": str(outputs["bigBudgetBytes"])}
    small = {
        **big,
        "FLOODPLAIN_RASTER_SLOT_BUDGET_BYTES": str(outputs["slotBudgetBytes"]),
        "FLOODPLAIN_RASTER_THRESHOLD_BYTES": str(300 * MIB),
    }
    for pool, slots, figures in (("small", "8", small), ("big", "1", big)):
        own = {"FLOODPLAIN_RASTER_POOL": pool, "FLOODPLAIN_RASTER_SLOTS": slots, "FLOODPLAIN_RASTER_PROCESSES": "1"}
        pools = read_by_the_command(outputs["raster"])
        budget = {"small": pools.slot_budget_bytes, "big": pools.big_budget_bytes}[pool]
        own["FLOODPLAIN_RASTER_SLOT_LIMIT_BYTES"] = str(pools.baseline_bytes + pools.cache_bytes + budget)
        found = environment(made, pool)
        assert {key: found[key] for key in found if key.startswith("FLOODPLAIN_")} == {**figures, **own}


@pytest.mark.parametrize("processes", [1, 8])
@pytest.mark.parametrize("small", ["2Gi", "3Gi", "8Gi", "512Gi"])
def test_gdals_cache_names_its_unit_and_fits_every_worker(render: Any, small: str, processes: int) -> None:
    made = render(lambda: WorkerPools("w", args(small={"memory": small, "processes": processes})))
    for pool in ("small", "big"):
        found = environment(made, pool)
        count = int(found["FLOODPLAIN_RASTER_PROCESSES"])
        limit = memory(made, pool)[1]
        assert lint(found["GDAL_CACHEMAX"], limit, limit_bytes=limit, processes=count) == []
    assert environment(made, "small")["GDAL_CACHEMAX"] == environment(made, "big")["GDAL_CACHEMAX"]


def test_memory_is_guaranteed_but_on_a_swap_pool_where_request_and_limit_must_differ(render: Any) -> None:
    made = render(lambda: WorkerPools("w", args()))
    assert memory(made, "small") == (8 * GIB, 8 * GIB)
    assert memory(made, "big") == (64 * GIB - MIB, 64 * GIB)
    assert pod_of(made, "big")["runtimeClassName"] == "floodplain-swap"
    assert pod_of(made, "big")["priorityClassName"] == "floodplain-swap"
    alone = render(lambda: WorkerPools("w", args(big={"memory": "64Gi"})))
    assert memory(alone, "big") == (64 * GIB, 64 * GIB)
    assert {"runtimeClassName", "priorityClassName"}.isdisjoint(pod_of(alone, "big"))


def test_the_big_pool_is_one_stateful_pod_without_a_scaler(render: Any) -> None:
    made = render(lambda: WorkerPools("w", args()))
    spec = made.one(":StatefulSet").inputs["spec"]
    assert (spec["replicas"], spec["updateStrategy"]) == (1, {"type": "RollingUpdate"})
    (scaler,) = made.of(":HorizontalPodAutoscaler")
    assert scaler.inputs["spec"]["scaleTargetRef"]["name"] == "tiles-small"
    assert made.one(":StatefulSet").options["deleteBeforeReplace"]


def test_a_drain_may_not_take_the_big_worker_or_may_after_its_task(render: Any) -> None:
    made = render(lambda: WorkerPools("w", args()))
    assert made.one(":PodDisruptionBudget").inputs["spec"]["maxUnavailable"] == 0
    annotations = made.one(":StatefulSet").inputs["spec"]["template"]["metadata"]["annotations"]
    assert annotations["karpenter.sh/do-not-disrupt"] == "true"
    finish = render(lambda: WorkerPools("w", args(big={"memory": "64Gi", "drains": "finish", "longest_task": "3h"})))
    assert finish.of(":PodDisruptionBudget") == ()
    assert "annotations" not in finish.one(":StatefulSet").inputs["spec"]["template"]["metadata"]
    assert pod_of(finish, "big")["terminationGracePeriodSeconds"] == 3 * 3600 + 60


def test_a_busy_big_worker_that_fails_its_probe_is_not_taken_by_a_drain(render: Any) -> None:
    policies = {
        bool(probe): render(lambda probe=probe: WorkerPools("w", args(readiness=probe)))
        .one(":PodDisruptionBudget")
        .inputs["spec"]["unhealthyPodEvictionPolicy"]
        for probe in ({"port": 80}, None)
    }
    assert policies == {True: "IfHealthyBudget", False: "AlwaysAllow"}


def test_a_worker_that_hangs_is_restarted_long_before_its_longest_task_would_be_over(render: Any) -> None:
    probe = {"command": ["alive"], "failures": 3}
    made = render(lambda: WorkerPools("w", args(liveness=probe, readiness=probe)))
    asked = {
        "exec": {"command": ["alive"]},
        "periodSeconds": 30,
        "timeoutSeconds": 10,
        "failureThreshold": 3,
    }
    for pool in ("small", "big"):
        (container,) = pod_of(made, pool)["containers"]
        assert container["livenessProbe"] == {**asked, "terminationGracePeriodSeconds": 60}
        # The API server refuses a grace of its own there.
        assert container["readinessProbe"] == asked


@pytest.mark.parametrize(
    ("small", "big", "moved"),
    [
        pytest.param({"slots": 6}, {}, {"small"}, id="slots"),
        pytest.param({"threshold": "99Mi"}, {}, {"small"}, id="threshold"),
        pytest.param({"memory": "9Gi"}, {}, {"small"}, id="memory of small workers"),
        pytest.param({"longest_task": "20m"}, {}, {"small"}, id="longest task of small workers"),
        pytest.param({}, {"longest_task": "3h"}, {"big"}, id="longest task of the big one"),
        # Whoever routes in a small worker refuses what is above the big one's budget.
        pytest.param({}, {"memory": "72Gi"}, {"small", "big"}, id="memory of the big one"),
    ],
)
def test_what_is_tuned_in_the_small_pool_does_not_restart_the_big_worker(
    render: Any, small: dict[str, Any], big: dict[str, Any], moved: set[str]
) -> None:
    def pods(**changes: dict[str, Any]) -> dict[str, Any]:
        pools = {pool: {**WORKERS[pool], **changes.get(pool, {})} for pool in ("small", "big")}
        made = render(lambda: WorkerPools("w", args(**pools, gdal={"cache": "256Mi"})))
        return {pool: pod_of(made, pool) for pool in pools}

    before, after = pods(), pods(small=small, big=big)
    assert {pool for pool in before if before[pool] != after[pool]} == moved


def test_the_number_of_small_workers_has_one_owner(render: Any) -> None:
    scaled = render(lambda: WorkerPools("w", args()))
    assert "replicas" not in scaled.one(":Deployment").inputs["spec"]
    fixed = render(lambda: WorkerPools("w", args(small={"memory": "8Gi", "replicas": 3})))
    assert fixed.one(":Deployment").inputs["spec"]["replicas"] == 3
    assert fixed.of(":HorizontalPodAutoscaler") == ()


@pytest.mark.parametrize(
    ("scaling", "metrics"),
    [
        (
            {},
            [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
                }
            ],
        ),
        (
            {"metric": {"name": "queue", "average": "8", "external": True, "selector": {"queue": "tiles"}}},
            [
                {
                    "type": "External",
                    "external": {
                        "metric": {"name": "queue", "selector": {"matchLabels": {"queue": "tiles"}}},
                        "target": {"type": "AverageValue", "averageValue": "8"},
                    },
                }
            ],
        ),
        (
            {"cpu_percent": 50, "metric": {"name": "busy_slots", "average": "6"}},
            [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
                },
                {
                    "type": "Pods",
                    "pods": {
                        "metric": {"name": "busy_slots"},
                        "target": {"type": "AverageValue", "averageValue": "6"},
                    },
                },
            ],
        ),
    ],
)
def test_the_scaler_goes_by_cpu_or_by_a_metric(render: Any, scaling: Any, metrics: Any) -> None:
    small = {"memory": "8Gi", "autoscaling": {"max_replicas": 20, **scaling}}
    made = render(lambda: WorkerPools("w", args(small=small)))
    assert made.one(":HorizontalPodAutoscaler").inputs["spec"]["metrics"] == metrics


@pytest.mark.parametrize(("longest", "window", "grace"), [("30s", 300, 90), ("20m", 1200, 1260), ("5h", 3600, 18060)])
def test_a_worker_that_is_taken_away_may_finish(render: Any, longest: str, window: int, grace: int) -> None:
    small = {"memory": "8Gi", "longest_task": longest, "autoscaling": {"max_replicas": 20}}
    made = render(lambda: WorkerPools("w", args(small=small)))
    assert pod_of(made, "small")["terminationGracePeriodSeconds"] == grace
    down = made.one(":HorizontalPodAutoscaler").inputs["spec"]["behavior"]["scaleDown"]
    assert down["stabilizationWindowSeconds"] == window
    assert down["policies"] == [{"type": "Pods", "value": 1, "periodSeconds": 60}]
    timeouts = made.one(":Deployment").options["customTimeouts"]
    assert timeouts["delete"] == timeouts["update"]


def test_a_pool_may_have_its_own_command_and_variables(render: Any) -> None:
    big = {"memory": "64Gi", "command": ["run-big"], "env": {"PREFECT_API_URL": "http://other", "MORE": "x"}}
    made = render(lambda: WorkerPools("w", args(big=big)))
    commands = {pool: pod_of(made, pool)["containers"][0]["command"] for pool in ("small", "big")}
    assert commands == {"small": WORKERS["command"], "big": ["run-big"]}
    urls = {pool: environment(made, pool)["PREFECT_API_URL"] for pool in ("small", "big")}
    assert urls == {"small": "http://prefect.prefect.svc:4200/api", "big": "http://other"}
    assert "MORE" not in environment(made, "small")


def test_pods_keep_the_rules_of_restricted_pod_security(render: Any) -> None:
    made = render(lambda: WorkerPools("w", args()))
    labels = made.one(":Namespace").inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    for pool in ("small", "big"):
        pod = pod_of(made, pool)
        (container,) = pod["containers"]
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "fsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["automountServiceAccountToken"] is False


def test_a_namespace_and_an_account_that_are_there_are_used(render: Any) -> None:
    made = render(
        lambda: WorkerPools(
            "w", args(namespace="maps", make_namespace=False, account={"name": "reader", "token": True})
        )
    )
    assert made.of(":Namespace") == made.of(":ServiceAccount") == ()
    assert {one.inputs["metadata"]["namespace"] for one in made.resources if one.custom} == {"maps"}
    assert pod_of(made, "big")["serviceAccountName"] == "reader"
    assert pod_of(made, "big")["automountServiceAccountToken"] is True


def test_pods_wait_for_what_they_use_and_for_what_the_component_depends_on(render: Any) -> None:
    def program() -> None:
        first = ConfigMap("first")
        WorkerPools("w", args(), pulumi.ResourceOptions(depends_on=[first]))

    made = render(program)
    around = {"w-namespace", "w-account", "w-figures", "first"}
    assert directly_after(made, "w-small") == around
    assert directly_after(made, "w-big") == {*around, "w-big-budget"}
    assert directly_after(made, "w-autoscaler") == {"w-small"}
    assert directly_after(made, "w-figures") == {"w-namespace"}


def test_a_dependency_may_stand_alone(render: Any) -> None:
    def program() -> None:
        WorkerPools("w", args(), pulumi.ResourceOptions(depends_on=ConfigMap("first")))

    assert "first" in directly_after(render(program), "w-big")


def test_several_faults_are_told_by_their_paths(render: Any) -> None:
    wrong: Any = args(image="tiles", gdal={"cache": 512}, big={"memory": "64Gi", "replicas": 2})
    wrong["protected"] = True
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: WorkerPools("w", wrong))
    assert [error["property_path"] for error in caught.value.errors or []] == [
        "workers.image",
        "workers.big.replicas",
        "workers.gdal.cache",
    ]


def test_a_computed_value_is_refused_where_a_preview_must_see_a_plain_one(render: Any) -> None:
    with pytest.raises(InputPropertiesError, match=r"workers\.small\.memory: is computed by another resource"):
        render(lambda: WorkerPools("w", args(small={"memory": pulumi.Output.from_input("8Gi")})))
