"""Updates of a deployed stack on the real engine, and what a failed one leaves behind.

The first `up` of this file fails since the queue's name is taken, the second is interrupted while Karpenter's chart is
installed, the third fails since the API server refuses the NodePool; the fourth makes the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from preview import stackfile
from preview.diff import ONLY_RENAMED, compare
from preview.dump import concealed
from preview.model import ResourceChange
from preview.outputs import Apply
from preview.recording import Recording
from preview.render import run
from testbed.bed import Bed, open_bed
from testbed.processes import wait_until
from testbed.pulumi.project import RefusedError
from testbed.pulumi.steps import Outcome
from testbed.state import State

CHECKOUT = Path(__file__).parents[3]
QUEUE = "Karpenter-testbed"
POOL = "/apis/karpenter.sh/v1/nodepools/swap"
CLASS = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/swap"
PRIORITY = "/apis/scheduling.k8s.io/v1/priorityclasses/floodplain-swap"
RENAMED = '''"""The project's program with its platform under another name, and an alias for the old one."""

import pulumi

from components import Platform
from stacks import read_config

config = read_config(pulumi.get_stack())
opts = pulumi.ResourceOptions(aliases=[pulumi.Alias(name="platform")])
Platform("base", config.platform_args(), opts)
'''


@dataclass
class Deployed:
    """A bed whose first three updates failed and whose fourth went through."""

    bed: Bed
    queue_taken: RefusedError
    interrupted: RefusedError
    object_refused: RefusedError
    left: tuple[dict[str, Any], ...]
    """The state after each of the three."""
    mended: Outcome
    quiet: Outcome
    pool: dict[str, Any] = field(default_factory=dict)

    def edit(self, **settings: Any) -> tuple[dict[str, str], Outcome]:
        """Change the pool's settings; what the offline preview says of it, and what the engine did."""
        before = offline(self.bed)
        self.pool |= settings

        def change(config: dict[str, Any]) -> None:
            config["floodplain:pools"][0].update(settings)

        self.bed.project.edit(change)
        said: dict[str, str] = {one.urn: one.action for one in verdict(before, offline(self.bed))}
        return said, self.bed.project.up()


def offline(bed: Bed) -> Recording:
    """What the stack asks for when everything is known; secrets as marks."""
    return concealed(run(stackfile.load(bed.project.folder, "testbed"), bed.project.folder, Apply()))


def verdict(before: Recording, after: Recording) -> tuple[ResourceChange, ...]:
    return compare(before, after, name="before").changes


@pytest.fixture(scope="module")
def deployed() -> Iterator[Deployed]:
    with State() as state, open_bed(state) as bed:
        sqs, api = bed.aws.client("sqs"), bed.cluster.api
        taken = sqs.create_queue(QueueName=QUEUE, Attributes={"MessageRetentionPeriod": "1209600"})["QueueUrl"]
        for one in _refusal():
            api.must_apply(one)
        queue_taken, first = _fails(bed)
        sqs.delete_queue(QueueUrl=taken)
        with ThreadPoolExecutor(1) as worker:
            update = worker.submit(_fails, bed)
            wait_until("Karpenter's chart is being installed", lambda: _has_deployment(bed), timeout_seconds=120)
            bed.engine.interrupt()
            interrupted, second = update.result()
        object_refused, third = _fails(bed)
        for one in _refusal():
            api.delete(api.path_of(one))
        left = (first, second, third)
        yield Deployed(bed, queue_taken, interrupted, object_refused, left, bed.deploy(), bed.project.preview())


def _fails(bed: Bed) -> tuple[RefusedError, dict[str, Any]]:
    with pytest.raises(RefusedError) as caught:
        bed.project.up()
    return caught.value, bed.project.state()


def _has_deployment(bed: Bed) -> bool:
    return bed.cluster.api.find("/apis/apps/v1/namespaces/kube-system/deployments/karpenter") is not None


def _refusal() -> list[dict[str, Any]]:
    """A rule of the cluster's administrators: no pools."""
    group, name = "admissionregistration.k8s.io/v1", {"name": "no-pools"}
    rule = {
        "apiGroups": ["karpenter.sh"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["nodepools"],
    }
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": name,
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": "no pools here"}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": name,
        "spec": {"policyName": "no-pools", "validationActions": ["Deny"]},
    }
    return [policy, binding]


def test_a_queue_that_somebody_has_already_is_told_in_aws_words(deployed: Deployed) -> None:
    assert "platform-karpenter-queue: creating" in str(deployed.queue_taken)
    assert "queue already exists" in str(deployed.queue_taken)


def test_an_object_that_the_api_server_refuses_is_told_in_its_words(deployed: Deployed) -> None:
    assert "platform-swap-nodepool" in str(deployed.object_refused)
    assert "no pools here" in str(deployed.object_refused)


def test_an_interrupted_update_takes_a_half_installed_chart_away_again(deployed: Deployed) -> None:
    assert "release karpenter failed, and has been uninstalled due to atomic being set" in str(deployed.interrupted)
    left = {urn.rpartition("::")[2] for urn in deployed.left[1]}
    assert "platform-karpenter-crds" in left
    assert not left & {"platform-karpenter-controller", "platform-swap-nodepool"}


def test_a_failed_update_keeps_what_it_has_made(deployed: Deployed) -> None:
    failures = (deployed.queue_taken, deployed.interrupted, deployed.object_refused)
    for failed, left in zip(failures, deployed.left, strict=True):
        assert {*failed.outcome.order("create")} <= {*left}
    first, second, third = ({urn.rpartition("::")[2] for urn in left} for left in deployed.left)
    assert first < second < third
    assert not first & {"platform-karpenter-queue", "platform-karpenter-queue-policy", "platform-karpenter-controller"}
    assert {"platform-karpenter-controller"} <= third - second
    assert "platform-swap-nodepool" not in third


def test_the_next_update_makes_the_rest_and_touches_nothing_that_was_there(deployed: Deployed) -> None:
    assert set(deployed.mended.ops().values()) == {"create"}
    assert not {*deployed.mended.ops()} & {*deployed.left[-1]}
    assert {*deployed.mended.ops(), *deployed.left[-1]} == {*deployed.bed.project.state()}
    assert deployed.quiet.ops() == {}


def test_a_limit_is_changed_in_place(deployed: Deployed) -> None:
    before = deployed.bed.cluster.api.get(POOL)
    said, done = deployed.edit(limits={"cpu": "16", "memory": "64Gi"})
    after = deployed.bed.cluster.api.get(POOL)
    assert {urn.rpartition("::")[2]: op for urn, op in done.ops().items()} == {"platform-swap-nodepool": "update"}
    assert done.ops() == said
    assert after["spec"]["limits"] == {"cpu": "16", "memory": "64Gi"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_a_user_data_edit_changes_the_class_alone_as_the_offline_preview_says(deployed: Deployed) -> None:
    before = deployed.bed.cluster.api.get(CLASS)
    said, done = deployed.edit(swap={"swappiness": 60})
    after = deployed.bed.cluster.api.get(CLASS)
    assert {urn.rpartition("::")[2]: op for urn, op in done.ops().items()} == {"platform-swap-nodeclass": "update"}
    assert done.ops() == said
    assert "60" in after["spec"]["userData"] and after["spec"]["userData"] != before["spec"]["userData"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_other_tags_reach_everything_in_aws_in_place(deployed: Deployed) -> None:
    bed, before = deployed.bed, offline(deployed.bed)
    bed.project.edit(lambda config: config["floodplain:tags"].update(owner="platform"))
    said = {one.urn: one.action for one in verdict(before, offline(bed))}
    assert bed.project.up().ops() == said
    assert [*said.values()] == ["update"] * 17
    iam, sqs, eks = (bed.aws.client(service) for service in ("iam", "sqs", "eks"))
    url = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    (principal,) = eks.list_access_entries(clusterName="testbed")["accessEntries"]
    entry = eks.describe_access_entry(clusterName="testbed", principalArn=principal)["accessEntry"]
    role = iam.get_role(RoleName="KarpenterNodeRole-us-west-2-testbed")["Role"]
    wanted = {"environment": "testbed", "owner": "platform"}
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == wanted
    assert entry["tags"] == wanted
    assert {tag["Key"]: tag["Value"] for tag in role["Tags"]} == wanted


def test_a_priority_is_changed_by_another_object_of_the_same_name(deployed: Deployed) -> None:
    before = deployed.bed.cluster.api.get(PRIORITY)
    said, done = deployed.edit(priority={"value": 1000})
    after = deployed.bed.cluster.api.get(PRIORITY)
    assert {urn.rpartition("::")[2]: op for urn, op in done.ops().items()} == {"platform-swap-priorityclass": "replace"}
    assert done.ops() == said
    assert (before["value"], after["value"]) == (0, 1000)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    parts = [step.op for step in done.steps if step.urn.endswith("platform-swap-priorityclass")]
    assert parts.index("delete-replaced") < parts.index("create-replacement")


def test_what_somebody_changed_or_took_away_outside_is_put_right_by_refresh_and_up(deployed: Deployed) -> None:
    bed = deployed.bed
    sqs, events = bed.aws.client("sqs"), bed.aws.client("events")
    url = sqs.get_queue_url(QueueName=QUEUE)["QueueUrl"]
    sqs.tag_queue(QueueUrl=url, Tags={"environment": "somebody-elses"})
    events.remove_targets(Rule="Karpenter-health-testbed", Ids=["karpenter"])
    seen = {urn.rpartition("::")[2]: op for urn, op in bed.project.refresh().ops().items()}
    assert seen == {
        "platform-karpenter-queue": "update",
        "platform-karpenter-target-health": "delete",
    }
    put_right = {urn.rpartition("::")[2]: op for urn, op in bed.project.up().ops().items()}
    assert put_right == {
        "platform-karpenter-queue": "update",
        "platform-karpenter-target-health": "create",
    }
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"]["environment"] == "testbed"
    assert events.list_targets_by_rule(Rule="Karpenter-health-testbed")["Targets"][0]["Id"] == "karpenter"
    assert bed.project.preview().ops() == {}


def test_a_field_that_somebody_set_by_hand_stops_an_update_until_both_agree(deployed: Deployed) -> None:
    bed = deployed.bed
    wanted = bed.cluster.api.get(POOL)["spec"]["limits"]["cpu"]
    bed.cluster.api.patch(POOL, {"spec": {"limits": {"cpu": "1"}}})
    assert bed.project.preview().ops() == {}, "without a refresh the engine does not look"
    assert [*bed.project.refresh().ops().values()] == ["update"]
    with pytest.raises(RefusedError) as caught:
        bed.project.up()
    assert 'conflict with "python-requests"' in str(caught.value)
    assert ".spec.limits.cpu" in str(caught.value)
    bed.cluster.api.patch(POOL, {"spec": {"limits": {"cpu": wanted}}})
    bed.project.refresh()
    assert bed.project.up().ops() == {}


def test_a_rename_with_an_alias_replaces_nothing(deployed: Deployed) -> None:
    bed = deployed.bed
    before = {path: bed.cluster.api.get(path)["metadata"]["uid"] for path in (POOL, CLASS, PRIORITY)}
    asked, program = offline(bed), bed.project.folder / "__main__.py"
    program.unlink()
    program.write_text(RENAMED)
    assert {change.reason for change in verdict(asked, offline(bed))} == {ONLY_RENAMED}
    done = bed.project.up()
    assert {urn: op for urn, op in done.ops().items() if "Stack" not in urn} == {}
    assert {path: bed.cluster.api.get(path)["metadata"]["uid"] for path in before} == before
    assert {urn.rpartition("::")[2].partition("-")[0] for urn in bed.project.state() if "pulumi:Stack" not in urn} == {
        "base"
    }
