"""What the AWS stand-in says an update would do."""

from __future__ import annotations

from typing import Any

import pytest

from preview.recording import Recorded
from preview.replaces import effect_of
from testbed.pulumi.aws_standin.checks import config_problems, input_problems
from testbed.pulumi.aws_standin.difference import Difference, differences
from testbed.pulumi.aws_standin.kinds import KINDS
from testbed.pulumi.aws_standin.provider import read_inputs
from testbed.pulumi.aws_standin.tags import tag_changes
from testbed.pulumi.aws_standin.wire import UNKNOWN, plain, struct

ROLE = KINDS["aws:iam/role:Role"]
ATTACHMENT = KINDS["aws:iam/rolePolicyAttachment:RolePolicyAttachment"]
GIVEN: dict[str, Any] = {"name": "nodes", "assumeRolePolicy": '{"Version": "2012-10-17"}', "tags": {"a": "b"}}


def test_the_same_inputs_are_no_change() -> None:
    assert differences(ROLE, GIVEN, dict(GIVEN)) == ()


def test_another_spelling_of_the_same_document_is_no_change() -> None:
    assert differences(ROLE, GIVEN, {**GIVEN, "assumeRolePolicy": '{"Version":"2012-10-17"}'}) == ()


def test_each_property_that_differs_is_told_with_what_it_does() -> None:
    after = {"name": "others", "assumeRolePolicy": "{}", "tags": {"a": "c", "d": "e"}, "description": "Nodes"}
    assert differences(ROLE, GIVEN, after) == (
        Difference("assumeRolePolicy", "update", False),
        Difference("description", "add", False),
        Difference("name", "update", True),
        Difference("tags.a", "update", False),
        Difference("tags.d", "add", False),
    )


def test_what_is_not_known_yet_counts_as_another_value() -> None:
    before = {"role": "nodes", "policyArn": "arn:aws:iam::aws:policy/One"}
    assert differences(ATTACHMENT, before, {**before, "policyArn": UNKNOWN}) == (
        Difference("policyArn", "update", True),
    )


def test_ignored_properties_are_left_out() -> None:
    assert differences(ROLE, GIVEN, {**GIVEN, "name": "others", "tags": {}}, ignored=["tags"]) == (
        Difference("name", "update", True),
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.token)
def test_the_offline_preview_replaces_for_the_same_properties(kind: Any) -> None:
    resource = Recorded(urn="", type=kind.token, name="", inputs={})
    # A resource's region is the cluster's, whose change replaces the provider and all it made.
    assert {name for name in kind.inputs - {"region"} if effect_of(resource, name) == "replace"} == kind.replaces - {
        "region"
    }


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.token)
def test_a_kind_is_consistent_in_itself(kind: Any) -> None:
    assert kind.replaces <= kind.inputs
    assert kind.documents <= kind.inputs
    assert not {*kind.computed} & kind.inputs


def test_a_property_that_is_unknown_to_the_stand_in_or_missing_is_refused() -> None:
    assert input_problems(ROLE, {"name": "nodes", "maxSessionDuration": 3600}) == {
        "assumeRolePolicy": "is required",
        "maxSessionDuration": "is not among those that the stand-in knows for aws:iam/role:Role",
    }


def test_the_providers_own_inputs_are_checked_too() -> None:
    given = {"region": "us-west-2", "version": "7.51.1", "profile": "mine", "skipRegionValidation": "true"}
    assert config_problems(given) == {"profile": "is not among the provider inputs that the stand-in knows"}


def test_a_refresh_tells_the_present_value_of_what_was_given() -> None:
    found = {"name": "nodes", "assumeRolePolicy": '{"Version":"2012-10-17"}', "arn": "arn:1", "tagsAll": {"a": "z"}}
    assert read_inputs(ROLE, found, GIVEN, {}) == {**GIVEN, "tags": {"a": "z"}}


def test_an_import_gives_every_input_but_default_tags() -> None:
    found = {
        "name": "nodes",
        "assumeRolePolicy": "{}",
        "description": None,
        "arn": "arn:1",
        "tagsAll": {"a": "b", "owner": "platform"},
    }
    assert read_inputs(ROLE, found, {}, {"owner": "platform"}) == {
        "name": "nodes",
        "assumeRolePolicy": "{}",
        "tags": {"a": "b"},
    }


def test_tags_are_taken_off_and_put_on() -> None:
    before, after = {"tagsAll": {"a": "1", "b": "2", "c": "3"}}, {"tagsAll": {"b": "2", "c": "4", "d": "5"}}
    assert tag_changes(before, after) == (["a"], {"c": "4", "d": "5"})


def test_whole_numbers_come_back_from_the_wire_as_such() -> None:
    assert plain(struct({"seconds": 300, "share": 0.5, "list": [1, {"n": 2}], "none": None})) == {
        "seconds": 300,
        "share": 0.5,
        "list": [1, {"n": 2}],
    }
