"""The pack as the engine starts it: a process, a port on its standard output, gRPC."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

from policies.rules import POLICIES

PACK = Path(__file__).resolve().parents[2] / "policies"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
URN = f"urn:pulumi:prod::floodplain::{NODE_POOL}::p"
LEVELS = {"advisory": analyzer_pb2.ADVISORY, "mandatory": analyzer_pb2.MANDATORY}


@pytest.fixture(scope="module")
def analyzer() -> Iterator[Any]:
    """The engine's side of a running pack. The engine starts it in the pack's folder, with `.` for its path."""
    process = subprocess.Popen(
        # The SDK writes the port without a flush; like the language host, start it unbuffered.
        [sys.executable, "-u", "-m", "pulumi.policy", "127.0.0.1:1", "."],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=PACK,
    )
    assert process.stdout and process.stderr
    try:
        assert select.select([process.stdout], [], [], 30)[0], "the pack did not say its port within 30 s"
        port = process.stdout.readline().strip()
        assert port.isdigit(), process.stderr.read()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield analyzer_pb2_grpc.AnalyzerStub(channel)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def struct(value: dict[str, Any]) -> struct_pb2.Struct:
    return json_format.ParseDict(value, struct_pb2.Struct())


def test_it_serves_exactly_the_rules_with_their_levels(analyzer: Any) -> None:
    info = analyzer.GetAnalyzerInfo(empty_pb2.Empty(), wait_for_ready=True, timeout=30)
    assert info.name == "floodplain"
    assert [(one.name, one.enforcementLevel) for one in info.policies] == [
        (policy.name, LEVELS[policy.enforcement_level.value]) for policy in POLICIES if policy.enforcement_level
    ]
    schemas = {one.name: json_format.MessageToDict(one.configSchema.properties) for one in info.policies}
    assert schemas["images-by-digest-in-protected-stacks"]["protectedStacks"]["default"] == [
        "prod",
        "production",
        "hotosm",
    ]


def test_it_judges_a_resource_as_the_engine_sends_it(analyzer: Any) -> None:
    request = analyzer_pb2.AnalyzeRequest(
        type=NODE_POOL,
        name="p",
        urn=URN,
        properties=struct({"spec": {"limits": {"cpu": 10}, "template": {"spec": {"taints": []}}}}),
        provider=analyzer_pb2.AnalyzerProviderResource(
            type="pulumi:providers:kubernetes", name="default_4_34_2", urn="urn:pulumi:prod::f::x::default_4_34_2"
        ),
    )
    found = {one.policyName for one in analyzer.Analyze(request, timeout=30).diagnostics}
    assert found == {
        "node-pool-has-limits",
        "node-pool-has-a-taint",
        "node-pool-lets-jobs-finish",
        "provider-is-explicit",
    }


def test_secret_marks_are_taken_off_before_a_rule_sees_them_and_the_sdks_list_tells(analyzer: Any) -> None:
    marked = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "hunter2"}
    kind = "kubernetes:core/v1:Secret"
    found = []
    for outputs in ([], ["data", "stringData"]):
        request = analyzer_pb2.AnalyzeRequest(
            type=kind,
            name="s",
            urn=f"urn:pulumi:prod::floodplain::{kind}::s",
            properties=struct({"stringData": {"password": marked}}),
            options=analyzer_pb2.AnalyzerResourceOptions(additionalSecretOutputs=outputs),
            provider=analyzer_pb2.AnalyzerProviderResource(type="pulumi:providers:kubernetes", name="prod", urn="u"),
        )
        found.append([one.policyName for one in analyzer.Analyze(request, timeout=30).diagnostics])
    assert found == [["secret-inputs-are-marked"], []]


def test_it_judges_a_stack_and_follows_its_dependencies(analyzer: Any, hotosm_shape: Any) -> None:
    resources = [
        analyzer_pb2.AnalyzerResource(
            type=one.type,
            name=one.name,
            urn=one.urn,
            properties=struct(json.loads(json.dumps(one.props))),
            propertyDependencies={
                key: analyzer_pb2.AnalyzerPropertyDependencies(
                    urns=[other.urn for other in hotosm_shape if other.name == name]
                )
                for key, name in one.linked.items()
            },
        )
        for one in hotosm_shape
    ]
    answer = analyzer.AnalyzeStack(analyzer_pb2.AnalyzeStackRequest(resources=resources), timeout=30)
    assert [one.policyName for one in answer.diagnostics] == [
        "swap-pool-families-hold-the-swap",
        "interruption-is-complete",
        "karpenter-has-its-permissions",
    ]


def test_it_is_configured_by_rule(analyzer: Any) -> None:
    config = {
        policy.name: analyzer_pb2.PolicyConfig(enforcementLevel=analyzer_pb2.DISABLED, properties=struct({}))
        for policy in POLICIES
    }
    config["machine-image-is-pinned-in-protected-stacks"] = analyzer_pb2.PolicyConfig(
        enforcementLevel=analyzer_pb2.MANDATORY, properties=struct({"protectedStacks": ["dev"]})
    )
    analyzer.Configure(analyzer_pb2.ConfigureAnalyzerRequest(policyConfig=config), timeout=30)
    kind = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
    properties = struct({"spec": {"role": "r", "amiSelectorTerms": [{"alias": "al2023@latest"}]}})
    found = {
        stack: [
            one.policyName
            for one in analyzer.Analyze(
                analyzer_pb2.AnalyzeRequest(
                    type=kind, name="c", urn=f"urn:pulumi:{stack}::f::{kind}::c", properties=properties
                ),
                timeout=30,
            ).diagnostics
        ]
        for stack in ("dev", "prod")
    }
    assert found == {"dev": ["machine-image-is-pinned-in-protected-stacks"], "prod": []}


def test_the_pack_file_names_what_the_engine_needs() -> None:
    content = yaml.safe_load((PACK / "PulumiPolicy.yaml").read_text())
    assert content["runtime"]["name"] == "python"
    assert content["version"] and content["description"]
