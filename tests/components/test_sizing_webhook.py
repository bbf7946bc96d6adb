"""What the API server shows to admission, judged by the conditions themselves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.sizing_installation import SizingInstallation
from components.sizing_settings import SizingServiceSettings
from components.sizing_webhook import asks_to_be_sized, webhook_configuration
from tests.components.guardrails.api_server import Request, evaluate

ENGINE = {"annotations": {"floodplain.dev/engine": "odm"}}
OTHER = {"annotations": {"floodplain.dev/images": "500"}}
POD_SPEC = {"containers": [{"name": "main"}]}
PLAN = SizingInstallation.model_construct(image="registry.example/service@sha256:0", sizing=SizingServiceSettings())


def asks(thing: dict[str, Any]) -> bool:
    found = evaluate(asks_to_be_sized(), Request(thing).context())
    assert bool(found) in (True, False)
    return bool(found)


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        ({"metadata": ENGINE, "spec": POD_SPEC}, True),
        ({"metadata": OTHER, "spec": POD_SPEC}, False),
        ({"metadata": {}, "spec": POD_SPEC}, False),
        ({"metadata": ENGINE, "spec": {"template": {"spec": POD_SPEC}}}, True),
        ({"metadata": OTHER, "spec": {"template": {"metadata": ENGINE, "spec": POD_SPEC}}}, True),
        ({"metadata": {}, "spec": {"template": {"metadata": OTHER, "spec": POD_SPEC}}}, False),
        ({"metadata": {}, "spec": {"template": {"spec": POD_SPEC}}}, False),
        ({"metadata": {"annotations": {"floodplain.dev/engine": ""}}, "spec": POD_SPEC}, True),
    ],
)
def test_pods_and_jobs_are_shown_that_are_annotated_themselves_or_in_their_template(
    thing: dict[str, Any], shown: bool
) -> None:
    assert asks(thing) is shown


_METADATA = st.fixed_dictionaries(
    {},
    optional={"annotations": st.dictionaries(st.sampled_from(["floodplain.dev/engine", "a"]), st.text(), max_size=2)},
)
_TEMPLATES = st.fixed_dictionaries({}, optional={"metadata": _METADATA, "spec": st.just(POD_SPEC)})
_THINGS = st.fixed_dictionaries(
    {},
    optional={"metadata": _METADATA, "spec": st.fixed_dictionaries({}, optional={"template": _TEMPLATES})},
)


@given(thing=_THINGS)
def test_the_condition_ends_in_true_or_false_whatever_an_object_lacks(thing: dict[str, Any]) -> None:
    own = thing.get("metadata", {}).get("annotations", {})
    template = thing.get("spec", {}).get("template", {}).get("metadata", {}).get("annotations", {})
    assert asks(thing) is ("floodplain.dev/engine" in {**own, **template})


def test_the_two_entries_differ_by_label_path_and_what_a_failure_means() -> None:
    observe, enforce = webhook_configuration(PLAN)["webhooks"]
    assert [
        (one["name"], one["namespaceSelector"], one["clientConfig"]["service"]["path"], one["failurePolicy"])
        for one in (observe, enforce)
    ] == [
        ("observe.sizing.floodplain.dev", {"matchLabels": {"floodplain.dev/sizing": "observe"}}, "/observe", "Ignore"),
        ("enforce.sizing.floodplain.dev", {"matchLabels": {"floodplain.dev/sizing": "enforce"}}, "/enforce", "Fail"),
    ]
    same = ("rules", "matchConditions", "matchPolicy", "reinvocationPolicy", "sideEffects", "timeoutSeconds")
    assert [observe[key] for key in same] == [enforce[key] for key in same]


def test_only_new_pods_and_jobs_are_shown() -> None:
    for webhook in webhook_configuration(PLAN)["webhooks"]:
        assert [(rule["apiGroups"], rule["resources"], rule["operations"]) for rule in webhook["rules"]] == [
            ([""], ["pods"], ["CREATE"]),
            (["batch"], ["jobs"], ["CREATE"]),
        ]
