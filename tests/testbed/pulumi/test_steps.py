"""What the CLI prints and logs, read as steps."""

from __future__ import annotations

from testbed.pulumi.steps import Diagnostic, Outcome, Step, Violation, events, outcome, preview_steps

ROLE = "urn:pulumi:dev::p::aws:iam/role:Role::role"
POOL = "urn:pulumi:dev::p::kubernetes:karpenter.sh/v1:NodePool::pool"


def test_a_preview_is_read_step_by_step() -> None:
    document = {
        "steps": [
            {"op": "same", "urn": POOL, "oldState": {"type": "T"}, "newState": {"type": "T"}},
            {
                "op": "replace",
                "urn": ROLE,
                "oldState": {"type": "R", "inputs": {"name": "a"}},
                "newState": {"type": "R", "inputs": {"name": "b"}},
                "diffReasons": ["name"],
                "replaceReasons": ["name"],
            },
            {"op": "delete", "urn": ROLE + "-2", "oldState": {"type": "R"}},
        ]
    }
    same, replace, delete = preview_steps(document)
    assert same == Step("same", POOL, "T", {"type": "T"}, {"type": "T"})
    assert (replace.diff, replace.replaces, replace.new["inputs"]) == (("name",), ("name",), {"name": "b"})
    assert delete == Step("delete", ROLE + "-2", "R", {"type": "R"})
    assert Outcome((same, replace, delete)).ops() == {ROLE: "replace", ROLE + "-2": "delete"}


def test_the_parts_of_a_replace_are_one_in_the_summary_and_apart_in_the_order() -> None:
    parts = ("create-replacement", "replace", "delete-replaced")
    found = Outcome(tuple(Step(op, ROLE, "R") for op in parts))
    assert found.ops() == {ROLE: "replace"}
    assert found.order("delete-replaced") == [ROLE]


def test_an_event_log_gives_steps_messages_and_violations_in_order() -> None:
    lines = [
        '{"resourcePreEvent": {"metadata": {"op": "create", "urn": "u", "type": "T"}}}',
        '{"diagnosticEvent": {"severity": "debug", "message": "no"}}',
        '{"diagnosticEvent": {"severity": "warning", "message": " look \\n", "urn": "u"}}',
        '{"policyEvent": {"policyName": "n", "enforcementLevel": "mandatory", "message": "m", "resourceUrn": "u"}}',
        '{"resOutputsEvent": {"metadata": {"op": "create", "urn": "u", "type": "T", "diffs": ["a"]}}}',
        '{"cut off',
    ]
    assert outcome(list(events(lines)), 1.5) == Outcome(
        (Step("create", "u", "T", diff=("a",)),),
        (Diagnostic("warning", "look", "u"),),
        (Violation("n", "mandatory", "m", "u"),),
        1.5,
    )
