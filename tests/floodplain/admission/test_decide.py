"""What happens to pods and Jobs: whole objects before and after."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from floodplain.admission.decision import Decision, Mode, Outcome
from floodplain.admission.subject import Kind
from floodplain.quantity import GIB, MIB, from_bytes, to_bytes
from floodplain.sizing.plan import Plan
from floodplain.sizing.settings import Compatibility, Placement, SizingSettings
from floodplain.swap import request_bytes
from tests.floodplain.admission.api_server import POOLS, enforce, patched
from tests.floodplain.admission.objects import ODM, RASTER, container, job, pod
from tests.floodplain.sizing.example_pools import pool

PLAN = "floodplain.dev/plan"


def plan_of(decision: Decision) -> Plan:
    assert decision.plan is not None
    return decision.plan


def record_of(thing: Any) -> Any:
    return json.loads(thing["metadata"]["annotations"][PLAN])


def test_a_bare_pod_gets_everything_that_its_plan_says() -> None:
    before = pod()
    decision = enforce(before)
    plan = plan_of(decision)
    after = patched(before, decision)
    record = after["metadata"]["annotations"].pop(PLAN)
    memory, disk = from_bytes(plan.limit_bytes), from_bytes(plan.ephemeral_bytes)
    amounts = {
        "requests": {"memory": from_bytes(plan.limit_bytes - MIB), "cpu": plan.cpu, "ephemeral-storage": disk},
        "limits": {"memory": memory, "ephemeral-storage": disk},
    }
    assert after == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "map", "annotations": {**ODM, "karpenter.sh/do-not-disrupt": "true"}},
        "spec": {
            "containers": [{"name": "process", "image": "registry.example.com/tool:1", "resources": amounts}],
            "runtimeClassName": "floodplain-swap",
            "nodeSelector": {"karpenter.sh/capacity-type": "spot"},
        },
    }
    assert decision.outcome is Outcome.SIZED
    told = json.loads(record)
    assert told.pop("plan").items() <= {**json.loads(plan.model_dump_json())}.items()
    assert told == {
        "schema_version": 1,
        "mode": "enforce",
        "container": "process",
        "wrote": {"process": amounts},
        "placed": {
            "nodeSelector": {"karpenter.sh/capacity-type": "spot"},
            "runtimeClassName": "floodplain-swap",
        },
    }
    assert record == json.dumps(json.loads(record), sort_keys=True, separators=(",", ":"))


def test_a_job_gets_it_in_its_template_and_the_explanation_on_both() -> None:
    before = job(job_spec={"backoffLimit": 2, "suspend": True})
    after = patched(before, enforce(before, Kind.JOB))
    alone = patched(pod(), enforce(pod()))
    text = alone["metadata"]["annotations"][PLAN]
    wanted = copy.deepcopy(before)
    wanted["metadata"]["annotations"] = {PLAN: text}
    wanted["spec"]["template"]["metadata"]["annotations"] = alone["metadata"]["annotations"]
    wanted["spec"]["template"]["spec"] = {"restartPolicy": "Never", **alone["spec"]}
    assert after == wanted


def test_observe_writes_the_explanation_and_nothing_else() -> None:
    for thing, kind in ((pod(), Kind.POD), (job(annotations=ODM, template_annotations={}), Kind.JOB)):
        decision = enforce(thing, kind, mode=Mode.OBSERVE)
        after = patched(thing, decision)
        record = record_of(after)
        assert (record["mode"], record["plan"]["feasible"], "wrote" in record) == ("observe", True, False)
        del after["metadata"]["annotations"][PLAN]
        if kind is Kind.JOB:
            assert json.loads(after["spec"]["template"]["metadata"]["annotations"].pop(PLAN)) == record
        assert after == thing
        assert decision.outcome is Outcome.EXPLAINED


def test_what_nobody_asked_for_is_left_alone() -> None:
    for mode in Mode:
        assert enforce(pod(annotations={}), mode=mode) == Decision(True, Outcome.IGNORED)
        assert enforce(job(template_annotations={}), Kind.JOB, mode=mode) == Decision(True, Outcome.IGNORED)
        assert enforce({}, mode=mode) == Decision(True, Outcome.IGNORED)


def test_bad_input_is_refused_in_enforce_and_explained_in_observe() -> None:
    bad = pod(annotations={**ODM, "floodplain.dev/images": "-3", "floodplain.dev/options": "dsn"})
    problems = (
        "metadata.annotations[floodplain.dev/images]: '-3' is not a count of images;"
        " write a whole number from 1 to 1000000",
        "metadata.annotations[floodplain.dev/options]: 'dsn' is no option of ODM; did you mean `dsm`?",
    )
    refused = enforce(bad)
    assert (refused.allowed, refused.outcome, refused.code, refused.patch) == (False, Outcome.REFUSED_INPUT, 400, ())
    assert refused.message == f"floodplain cannot size this Pod: {problems[0]} / {problems[1]}"
    explained = enforce(bad, mode=Mode.OBSERVE)
    assert explained.outcome is Outcome.EXPLAINED
    assert explained.warnings == tuple(f"floodplain cannot size this: {problem}" for problem in problems)
    assert record_of(patched(bad, explained)) == {"schema_version": 1, "mode": "observe", "problems": list(problems)}


def test_a_job_that_fits_no_pool_is_refused_with_what_helps() -> None:
    large = job(template_annotations={**ODM, "floodplain.dev/images": "90000"})
    refused = enforce(large, Kind.JOB)
    plan = plan_of(refused)
    assert (refused.allowed, refused.outcome, refused.code) == (False, Outcome.REFUSED_INFEASIBLE, 422)
    assert refused.message.startswith("floodplain has no place for this Job (90000 images, a peak of ")
    assert refused.message.endswith(f" GiB): {' / '.join(plan.reasons)}. What helps: {plan.advice[0]}")
    observed = enforce(large, Kind.JOB, mode=Mode.OBSERVE)
    assert observed.allowed
    assert observed.warnings == (f"floodplain would refuse this Job: {plan.reasons[0]}",)
    assert record_of(patched(large, observed))["plan"]["feasible"] is False


def test_without_pools_nothing_is_sized_and_the_message_says_so() -> None:
    refused = enforce(pod(), pools=())
    assert (refused.allowed, refused.outcome, refused.code) == (False, Outcome.ERROR, 503)
    assert "the pools: are not known" in refused.message
    assert "ConfigMap floodplain-pools, key pools.json" in refused.message
    observed = enforce(pod(), pools=(), mode=Mode.OBSERVE)
    assert "the pools: are not known" in record_of(patched(pod(), observed))["problems"][0]


def test_a_users_memory_limit_stands_and_only_its_request_moves() -> None:
    before = pod(container("process", limits={"memory": "120Gi", "cpu": "9"}, requests={"memory": "120Gi"}))
    decision = enforce(before)
    after = patched(before, decision)["spec"]["containers"][0]["resources"]
    assert after["limits"]["memory"] == "120Gi"
    assert to_bytes(after["requests"]["memory"]) == 120 * GIB - MIB
    record = record_of(patched(before, decision))
    assert record["replaced"] == {"process": {"requests": {"memory": "120Gi"}}}
    assert "memory" not in record["wrote"]["process"]["limits"]
    assert "the memory limit of 120.0 GiB is the user's and stands" in plan_of(decision).notes


def test_a_users_limit_that_is_too_small_is_refused() -> None:
    refused = enforce(pod(container("process", limits={"memory": "1Gi"})))
    assert refused.outcome is Outcome.REFUSED_INFEASIBLE
    assert "What helps: raise the memory limit to " in refused.message


@pytest.mark.parametrize(
    ("resources", "wanted"),
    [
        ({"limits": {"memory": "400Gi"}}, "lower the memory limit to {limit}, or leave it out"),
        ({"requests": {"memory": "400Gi"}}, "lower the memory request to {request}, or leave it out"),
    ],
)
def test_a_wish_that_no_node_can_grant_is_refused_with_what_is_enough(resources: Any, wanted: str) -> None:
    plan = plan_of(enforce(pod()))
    refused = enforce(pod(container("process", **resources)), pools=POOLS[:1])
    told = wanted.format(limit=from_bytes(plan.limit_bytes), request=from_bytes(plan.request_bytes))
    assert refused.message.endswith(f". What helps: {told}")


def test_a_users_request_is_the_least_and_never_lowered() -> None:
    wish = pod(container("process", requests={"memory": "100Gi"}))
    after = patched(wish, enforce(wish))["spec"]["containers"][0]["resources"]
    assert (after["requests"]["memory"], to_bytes(after["limits"]["memory"])) == ("100Gi", 100 * GIB + MIB)
    modest = pod(container("process", requests={"memory": "1Gi"}))
    decision = enforce(modest)
    assert plan_of(decision).limit_bytes == plan_of(enforce(pod())).limit_bytes
    record = record_of(patched(modest, decision))
    assert "the memory request of 1024 MiB is taken as the least that is wanted" in record["plan"]["notes"]


def test_what_the_user_set_of_cpu_and_disk_stands() -> None:
    own = {"requests": {"cpu": "3", "ephemeral-storage": "12Gi"}, "limits": {"ephemeral-storage": "14Gi"}}
    after = patched(pod(container("process", **own)), enforce(pod(container("process", **own))))
    resources = after["spec"]["containers"][0]["resources"]
    assert resources["requests"]["cpu"] == "3"
    assert resources["requests"]["ephemeral-storage"] == "12Gi"
    assert resources["limits"]["ephemeral-storage"] == "14Gi"


def test_a_disk_request_alone_gets_the_limit_that_it_lacks() -> None:
    before = pod(container("process", requests={"ephemeral-storage": "12Gi"}))
    resources = patched(before, enforce(before))["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["ephemeral-storage"], resources["limits"]["ephemeral-storage"]) == ("12Gi", "12Gi")


def test_sidecars_count() -> None:
    wait = container("wait", requests={"cpu": "1", "memory": "20Gi"}, limits={"memory": "20Gi"})
    alone, beside = enforce(pod(container("main"))), enforce(pod(container("main"), wait))
    assert plan_of(beside).limit_bytes == plan_of(alone).limit_bytes
    assert plan_of(alone).instance_types == ("a.middle", "a.large")
    assert plan_of(beside).instance_types == ("a.large",)


def test_a_sidecar_that_nothing_contains_is_refused() -> None:
    refused = enforce(pod(container("main"), container("wait")))
    assert "nothing contains the memory of wait" in refused.message
    assert refused.message.endswith(
        ". What helps: give the other containers memory limits equal to their memory requests"
    )


def test_an_init_container_whose_limit_passes_what_the_pod_reserves_is_refused() -> None:
    fetch = container("fetch", requests={"memory": "1Gi"}, limits={"memory": "100Gi"})
    refused = enforce(pod(initContainers=[fetch]))
    assert refused.outcome is Outcome.REFUSED_INFEASIBLE
    assert "the limits of the pod's containers are 100.0 GiB" in refused.message
    assert refused.message.endswith(
        ". What helps: give the other containers memory limits equal to their memory requests"
    )


def test_a_critical_pod_is_refused_where_swap_is_needed() -> None:
    refused = enforce(pod(priorityClassName="system-node-critical"))
    assert refused.message == (
        "floodplain cannot size this Pod: spec.priorityClassName: makes the pod critical, and kubelet grants those no"
        " swap; use another priority class, or none"
    )
    assert enforce(pod(priorityClassName="system-node-critical"), pools=POOLS[1:]).outcome is Outcome.SIZED


def test_the_selector_is_written_where_pools_have_no_runtime_class() -> None:
    settings = SizingSettings(placement=Placement.SELECTOR)
    before = pod(nodeSelector={"disk": "fast"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
    after = patched(before, enforce(before, settings=settings))
    assert "runtimeClassName" not in after["spec"]
    assert after["spec"]["nodeSelector"] == {
        "disk": "fast",
        "floodplain.dev/pool": "swap",
        "karpenter.sh/capacity-type": "spot",
    }
    assert after["spec"]["tolerations"] == [
        {"key": "gpu", "operator": "Exists"},
        {"key": "floodplain.dev/pool", "operator": "Equal", "value": "swap", "effect": "NoSchedule"},
    ]
    assert record_of(after)["plan"]["notes"][-1] == (
        "without a RuntimeClass nothing pays for the 1 MiB that the limit lies above the request"
    )


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "floodplain.dev/pool", "operator": "Exists"},
        {"key": "floodplain.dev/pool", "value": "swap"},
        {"key": "floodplain.dev/pool", "operator": "Equal", "value": "swap", "effect": "NoSchedule"},
    ],
)
def test_a_toleration_that_is_there_is_enough(toleration: Any) -> None:
    before = pod(tolerations=[toleration])
    after = patched(before, enforce(before, settings=SizingSettings(placement=Placement.SELECTOR)))
    assert after["spec"]["tolerations"] == [toleration]


def test_capacity_is_not_selected_where_nodes_are_not_karpenters() -> None:
    after = patched(pod(), enforce(pod(), settings=SizingSettings(capacity_selector=False)))
    assert "nodeSelector" not in after["spec"]


def test_large_jobs_and_those_that_ask_for_it_run_on_demand() -> None:
    asked = pod(annotations={**ODM, "floodplain.dev/capacity-type": "on-demand"})
    large = pod(annotations={**ODM, "floodplain.dev/images": "6000"})
    roomy = pool("swap", *POOLS[0].types[-1:], hot_share=0.1, swap_ratio=8.0)
    for before in (asked, large):
        after = patched(before, enforce(before, pools=(roomy,)))
        assert after["spec"]["nodeSelector"] == {"karpenter.sh/capacity-type": "on-demand"}


def test_a_capacity_type_that_the_pod_selects_is_the_users() -> None:
    before = pod(nodeSelector={"karpenter.sh/capacity-type": "on-demand"})
    decision = enforce(before)
    assert plan_of(decision).capacity_type == "on-demand"
    assert patched(before, decision)["spec"]["nodeSelector"] == {"karpenter.sh/capacity-type": "on-demand"}


def test_a_selector_that_contradicts_the_annotation_is_refused() -> None:
    noted = {**ODM, "floodplain.dev/capacity-type": "spot"}
    before = pod(annotations=noted, nodeSelector={"karpenter.sh/capacity-type": "on-demand"})
    assert enforce(before).message == (
        "floodplain cannot size this Pod: spec.nodeSelector[karpenter.sh/capacity-type]: 'on-demand' contradicts the"
        " annotation floodplain.dev/capacity-type, which asks for spot; write the same in both, or leave one out"
    )


def test_karpenter_may_move_a_job_whose_user_says_so() -> None:
    before = pod(annotations={**ODM, "karpenter.sh/do-not-disrupt": "false"})
    after = patched(before, enforce(before))
    assert after["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] == "false"
    assert (
        "karpenter.sh/do-not-disrupt is the user's and stands: Karpenter may move the job"
        in (record_of(after)["plan"]["notes"])
    )


def test_max_concurrency_follows_a_cpu_limit_and_the_request_stays_within_it() -> None:
    odm = {**container("process", limits={"cpu": "2500m"}), "image": "docker.io/opendronemap/odm:3.5", "args": ["map"]}
    before = job(odm)
    after = patched(before, enforce(before, Kind.JOB))["spec"]["template"]["spec"]["containers"][0]
    assert after["args"] == ["map", "--max-concurrency", "2"]
    limited = pod({**odm, "resources": {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}})
    assert patched(limited, enforce(limited))["spec"]["containers"][0]["args"][-1] == "1"


def test_a_plan_request_stays_within_a_cpu_limit_that_a_limit_range_set() -> None:
    before = pod(container("process", requests={"cpu": "100m"}, limits={"cpu": "500m"}))
    text = "LimitRanger plugin set: cpu request for container process; cpu limit for container process"
    before["metadata"]["annotations"]["kubernetes.io/limit-ranger"] = text
    resources = patched(before, enforce(before))["spec"]["containers"][0]["resources"]
    assert (resources["requests"]["cpu"], resources["limits"]["cpu"]) == ("500m", "500m")


def test_the_deadline_of_a_job_is_held_against_its_pools() -> None:
    week = {"activeDeadlineSeconds": 7 * 86_400}
    assert enforce(job(job_spec=week), Kind.JOB).outcome is Outcome.REFUSED_INFEASIBLE
    within = {**ODM, "floodplain.dev/deadline": "12h"}
    assert enforce(job(job_spec=week, template_annotations=within), Kind.JOB).outcome is Outcome.SIZED


def test_scaleodms_sizing_warns_where_it_breaks_containment() -> None:
    decision = enforce(pod(), settings=SizingSettings(compatibility=Compatibility.SCALEODM))
    assert decision.outcome is Outcome.SIZED
    assert len(decision.warnings) == 1
    assert decision.warnings[0].startswith("as scaleodm does it: the limits of the pod's containers are ")
    assert plan_of(decision).request_bytes < request_bytes(plan_of(decision).limit_bytes)


@pytest.mark.parametrize(
    ("thing", "path"),
    [
        ({"metadata": {"annotations": ODM}}, "spec"),
        ({"metadata": {"annotations": ODM}, "spec": []}, "spec"),
        ({"metadata": {"annotations": ODM}, "spec": {}}, "spec.containers"),
        ({"metadata": {"annotations": ODM}, "spec": {"containers": []}}, "spec.containers"),
        ({"metadata": {"annotations": ODM}, "spec": {"containers": [None]}}, "spec.containers[0]"),
        ({"metadata": {"annotations": ODM}, "spec": {"containers": [{"name": 7}]}}, "spec.containers[0]"),
        (
            {"metadata": {"annotations": ODM}, "spec": {"containers": [{"name": "n" * 64}]}},
            "spec.containers[0].name",
        ),
        (
            {"metadata": {"annotations": ODM}, "spec": {"containers": [{"name": "a"}], "initContainers": {}}},
            "spec.initContainers",
        ),
    ],
)
def test_what_is_no_pod_is_told(thing: Any, path: str) -> None:
    refused = enforce(thing)
    assert [problem.path for problem in refused.problems] == [path]
    assert refused.outcome is Outcome.REFUSED_INPUT
    observed = enforce(thing, mode=Mode.OBSERVE)
    assert (observed.allowed, observed.patch, len(observed.warnings)) == (True, (), 1)
    assert observed.outcome is Outcome.UNREADABLE


def test_a_job_whose_own_annotations_are_no_map_is_told() -> None:
    bad = {**job(), "metadata": {"annotations": ["x"]}}
    assert [problem.path for problem in enforce(bad, Kind.JOB).problems] == ["metadata.annotations"]


def test_names_cannot_break_out_of_the_patch_or_the_plan() -> None:
    name = 'a/b~c"}]'
    before = pod(container(name, limits={"x/y~z": "1"}), nodeSelector={"a~1b/c": "d"})
    after = patched(before, enforce(before))
    assert after["spec"]["containers"][0]["name"] == name
    assert after["spec"]["containers"][0]["resources"]["limits"]["x/y~z"] == "1"
    assert after["spec"]["nodeSelector"]["a~1b/c"] == "d"
    assert list(record_of(after)["wrote"]) == [name]


def test_the_explanation_is_bounded_whatever_is_in_it() -> None:
    texts = ",".join(f"{option}={'x' * 200}" for option in ("name", "cameras", "gcp", "geo", "boundary", "copy-to"))
    before = pod(annotations={**ODM, "floodplain.dev/options": f"{texts},dsm"})
    text = patched(before, enforce(before))["metadata"]["annotations"][PLAN]
    assert len(text.encode()) < 4096
    assert json.loads(text)["plan"]["limit_bytes"] == plan_of(enforce(before)).limit_bytes


def test_a_large_pool_is_named_in_part() -> None:
    kinds = [POOLS[0].types[2].model_copy(update={"name": f"r6id.{number}xlarge-of-a-kind"}) for number in range(400)]
    before = pod()
    text = patched(before, enforce(before, pools=(pool("swap", *kinds),)))["metadata"]["annotations"][PLAN]
    assert len(text) < 4096
    assert json.loads(text)["plan"]["instance_types"][-1] == "and 388 more"


def test_bad_input_of_any_length_is_told_in_bounds() -> None:
    bad = pod(annotations={**ODM, "floodplain.dev/options": ",".join(f"\u00fc{number}" for number in range(1500))})
    text = patched(bad, enforce(bad, mode=Mode.OBSERVE))["metadata"]["annotations"][PLAN]
    assert len(text) < 4096
    assert json.loads(text)["problems"][-1].startswith("and 14")
    assert len(enforce(bad).message) == 2000


def test_a_raster_task_is_sized_for_the_peak_it_carries() -> None:
    before = pod(annotations={**RASTER, "floodplain.dev/estimate": "warp chunk 1Gi, block cache 256Mi"})
    decision = enforce(before)
    plan = plan_of(decision)
    assert (plan.engine, plan.images, plan.peak_bytes) == ("raster", None, 1536 * MIB)
    assert plan.peak_source == "an estimate that came with the job: warp chunk 1Gi, block cache 256Mi"
    after = patched(before, decision)
    assert after["spec"]["containers"][0]["resources"]["limits"]["memory"] == from_bytes(plan.limit_bytes)
    assert "images" not in record_of(after)["plan"]


def test_a_raster_tasks_container_gets_no_option_of_odm() -> None:
    odm = {**container(limits={"cpu": "2"}), "image": "opendronemap/odm:3.5.6", "args": ["--dsm", "map"]}
    before = pod(odm, annotations=RASTER)
    decision = enforce(before)
    assert patched(before, decision)["spec"]["containers"][0]["args"] == ["--dsm", "map"]
    assert (decision.outcome, decision.warnings) == (Outcome.SIZED, ())


def test_a_raster_task_above_every_node_is_refused_with_its_peak_and_the_largest_that_fits() -> None:
    decision = enforce(pod(annotations={**RASTER, "floodplain.dev/peak": "9Ti"}))
    assert decision.outcome is Outcome.REFUSED_INFEASIBLE
    assert "floodplain has no place for this Pod (a peak of 9216.0 GiB)" in decision.message
    assert plan_of(decision).advice[-1].startswith("make the task smaller, such as by smaller windows: a peak of up to")
