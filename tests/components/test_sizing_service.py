"""`SizingService` as it goes over the wire: its objects, who may what, and in which order they come and go."""

from __future__ import annotations

import copy
import json
from typing import Any

import pulumi
import pytest
from pulumi.errors import InputPropertiesError
from pulumi_kubernetes.core.v1 import ConfigMap

from components import SizingService, SwapNodePool
from floodplain import pools
from floodplain.sizing.settings import SizingSettings
from preview import document
from preview.wire import UNKNOWN

IMAGE = f"registry.example/floodplain/service@sha256:{'a' * 64}"
CLUSTER = {"name": "prod", "kubernetes_version": "1.34"}
POOL: dict[str, Any] = {
    "name": "batch",
    "families": ["r6id"],
    "vcpus": [2],
    "limits": {"cpu": "64", "memory": "512Gi"},
    "ami": {"alias": "al2023@v20260714"},
}
PODS = ("s-sizing", "s-admission", "s-doctor")
ARGS: dict[str, Any] = {"image": IMAGE, "cluster": CLUSTER, "pools": [POOL]}


def args(**changes: Any) -> Any:
    return {**copy.deepcopy(ARGS), **changes}


def pod_of(made: Any, name: str) -> Any:
    """The pod of a Deployment or of the CronJob."""
    if name == "s-doctor":
        return made.one(":CronJob", name).inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    return made.one(":Deployment", name).inputs["spec"]["template"]["spec"]


def needed_by(made: Any, urn: str) -> set[str]:
    """Names of all that is deleted after a resource, through others too."""
    edges = {one.urn: set(one.depends_on) for one in made.resources}
    seen: set[str] = set()
    todo = [urn]
    while todo:
        for found in edges.get(todo.pop(), set()) - seen:
            seen.add(found)
            todo.append(found)
    return {found.rsplit("::")[-1] for found in seen}


def test_the_objects_of_the_service(render: Any, golden: Any) -> None:
    made = render(lambda: SizingService("s", args()))
    shown = {f"{one.name} ({one.type.rsplit(':', 1)[-1]})": dict(one.inputs) for one in made.resources if one.custom}
    golden.check("components/golden/sizing-service.yaml", document.as_yaml(dict(sorted(shown.items()))))


def test_the_outputs_are_names_and_where_it_answers(render: Any) -> None:
    made = render(lambda: SizingService("s", args(sizing={"namespace": "sizing"})))
    assert made.one(":SizingService").outputs == {
        "namespace": "sizing",
        "serviceName": "floodplain-sizing",
        "address": "http://floodplain-sizing.sizing.svc:8080",
        "admissionName": "floodplain-admission",
        "webhookConfigurationName": "floodplain-sizing",
        "poolsConfigMapName": "floodplain-pools",
    }


def test_everything_is_known_before_the_first_update_and_the_same_after_it(render: Any) -> None:
    plan, apply = (render(lambda: SizingService("s", args()), apply=apply) for apply in (False, True))
    assert [(one.urn, one.inputs) for one in plan.resources] == [(one.urn, one.inputs) for one in apply.resources]
    assert UNKNOWN not in json.dumps([dict(one.inputs) for one in plan.resources])


def test_a_settings_change_reaches_every_object_in_the_namespace(render: Any) -> None:
    made = render(lambda: SizingService("s", args(sizing={"namespace": "elsewhere"})))
    assert "floodplain" not in {one.inputs["metadata"].get("namespace") for one in made.resources if one.custom}
    webhooks = made.one(":MutatingWebhookConfiguration").inputs["webhooks"]
    assert {one["clientConfig"]["service"]["namespace"] for one in webhooks} == {"elsewhere"}
    for name in ("role-binding", "cluster-role-binding", "doctor-cluster-role-binding"):
        (subject,) = made.one("Binding", f"s-{name}").inputs["subjects"]
        assert subject["namespace"] == "elsewhere"
    (container,) = pod_of(made, "s-doctor")["containers"]
    assert container["command"][4:6] == ["--namespace", "elsewhere"]


