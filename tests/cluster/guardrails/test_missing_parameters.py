"""What becomes of pods while the parameter object of a policy is missing? Why our policies carry their figures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from testbed.cluster.api import Api
from testbed.cluster.control_plane import ControlPlane
from testbed.processes import wait_until
from tests.components.guardrails.api_server import Manifest
from tests.components.guardrails.corpus import IMAGE

GROUP, NAME, NAMESPACE = "admissionregistration.k8s.io/v1", "figures", "jobs"
PARAMETERS: Manifest = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": NAME, "namespace": NAMESPACE},
    "data": {"most": "0"},
}


def pod(name: str) -> Manifest:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": IMAGE}]},
    }


GUARDED, OTHER = pod("guarded"), pod("other")
"""The policy's own condition is about the first alone."""


def policy(when_missing: str) -> list[Manifest]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "guarded", "expression": "object.metadata.name == 'guarded'"}],
        "validations": [{"expression": "size(object.spec.containers) <= int(params.data.most)", "message": "too many"}],
    }
    reference = {"name": NAME, "namespace": NAMESPACE, "parameterNotFoundAction": when_missing}
    binding = {"policyName": NAME, "paramRef": reference, "validationActions": ["Deny"]}
    return [
        {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": NAME}, "spec": spec},
        {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": NAME}, "spec": binding},
    ]


@pytest.fixture
def api(cluster: ControlPlane) -> Iterator[Api]:
    """With the policy at work with its parameters."""
    api, made = cluster.api, policy("Allow")
    for one in (PARAMETERS, *made):
        api.must_apply(one)
    refused(api, GUARDED, "too many")
    assert api.create(OTHER, dry_run=True).ok
    yield api
    for one in (*reversed(made), PARAMETERS):
        api.delete(api.path_of(one))
    for one in (GUARDED, OTHER):
        admitted(api, one)


def refused(api: Api, thing: Manifest, words: str) -> None:
    name = thing["metadata"]["name"]
    wait_until(f"{name} is refused: {words}", lambda: words in api.create(thing, dry_run=True).message)


def admitted(api: Api, thing: Manifest) -> None:
    wait_until(f"{thing['metadata']['name']} is admitted", lambda: api.create(thing, dry_run=True).ok)


def test_every_pod_is_refused_or_no_rule_holds(api: Api) -> None:
    api.delete(api.path_of(PARAMETERS))
    admitted(api, GUARDED)

    _, denying = policy("Deny")
    api.must_apply(denying)
    # Also the one that the policy's own condition leaves out.
    for one in (GUARDED, OTHER):
        refused(api, one, "no params found")

    api.must_apply(PARAMETERS)
    admitted(api, OTHER)
    refused(api, GUARDED, "too many")
