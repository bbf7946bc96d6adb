"""`--policy-pack policies` under the real CLI: mandatory rules stop an update, advisory ones warn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.bed import Bed, open_bed
from testbed.pulumi.project import RefusedError
from testbed.pulumi.steps import Outcome
from testbed.state import State

CHECKOUT = Path(__file__).parents[3]
PACK = ("--policy-pack", str(CHECKOUT / "policies"))
NOT_KNOWN_YET = "can't run policy"
BARE_POOL = '''"""A pool written by hand, without what keeps a fleet in bounds."""

import pulumi
import pulumi_kubernetes as kubernetes

cluster = kubernetes.Provider(
    "cluster",
    kubeconfig=pulumi.Config().require_secret("kubeconfig"),
    cluster_identifier="testbed",
    enable_server_side_apply=True,
)
kubernetes.apiextensions.CustomResource(
    "pool",
    api_version="karpenter.sh/v1",
    kind="NodePool",
    metadata={"name": "bare"},
    spec={
        "template": {
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "other"},
                "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}],
            }
        }
    },
    opts=pulumi.ResourceOptions(provider=cluster),
)
'''


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with State() as state, open_bed(state) as running:
        running.cluster.install_karpenter_crds()
        yield running


@pytest.fixture(autouse=True)
def untouched(bed: Bed) -> Iterator[None]:
    """Each test finds the stack's file and the program as they are."""
    text, program = bed.project.file.read_text(), bed.project.folder / "__main__.py"
    yield
    bed.project.file.write_text(text)
    program.unlink()
    program.symlink_to(CHECKOUT / "__main__.py")


def follow_the_newest_image(bed: Bed) -> None:
    bed.project.edit(lambda config: config["floodplain:pools"][0]["ami"].update(alias="al2023@latest"))


def violated(outcome: Outcome) -> set[tuple[str, str]]:
    return {(one.policy, one.level) for one in outcome.violations if NOT_KNOWN_YET not in one.message}


def test_what_is_not_known_yet_is_said_and_stops_nothing(bed: Bed) -> None:
    found = bed.project.preview(*PACK)
    assert violated(found) == set(), "the testbed's stack breaks no rule"
    unknown = {(one.policy, one.level) for one in found.violations if NOT_KNOWN_YET in one.message}
    assert unknown == {("iam-no-administrators", "advisory")}


def test_an_advisory_rule_warns_and_the_preview_goes_on(bed: Bed) -> None:
    follow_the_newest_image(bed)
    found = bed.project.preview(*PACK)
    assert violated(found) == {("machine-image-is-pinned", "advisory")}
    assert len(found.steps) == 51


def test_a_mandatory_rule_stops_the_preview_where_the_packs_configuration_makes_the_stack_a_protected_one(
    bed: Bed, tmp_path: Path
) -> None:
    follow_the_newest_image(bed)
    rule = "machine-image-is-pinned-in-protected-stacks"
    (tmp_path / "pack.json").write_text(json.dumps({rule: {"protectedStacks": ["testbed"]}}))
    with pytest.raises(RefusedError) as caught:
        bed.project.preview(*PACK, "--policy-pack-config", str(tmp_path / "pack.json"))
    assert (rule, "mandatory") in violated(caught.value.outcome)


def test_a_pool_by_hand_is_stopped_before_anything_is_made_of_it(bed: Bed) -> None:
    program = bed.project.folder / "__main__.py"
    program.unlink()
    program.write_text(BARE_POOL)
    secret = bed.cluster.kubeconfig.read_text()
    bed.engine.run(
        *("config", "set", "--secret", "floodplain:kubeconfig", "--stack", bed.project.stack),
        folder=bed.project.folder,
        stdin=secret,
    )
    expected = {
        ("node-pool-has-limits", "mandatory"),
        ("node-pool-has-a-taint", "mandatory"),
        ("node-pool-lets-jobs-finish", "mandatory"),
    }
    for attempt in (bed.project.preview, bed.project.up):
        with pytest.raises(RefusedError) as caught:
            attempt(*PACK)
        assert violated(caught.value.outcome) == expected
    assert bed.cluster.api.items("/apis/karpenter.sh/v1/nodepools") == []