def test_the_pools_are_mounted_as_the_pools_own_component_describes_them(render: Any) -> None:
    def program() -> None:
        SizingService("s", args())
        nodes: Any = {"pool": POOL, "cluster": CLUSTER, "node_role_name": "nodes"}
        SwapNodePool("batch", nodes)

    made = render(program)
    data = made.one(":ConfigMap").inputs["data"]
    assert data["pools.json"] == made.one(":SwapNodePool").outputs["poolDocument"]
    assert SizingSettings.model_validate_json(data["sizing.json"]) == SizingSettings()


def test_a_pool_of_somebody_else_is_mounted_beside_ours(render: Any) -> None:
    theirs = json.loads(render(lambda: SizingService("s", args())).one(":ConfigMap").inputs["data"]["pools.json"])
    theirs["pools"][0]["name"] = "theirs"
    made = render(lambda: SizingService("s", args(documents=json.dumps(theirs))))
    mounted = pools.read(made.one(":ConfigMap").inputs["data"]["pools.json"].encode())
    assert [one.name for one in mounted] == ["batch", "theirs"]
    alone: Any = {"image": IMAGE, "documents": json.dumps(theirs)}
    assert render(lambda: SizingService("s", alone)).one(":ConfigMap")


def test_settings_are_written_for_the_service_as_far_as_they_differ(render: Any) -> None:
    settings = {"compatibility": "scaleodm", "on_demand_from_images": 0.0, "ephemeral_share": 0.3}
    made = render(lambda: SizingService("s", args(sizing={"settings": settings})))
    text = made.one(":ConfigMap").inputs["data"]["sizing.json"]
    assert json.loads(text) == {"compatibility": "scaleodm", "onDemandFromImages": 0}
    assert SizingSettings.model_validate_json(text).on_demand_from_images == 0


def test_a_change_of_pools_restarts_nothing(render: Any) -> None:
    first = render(lambda: SizingService("s", args()))
    second = render(lambda: SizingService("s", args(pools=[POOL, {**POOL, "name": "more"}])))
    changed = {
        one.name
        for one, other in zip(first.resources, second.resources, strict=True)
        if dict(one.inputs) != dict(other.inputs)
    }
    assert changed == {"s-pools"}


