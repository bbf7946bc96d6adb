"""What a pool's mode makes of a pod on a real API server: refused, admitted with a warning and a line in the audit log,
or passed by."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from components.guardrail_rules import manifests
from components.guardrail_settings import GuardrailsSettings
from testbed.cluster.api import Answer, Api
from testbed.cluster.control_plane import ControlPlane
from tests.cluster.guardrails.audit_log import AuditLog
from tests.cluster.guardrails.in_force import in_force, probes, wait_until_judged
from tests.cluster.guardrails.server_words import audited, outcome, refusals, warned, warnings
from tests.components.guardrails.api_server import Manifest, Request, Verdict, admitted, judge
from tests.components.guardrails.corpus import RUNTIME_CLASSES

CLASS = RUNTIME_CLASSES[0]
BROKEN, ADVISED = probes(CLASS["metadata"]["name"])


def policies(mode: str) -> list[Manifest]:
    pool = {"pool": "k2", "largestAllocatable": "64Gi", "headroom": "255Mi", "mode": mode}
    return manifests(GuardrailsSettings.model_validate({"others": [pool]}))


@pytest.fixture(scope="module")
def api(cluster: ControlPlane) -> Iterator[Api]:
    cluster.api.must_apply(CLASS)
    yield cluster.api
    cluster.api.delete(cluster.api.path_of(CLASS))


def created(api: Api, pod: Manifest, name: str) -> tuple[Answer, Manifest]:
    """Really create a pod under a name of its own and remove it; the server's answer."""
    named = copy.deepcopy(pod)
    named["metadata"]["name"] = name
    answer = api.create(named)
    api.delete(api.path_of(named), grace_seconds=0)
    return answer, named


def verdict_of(mode: str, pod: Manifest) -> Verdict:
    return judge(policies(mode), Request(admitted(pod, [CLASS])))


def test_the_modes_differ_in_what_our_verdict_says() -> None:
    found = {
        mode: (len(verdict.refusals), len(verdict.warnings), len(audited(verdict)))
        for mode in ("enforce", "audit", "off")
        for verdict in [verdict_of(mode, BROKEN)]
    }
    assert found == {"enforce": (1, 0, 0), "audit": (0, 1, 1), "off": (0, 0, 0)}


@pytest.mark.parametrize(("mode", "expected"), [("enforce", "deny"), ("audit", "allow"), ("off", "allow")])
def test_a_pod_that_breaks_rules_gets_what_the_mode_says(
    mode: str, expected: str, api: Api, audit_log: AuditLog
) -> None:
    with in_force(api, policies(mode), [CLASS]):
        answer, pod = created(api, BROKEN, f"broken-{mode}")
    verdict = verdict_of(mode, pod)
    name = pod["metadata"]["name"]
    assert outcome(answer) == expected
    assert (answer.message in refusals(name, verdict)) is (expected == "deny")
    assert warned(answer) == warnings(verdict)
    assert audit_log.failures(name) == audited(verdict)


@pytest.mark.parametrize("mode", ["enforce", "audit", "off"])
def test_advice_is_a_warning_and_a_line_in_the_audit_log_in_every_mode_but_off(
    mode: str, api: Api, audit_log: AuditLog
) -> None:
    with in_force(api, policies(mode), [CLASS]):
        answer, pod = created(api, ADVISED, f"advised-{mode}")
    verdict = verdict_of(mode, pod)
    assert (outcome(answer), warned(answer)) == ("allow", warnings(verdict))
    assert audit_log.failures(pod["metadata"]["name"]) == audited(verdict)
    assert len(verdict.warnings) == (0 if mode == "off" else 1)


def test_a_mode_is_changed_in_place(api: Api) -> None:
    with in_force(api, policies("enforce"), [CLASS]):
        for mode in ("audit", "enforce"):
            for one in policies(mode):
                api.must_apply(one)
            wait_until_judged(api, policies(mode), [CLASS])
            answer, pod = created(api, BROKEN, f"changed-to-{mode}")
            assert outcome(answer) == ("deny" if mode == "enforce" else "allow")
            assert warned(answer) == warnings(verdict_of(mode, pod))
