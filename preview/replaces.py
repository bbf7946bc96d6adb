"""Which edits replace an object, and which the API server turns down.

Kubernetes: pulumi/pulumi-kubernetes, provider/pkg/provider/diff.go, for the kinds that floodplain makes. What is
immutable in the API but not in that table is sent as an update and refused (pulumi-kubernetes#1830): such a
resource needs `replace_on_changes`. AWS: the properties that the provider's schema replaces on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from .paths import without_indices
from .recording import Recorded

Effect = Literal["update", "replace", "refused"]

_KUBERNETES: Mapping[str, tuple[str, ...]] = {
    "": ("apiVersion", "kind", "metadata.name", "metadata.namespace"),
    "apps/v1:DaemonSet": ("spec.selector",),
    "apps/v1:Deployment": ("spec.selector",),
    "apps/v1:StatefulSet": (
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    "batch/v1:Job": ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    "core/v1:ConfigMap": ("binaryData", "data"),
    "core/v1:PersistentVolumeClaim": ("spec",),
    "core/v1:Secret": ("data", "stringData", "type"),
    "core/v1:Service": ("spec.clusterIP",),
    "rbac.authorization.k8s.io/v1:ClusterRoleBinding": ("roleRef",),
    "rbac.authorization.k8s.io/v1:RoleBinding": ("roleRef",),
    "storage.k8s.io/v1:StorageClass": ("parameters", "provisioner"),
    "helm.sh/v3:Release": ("name", "namespace"),
}

_REFUSED: Mapping[str, tuple[str, ...]] = {
    "node.k8s.io/v1:RuntimeClass": ("handler",),
    "scheduling.k8s.io/v1:PriorityClass": ("preemptionPolicy", "value"),
}

_AWS: Mapping[str, tuple[str, ...]] = {
    "cloudwatch/eventRule:EventRule": ("eventBusName", "name", "namePrefix"),
    "cloudwatch/eventTarget:EventTarget": ("eventBusName", "rule", "targetId"),
    "eks/accessEntry:AccessEntry": ("clusterName", "principalArn", "type"),
    "eks/addon:Addon": ("addonName", "clusterName"),
    "eks/podIdentityAssociation:PodIdentityAssociation": ("clusterName", "namespace", "serviceAccount"),
    "iam/instanceProfile:InstanceProfile": ("name", "namePrefix", "path"),
    "iam/policy:Policy": ("description", "name", "namePrefix", "path"),
    "iam/role:Role": ("name", "namePrefix", "path"),
    "iam/rolePolicy:RolePolicy": ("name", "namePrefix", "role"),
    "iam/rolePolicyAttachment:RolePolicyAttachment": ("policyArn", "role"),
    "iam/serviceLinkedRole:ServiceLinkedRole": ("awsServiceName", "customSuffix"),
    "sqs/queue:Queue": ("fifoQueue", "name", "namePrefix"),
    "sqs/queuePolicy:QueuePolicy": ("queueUrl",),
}

_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "aws": ("region",),
    "kubernetes": ("clusterIdentifier", "renderYamlToDirectory"),
}


def effect_of(resource: Recorded, path: str, provider_inputs: Mapping[str, Any] | None = None) -> Effect:
    """What an edit of this property does. `provider_inputs` are those of the resource's provider."""
    place = without_indices(path)
    if _listed(place, tuple(resource.options.get("replaceOnChanges", ()))):
        return "replace"
    package, _, kind = resource.type.partition(":")
    if package == "pulumi":
        return _of_provider(resource, place)
    if package == "aws":
        return "replace" if _listed(place, _AWS.get(kind, ())) else "update"
    if package != "kubernetes":
        return "update"
    if kind in ("core/v1:ConfigMap", "core/v1:Secret") and _mutable(kind, resource, provider_inputs or {}):
        return "replace" if _listed(place, _KUBERNETES[""]) else "update"
    if _listed(place, (*_KUBERNETES[""], *_KUBERNETES.get(kind, ()))):
        return "replace"
    return "refused" if _listed(place, _REFUSED.get(kind, ())) else "update"


def _mutable(kind: str, resource: Recorded, provider: Mapping[str, Any]) -> bool:
    if resource.inputs.get("immutable") is True:
        return False
    switch = "enableConfigMapMutable" if kind.endswith("ConfigMap") else "enableSecretMutable"
    return str(provider.get(switch, "")).lower() == "true"


def _of_provider(resource: Recorded, place: str) -> Effect:
    package = resource.type.removeprefix("pulumi:providers:")
    names = _PROVIDERS.get(package, ())
    if package == "kubernetes" and not resource.inputs.get("clusterIdentifier"):
        names = (*names, "cluster", "context", "kubeconfig")
    return "replace" if _listed(place, names) else "update"


def _listed(place: str, names: tuple[str, ...]) -> bool:
    return any(re.match(rf"{re.escape(name)}($|[.\[])", place) for name in names)
