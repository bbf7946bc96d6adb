"""What is really there, in the cluster and in AWS, asked without the stand-in and without the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from preview.recording import Recorded
from preview.wire import reveal
from testbed.aws import Aws
from testbed.bed import CLUSTER_NAME, Bed

RELEASE = "kubernetes:helm.sh/v3:Release"
KEPT_CRDS = frozenset(
    {
        "capacitybuffers.autoscaling.x-k8s.io",
        "ec2nodeclasses.karpenter.k8s.aws",
        "nodeclaims.karpenter.sh",
        "nodeoverlays.karpenter.sh",
        "nodepools.karpenter.sh",
    }
)
"""Of Karpenter 1.14.1; they stay when the stack goes."""


def in_aws(aws: Aws) -> dict[str, list[Any]]:
    """Everything of the kinds that the components make, of this account."""
    iam, sqs, events, eks = (aws.client(service) for service in ("iam", "sqs", "events", "eks"))
    roles = sorted(role["RoleName"] for role in iam.list_roles()["Roles"])
    rules = sorted(rule["Name"] for rule in events.list_rules()["Rules"])
    return {
        "roles": roles,
        "policies": sorted(policy["PolicyName"] for policy in iam.list_policies(Scope="Local")["Policies"]),
        "attachments": sorted(
            f"{role} {policy['PolicyName']}"
            for role in roles
            for policy in iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
        ),
        "queues": sorted(url.rpartition("/")[2] for url in sqs.list_queues().get("QueueUrls", [])),
        "queue policies": sorted(_queue_policies(sqs)),
        "rules": rules,
        "targets": sorted(
            f"{rule} {target['Arn']}" for rule in rules for target in events.list_targets_by_rule(Rule=rule)["Targets"]
        ),
        "access entries": sorted(eks.list_access_entries(clusterName=CLUSTER_NAME)["accessEntries"]),
        "pod identities": sorted(
            f"{one['namespace']}/{one['serviceAccount']}"
            for one in eks.list_pod_identity_associations(clusterName=CLUSTER_NAME)["associations"]
        ),
    }


def _queue_policies(sqs: Any) -> Iterator[str]:
    for url in sqs.list_queues().get("QueueUrls", []):
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"]).get("Attributes", {})
        if attributes.get("Policy"):
            yield url.rpartition("/")[2]


def asked_of_aws(resources: tuple[Recorded, ...]) -> dict[str, list[Any]]:
    """The same of what a rendered stack asks for."""
    by_type: dict[str, list[Mapping[str, Any]]] = {}
    for one in resources:
        by_type.setdefault(one.type, []).append(reveal(dict(one.inputs)))

    def named(kind: str, name: Any) -> list[Any]:
        return sorted(name(inputs) for inputs in by_type.get(f"aws:{kind}", ()))

    return {
        "roles": named("iam/role:Role", lambda one: one["name"]),
        "policies": named("iam/policy:Policy", lambda one: one["name"]),
        "attachments": named(
            "iam/rolePolicyAttachment:RolePolicyAttachment",
            lambda one: f"{one['role']} {one['policyArn'].rpartition('/')[2]}",
        ),
        "queues": named("sqs/queue:Queue", lambda one: one["name"]),
        "queue policies": named("sqs/queuePolicy:QueuePolicy", lambda one: one["queueUrl"].rpartition("/")[2]),
        "rules": named("cloudwatch/eventRule:EventRule", lambda one: one["name"]),
        "targets": named("cloudwatch/eventTarget:EventTarget", lambda one: f"{one['rule']} {one['arn']}"),
        "access entries": named("eks/accessEntry:AccessEntry", lambda one: one["principalArn"]),
        "pod identities": named(
            "eks/podIdentityAssociation:PodIdentityAssociation",
            lambda one: f"{one['namespace']}/{one['serviceAccount']}",
        ),
    }


def kubernetes_objects(resources: tuple[Recorded, ...]) -> list[dict[str, Any]]:
    """Whole manifests of the objects, charts left out."""
    return [reveal(dict(one.inputs)) for one in resources if one.type.startswith("kubernetes:") and one.type != RELEASE]


def missing_or_different(bed: Bed, manifest: Mapping[str, Any]) -> list[str]:
    """Where the cluster's object is not what the manifest says; what others have added is no difference."""
    found = bed.cluster.api.find(bed.cluster.api.path_of(manifest))
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    return (
        [f"{kind} {name} is not there"]
        if found is None
        else [f"{kind} {name}: {text}" for text in _differences(manifest, found, "")]
    )


def _differences(wanted: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, Mapping):
        for key, value in wanted.items():
            if value is False and isinstance(found, Mapping) and key not in found:
                continue  # the API leaves some out where they are false
            if not isinstance(found, Mapping) or key not in found:
                yield f"{path}.{key} is not there"
            else:
                yield from _differences(value, found[key], f"{path}.{key}")
    elif isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            yield f"{path} is {found!r}"
            return
        for place, item in enumerate(wanted):
            yield from _differences(item, found[place], f"{path}[{place}]")
    elif wanted != found:
        yield f"{path} is {found!r}, not {wanted!r}"


def in_the_cluster(bed: Bed) -> dict[str, list[str]]:
    """Names of everything that a stack of ours can have made in the cluster, charts' content included."""
    api = bed.cluster.api
    ours = {
        "pools": "/apis/karpenter.sh/v1/nodepools",
        "classes": "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
        "claims": "/apis/karpenter.sh/v1/nodeclaims",
        "runtime classes": "/apis/node.k8s.io/v1/runtimeclasses",
        "daemon sets": "/apis/apps/v1/daemonsets",
        "deployments": "/apis/apps/v1/deployments",
        "policies": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        "bindings": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
        "crds": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    }
    found = {key: sorted(one["metadata"]["name"] for one in _items(bed, path)) for key, path in ours.items()}
    found["priority classes"] = sorted(
        one["metadata"]["name"]
        for one in api.items("/apis/scheduling.k8s.io/v1/priorityclasses")
        if not one["metadata"]["name"].startswith("system-")
    )
    found["releases"] = sorted(
        one["metadata"]["labels"]["name"] for one in api.items("/api/v1/secrets", labelSelector="owner=helm")
    )
    return found


def _items(bed: Bed, path: str) -> list[dict[str, Any]]:
    """None while the kind is not served."""
    answer = bed.cluster.api.request("GET", path)
    return list(answer.body.get("items", [])) if answer.ok else []
