"""How policies are run: like the engine does, so that a rule that would stumble there stumbles here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pulumi_policy import EnforcementLevel, ResourceValidationPolicy, StackValidationPolicy

from preview.checks.policies import check
from preview.render import Rendering

SECRET = {"secure": "v1:abc"}


@pytest.fixture
def good(rendered: Callable[..., Rendering]) -> Rendering:
    return rendered("good", {"token": SECRET})


def policy(validate: Any, level: Any = EnforcementLevel.MANDATORY) -> ResourceValidationPolicy:
    return ResourceValidationPolicy("probe", "A probe", validate, enforcement_level=level)


def test_properties_are_proxies_with_floats_and_opened_secrets(good: Rendering) -> None:
    seen: dict[str, Any] = {}

    def validate(args: Any, report: Any) -> None:
        if args.name == "token":
            seen["data"] = args.props["stringData"]["token"]
            seen["is dict"] = isinstance(args.props, dict)
            seen["mapping"] = isinstance(args.props, Mapping)
            seen["secret paths"] = args.opts.secret_paths
        if args.name == "node-pool":
            budgets = args.props["spec"]["disruption"]["budgets"]
            seen["sequence"] = isinstance(budgets, Sequence) and not isinstance(budgets, list)
            seen["provider"] = (args.provider.resource_type, args.provider.name)

    assert list(check(good, [policy(validate)])) == []
    assert seen == {
        "secret paths": (("stringData",),),
        "data": "placeholder-of-the-secret-test:token",
        "is dict": False,
        "mapping": True,
        "sequence": True,
        "provider": ("pulumi:providers:kubernetes", "kubernetes"),
    }


@pytest.mark.parametrize(
    ("level", "severity"),
    [(EnforcementLevel.MANDATORY, "error"), (EnforcementLevel.ADVISORY, "warning"), (None, "warning")],
)
def test_the_level_decides_between_error_and_warning(good: Rendering, level: Any, severity: str) -> None:
    def validate(args: Any, report: Any) -> None:
        if args.name == "role":
            report("is not wanted")

    [finding] = check(good, [policy(validate, level)])
    assert (finding.severity, finding.check, str(finding.problem)) == (severity, "probe", "role: is not wanted")


def test_a_disabled_policy_is_not_run(good: Rendering) -> None:
    def validate(args: Any, report: Any) -> None:
        raise AssertionError

    assert list(check(good, [policy(validate, EnforcementLevel.DISABLED)])) == []


def test_a_rule_about_the_whole_stack_sees_parents_and_dependencies(good: Rendering) -> None:
    def validate(args: Any, report: Any) -> None:
        pool = next(resource for resource in args.resources if resource.name == "node-pool")
        report(f"{sorted(one.name for one in pool.dependencies)}", pool.urn)

    [finding] = check(good, [StackValidationPolicy("probe", "A probe", validate)])
    assert finding.urn == good.apply.one(":NodePool").urn
    assert finding.problem.rule == "['controller', 'node-class']"


def test_a_rule_may_leave_as_not_applicable(good: Rendering) -> None:
    assert list(check(good, [policy(lambda args, report: args.not_applicable("no"))])) == []


def test_a_stack_whose_file_says_it_is_protected_is_judged_as_one_whatever_its_name(good: Any) -> None:
    asked: list[Any] = []

    def validate(args: Any, report: Any) -> None:
        asked.append(args.get_config()["protectedStacks"])

    stackfile = good.stackfile
    said = replace(stackfile, stack="live", values={f"{stackfile.project}:protected": True})
    list(check(replace(good, stackfile=said), [policy(validate)]))
    list(check(replace(good, stackfile=replace(said, values={})), [policy(validate)]))
    assert asked[0][-1] == "live"
    assert "live" not in asked[-1]
