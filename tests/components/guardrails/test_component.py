"""`Guardrails` as it goes over the wire."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError
from pulumi_kubernetes.core.v1 import ConfigMap

from components import Guardrails, SwapNodePool
from components.guardrail_rules import POLICY_KIND, manifests
from components.guardrail_settings import GuardrailsSettings, guardrail_of
from components.guardrails import child_name
from floodplain import pools

CLUSTER = {"name": "prod", "kubernetes_version": "1.34"}
POOL: dict[str, Any] = {
    "name": "swap",
    "families": ["r6id"],
    "limits": {"cpu": "64", "memory": "512Gi"},
    "ami": {"alias": "al2023@v20260714"},
}
ARGS: Any = {
    "cluster": CLUSTER,
    "pools": [POOL, {**POOL, "name": "quiet", "guardrails": "off"}],
    "others": [
        {"pool": "trial", "largest_allocatable": "64Gi", "mode": "audit"},
        {"pool": "asleep", "largest_allocatable": "64Gi", "mode": "off"},
    ],
}
NAMES = [
    "floodplain-swap-containment",
    "floodplain-swap-advice",
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
        "g-swap-advice",
        "g-swap-advice-binding",
        "g-swap-containment",
        "g-swap-containment-binding",
        "g-trial-advice",
        "g-trial-advice-binding",
        "g-trial-containment",
        "g-trial-containment-binding",
    ]


@pytest.mark.parametrize(
    ("component", "pool", "name"),
    [
        ("batch", "batch", "batch-advice"),
        ("prod-batch", "batch", "prod-batch-advice"),
        ("prod-big-batch", "big-batch", "prod-big-batch-advice"),
        ("prodbatch", "batch", "prodbatch-batch-advice"),
        ("rules", "batch", "rules-batch-advice"),
        ("prod-batch", "spare", "prod-batch-spare-advice"),
    ],
)
def test_a_component_called_after_its_pool_does_not_say_it_twice(component: str, pool: str, name: str) -> None:
    assert child_name(component, pool, "advice") == name


def test_a_pool_gets_the_rules_of_its_own_document_from_the_entry_that_makes_it(render: Any) -> None:
    def program() -> None:
        shared: Any = {"cluster": CLUSTER, "pools": [POOL]}
        rules = Guardrails("swap", shared)
        args: Any = {"cluster": CLUSTER, "pool": POOL, "node_role_name": "nodes"}
        SwapNodePool("swap", args, pulumi.ResourceOptions(depends_on=[rules]))

    made = render(program)
    (document,) = pools.read(made.one(":SwapNodePool").outputs["poolDocument"].encode())
    wanted = manifests(GuardrailsSettings.model_construct(others=(guardrail_of(document),)))
    assert {one.name: one.inputs["spec"] for one in made.of(":ValidatingAdmissionPolicy")} == {
        one["metadata"]["name"].removeprefix("floodplain-"): one["spec"] for one in wanted if one["kind"] == POLICY_KIND
    }


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


def test_wrong_arguments_are_told_by_their_paths(render: Any) -> None:
    wrong: Any = {
        "cluster": CLUSTER,
        "pools": [{**POOL, "limits": {"cpu": "64", "memory": "512GB"}}],
        "others": [{"pool": "k2", "largest_allocatable": "64GB"}],
    }
    with pytest.raises(Exception) as error:
        render(lambda: Guardrails("g", wrong))
    causes = [error.value, error.value.__cause__, error.value.__context__]
    found = next(one for one in causes if isinstance(one, InputPropertiesError))
    assert "pools[0].limits.memory: '512GB' is not a quantity" in str(found)
    assert "others[0].largestAllocatable: '64GB' is not a quantity" in str(found)
