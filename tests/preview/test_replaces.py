from __future__ import annotations

from typing import Any

import pytest

from preview.recording import Recorded
from preview.replaces import effect_of


def resource(type_token: str, inputs: dict[str, Any] | None = None, **options: Any) -> Recorded:
    return Recorded(f"urn:pulumi:s::p::{type_token}::it", type_token, "it", inputs=inputs or {}, options=options)


@pytest.mark.parametrize(
    ("type_token", "path", "effect"),
    [
        ("kubernetes:karpenter.sh/v1:NodePool", "metadata.name", "replace"),
        ("kubernetes:karpenter.sh/v1:NodePool", "metadata.namespace", "replace"),
        ("kubernetes:karpenter.sh/v1:NodePool", "metadata.labels.a", "update"),
        ("kubernetes:karpenter.sh/v1:NodePool", "spec.limits.cpu", "update"),
        ("kubernetes:apps/v1:DaemonSet", "spec.selector.matchLabels.app", "replace"),
        ("kubernetes:apps/v1:DaemonSet", "spec.template.spec.containers[0].image", "update"),
        ("kubernetes:core/v1:ConfigMap", "data.key", "replace"),
        ("kubernetes:core/v1:Secret", "stringData", "replace"),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "roleRef.name", "replace"),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", "subjects[0].name", "update"),
        ("kubernetes:scheduling.k8s.io/v1:PriorityClass", "value", "refused"),
        ("kubernetes:node.k8s.io/v1:RuntimeClass", "handler", "refused"),
        ("kubernetes:node.k8s.io/v1:RuntimeClass", "overhead.podFixed.memory", "update"),
        ("kubernetes:helm.sh/v3:Release", "values.replicas", "update"),
        ("aws:iam/role:Role", "name", "replace"),
        ("aws:iam/role:Role", "assumeRolePolicy", "update"),
        ("aws:iam/policy:Policy", "policy", "update"),
        ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", "policyArn", "replace"),
        ("aws:sqs/queue:Queue", "name", "replace"),
        ("aws:sqs/queue:Queue", "messageRetentionSeconds", "update"),
        ("pulumi:providers:aws", "region", "replace"),
        ("pulumi:providers:kubernetes", "clusterIdentifier", "replace"),
        ("floodplain:index:Platform", "anything", "update"),
    ],
)
def test_what_an_edit_does_is_known_by_type_and_property(type_token: str, path: str, effect: str) -> None:
    assert effect_of(resource(type_token), path) == effect


def test_a_kubeconfig_replaces_the_provider_only_without_an_identifier_of_the_cluster() -> None:
    token = "pulumi:providers:kubernetes"
    assert effect_of(resource(token), "kubeconfig") == "replace"
    assert effect_of(resource(token, {"clusterIdentifier": "one"}), "kubeconfig") == "update"


def test_a_mutable_config_map_is_updated_unless_it_is_immutable_itself() -> None:
    mutable = {"enableConfigMapMutable": "true"}
    assert effect_of(resource("kubernetes:core/v1:ConfigMap"), "data.a", mutable) == "update"
    assert effect_of(resource("kubernetes:core/v1:ConfigMap", {"immutable": True}), "data.a", mutable) == "replace"
    assert effect_of(resource("kubernetes:core/v1:ConfigMap"), "metadata.name", mutable) == "replace"


def test_replace_on_changes_turns_a_refused_edit_into_a_replacement() -> None:
    one = resource("kubernetes:scheduling.k8s.io/v1:PriorityClass", replaceOnChanges=["value"])
    assert effect_of(one, "value") == "replace"
