"""The table of pods (tests/components/guardrails/pods) on a real API server: the verdicts and messages that the fast
tests get from CEL in Python."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from components import Guardrails
from preview.outputs import Apply
from preview.recorder import record
from preview.wire import reveal
from testbed.cluster.api import Answer, Api
from testbed.cluster.control_plane import ControlPlane
from testbed.processes import wait_until
from tests.cluster.guardrails.in_force import in_force
from tests.cluster.guardrails.server_words import fits, outcome, refusals, warned, warnings
from tests.components.guardrails.api_server import RefusedByPlugin, Verdict, judge
from tests.components.guardrails.corpus import CASES, POLICIES, RUNTIME_CLASSES, SETTINGS, Case

TITLE = "Guardrails: pods of the table on the API server"
FILES = sorted({case.file for case in CASES})
PODS = "/api/v1/namespaces/jobs/pods"
GUARDED = {one.runtime_class_name for one in SETTINGS.others if one.mode != "off"}


def rendered() -> list[dict[str, Any]]:
    """The policies as the component asks the engine for them."""
    arguments: Any = SETTINGS.model_dump(mode="json", exclude_defaults=True)
    resources = record(lambda: Guardrails("g", arguments), Apply()).resources
    return [reveal(dict(one.inputs)) for one in resources if one.type.startswith("kubernetes:")]


@pytest.fixture(scope="module")
def api(cluster: ControlPlane, node: str) -> Iterator[Api]:
    """The cluster with the RuntimeClasses, the pods that were there before the rules, and then the rules."""
    api = cluster.api
    before = [case.before for case in CASES if case.before is not None]
    for thing in (*RUNTIME_CLASSES, *before):
        answer = api.create(thing)
        assert answer.ok, answer.message
    with in_force(api, POLICIES, [one for one in RUNTIME_CLASSES if one["metadata"]["name"] in GUARDED]):
        yield api
    for thing in (*before, *RUNTIME_CLASSES):
        api.delete(api.path_of(thing), grace_seconds=0)
    wait_until("the pods are gone", lambda: not api.items(PODS))


@pytest.fixture(scope="module")
def ask(api: Api, as_user: Callable[[dict[str, Any]], Api]) -> Callable[[Case], Answer]:
    """What the server answers to the request of a case, sent by its user; nothing is stored."""

    def send(case: Case) -> Answer:
        user = as_user(dict(case.user))
        if case.before is None:
            return user.create(case.pod, dry_run=True)
        path = f"{PODS}/{case.pod['metadata']['name']}"
        changed = case.changed(api.get(path))
        path += f"/{case.subresource}" if case.subresource else ""
        return user.request("PUT", path, changed, query={"dryRun": "All", "fieldValidation": "Strict"})

    return send


def offline(case: Case) -> Verdict:
    """Our verdict; where an admission plugin would refuse before any policy, no complaint."""
    try:
        return judge(POLICIES, case.request())
    except RefusedByPlugin:
        return Verdict()


def test_the_component_renders_the_policies_of_the_table() -> None:
    def by_kind_and_name(things: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
        return {(one["kind"], one["metadata"]["name"]): one for one in things}

    assert by_kind_and_name(rendered()) == by_kind_and_name(copy.deepcopy(POLICIES))


@pytest.mark.parametrize("file", FILES)
def test_the_server_says_of_each_pod_what_the_table_says(
    file: str, ask: Callable[[Case], Answer], row: Callable[..., None]
) -> None:
    cases = [case for case in CASES if case.file == file]
    differing = []
    counted = {"allow": 0, "deny": 0, "server": 0}
    for case in cases:
        answer, verdict = ask(case), offline(case)
        counted[outcome(answer)] += 1
        name = case.pod["metadata"]["name"]
        # The server's own checks come before any policy.
        fitting = not warned(answer) if case.verdict == "server" else fits(answer, name, verdict)
        if outcome(answer) != case.verdict or not fitting:
            wanted = sorted(refusals(name, verdict)) or warnings(verdict)
            differing.append(f"{case}\n    wanted {case.verdict}: {wanted}\n    got {answer}")
    agree = len(cases) - len(differing)
    row(TITLE, pods=file, cases=len(cases), agree=agree, **counted)
    assert "\n".join(differing) == ""
    assert counted == {verdict: sum(case.verdict == verdict for case in cases) for verdict in counted}


def test_the_server_finds_nothing_wrong_with_the_types_of_any_expression(api: Api) -> None:
    """Type checking runs in the controller manager and looks at validations and conditions only. So each variable is
    made a validation of a policy that nothing binds, a list of all in its place."""
    policies = [one for one in POLICIES if one["kind"] == "ValidatingAdmissionPolicy"]
    assert len(policies) == 2 * len(GUARDED) + 1
    watched = [*policies, *(of_variables(one) for one in policies)]
    for one in watched[len(policies) :]:
        api.must_apply(one)
    paths = [api.path_of(one) for one in watched]
    try:
        checked = {path: wait_until(f"{path} is checked", partial(type_checking, api, path)) for path in paths}
    finally:
        for path in paths[len(policies) :]:
            api.delete(path)
    assert checked == {path: {"done": True, "warnings": []} for path in paths}


def test_type_checking_would_notice_a_wrong_type(api: Api) -> None:
    policy = of_variables(POLICIES[0])
    policy["spec"]["validations"] = [{"expression": "object.spec.nodeName > 3"}]
    api.must_apply(policy)
    path = api.path_of(policy)
    checked = wait_until("the policy is checked", partial(type_checking, api, path))
    api.delete(path)
    assert checked is not None
    (warning,) = checked["warnings"]
    assert "no matching overload" in warning["warning"]


def of_variables(policy: dict[str, Any]) -> dict[str, Any]:
    spec = copy.deepcopy(policy["spec"])
    conditions = [one["expression"] for one in spec.pop("matchConditions")]
    variables = [f"dyn({one['expression']}) != null" for one in spec["variables"]]
    spec["validations"] = [{"expression": one} for one in (*variables, *conditions)]
    return {**policy, "metadata": {"name": f"types-of-{policy['metadata']['name']}"}, "spec": spec}


def type_checking(api: Api, path: str) -> dict[str, Any] | None:
    """None until the controller has looked at the policy as it stands."""
    policy = api.get(path)
    status = policy.get("status", {})
    if status.get("observedGeneration") != policy["metadata"]["generation"]:
        return None
    return {"done": "typeChecking" in status, "warnings": status.get("typeChecking", {}).get("expressionWarnings", [])}
