"""The offline preview and the engine's first preview of every stack: the same URNs, the same inputs.

The cluster is empty and the account new, as before a first update. What the engine shows otherwise is listed with its
reason, and nothing else may differ. Charts come from the stand-in for registries, under the names in the stack files.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi.runtime.rpc import UNKNOWN as UNKNOWN_ON_THE_WIRE

from preview.checks import policies
from preview.compare import changes
from preview.recording import Recording
from preview.render import render
from preview.wire import SECRET, UNKNOWN, conceal
from testbed.aws import start_aws
from testbed.cluster.control_plane import control_plane
from testbed.processes import Processes, held
from testbed.pulumi.charts.server import chart_stand_in
from testbed.pulumi.engine import Engine
from testbed.pulumi.project import Project
from testbed.pulumi.steps import Outcome
from testbed.state import State

CHECKOUT = Path(__file__).parents[3]
STACKS = sorted(path.name.split(".")[1] for path in (CHECKOUT / "stacks").glob("Pulumi.*.yaml"))
PACK = ("--policy-pack", str(CHECKOUT / "policies"))
NOT_KNOWN_YET = "can't run policy"
WITH_SECRET = "testbed, kubeconfig as a secret"
SECRET_IN_THE_CLI = "[secret]"


@dataclass(frozen=True)
class Expected:
    """A difference that has a reason. `type` and `path` are whole regular expressions."""

    type: str
    path: str
    why: str

    def explains(self, type_token: str, path: str) -> bool:
        return bool(re.fullmatch(self.type, type_token) and re.fullmatch(self.path, path))


EXPECTED = (
    Expected("pulumi:providers:.*", "version|__internal", "the engine adds them to every provider"),
    Expected(
        "pulumi:providers:kubernetes",
        "kubeconfig",
        "the AWS provider answers getCluster in a preview already; offline nobody is asked",
    ),
    Expected(
        "kubernetes:helm.sh/v3:Release",
        "compat",
        "a mark of the SDK for the provider, which takes it off",
    ),
    Expected(
        "kubernetes:helm.sh/v3:Release",
        "allowNullValues|dependencyUpdate|description|devel|disable(CRDHooks|OpenapiValidation|Webhooks)|forceUpdate"
        "|keyring|lint|postrender|recreatePods|renderSubchartNotes|replace|resetValues|reuseValues|skipAwait|verify"
        "|waitForJobs|repositoryOpts\\.(caFile|certFile|keyFile|password|username)",
        "the provider fills in every field of a release with Go's zero value",
    ),
    Expected(
        "kubernetes:(karpenter.sh/v1:NodePool|karpenter.k8s.aws/v1:EC2NodeClass)",
        "metadata\\.namespace",
        "the provider cannot know the scope of a kind whose CRD is not served yet; at the update it is",
    ),
    Expected(
        "kubernetes:scheduling.k8s.io/v1:PriorityClass",
        "globalDefault",
        "the provider leaves a false out",
    ),
)


@dataclass(frozen=True)
class Both:
    """A stack as either sees it."""

    offline: Recording
    violations: frozenset[tuple[str, str]]
    """Rules of the policy pack that are broken offline, and by which resource."""
    engine: Outcome


@pytest.fixture(scope="module")
def stacks() -> Iterator[dict[str, Both]]:
    with (
        State() as state,
        Processes(state) as processes,
        control_plane(state, processes) as cluster,
        chart_stand_in(state) as charts,
    ):
        found: dict[str, Both] = {}
        for name in (*STACKS, WITH_SECRET):
            stack = name.partition(",")[0]
            place = _cluster(stack)
            aws = start_aws(
                state,
                processes,
                cluster_name=place["name"],
                account=place["accountId"],
                region=place["region"],
                cluster_endpoint=cluster.endpoint,
                certificate_authority=base64.b64encode(cluster.authority.certificate.read_bytes()).decode(),
            )
            with held(aws.process):
                secrets = [("floodplain:kubeconfig", cluster.kubeconfig.read_text())] if name == WITH_SECRET else []
                engine = Engine(state, cluster, aws, charts)
                project = Project(engine, CHECKOUT, stack, secrets=secrets)
                rendering = render(stack, project.folder)
                broken = frozenset((one.check, one.urn) for one in policies.check(rendering))
                found[name] = Both(rendering.plan, broken, project.preview(*PACK))
                project.remove()
        yield found


def _cluster(stack: str) -> Mapping[str, str]:
    content = yaml.safe_load((CHECKOUT / "stacks" / f"Pulumi.{stack}.yaml").read_text())
    place: Mapping[str, str] = content["config"]["floodplain:cluster"]
    return place


def _as_the_cli_shows(value: Any) -> Any:
    """Marks of the offline preview in the CLI's spelling."""
    if isinstance(value, Mapping):
        return {key: _as_the_cli_shows(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_the_cli_shows(item) for item in value]
    return (
        {SECRET: SECRET_IN_THE_CLI, UNKNOWN: UNKNOWN_ON_THE_WIRE}.get(value, value) if isinstance(value, str) else value
    )


def _differences(both: Both) -> Iterator[tuple[str, str, str]]:
    """Type, path and a line for a person of every place at which the two differ."""
    engine = {step.urn: step.new.get("inputs") or {} for step in both.engine.steps}
    for one in both.offline.resources:
        wanted = _as_the_cli_shows(conceal(dict(one.inputs)))
        for change in changes(wanted, engine[one.urn]):
            yield one.type, change.path, f"{one.name} {change.path}: {change.before!r} became {change.after!r}"


@pytest.mark.parametrize("name", [*STACKS, WITH_SECRET])
def test_both_list_the_same_resources(stacks: dict[str, Both], name: str) -> None:
    offline = {one.urn: "create" for one in stacks[name].offline.resources}
    stack = name.partition(",")[0]
    root = f"urn:pulumi:{stack}::floodplain::pulumi:pulumi:Stack::floodplain-{stack}"
    assert stacks[name].engine.ops() == offline | {root: "create"}


@pytest.mark.parametrize("name", [*STACKS, WITH_SECRET])
def test_both_ask_for_the_same(stacks: dict[str, Both], name: str) -> None:
    unexplained = [
        line
        for token, path, line in _differences(stacks[name])
        if not any(one.explains(token, path) for one in EXPECTED)
    ]
    assert unexplained == []


def test_every_explanation_is_needed(stacks: dict[str, Both], row: Callable[..., None]) -> None:
    seen = [(token, path) for both in stacks.values() for token, path, _ in _differences(both)]
    for one in EXPECTED:
        places = {(token, path) for token, path in seen if one.explains(token, path)}
        assert places, one.why
        row("inputs that the engine shows otherwise", type=one.type, properties=len(places), why=one.why)


@pytest.mark.parametrize("name", [*STACKS, WITH_SECRET])
def test_providers_dependencies_and_parents_are_the_same(stacks: dict[str, Both], name: str) -> None:
    engine = {step.urn: step.new for step in stacks[name].engine.steps}
    for one in stacks[name].offline.resources:
        new = engine[one.urn]
        assert "::".join(str(new.get("provider", "")).split("::")[:4]) == one.provider
        assert tuple(sorted(new.get("dependencies") or ())) == one.depends_on
        parent = new.get("parent", "")
        assert ("" if "pulumi:pulumi:Stack" in parent.split("::")[2] else parent) == one.parent


@pytest.mark.parametrize("name", [*STACKS, WITH_SECRET])
def test_the_policy_pack_finds_the_same(stacks: dict[str, Both], name: str) -> None:
    found = {(one.policy, one.urn) for one in stacks[name].engine.violations if NOT_KNOWN_YET not in one.message}
    assert found == stacks[name].violations


def test_a_secret_kubeconfig_is_never_shown(stacks: dict[str, Both]) -> None:
    (provider,) = (step for step in stacks[WITH_SECRET].engine.steps if step.type == "pulumi:providers:kubernetes")
    assert provider.new["inputs"]["kubeconfig"] == SECRET_IN_THE_CLI
