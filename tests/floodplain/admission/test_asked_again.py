"""The same question again: after a patch, after another webhook, from a copy, from a sized Job's template."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from floodplain.admission.decision import Decision, Mode, Outcome
from floodplain.admission.subject import Kind
from floodplain.quantity import GIB, MIB, from_bytes, to_bytes
from floodplain.sizing.settings import Placement, SizingSettings
from tests.floodplain.admission.api_server import POOLS, created, enforce, limit_range, patched
from tests.floodplain.admission.objects import ODM, container, job, pod, sidecar

PLAN = "floodplain.dev/plan"


class Draws:
    """What pods are made of. `wild` ones are mostly refused, the others mostly sized."""

    def __init__(self, wild: bool) -> None:
        small = ["0", "64Mi", "1Gi", "1073741824", "2.5Gi", "1e9"]
        self.wild = wild
        self.requests = self._amounts([*small, "24Gi", "120Gi"])
        self.limits = self._amounts([*small, "24Gi", "120Gi"] if wild else ["0", "96Gi", "103079215104"])
        self.images = ["40", "500", "1200", "5000", "90000", "none"] if wild else ["40", "500", "700"]
        self.options = ["", "dsm", "fast-orthophoto,max-concurrency=3", *(["dsn"] if wild else [])]
        self.capacity_types = ["spot", "on-demand", *(["reserved"] if wild else [])]
        self.runtime_classes = [None, "floodplain-swap", *(["floodplain-plain", "gvisor"] if wild else [])]
        self.priority_classes = ["batch", *(["system-node-critical"] if wild else [])]
        self.deadlines = [3600, *([10_000_000] if wild else [])]
        self.pools = ["swap", *(["plain"] if wild else [])]

    def _amounts(self, memories: list[str]) -> Any:
        disks = ["0", "1Gi", "12Gi", *(["300G"] if self.wild else [])]
        optional = {
            "memory": st.sampled_from(memories),
            "cpu": st.sampled_from(["0", "100m", "0.5", "2", "3500m"]),
            "ephemeral-storage": st.sampled_from(disks),
            "x.io/y~z": st.just("1"),
        }
        return st.fixed_dictionaries({}, optional=optional)


TAME, WILD = Draws(wild=False), Draws(wild=True)
CLOSED = {"requests": {"memory": "1Gi", "cpu": "100m"}, "limits": {"memory": "1Gi"}}
TOLERATIONS = (
    {"key": "floodplain.dev/pool", "operator": "Exists"},
    {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
)


@st.composite
def containers(draw: Any, name: str, draws: Draws) -> dict[str, Any]:
    images = ["registry.example.com/tool:1", "opendronemap/odm:3.5", "ghcr.io/x/odm@sha256:0"]
    one: dict[str, Any] = {"name": name, "image": draw(st.sampled_from(images))}
    optional = {"requests": draws.requests | st.none(), "limits": draws.limits}
    resources = draw(st.none() | st.fixed_dictionaries({}, optional=optional))
    if resources is not None:
        one["resources"] = resources
    if draw(st.booleans()):
        one["args"] = draw(st.lists(st.sampled_from(["map", "--dsm", "--max-concurrency", "--"]), max_size=3))
    if draw(st.booleans()):
        one["command"] = draw(st.sampled_from([["/code/run.sh"], ["sh", "-c", "true"], ["python3", "/code/run.py"]]))
    return one


@st.composite
def specs(draw: Any, draws: Draws) -> dict[str, Any]:
    """The spec of a pod, of which `process` is to be sized."""
    spec: dict[str, Any] = {"containers": [draw(containers("process", draws))]}
    for name in draw(st.lists(st.sampled_from(["wait", "a/b"]), unique=True)):
        open_one = draws.wild and draw(st.booleans())
        spec["containers"].append(draw(containers(name, draws)) if open_one else container(name, **CLOSED))
    if draw(st.booleans()):
        spec["initContainers"] = [container("init", **CLOSED) if draw(st.booleans()) else sidecar("mesh", **CLOSED)]
    labels = {
        "disk": st.just("fast"),
        "karpenter.sh/capacity-type": st.sampled_from(draws.capacity_types),
        "floodplain.dev/pool": st.sampled_from(draws.pools),
    }
    tolerations = st.lists(st.sampled_from(TOLERATIONS), max_size=2, unique_by=str)
    optional = {
        "nodeSelector": st.none() | st.fixed_dictionaries({}, optional=labels),
        "tolerations": st.none() | tolerations,
        "runtimeClassName": st.sampled_from(draws.runtime_classes),
        "activeDeadlineSeconds": st.sampled_from(draws.deadlines),
        "priorityClassName": st.sampled_from(draws.priority_classes),
    }
    return {**spec, **draw(st.fixed_dictionaries({}, optional=optional))}


@st.composite
def annotated(draw: Any, draws: Draws) -> dict[str, str]:
    limit_ranger = [
        "LimitRanger plugin set: cpu, memory request for container process; memory limit for container process",
        "LimitRanger plugin set: ephemeral-storage, memory limit for container process",
        "",
    ]
    optional = {
        "floodplain.dev/options": st.sampled_from(draws.options),
        "floodplain.dev/capacity-type": st.sampled_from(draws.capacity_types),
        "karpenter.sh/do-not-disrupt": st.sampled_from(["true", "false"]),
        "kubernetes.io/limit-ranger": st.sampled_from(limit_ranger),
        "floodplain.dev/plan": st.sampled_from(["", "{}", "[", '{"container":"wait"}', '{"wrote":7}']),
    }
    fixed = {
        "floodplain.dev/engine": st.just("odm"),
        "floodplain.dev/images": st.sampled_from(draws.images),
        "floodplain.dev/container": st.just("process"),
    }
    return dict(draw(st.fixed_dictionaries(fixed, optional=optional)))


@st.composite
def pods(draw: Any) -> dict[str, Any]:
    draws = draw(st.sampled_from([TAME, TAME, WILD]))
    spec = draw(specs(draws))
    return pod(*spec.pop("containers"), annotations=draw(annotated(draws)), **spec)


@st.composite
def jobs(draw: Any) -> dict[str, Any]:
    inner = draw(pods())
    own = draw(st.sampled_from([{}, {"floodplain.dev/engine": "odm"}, {"x": "y"}]))
    spec = inner["spec"]
    noted = inner["metadata"]["annotations"]
    return job(*spec.pop("containers"), annotations=own, template_annotations=noted, **spec)


things = pods().map(lambda one: (one, Kind.POD)) | jobs().map(lambda one: (one, Kind.JOB))
settings_of = st.sampled_from(
    [
        SizingSettings(),
        SizingSettings(placement=Placement.SELECTOR),
        SizingSettings(capacity_selector=False),
    ]
)


@settings(max_examples=200)
@given(asked=things, mode=st.sampled_from(Mode), chosen=settings_of)
def test_a_second_time_changes_nothing(asked: tuple[Any, Kind], mode: Mode, chosen: SizingSettings) -> None:
    thing, kind = asked
    untouched = copy.deepcopy(thing)
    first = enforce(thing, kind, mode=mode, settings=chosen)
    assert thing == untouched
    event(f"{mode}: {first.outcome}")
    if not first.allowed:
        assert mode is Mode.ENFORCE
        assert first.message.startswith("floodplain ")
        assert (first.patch, first.outcome.value.startswith("refused_")) == ((), True)
        return
    after = patched(thing, first)
    again = enforce(after, kind, mode=mode, settings=chosen)
    assert again == Decision(True, Outcome.UNCHANGED, warnings=first.warnings, plan=first.plan, problems=first.problems)
    assert len(after["metadata"]["annotations"][PLAN].encode()) < 4096
    json.loads(after["metadata"]["annotations"][PLAN])


@given(asked=things)
def test_enforce_after_observe_is_as_enforce_alone(asked: tuple[Any, Kind]) -> None:
    thing, kind = asked
    observed = patched(thing, enforce(thing, kind, mode=Mode.OBSERVE))
    alone, after = enforce(thing, kind), enforce(observed, kind)
    assert (after.allowed, after.outcome, after.message, after.plan) == (
        alone.allowed,
        alone.outcome,
        alone.message,
        alone.plan,
    )
    if alone.allowed:
        assert patched(observed, after) == patched(thing, alone)


@given(asked=things)
def test_observe_after_enforce_changes_the_explanation_alone_and_forgets_nothing(asked: tuple[Any, Kind]) -> None:
    thing, kind = asked
    first = enforce(thing, kind)
    if not first.allowed:
        return
    sized = patched(thing, first)
    observed = patched(sized, enforce(sized, kind, mode=Mode.OBSERVE))
    assert patched(observed, enforce(observed, kind)) == sized


@given(thing=pods(), chosen=settings_of)
def test_a_pod_passes_through_a_whole_api_server_and_is_the_same_when_asked_again(
    thing: Any, chosen: SizingSettings
) -> None:
    thing["spec"] = {key: value for key, value in thing["spec"].items() if value is not None}
    for one in thing["spec"].get("containers", ()):
        one["resources"] = {key: value for key, value in one.get("resources", {}).items() if value is not None}
    thing["metadata"]["annotations"].pop("kubernetes.io/limit-ranger", None)
    defaults = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "4", "memory": "512Mi"}}
    assume(thing["spec"].get("runtimeClassName") != "gvisor")
    assume(thing["spec"].get("nodeSelector", {}).get("floodplain.dev/pool") != "plain")
    assume(enforce(limit_range(thing, defaults)).allowed)

    def tolerate(one: Any) -> None:
        one["metadata"]["labels"] = {"seen": "by another webhook"}
        one["spec"].setdefault("tolerations", []).append({"key": "added", "operator": "Exists"})

    stored, (first, again) = created(thing, defaults=defaults, others=[tolerate], settings=chosen)
    event(first.outcome)
    assert again.outcome is Outcome.UNCHANGED
    assert (again.plan, again.allowed) == (first.plan, True)
    assert PLAN in stored["metadata"]["annotations"]


def test_a_sidecar_that_comes_later_is_counted_and_what_is_ours_is_planned_anew() -> None:
    def add_sidecar(one: Any) -> None:
        mesh = container("mesh", requests={"memory": "2Gi", "cpu": "1"}, limits={"memory": "2Gi"})
        one["spec"]["containers"].insert(0, mesh)

    stored, (first, second) = created(pod(), others=[add_sidecar])
    assert (first.outcome, second.outcome) == (Outcome.SIZED, Outcome.SIZED)
    assert first.plan is not None
    assert second.plan is not None
    assert second.plan.limit_bytes == first.plan.limit_bytes
    assert second.plan.containment_margin_bytes == first.plan.containment_margin_bytes - 2 * GIB
    assert second.plan.cpu != first.plan.cpu
    process = stored["spec"]["containers"][1]
    assert process["resources"]["requests"]["cpu"] == second.plan.cpu
    assert json.loads(stored["metadata"]["annotations"][PLAN])["container"] == "process"


def test_a_sidecar_that_comes_later_and_that_nothing_contains_is_refused() -> None:
    stored, _ = created(pod())
    stored["spec"]["containers"].append(container("mesh"))
    assert "nothing contains the memory of mesh" in enforce(stored).message


def test_limit_range_defaults_are_not_taken_for_wishes_even_when_their_annotation_is_overwritten() -> None:
    defaults = {"requests": {"memory": "512Mi"}, "limits": {"memory": "512Mi"}}

    def add_sidecar(one: Any) -> None:
        one["spec"]["containers"].append(container("mesh"))

    stored, (first, second) = created(pod(), defaults=defaults, others=[add_sidecar])
    assert stored["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: memory request for container mesh; memory limit for container mesh"
    )
    assert first.plan is not None
    assert second.plan is not None
    assert second.plan.limit_bytes == first.plan.limit_bytes
    assert second.outcome is Outcome.SIZED


def test_a_limit_range_default_that_is_the_plans_own_amount_is_ours_all_the_same() -> None:
    first = enforce(pod())
    assert first.plan is not None
    limit = from_bytes(first.plan.limit_bytes)
    filled = limit_range(pod(container("process")), {"limits": {"memory": limit}})
    sized = patched(filled, enforce(filled))
    del sized["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
    sized["metadata"]["annotations"]["floodplain.dev/images"] = "700"
    again = enforce(sized)
    assert again.plan is not None
    assert again.plan.limit_bytes > first.plan.limit_bytes


def test_a_job_around_a_template_that_was_sized_before_is_sized_anew() -> None:
    sized = patched(job(), enforce(job(), Kind.JOB))
    del sized["metadata"]["annotations"]
    sized["spec"]["template"]["metadata"]["annotations"]["floodplain.dev/images"] = "700"
    fresh = job(template_annotations={**ODM, "floodplain.dev/images": "700"})
    assert patched(sized, enforce(sized, Kind.JOB)) == patched(fresh, enforce(fresh, Kind.JOB))


def test_a_pod_of_a_sized_job_is_left_as_it_is() -> None:
    before = job(
        container("process", requests={"memory": "90Gi"}, limits={"cpu": "4"}), job_spec={"activeDeadlineSeconds": 7200}
    )
    template = patched(before, enforce(before, Kind.JOB))["spec"]["template"]
    made = {**copy.deepcopy(template), "metadata": {**template["metadata"], "generateName": "map-"}}
    stored, (decision,) = created(made)
    assert decision.outcome is Outcome.UNCHANGED
    defaulted = copy.deepcopy(template["spec"]["containers"])
    defaulted[0]["resources"]["requests"]["cpu"] = "4"
    assert stored["spec"]["containers"] == defaulted
    assert stored["spec"]["overhead"] == {"memory": "1Mi"}


def test_a_pod_of_a_job_that_alone_is_annotated_keeps_its_size() -> None:
    before = job(annotations=ODM, template_annotations={})
    template = patched(before, enforce(before, Kind.JOB))["spec"]["template"]
    assert enforce({**template}).outcome is Outcome.IGNORED
    assert to_bytes(template["spec"]["containers"][0]["resources"]["limits"]["memory"]) > 8 * GIB


def test_a_copy_with_another_count_is_sized_anew() -> None:
    sized = patched(pod(), enforce(pod()))
    copied = copy.deepcopy(sized)
    copied["metadata"]["annotations"]["floodplain.dev/images"] = "700"
    fresh = pod(annotations={**ODM, "floodplain.dev/images": "700"})
    assert patched(copied, enforce(copied)) == patched(fresh, enforce(fresh))


def test_what_somebody_changed_after_us_is_a_wish() -> None:
    sized = patched(pod(), enforce(pod()))
    sized["spec"]["containers"][0]["resources"]["limits"]["memory"] = "100Gi"
    resources = patched(sized, enforce(sized))["spec"]["containers"][0]["resources"]
    assert resources["limits"]["memory"] == "100Gi"
    assert to_bytes(resources["requests"]["memory"]) == 100 * GIB - MIB


def test_the_same_amount_in_another_spelling_is_still_ours() -> None:
    sized = patched(pod(), enforce(pod()))
    resources = sized["spec"]["containers"][0]["resources"]
    for amounts in resources.values():
        amounts["memory"] = str(to_bytes(amounts["memory"]))
        amounts["ephemeral-storage"] = to_bytes(amounts["ephemeral-storage"])
    assert enforce(sized).outcome is Outcome.UNCHANGED


def test_a_pod_whose_overhead_is_set_stays_in_its_pool() -> None:
    """Its RuntimeClass cannot be changed any more: the API server would refuse the other overhead."""
    stored, _ = created(pod(), pools=POOLS[1:])
    assert stored["spec"]["runtimeClassName"] == "floodplain-plain"
    del stored["spec"]["nodeSelector"]["floodplain.dev/pool"]
    selecting = enforce(stored, settings=SizingSettings(placement=Placement.SELECTOR))
    assert patched(stored, selecting)["spec"]["runtimeClassName"] == "floodplain-plain"
    assert enforce(stored).plan.pool == "plain"  # type: ignore[union-attr]
    del stored["spec"]["overhead"]
    assert enforce(stored).plan.pool == "swap"  # type: ignore[union-attr]


def test_a_retry_may_get_more_than_its_jobs_template_says() -> None:
    template = patched(job(), enforce(job(), Kind.JOB))["spec"]["template"]
    steeper = tuple(one.model_copy(update={"margin": 1.5}) for one in POOLS)
    retried = enforce(template, pools=steeper)
    assert retried.outcome is Outcome.SIZED
    assert retried.plan is not None
    after = patched(template, retried)
    assert after["spec"]["containers"][0]["resources"]["limits"]["memory"] == from_bytes(retried.plan.limit_bytes)


def test_a_record_that_somebody_made_up_gives_nothing_away() -> None:
    own = container("process", requests={"memory": "120Gi"}, limits={"memory": "120Gi"})
    forged = {
        "container": "process",
        "wrote": {"process": {"requests": {"memory": "64Mi", "cpu": 7}, "limits": "all", "args": ["x"]}},
        "replaced": {"process": {"requests": {"memory": {"a": "b"}}}},
        "placed": {"nodeSelector": ["x"], "tolerations": "x", "runtimeClassName": {}},
    }
    plain = pod(own)
    noted = pod(own, annotations={**ODM, PLAN: json.dumps(forged)})
    assert patched(noted, enforce(noted)) == patched(plain, enforce(plain))
