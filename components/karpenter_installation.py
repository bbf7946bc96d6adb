"""What follows from Karpenter's settings and the cluster they are for: names, ARNs, IAM documents, chart values.

Pure and exact, so that a preview without credentials shows the very text. The resources are made from it in
`karpenter_controller`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import model_validator

from floodplain.problem import BrokenRulesError, RuleError, raise_rules
from floodplain.settings import Settings

from . import compatibility
from .cloud_names import EVENT_RULE, IAM_POLICY, IAM_ROLE, SQS_QUEUE, Place, cloud_name, place_of
from .cluster import ClusterName
from .controller_policies import PolicyScope, controller_policies
from .helm_release import Chart, merged
from .interruption import RULES
from .karpenter_settings import KarpenterSettings, RunsOn

Location = tuple[str | int, ...]

KEEP_CRDS = {"additionalAnnotations": {"helm.sh/resource-policy": "keep"}}
"""Values of the CRD chart. Deleting a CRD deletes every NodePool and with it the fleet, so that Helm leaves them when
the release goes; a later release of the same name takes them over again."""


class KarpenterInstallation(Settings):
    """The settings with the cluster they are for: all plain arguments of `KarpenterController`."""

    cluster_name: ClusterName
    region: str
    account_id: str
    kubernetes_version: str
    karpenter: KarpenterSettings = KarpenterSettings()

    @model_validator(mode="after")
    def _cluster_goes_with_it(self) -> KarpenterInstallation:
        errors = [
            *_broken(lambda: place_of(self.region, self.account_id), {self.account_id: ("account_id",)}, ("region",)),
            *_broken(
                lambda: compatibility.check(self.kubernetes_version, self.karpenter.version),
                {self.karpenter.version: ("karpenter", "version")},
                ("kubernetes_version",),
            ),
        ]
        raise_rules(errors)
        errors = [
            *_broken(lambda: controller_policies(self.policy_scope), {}, ("cluster_name",)),
            *_broken(lambda: self.controller_values("", ""), {}, ("karpenter",)),
        ]
        raise_rules(errors)
        return self

    @property
    def place(self) -> Place:
        return place_of(self.region, self.account_id)

    @property
    def cluster_arn(self) -> str:
        return self.place.regional("eks", f"cluster/{self.cluster_name}")

    def _iam_words(self, words: str) -> str:
        # IAM spans the regions of an account, cluster names do not.
        return f"{words}-{self.region}"

    @property
    def node_role(self) -> str:
        """The node role's name: the one that exists, or ours."""
        return self.karpenter.node_role_name or cloud_name(
            IAM_ROLE, self._iam_words("KarpenterNodeRole"), self.cluster_name
        )

    @property
    def node_role_arn(self) -> str:
        return self.place.iam(f"role/{self.node_role}")

    @property
    def controller_role(self) -> str:
        return cloud_name(IAM_ROLE, self._iam_words("KarpenterController"), self.cluster_name)

    @property
    def controller_role_arn(self) -> str:
        return self.place.iam(f"role/{self.controller_role}")

    def policy_name(self, short: str) -> str:
        return cloud_name(IAM_POLICY, self._iam_words(f"KarpenterController{short}"), self.cluster_name)

    @property
    def queue(self) -> str:
        return cloud_name(SQS_QUEUE, "Karpenter", self.cluster_name)

    @property
    def queue_arn(self) -> str:
        return self.place.regional("sqs", self.queue)

    def rule_name(self, key: str) -> str:
        return cloud_name(EVENT_RULE, f"Karpenter-{key}", self.cluster_name)

    @property
    def rule_names(self) -> list[str]:
        """Names of the event rules, none where interruption handling is off."""
        return [self.rule_name(rule.key) for rule in RULES] if self.karpenter.interruption else []

    @property
    def policy_scope(self) -> PolicyScope:
        queue = self.queue_arn if self.karpenter.interruption else None
        return PolicyScope(self.place, self.cluster_name, self.node_role_arn, queue)

    def crd_release(self) -> Chart:
        return Chart(
            release="karpenter-crd",
            namespace=self.karpenter.namespace,
            chart=self.karpenter.crd_chart,
            version=self.karpenter.version,
            values=KEEP_CRDS,
            # Going back would take away kinds that objects may use by then.
            roll_back=False,
            take_ownership=self.karpenter.adopt_crds,
            timeout_seconds=self.karpenter.timeout_seconds,
        )

    def controller_release(self, values: dict[str, Any]) -> Chart:
        return Chart(
            release="karpenter",
            namespace=self.karpenter.namespace,
            chart=self.karpenter.controller_chart,
            version=self.karpenter.version,
            values=values,
            skip_crds=True,
            timeout_seconds=self.karpenter.timeout_seconds,
        )

    def controller_values(self, cluster_endpoint: Any, irsa_role_arn: Any) -> dict[str, Any]:
        """Values of the controller's chart. Karpenter looks an empty endpoint up; Pod Identity needs no role here."""
        annotations = {"eks.amazonaws.com/role-arn": irsa_role_arn} if irsa_role_arn else {}
        ours: dict[str, Any] = {
            "affinity": _affinity(),
            "controller": {
                # The instance metadata service, the other source, is out of reach with a hop limit of 1 or on Fargate.
                "env": [{"name": "AWS_REGION", "value": self.region}],
                "resources": {
                    "limits": {"memory": self.karpenter.resources.memory},
                    "requests": {"cpu": self.karpenter.resources.cpu, "memory": self.karpenter.resources.memory},
                },
            },
            "logLevel": self.karpenter.log_level.value,
            "replicas": self.karpenter.replicas,
            "serviceAccount": {"annotations": annotations, "create": True, "name": self.karpenter.service_account},
            "settings": self._karpenter_settings(cluster_endpoint),
        }
        if self.karpenter.image_repository is not None:
            ours["controller"]["image"] = {"repository": self.karpenter.image_repository}
        if self.karpenter.runs_on is RunsOn.FARGATE:
            # In a cluster without nodes CoreDNS waits for Karpenter, so Karpenter must not wait for CoreDNS.
            ours["dnsPolicy"] = "Default"
        return merged(ours, self.karpenter.values)

    def _karpenter_settings(self, cluster_endpoint: Any) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "clusterEndpoint": cluster_endpoint,
            "clusterName": self.cluster_name,
            "featureGates": self.karpenter.feature_gates.model_dump(by_alias=True),
            "interruptionQueue": self.queue if self.karpenter.interruption else "",
            "isolatedVPC": self.karpenter.isolated_vpc,
            "reservedENIs": str(self.karpenter.reserved_enis),
            "vmMemoryOverheadPercent": self.karpenter.vm_memory_overhead_percent,
        }
        return settings | ({"enableZonalShift": True} if self.karpenter.zonal_shift else {})


def _affinity() -> dict[str, Any]:
    """The chart's default, written out: a controller on a node of its own would not survive that node's removal."""
    own_nodes = {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {
        "nodeAffinity": {required: {"nodeSelectorTerms": [{"matchExpressions": [own_nodes]}]}},
        "podAntiAffinity": {required: [{"topologyKey": "kubernetes.io/hostname"}]},
    }


def _broken(check: Callable[[], object], keys: dict[str, Location], otherwise: Location) -> list[RuleError]:
    """What `check` raises, at the key whose value it names (`keys`: value to key), else at or below `otherwise`."""
    try:
        check()
    except BrokenRulesError as broken:
        return [
            RuleError(error.rule, error.remedy, path=(*otherwise, *error.path), value=error.value)
            for error in broken.errors
        ]
    except RuleError as error:
        key = keys.get(error.value, otherwise) if isinstance(error.value, str) else otherwise
        return [RuleError(error.rule, error.remedy, path=key, value=error.value)]
    return []
