"""What follows from Karpenter's settings and the cluster they are for: names, ARNs, IAM documents, chart values.

Pure and exact, so that a preview without credentials shows the very text. The resources are made from it in
`karpenter_controller`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from floodplain.problem import RuleError
from floodplain.rules import RuledSettings, rule

from .cloud_names import (
    EVENT_RULE,
    IAM_POLICY,
    IAM_ROLE,
    SQS_QUEUE,
    account_problems,
    administrator_problems,
    cloud_name,
    policy_arn_problems,
)
from .cluster import Cluster, version_problems
from .controller_policies import NODE_POLICIES, PolicyScope, documents, policy_problems
from .controller_trust import irsa_trust
from .helm_release import Chart, clashes, merged
from .interruption import RULES
from .karpenter_args import INPUTS
from .karpenter_settings import KarpenterSettings, RunsOn

KEEP_CRDS = {"additionalAnnotations": {"helm.sh/resource-policy": "keep"}}
"""Values of the CRD chart. Deleting a CRD deletes every NodePool and with it the fleet, so that Helm leaves them when
the release goes; a later release of the same name takes them over again."""


CRD_RELEASE, RELEASE = "karpenter-crd", "karpenter"
"""Names of the two releases."""


_ENDPOINT = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?/?")


class KarpenterInstallation(RuledSettings):
    """The settings with the cluster they are for: all plain arguments of `KarpenterController`."""

    cluster: Cluster
    karpenter: KarpenterSettings = KarpenterSettings()

    @rule("cluster", "karpenter")
    def _cluster_goes_with_it(self) -> Iterator[RuleError]:
        yield from installation_problems(self)

    def _iam_words(self, words: str) -> str:
        # IAM spans the regions of an account, cluster names do not.
        return f"{words}-{self.cluster.region}"

    @property
    def node_role(self) -> str:
        """The node role's name: the one that exists, or ours."""
        return self.karpenter.node_role_name or cloud_name(
            IAM_ROLE, self._iam_words("KarpenterNodeRole"), self.cluster.name
        )

    @property
    def node_role_arn(self) -> str:
        return self.cluster.place.iam(f"role/{self.node_role}")

    @property
    def controller_role(self) -> str:
        return cloud_name(IAM_ROLE, self._iam_words("KarpenterController"), self.cluster.name)

    @property
    def controller_role_arn(self) -> str:
        return self.cluster.place.iam(f"role/{self.controller_role}")

    def policy_name(self, short: str) -> str:
        return cloud_name(IAM_POLICY, self._iam_words(f"KarpenterController{short}"), self.cluster.name)

    @property
    def queue(self) -> str:
        return cloud_name(SQS_QUEUE, "Karpenter", self.cluster.name)

    @property
    def queue_arn(self) -> str:
        return self.cluster.place.regional("sqs", self.queue)

    def rule_name(self, key: str) -> str:
        return cloud_name(EVENT_RULE, f"Karpenter-{key}", self.cluster.name)

    @property
    def rule_names(self) -> list[str]:
        """Names of the event rules, none where interruption handling is off."""
        return [self.rule_name(rule.key) for rule in RULES] if self.karpenter.interruption else []

    @property
    def rule_arns(self) -> list[str]:
        """ARNs of the event rules, which are on the account's default bus."""
        return [self.cluster.place.regional("events", f"rule/{name}") for name in self.rule_names]

    @property
    def policy_scope(self) -> PolicyScope:
        queue = self.queue_arn if self.karpenter.interruption else None
        return PolicyScope(self.cluster.place, self.cluster.name, self.node_role_arn, queue)

    def crd_release(self) -> Chart:
        return Chart(
            release=CRD_RELEASE,
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
            release=RELEASE,
            namespace=self.karpenter.namespace,
            chart=self.karpenter.controller_chart,
            version=self.karpenter.version,
            values=values,
            skip_crds=True,
            timeout_seconds=self.karpenter.timeout_seconds,
        )

    def controller_values(self, cluster_endpoint: Any, irsa_role_arn: Any) -> dict[str, Any]:
        """Values of the controller's chart. Karpenter looks an empty endpoint up; Pod Identity needs no role here."""
        return merged(self.own_values(cluster_endpoint, irsa_role_arn), self.karpenter.values)

    def own_values(self, cluster_endpoint: Any, irsa_role_arn: Any) -> dict[str, Any]:
        """Ours among those values."""
        annotations = {"eks.amazonaws.com/role-arn": irsa_role_arn} if irsa_role_arn else {}
        ours: dict[str, Any] = {
            "affinity": _affinity(),
            "controller": {
                # The instance metadata service, the other source, is out of reach with a hop limit of 1 or on Fargate.
                "env": [{"name": "AWS_REGION", "value": self.cluster.region}],
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
        return ours

    def _karpenter_settings(self, cluster_endpoint: Any) -> dict[str, Any]:
        settings: dict[str, Any] = {
            "clusterEndpoint": cluster_endpoint,
            "clusterName": self.cluster.name,
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


def installation_problems(plan: KarpenterInstallation) -> Iterator[RuleError]:
    """What cannot be installed: versions that do not go together, a policy too long, a value set twice, a bad input.

    Inputs are looked at where the settings hold them, as a platform's do.
    """
    kubernetes, version = plan.cluster.kubernetes_version, plan.karpenter.version
    yield from version_problems(kubernetes, version, ("karpenter", "version"))
    for error in policy_problems(documents(plan.policy_scope)):
        yield RuleError(error.rule, error.remedy, ("cluster", "name"), plan.cluster.name)
    held = {key: getattr(plan.karpenter, key) for key in INPUTS if hasattr(plan.karpenter, key)}
    for error in (*clashes(plan.own_values("", ""), plan.karpenter.values), *input_problems(plan, held)):
        yield RuleError(error.rule, error.remedy, ("karpenter", *error.path), error.value)


def input_problems(plan: KarpenterInstallation, inputs: Mapping[str, Any]) -> Iterator[RuleError]:
    """What is wrong with those inputs of the controller (`karpenter_args.INPUTS`) that are plain already."""
    karpenter, place = plan.karpenter, plan.cluster.place
    endpoint, provider = inputs.get("cluster_endpoint"), inputs.get("oidc_provider_arn")
    if isinstance(endpoint, str) and endpoint and not _ENDPOINT.fullmatch(endpoint):
        yield RuleError(
            "is not the address of an API server",
            "write https://HOST, as EKS tells it",
            ("cluster_endpoint",),
            endpoint,
        )
    if isinstance(provider, str):
        yield from _at(_provider_problems(plan, provider), "oidc_provider_arn")
    boundary, policies = inputs.get("permissions_boundary"), inputs.get("node_role_policies")
    if isinstance(boundary, str):
        yield from _at(policy_arn_problems(boundary, place), "permissions_boundary")
    if not isinstance(policies, Mapping) or not policies:
        return
    for key, arn in policies.items():
        if not IAM_POLICY.accepts(key):
            yield RuleError(
                "is not a name for a policy", "use letters, digits and +=,.@-_", ("node_role_policies",), key
            )
        if isinstance(arn, str):
            yield from _at(policy_arn_problems(arn, place), "node_role_policies", key)
            yield from _at(administrator_problems(arn), "node_role_policies", key)
    if karpenter.node_role_name is not None:
        yield RuleError(
            f"are for a role made here, and {karpenter.node_role_name} exists already",
            "attach them where that role is made",
            ("node_role_policies",),
        )
    for key in sorted({*policies} & {*NODE_POLICIES}):
        yield RuleError(
            "is the name of a policy that every node's role has",
            "remove it, or give a policy of your own another name",
            ("node_role_policies", key),
            policies[key],
        )


def _provider_problems(plan: KarpenterInstallation, provider: str) -> Iterator[RuleError]:
    try:
        irsa_trust(provider, plan.karpenter.namespace, plan.karpenter.service_account)
    except RuleError as error:
        yield error
        return
    yield from account_problems(provider, plan.cluster.place)


def _at(errors: Iterable[RuleError], *path: str) -> Iterator[RuleError]:
    for error in errors:
        yield RuleError(error.rule, error.remedy, path, error.value)
