"""The policy about pods that should have been sized and were not, as objects and as verdicts."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from components import Guardrails
from components.guardrail_rules import BINDING_KIND, POLICY_KIND, manifests
from components.guardrail_settings import GuardrailsSettings
from tests.components.guardrails.api_server import Manifest, Request, evaluate, judge
from tests.conftest import Golden

ASKS = {"floodplain.dev/engine": "odm"}


def _of(mode: str) -> list[Manifest]:
    asleep = {"pool": "asleep", "largestAllocatable": "64Gi", "mode": "off"}
    return manifests(GuardrailsSettings.model_validate({"others": [asleep], "unsized": mode}))


def _request(annotations: Manifest | None, namespace: str = "sized", **more: Any) -> Request:
    metadata = {"name": "job", "namespace": namespace} | ({"annotations": annotations} if annotations else {})
    return Request({"metadata": metadata, "spec": {"containers": [{"name": "main"}]}}, **more)


def test_the_policy_about_unsized_pods_reads_like_this(golden: Golden) -> None:
    text = yaml.safe_dump_all(_of("enforce"), sort_keys=False, width=110)
    golden.check("components/golden/guardrails/unsized.yaml", text)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [("enforce", [("Fail", ["Deny"])]), ("audit", [("Ignore", ["Audit", "Warn"])]), ("off", [])],
)
def test_its_mode_decides_who_is_refused_and_who_is_warned(mode: str, wanted: list[tuple[str, list[str]]]) -> None:
    made = _of(mode)
    policies = [one["spec"]["failurePolicy"] for one in made if one["kind"] == POLICY_KIND]
    bindings = [one["spec"]["validationActions"] for one in made if one["kind"] == BINDING_KIND]
    assert list(zip(policies, bindings, strict=True)) == wanted


def test_an_audit_warns_of_what_enforcing_refuses() -> None:
    refused, warned = (judge(_of(mode), _request(ASKS)) for mode in ("enforce", "audit"))
    assert (len(refused.refusals), refused.warnings) == (1, ())
    assert (warned.refusals, warned.warnings) == ((), refused.refusals)


def test_a_pod_that_is_there_already_stays_changeable() -> None:
    before = _request(ASKS).pod
    assert judge(_of("enforce"), _request(ASKS, operation="UPDATE", old=before)).complaints == ()


def test_a_static_pod_of_a_node_runs_whatever_is_said() -> None:
    kubelet = {"username": "system:node:a", "groups": ["system:nodes"]}
    assert judge(_of("enforce"), _request(ASKS, user=kubelet)).complaints == ()


@given(
    annotations=st.none() | st.dictionaries(st.sampled_from([*ASKS, "floodplain.dev/plan", "a"]), st.text(), max_size=3)
)
def test_who_asks_and_has_no_plan_is_refused_whatever_the_annotations_hold(annotations: Manifest | None) -> None:
    request = _request(annotations)
    (policy, _) = _of("enforce")
    for condition in policy["spec"]["matchConditions"]:
        assert bool(evaluate(condition["expression"], request.context())) in (True, False)
    given = annotations or {}
    asks = "floodplain.dev/engine" in given and "floodplain.dev/plan" not in given
    assert len(judge(_of("enforce"), request).refusals) == (1 if asks else 0)


def test_the_component_makes_it_beside_pools_or_alone(render: Any) -> None:
    args: Any = {"unsized": "audit"}
    made = render(lambda: Guardrails("sizing", args))
    assert made.one(":Guardrails").outputs == {
        "policyNames": ["floodplain-unsized"],
        "bindingNames": ["floodplain-unsized"],
    }
    assert sorted(one.name for one in made.resources if one.custom) == ["sizing-unsized", "sizing-unsized-binding"]
