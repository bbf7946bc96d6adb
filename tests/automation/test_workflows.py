"""What the workflows may do: pinned actions, least permissions, and nothing of value in reach of a fork's code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed.engines.toolchain import needed, numbers

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SAME_REPOSITORY = "github.event.pull_request.head.repo.full_name == github.repository"

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def read(path: Path) -> dict[str, Any]:
    workflow: dict[str, Any] = yaml.safe_load(path.read_text())
    # YAML 1.1 reads the key `on` as true.
    workflow["on"] = workflow.pop(True)  # type: ignore[call-overload]
    return workflow


def triggers(workflow: dict[str, Any]) -> set[str]:
    on = workflow["on"]
    return {on} if isinstance(on, str) else set(on)


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_the_workflows_are_these() -> None:
    assert sorted(path.stem for path in WORKFLOWS) == [
        "preview",
        "preview-comment",
        "pulumi-preview",
        "release",
        "test",
    ]


@each_workflow
def test_every_action_is_pinned_by_commit_and_says_its_version(path: Path) -> None:
    uses = re.findall(r"uses: *(.*)", path.read_text())
    assert uses
    loose = [use for use in uses if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)]
    assert loose == []


def test_one_action_has_one_version_in_all_workflows() -> None:
    versions: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for name, version in re.findall(r"uses: *([^@\s]+)@(.*)", path.read_text()):
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@each_workflow
def test_a_workflow_may_only_read_and_jobs_say_what_more_they_need(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90  # what a cold run of all tiers may take
        permissions = job.get("permissions", {"contents": "read"})
        assert isinstance(permissions, dict), "write-all and read-all are not least permissions"


def test_write_permissions_are_these_and_no_more() -> None:
    granted = {
        f"{path.stem}/{name}": sorted(key for key, value in job.get("permissions", {}).items() if value == "write")
        for path in WORKFLOWS
        for name, job in read(path)["jobs"].items()
    }
    assert {job: rights for job, rights in granted.items() if rights} == {
        "preview-comment/comment": ["pull-requests"],
        "pulumi-preview/preview": ["id-token", "pull-requests"],
        "release/digests": ["contents", "pull-requests"],
        "release/image": ["attestations", "id-token", "packages"],
        "release/publish": ["contents"],
        "release/wheel": ["attestations", "id-token"],
    }


@each_workflow
def test_code_of_a_fork_reaches_neither_secrets_nor_a_token_that_writes(path: Path) -> None:
    workflow = read(path)
    assert "pull_request_target" not in triggers(workflow)
    if "pull_request" not in triggers(workflow):
        return
    assert "secrets." not in yaml.safe_dump({key: value for key, value in workflow.items() if key != "jobs"})
    for name, job in workflow["jobs"].items():
        writes = "write" in job.get("permissions", {}).values()
        if writes or "secrets." in yaml.safe_dump(job):
            assert SAME_REPOSITORY in job.get("if", ""), f"{name} needs a condition that keeps forks out"


def test_the_job_that_comments_runs_code_of_the_default_branch_only() -> None:
    job = read(ROOT / ".github/workflows/preview-comment.yml")["jobs"]["comment"]
    (checkout,) = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    ran = " ".join(step["run"] for step in job["steps"] if "run" in step)
    assert "preview-report/" in ran
    assert not re.search(r"(python3?|sh|bash|source|\.) +preview-report", ran)


@each_workflow
def test_what_others_write_reaches_scripts_through_the_environment(path: Path) -> None:
    # A branch may be named `$(...)`: in the text of a script it would run.
    scripts = [step["run"] for step in steps(read(path)) if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


@each_workflow
def test_a_checkout_keeps_its_token_only_where_it_pushes(path: Path) -> None:
    for name, job in read(path)["jobs"].items():
        kept = [
            step
            for step in job["steps"]
            if step.get("uses", "").startswith("actions/checkout@") and step["with"]["persist-credentials"]
        ]
        pushes = any("git push" in step.get("run", "") for step in job["steps"])
        assert bool(kept) == pushes, name


def test_the_offline_preview_has_the_history_it_compares_with() -> None:
    (checkout,) = [
        step
        for step in steps(read(ROOT / ".github/workflows/preview.yml"))
        if step.get("uses", "").startswith("actions/checkout@")
    ]
    assert checkout["with"]["fetch-depth"] == 0


def test_pulumi_preview_runs_the_cli_of_the_sdks_version() -> None:
    pins = dict(re.findall(r"^([a-z-]+)==(\S+)$", (ROOT / "requirements/program.in").read_text(), re.MULTILINE))
    workflow = read(ROOT / ".github/workflows/pulumi-preview.yml")
    (action,) = [step for step in steps(workflow) if step.get("uses", "").startswith("pulumi/actions@")]
    assert action["with"]["pulumi-version"] == pins["pulumi"]
    assert (ROOT / action["with"]["policyPacks"] / "PulumiPolicy.yaml").exists()


def test_tests_run_on_the_oldest_and_the_newest_python() -> None:
    workflow = read(ROOT / ".github/workflows/test.yml")
    pythons = workflow["jobs"]["checks"]["strategy"]["matrix"]["python"]
    oldest = re.search(r'requires-python = ">=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert oldest
    assert pythons == [oldest[1], "3.13"]


def test_pull_requests_run_every_part_of_ci() -> None:
    workflow = read(ROOT / ".github/workflows/test.yml")
    ran = [step["run"] for step in steps(workflow) if ".ci/run" in step.get("run", "")]
    assert [command.split("bash .ci/run ")[1] for command in ran] == ["fast", "engines"]
    assert "${1:-all}\ncase $parts in\n  all | fast | engines) ;;" in (ROOT / ".ci/run").read_text()


def test_the_cache_of_engines_is_named_after_the_go_that_builds_them() -> None:
    job = read(ROOT / ".github/workflows/test.yml")["jobs"]["engines"]
    settings = [step["with"] for step in job["steps"] if "with" in step]
    (version,) = [given["go-version"] for given in settings if "go-version" in given]
    (key,) = [given["key"] for given in settings if "key" in given]
    assert key.startswith(f"engines-{version}-")
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert numbers(version) >= numbers(needed())


def test_every_make_target_that_automation_calls_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    called = set()
    for path in [*WORKFLOWS, *(ROOT / ".ci").iterdir(), ROOT / ".pre-commit-config.yaml"]:
        if path.is_file():
            called |= set(re.findall(r"(?<![\w-])make ([a-z-]+)\b", path.read_text()))
    assert {"setup", "test", "preview", "lint"} <= called
    # Words after `make` in prose, in the scripts' comments.
    assert called - targets - {"or", "and"} == set()


def test_the_release_builds_a_target_of_the_one_dockerfile() -> None:
    workflow = read(ROOT / ".github/workflows/release.yml")
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    assert workflow["jobs"]["image"]["strategy"]["matrix"]["target"] == ["service"]
    assert workflow["jobs"]["image"]["if"] == "needs.check.outputs.images == 'true'"
    signing = [step["run"] for step in workflow["jobs"]["image"]["steps"] if "cosign sign" in step.get("run", "")]
    assert len(signing) == 1
    stages = re.findall(r"^FROM .* AS (\w+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert stages == ["build", "service"]


def test_pre_commit_downloads_nothing() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = {hook["id"]: hook for repo in config["repos"] for hook in repo["hooks"]}
    assert sorted(hooks) == ["import-linter", "mypy", "ruff", "ruff-format", "shellcheck"]
    assert all(hook["language"] == "system" for hook in hooks.values())
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks.values())
