"""What the policies and bindings are, as objects."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from components.guardrail_match import Placement, match_conditions
from components.guardrail_rules import BINDING_KIND, POLICY_KIND, manifests
from components.guardrail_settings import DAEMON_SET_CONTROLLERS, GuardrailsSettings, PoolGuardrail
from tests.components.guardrails.api_server import Manifest, Request, evaluate
from tests.components.guardrails.corpus import POLICIES
from tests.conftest import Golden


def _of(mode: str, **pool: Any) -> list[Manifest]:
    settings = {"others": [{"pool": "k2", "largest_allocatable": "64Gi", "mode": mode, **pool}]}
    return manifests(GuardrailsSettings.model_validate(settings))


def test_the_policies_of_an_enforced_pool_read_like_this(golden: Golden) -> None:
    text = yaml.safe_dump_all(_of("enforce"), sort_keys=False, width=110)
    golden.check("components/golden/guardrails/enforce.yaml", text)


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        (
            "enforce",
            [
                ("floodplain-k2-containment", "Fail", ["Deny"]),
                ("floodplain-k2-advice", "Ignore", ["Warn", "Audit"]),
            ],
        ),
        (
            "audit",
            [
                ("floodplain-k2-containment", "Ignore", ["Audit", "Warn"]),
                ("floodplain-k2-advice", "Ignore", ["Warn", "Audit"]),
            ],
        ),
        ("off", []),
    ],
)
def test_a_mode_decides_who_is_refused_and_who_is_warned(mode: str, wanted: list[tuple[str, str, list[str]]]) -> None:
    made = _of(mode)
    policies = [one for one in made if one["kind"] == POLICY_KIND]
    bindings = [one for one in made if one["kind"] == BINDING_KIND]
    assert [
        (policy["metadata"]["name"], policy["spec"]["failurePolicy"], binding["spec"]["validationActions"])
        for policy, binding in zip(policies, bindings, strict=True)
    ] == wanted
    assert [one["spec"]["policyName"] for one in bindings] == [one["metadata"]["name"] for one in policies]


def test_audit_judges_by_the_same_expressions_as_enforce() -> None:
    def expressions(made: list[Manifest]) -> list[Any]:
        keys = ("matchConditions", "variables", "validations")
        return [{key: one["spec"][key] for key in keys} for one in made if one["kind"] == POLICY_KIND]

    assert expressions(_of("audit")) == expressions(_of("enforce"))


def test_names_of_variables_are_unique_within_a_policy() -> None:
    for policy in (one for one in POLICIES if one["kind"] == POLICY_KIND):
        names = [variable["name"] for variable in policy["spec"]["variables"]]
        assert len(names) == len(set(names))


def test_no_policy_depends_on_a_parameter_object() -> None:
    assert not [one for one in POLICIES if {"paramKind", "paramRef"} & set(one["spec"])]


def test_without_swap_there_are_no_rules_about_who_gets_swap() -> None:
    names = {variable["name"] for one in _of("enforce", swap=False)[::2] for variable in one["spec"]["variables"]}
    assert not names & {"swap", "priority", "swapless", "resizedRequest"}


def test_a_no_execute_taint_needs_no_look_at_node_names_since_kubelet_refuses_itself() -> None:
    pool = PoolGuardrail.model_validate(
        {"pool": "k2", "largest_allocatable": "64Gi", "taint": {"value": "k2", "effect": "NoExecute"}}
    )
    assert Placement(pool).sets_node_name == "false"


def test_looking_at_node_names_can_be_turned_off() -> None:
    pool = PoolGuardrail.model_validate({"pool": "k2", "largest_allocatable": "64Gi"})
    assert Placement(pool, judge_node_names=False).sets_node_name == "false"


def test_a_policy_is_small_enough_to_be_stored_many_times_over() -> None:
    assert max(len(json.dumps(one)) for one in _of("enforce")) < 24_000


_NAMES = st.sampled_from(["floodplain.dev/pool", "k2", "", "other"])
_OPERATORS = st.sampled_from(["", "Equal", "Exists", "Gt", "In", "NotIn", "DoesNotExist"])


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """An object that has any of the fields, or none."""
    return st.fixed_dictionaries({}, optional=fields)


_TERMS = st.lists(
    _some(
        matchExpressions=st.lists(
            st.fixed_dictionaries({"key": _NAMES, "operator": _OPERATORS}, optional={"values": st.lists(_NAMES)})
        )
    ),
    max_size=2,
)
_SPECS = _some(
    runtimeClassName=st.sampled_from(["floodplain-k2", "other"]),
    nodeName=_NAMES,
    nodeSelector=st.dictionaries(_NAMES, _NAMES, max_size=2),
    tolerations=st.lists(_some(key=_NAMES, operator=_OPERATORS, value=_NAMES, effect=_NAMES), max_size=2),
    affinity=_some(
        nodeAffinity=_some(
            requiredDuringSchedulingIgnoredDuringExecution=st.fixed_dictionaries({"nodeSelectorTerms": _TERMS})
        )
    ),
)
_METADATA = _some(
    ownerReferences=st.lists(
        st.fixed_dictionaries({"kind": st.sampled_from(["DaemonSet", "Job"])}, optional={"controller": st.booleans()}),
        max_size=2,
    )
)
_USERS = _some(username=st.sampled_from([*DAEMON_SET_CONTROLLERS, "jane"]), groups=st.lists(_NAMES, max_size=1))


@settings(max_examples=120, deadline=None)
@given(spec=_SPECS, old=_SPECS, metadata=_METADATA, user=_USERS, create=st.booleans())
def test_conditions_end_in_true_or_false_whatever_a_pod_lacks(
    spec: Manifest, old: Manifest, metadata: Manifest, user: Manifest, create: bool
) -> None:
    pool = PoolGuardrail.model_validate({"pool": "k2", "largest_allocatable": "64Gi"})
    pod = {"metadata": metadata, "spec": spec}
    request = Request(
        pod,
        "CREATE" if create else "UPDATE",
        None if create else {"metadata": metadata, "spec": old},
        user=user,
    )
    context = request.context()
    for condition in match_conditions(Placement(pool), DAEMON_SET_CONTROLLERS):
        assert bool(evaluate(condition["expression"], context)) in (True, False)


@pytest.mark.parametrize(
    ("toleration", "matches"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "", "operator": "Exists", "effect": ""}, True),
        ({"key": "floodplain.dev/pool", "value": "k2"}, True),
        ({"key": "floodplain.dev/pool", "operator": "Equal", "value": "k2", "effect": "NoSchedule"}, True),
        ({"key": "floodplain.dev/pool", "operator": "Gt", "value": "3"}, True),
        ({"key": "floodplain.dev/pool", "operator": "Lt", "value": "3"}, True),
        ({"key": "floodplain.dev/pool"}, False),
        ({"key": "floodplain.dev/pool", "value": "k3"}, False),
        ({"key": "dedicated", "operator": "Exists"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
    ],
)
def test_a_toleration_matches_the_taint_as_kubernetes_says(toleration: Manifest, matches: bool) -> None:
    pool = PoolGuardrail.model_validate({"pool": "k2", "largest_allocatable": "64Gi"})
    context = Request({"metadata": {}, "spec": {"tolerations": [toleration]}}).context()
    assert bool(evaluate(Placement(pool).tolerates, context)) is matches
