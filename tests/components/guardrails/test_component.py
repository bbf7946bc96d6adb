"""`Guardrails` as it goes over the wire."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError
from pulumi_kubernetes.core.v1 import ConfigMap

from components import Guardrails
from components.guardrail_rules import manifests
from components.guardrail_settings import GuardrailsSettings

ARGS: Any = {
    "pools": [
        {"pool": "k2", "largest_allocatable": "64Gi"},
        {"pool": "trial", "largest_allocatable": "64Gi", "mode": "audit"},
        {"pool": "asleep", "largest_allocatable": "64Gi", "mode": "off"},
    ]
}
NAMES = [
    "floodplain-k2-containment",
    "floodplain-k2-advice",
    "floodplain-trial-containment",
    "floodplain-trial-advice",
]


def test_each_policy_is_followed_by_its_binding_under_the_component(render: Any) -> None:
    made = render(lambda: Guardrails("g", ARGS))
    component = made.one(":Guardrails")
    assert component.type == "floodplain:index:Guardrails"
    assert component.outputs == {"policyNames": NAMES, "bindingNames": NAMES}
    children = [one for one in made.resources if one.custom and one.parent == component.urn]
    assert sorted(one.name for one in children) == [
        "g-k2-advice",
        "g-k2-advice-binding",
        "g-k2-containment",
        "g-k2-containment-binding",
        "g-trial-advice",
        "g-trial-advice-binding",
        "g-trial-containment",
        "g-trial-containment-binding",
    ]


def test_the_objects_are_those_of_the_pure_rules(render: Any) -> None:
    made = render(lambda: Guardrails("g", ARGS))
    sent = {
        (one.inputs["kind"], one.inputs["metadata"]["name"]): (one.inputs["metadata"], one.inputs["spec"])
        for one in made.resources
        if one.custom and one.type.startswith("kubernetes:")
    }
    wanted = manifests(GuardrailsSettings.model_validate(ARGS))
    assert sent == {(one["kind"], one["metadata"]["name"]): (one["metadata"], one["spec"]) for one in wanted}


def test_a_binding_goes_before_its_policy_at_deletion(render: Any) -> None:
    made = render(lambda: Guardrails("g", ARGS))
    for binding in made.of(":ValidatingAdmissionPolicyBinding"):
        policy = made.one(":ValidatingAdmissionPolicy", binding.name.removesuffix("-binding"))
        assert policy.urn in binding.depends_on


def test_what_the_component_depends_on_its_policies_depend_on(render: Any) -> None:
    def program() -> None:
        first = ConfigMap("first")
        Guardrails("g", ARGS, pulumi.ResourceOptions(depends_on=[first]))

    made = render(program)
    first = made.one(":ConfigMap").urn
    assert all(first in policy.depends_on for policy in made.of(":ValidatingAdmissionPolicy"))


def test_a_wrong_argument_is_told_by_its_path(render: Any) -> None:
    wrong: Any = {"pools": [{"pool": "k2", "largest_allocatable": "64GB"}]}
    with pytest.raises(Exception) as error:
        render(lambda: Guardrails("g", wrong))
    causes = [error.value, error.value.__cause__, error.value.__context__]
    found = next(one for one in causes if isinstance(one, InputPropertiesError))
    assert "pools[0].largestAllocatable: '64GB' is not a quantity" in str(found)
