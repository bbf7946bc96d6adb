"""Each sample program is wrong in one way; the finding says where, what and what to do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from floodplain.problem import Problem
from preview.checks import check, graph, karpenter, policies, program, stack_file, values
from preview.finding import Finding, ordered
from preview.recording import Message
from preview.render import Rendering

Rendered = Callable[..., Rendering]
SECRET = {"secure": "v1:abc"}


def told(findings: Iterable[Finding]) -> list[str]:
    return sorted(str(finding.problem) for finding in findings)


def test_a_sound_program_has_no_findings(rendered: Rendered) -> None:
    assert check(rendered("good", {"token": SECRET})) == ()


def test_nulls_name_the_output_that_is_missing_or_the_key_to_leave_out(rendered: Rendered) -> None:
    assert told(values.nulls(rendered("nulls"))) == [
        "facts: data.created: is null: preview/outputs.py knows no output `createDate` of aws:iam/role:Role; "
        "add it to the table of that type's outputs",
        "facts: metadata.labels.empty: is null although nothing computed feeds it; leave the key out",
    ]


def test_what_is_unknown_by_surprise_is_told_with_where_to_allow_it(rendered: Rendered) -> None:
    assert told(values.unknowns(rendered("unknowns"))) == [
        "facts: metadata.name: is not known before the first update, so nothing can check it beforehand; give it as "
        "a plain value, or say in preview/expected_unknowns.py why kubernetes:core/v1:ConfigMap may"
    ]


def test_secrets_are_found_wherever_they_leave_their_mark_behind(rendered: Rendered) -> None:
    rendering = rendered("secrets", {"token": SECRET, "database": {"user": "app", "password": SECRET}})
    assert told(values.secrets(rendering)) == [
        "facts: data.token: holds the secret test:token in clear text; read it with require_secret and keep it an "
        "Output",
        "leak: metadata.annotations.token: holds the secret test:token in clear text; read it with require_secret and "
        "keep it an Output",
        "leaky: outputs.url: holds the secret test:database.password in clear text; read it with require_secret and "
        "keep it an Output",
        "output token: exports the secret test:token in clear text; export it with Output.secret, or not at all",
    ]


def test_an_output_in_a_text_is_found_where_it_arrives(rendered: Rendered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_ERROR_OUTPUT_STRING", raising=False)
    rendering = rendered("output_in_text")
    assert told(values.outputs_in_text(rendering)) == [
        "second: name: has an Output put into a text; use Output.format, Output.concat or apply"
    ]
    assert told(program.messages(rendering)) == []


def test_default_providers_are_found_on_resources_calls_lookups_and_remote_components(rendered: Rendered) -> None:
    rendering = rendered("default_providers")
    assert told(graph.explicit_providers(rendering)) == [
        'aws:eks/getCluster:getCluster {"name": "small"}: the call uses the default provider of aws; pass a provider, '
        "or a parent that has one",
        "chart: kubernetes:helm.sh/v4:Chart uses the default provider of kubernetes; pass a provider, or a parent "
        "that has one",
        "looked-up: aws:sqs/queue:Queue uses the default provider of aws; pass a provider, or a parent that has one",
    ]
    found = [finding for finding in policies.check(rendering) if finding.check == "provider-is-explicit"]
    assert [finding.urn.rsplit("::", 1)[-1] for finding in found] == ["without", "wrong"]


def test_a_wrong_deletion_order_is_read_from_the_graph(rendered: Rendered) -> None:
    pairs = [
        (finding.problem.path.split(" ")[0], finding.problem.rule.split(" ")[4])
        for finding in graph.deletion_order(rendered("deletion_order"))
    ]
    assert sorted(pairs) == [
        ("class", "controller"),
        ("controller", "attached"),
        ("controller", "crds"),
        ("controller", "queue"),
        ("controller", "role"),
        ("pool", "class"),
        ("pool", "controller"),
    ]


def test_a_good_order_through_others_parents_and_providers_counts(rendered: Rendered) -> None:
    rendering = rendered("good", {"token": SECRET})
    reach = graph.Reach(rendering.apply)
    pool = reach.of(rendering.apply.one(":NodePool").urn)
    assert {rendering.apply.one("Role").urn, rendering.apply.one("providers:kubernetes").urn} <= pool
    assert told(graph.deletion_order(rendering)) == []


def test_rules_of_the_crds_are_checked_on_what_is_rendered(rendered: Rendered) -> None:
    messages = told(karpenter.check(rendered("deletion_order")))
    assert "class: spec.amiSelectorTerms: is required; set it" in messages
    assert "pool: spec.template.spec.nodeClassRef.group: is required; set it" in messages


def test_policies_run_behind_the_proxy_with_their_level_and_remedy(rendered: Rendered) -> None:
    found = policies.check(rendered("deletion_order"))
    limits = next(finding for finding in found if finding.check == "node-pool-has-limits")
    assert limits.severity == "error"
    assert limits.property == "spec.limits.cpu"
    assert str(limits.problem).startswith("pool: spec.limits.cpu: ")


def test_a_difference_between_two_runs_is_an_error(rendered: Rendered) -> None:
    urn = "urn:pulumi:dev::test::aws:sqs/queue:Queue::queue"
    unstable = dataclasses.replace(rendered("good", {"token": SECRET}), unstable=(f"plan {urn}", "apply outputs"))
    assert [(finding.severity, finding.urn, str(finding.problem)) for finding in program.stable(unstable)] == [
        (
            "error",
            urn,
            f"{urn}: comes out differently when rendered again (plan); take out what is random, the time, or the "
            "order of a set",
        ),
        (
            "error",
            "",
            "outputs: comes out differently when rendered again (apply); take out what is random, the time, or the "
            "order of a set",
        ),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("pools[0].ami.alias: rolls; pin it", "stacks/Pulumi.dev.yaml: test:pools[0].ami.alias: rolls; pin it"),
        ("karpenter: is old", "stacks/Pulumi.dev.yaml: test:karpenter: is old"),
        ("Something else: happened", "stacks/Pulumi.dev.yaml: Something else: happened"),
    ],
)
def test_what_the_program_warns_of_is_a_warning_at_its_key(rendered: Rendered, text: str, line: str) -> None:
    rendering = rendered("good", {"token": SECRET})
    said = dataclasses.replace(rendering.apply, messages=(Message("warning", text), Message("info", "hello")))
    found = list(program.messages(dataclasses.replace(rendering, apply=said)))
    assert [(finding.severity, str(finding.problem)) for finding in found] == [("warning", line)]


def test_an_environment_that_cannot_be_read_offline_is_a_warning(rendered: Rendered) -> None:
    rendering = rendered("good", {"token": SECRET})
    file = dataclasses.replace(rendering.stackfile, environments=("shared",))
    assert told(program.environments(dataclasses.replace(rendering, stackfile=file))) == [
        "stacks/Pulumi.dev.yaml: environment: 'shared' cannot be read offline, its values are missing"
    ]


def test_errors_come_first_and_each_finding_once() -> None:
    def finding(severity: Any, path: str) -> Finding:
        return Finding(severity, "x", Problem(path, "is wrong"))

    mixed = [finding("warning", "b"), finding("error", "c"), finding("error", "a"), finding("error", "c")]
    assert [(one.severity, one.problem.path) for one in ordered(mixed)] == [
        ("error", "a"),
        ("error", "c"),
        ("warning", "b"),
    ]


KUBECONFIG = "kind: Config\nusers:\n- name: a\n  user:\n    token: abcdef0123\n"


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("aws:secretKey", "abc/def+ghi", "aws:secretKey: holds a credential, by its name, in clear text; encrypt it: "),
        ("aws:accessKey", "AKIAIOSFODNN7EXAMPLE", "aws:accessKey: holds an AWS access key in clear text; encrypt it: "),
        ("github:token", "abcdef", "github:token: holds a credential, by its name, in clear text; encrypt it: "),
        ("kubernetes:kubeconfig", KUBECONFIG, "kubernetes:kubeconfig: holds a token in a kubeconfig in clear text; "),
        (
            "kubernetes:kubeconfig",
            {"kind": "Config", "users": [{"name": "a", "user": {"client-key-data": "abcdef"}}]},
            "kubernetes:kubeconfig: holds a client-key-data in a kubeconfig in clear text; ",
        ),
        ("test:db", [{"password": "a-b-c"}], "test:db[0].password: holds a credential, by its name, in clear text; "),
    ],
)
def test_a_secret_in_clear_text_is_told_whoever_reads_it(rendered: Rendered, key: str, value: Any, line: str) -> None:
    rendering = rendered("good", {"token": SECRET})
    file = dataclasses.replace(rendering.stackfile, values={key: value})
    [said] = told(stack_file.check(dataclasses.replace(rendering, stackfile=file)))
    assert said.startswith(f"stacks/Pulumi.dev.yaml: {line}")
    assert "abc" not in said and "AKIA" not in said and "a-b-c" not in said


def test_what_is_encrypted_or_only_refers_to_a_secret_is_none(rendered: Rendered) -> None:
    rendering = rendered("good", {"token": SECRET, "db": {"password": SECRET, "passwordFile": "a", "token": "${T}"}})
    assert told(stack_file.check(rendering)) == []
