"""The five stacks of this checkout: sound, and equal to the golden files that a reader can browse."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from preview import document, markdown, terminal
from preview.checks import check
from preview.paths import leaves
from preview.recording import Recording
from preview.render import Rendering, render, render_elsewhere
from preview.report import build
from preview.wire import SECRET, UNKNOWN, reveal

CHECKOUT = Path(__file__).parent.parent.parent
STACKS = ("dev", "hotosm", "prod", "staging", "testbed")


def _inputs(recording: Recording) -> dict[str, Any]:
    """Every value of every registration but for the outputs that components register."""
    resources = document.of(recording)["resources"]
    return dict(leaves({one["urn"]: {**one, "outputs": None} for one in resources}))


# Long parts of the stacks' objects that have golden files of their own, and where.
HELD = {
    "userData": "tests/nodeconfig/golden",
    "matchConditions": "tests/components/golden",
    "matchConstraints": "tests/components/golden/guardrails",
    "validations": "tests/components/golden/guardrails",
    "variables": "tests/components/golden/guardrails",
}


def _brief(value: Any, key: str = "") -> Any:
    """The same with those parts as hashes, so that what is particular to a stack can be read."""
    if key in HELD and value:
        digest = hashlib.sha256(json.dumps(value).encode()).hexdigest()
        return f"sha256:{digest} ({HELD[key]} holds such)"
    if isinstance(value, dict):
        return {name: _brief(item, name) for name, item in value.items()}
    return [_brief(item) for item in value] if isinstance(value, list) else value


@lru_cache
def rendering(stack: str) -> Rendering:
    return render(stack, CHECKOUT)


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_has_no_errors(stack: str) -> None:
    assert [str(finding.problem) for finding in check(rendering(stack)) if finding.severity == "error"] == []


@pytest.mark.parametrize("stack", STACKS)
def test_what_a_stack_asks_for_is_as_recorded(stack: str, golden: Any) -> None:
    head = f"# What the stack {stack} asks the engine for, with stand-ins for what AWS and the cluster decide.\n"
    text = head + document.as_yaml(_brief(document.of(rendering(stack).apply)))
    golden.check(f"preview/golden/{stack}.apply.yaml", text)


@pytest.mark.parametrize("stack", STACKS)
def test_before_the_first_update_only_the_recorded_places_are_unknown_and_all_else_is_the_same(
    stack: str, golden: Any
) -> None:
    plan, apply = (_inputs(recording) for recording in (rendering(stack).plan, rendering(stack).apply))
    unknown = {path for path, value in plan.items() if value == UNKNOWN}
    assert {path: value for path, value in plan.items() if path not in unknown} == {
        path: value for path, value in apply.items() if path not in unknown
    }
    places = {
        resource.urn: [path for path, value in leaves(reveal(dict(resource.inputs))) if value == UNKNOWN]
        for resource in rendering(stack).plan.resources
    }
    head = f"# What of the stack {stack} is known only after the update; all else is as in {stack}.apply.yaml.\n"
    text = head + document.as_yaml([{"urn": urn, "unknown": paths} for urn, paths in places.items() if paths])
    golden.check(f"preview/golden/{stack}.plan.yaml", text)


@pytest.mark.parametrize("stack", STACKS)
def test_what_a_stack_s_report_says_is_as_recorded(stack: str, golden: Any) -> None:
    made = build(rendering(stack), check(rendering(stack)))
    golden.check(f"preview/golden/{stack}.report.txt", terminal.text(made, width=100))
    golden.check(f"preview/golden/{stack}.report.md", markdown.text(made))


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_renders_alike_in_a_second_process_with_another_order_of_sets(stack: str) -> None:
    assert render_elsewhere(stack, CHECKOUT).unstable == ()


SERVICE = f"registry.example/floodplain/service@sha256:{'a' * 64}"


def test_a_stack_that_sizes_asks_for_this_beside_the_rest(edited: Any, golden: Any) -> None:
    """No stack of the project has images yet: a release writes their digests."""

    def sizes(config: dict[str, Any]) -> None:
        config["floodplain:images"] = {"service": SERVICE}
        config["floodplain:sizing"] = {"settings": {"compatibility": "scaleodm"}}

    made = edited("prod", sizes)
    assert [str(finding.problem) for finding in check(made) if finding.severity == "error"] == []
    assert {resource.urn for resource, _ in made.unknowns} == {urn for urn, _ in _unknowns("prod")}
    before = {resource["urn"] for resource in document.of(rendering("prod").apply)["resources"]}
    added = [one for one in document.of(made.apply)["resources"] if one["urn"] not in before]
    head = "# What sizing adds to the stack prod where `images.service` holds a digest.\n"
    golden.check("preview/golden/prod-that-sizes.yaml", head + document.as_yaml(_brief({"resources": added})))


def test_a_stack_with_raster_workers_asks_for_this_beside_the_rest(edited: Any, golden: Any) -> None:
    """No stack of the project has a raster engine's image."""

    def works(config: dict[str, Any]) -> None:
        config["floodplain:workerPools"] = [
            {
                "name": "tiles",
                "image": f"registry.example/tiles@sha256:{'b' * 64}",
                "command": ["tiles", "work", "--queue", "$(FLOODPLAIN_RASTER_POOL)"],
                "small": {"memory": "8Gi", "processes": 8, "autoscaling": {"maxReplicas": 20}},
                "scratch": "4Gi",
                "big": {"taskPeak": "6Gi", "swapPool": config["floodplain:pools"][0]["name"]},
            }
        ]

    made = edited("prod", works)
    assert [str(finding.problem) for finding in check(made) if finding.severity == "error"] == []
    assert {resource.urn for resource, _ in made.unknowns} == {urn for urn, _ in _unknowns("prod")}
    before = {resource["urn"] for resource in document.of(rendering("prod").apply)["resources"]}
    added = [one for one in document.of(made.apply)["resources"] if one["urn"] not in before]
    head = "# What an entry of `workerPools` adds to the stack prod.\n"
    golden.check("preview/golden/prod-with-workers.yaml", head + document.as_yaml(_brief({"resources": added})))

    told = build(made, check(made))
    for form in (terminal.text(told, width=100), markdown.text(told)):
        figures = [line.strip(" -").replace("\\_", "_") for line in form.partition("Raster workers")[2].splitlines()]
        assert "floodplain:workerPools[0]" in "".join(figures[:2])
        assert [line.partition(" ")[2].strip() for line in figures if line][1:5] == [
            "1 to 20 workers of 8 GiB with 8 slots",
            "1 worker of 8.0 GiB with 1 slot",
            "a slot holds 840 MiB; above 420 MiB a task goes big, above 7,988 MiB nowhere",
            "GDAL_CACHEMAX 64MB for each process",
        ]


def _unknowns(stack: str) -> list[tuple[str, str]]:
    return [(resource.urn, path) for resource, path in rendering(stack).unknowns]


def test_irsa_on_fargate_leaves_only_the_arns_of_the_cluster_s_identity_provider_unknown(edited: Any) -> None:
    def irsa(config: dict[str, Any]) -> None:
        config["floodplain:karpenter"].update({"credentials": "Irsa", "runsOn": "Fargate"})

    found = [str(finding.problem) for finding in check(edited("prod", irsa)) if finding.severity == "error"]
    assert found == []


def test_a_kubeconfig_given_as_a_secret_stays_one(edited: Any) -> None:
    def given(config: dict[str, Any]) -> None:
        config["floodplain:kubeconfig"] = {"secure": "v1:abc"}

    secret = edited("prod", given)
    provider = secret.apply.one("providers:kubernetes")
    assert provider.inputs["kubeconfig"] == {SECRET: "placeholder-of-the-secret-floodplain:kubeconfig"}
    assert [str(finding.problem) for finding in check(secret) if finding.severity == "error"] == []