def test_pods_keep_the_rules_of_restricted_pod_security(render: Any) -> None:
    made = render(lambda: SizingService("s", args()))
    labels = made.one(":Namespace").inputs["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    for name in PODS:
        pod = pod_of(made, name)
        (container,) = pod["containers"]
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["volumes"] == [{"name": "pools", "configMap": {"name": "floodplain-pools"}}]


def test_the_planning_service_has_no_token_and_without_doctor_only_admission_has_rights(render: Any) -> None:
    made = render(lambda: SizingService("s", args()))
    tokens = {name: pod_of(made, name)["automountServiceAccountToken"] for name in PODS}
    assert tokens == {"s-sizing": False, "s-admission": True, "s-doctor": True}
    made = render(lambda: SizingService("s", args(sizing={"doctor": {"enabled": False}})))
    subjects = [one.inputs["subjects"] for one in made.resources if "Binding" in one.type]
    assert [subject["name"] for (subject,) in subjects] == ["floodplain-admission"] * 2
    rules = [rule for one in (*made.of(":Role"), *made.of(":ClusterRole")) for rule in one.inputs["rules"]]
    assert [(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in rules] == [
        (["secrets"], ["floodplain-admission-tls"], ["get", "update"]),
        (["secrets"], None, ["create"]),
        (["mutatingwebhookconfigurations"], ["floodplain-sizing"], ["get", "patch"]),
    ]


def test_services_variables_cannot_be_taken_for_settings(render: Any) -> None:
    """Kubernetes would set FLOODPLAIN_SIZING_PORT to an address."""
    made = render(lambda: SizingService("s", args()))
    assert [pod_of(made, name)["enableServiceLinks"] for name in PODS] == [False, False, False]


@pytest.mark.parametrize("name", ["s-sizing", "s-admission"])
def test_probes_services_and_policies_name_ports_that_the_pods_have(render: Any, name: str) -> None:
    made = render(lambda: SizingService("s", args()))
    (container,) = pod_of(made, name)["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert {
        container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe", "readinessProbe")
    } <= set(ports)
    service = made.one(":Service", f"{name}-service").inputs["spec"]
    assert {port["targetPort"] for port in service["ports"]} <= set(ports)
    policy = made.one(":NetworkPolicy", f"{name}-network").inputs["spec"]
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == set(ports.values())
    labels = made.one(":Deployment", name).inputs["spec"]["template"]["metadata"]["labels"]
    for selector in (service["selector"], policy["podSelector"]["matchLabels"]):
        assert selector.items() <= labels.items()


def test_the_webhook_is_made_last_and_goes_first(render: Any) -> None:
    made = render(lambda: SizingService("s", args()))
    webhook = made.one(":MutatingWebhookConfiguration")
    after = needed_by(made, webhook.urn)
    assert after == {
        "s-admission",
        "s-admission-account",
        "s-admission-budget",
        "s-admission-network",
        "s-admission-service",
        "s-cluster-role",
        "s-cluster-role-binding",
        "s-deny",
        "s-doctor",
        "s-doctor-account",
        "s-doctor-cluster-role",
        "s-doctor-cluster-role-binding",
        "s-doctor-network",
        "s-namespace",
        "s-pools",
        "s-role",
        "s-role-binding",
        "s-sizing-network",
    }
    assert not [one.name for one in made.resources if webhook.urn in one.depends_on]


def test_pods_have_their_files_network_and_rights_before_they_start(render: Any) -> None:
    made = render(lambda: SizingService("s", args()))
    network = {"s-deny", "s-admission-network", "s-sizing-network"}
    assert needed_by(made, made.one(":Deployment", "s-sizing").urn) == {
        *network,
        "s-namespace",
        "s-pools",
        "s-sizing-account",
    }
    rights = {"s-role", "s-role-binding", "s-cluster-role", "s-cluster-role-binding"}
    assert needed_by(made, made.one(":Deployment", "s-admission").urn) == {
        *network,
        *rights,
        "s-namespace",
        "s-pools",
        "s-admission-account",
    }


def test_what_the_component_depends_on_only_the_webhook_waits_for(render: Any) -> None:
    def program() -> None:
        first = ConfigMap("first")
        SizingService("s", args(), pulumi.ResourceOptions(depends_on=[first]))

    made = render(program)
    first = made.one(":ConfigMap", "first").urn
    assert [one.name for one in made.resources if one.custom and first in one.depends_on] == ["s-webhook"]


def test_the_authority_in_the_webhook_is_left_to_the_service(render: Any) -> None:
    webhook = render(lambda: SizingService("s", args())).one(":MutatingWebhookConfiguration")
    assert [set(one["clientConfig"]) for one in webhook.inputs["webhooks"]] == [{"service"}] * 2
    assert webhook.options["ignoreChanges"] == [
        "webhooks[0].clientConfig.caBundle",
        "webhooks[1].clientConfig.caBundle",
    ]


def test_a_database_address_is_refused_since_there_is_no_store_yet(render: Any) -> None:
    secret: Any = {"database_url": "postgresql://me:password@db/floodplain"}
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: SizingService("s", args(sizing=secret)))
    assert [error["property_path"] for error in caught.value.errors or []] == ["sizing.database_url"]
    assert "password" not in str(caught.value)


def test_several_faults_are_told_by_their_paths(render: Any) -> None:
    wrong = args(
        image="registry.example/floodplain/service:latest",
        pools=[{**POOL, "limits": {"cpu": "64"}}],
        sizing={"namespace": "kube-system", "replicas": 0},
    )
    with pytest.raises(InputPropertiesError) as caught:
        render(lambda: SizingService("s", wrong))
    assert [error["property_path"] for error in caught.value.errors or []] == [
        "pools[0].limits.memory",
        "image",
        "sizing.replicas",
        "sizing.namespace",
    ]
