"""`KarpenterController`: Karpenter's charts and everything in AWS that they need, made and removed in the right order.

Registers resources only; what they contain comes from `karpenter_installation`. Not for pools: `SwapNodePool` makes
those, and they must depend on this component so that they go first.
"""

from typing import Any, NotRequired, Optional, TypedDict

import pulumi
import pulumi_aws as aws

from floodplain.problem import Problem, RuleError

from .arguments import property_errors, read_args
from .controller_policies import NODE_POLICIES, controller_policies, irsa_trust, node_trust, pod_identity_trust
from .helm_release import install
from .interruption import QUEUE_RETENTION_SECONDS, RULES, queue_policy
from .karpenter_installation import KarpenterInstallation
from .karpenter_settings import Credentials, LogLevel, RunsOn, SpotServiceLinkedRole
from .service_linked_role import spot_service_linked_role

INPUTS = ("cluster_endpoint", "node_role_policies", "oidc_provider_arn", "permissions_boundary")
"""Arguments that other resources may compute; the rest is plain, so that a preview can check it."""


class FeatureGatesArgs(TypedDict, total=False):
    """Karpenter's feature gates; defaults are those of its chart."""

    node_repair: bool
    """Replace unhealthy nodes (alpha). Default false."""
    node_overlay: bool
    """NodeOverlay objects (alpha, from 1.8). Default false."""
    reserved_capacity: bool
    """On-demand capacity reservations. Default true."""
    spot_to_spot_consolidation: bool
    """Replace Spot nodes by cheaper Spot nodes (alpha). Default false."""
    static_capacity: bool
    """NodePools with a fixed number of nodes (alpha, from 1.8). Default false."""
    capacity_buffer: bool
    """CapacityBuffer objects (alpha, from 1.14). Default false."""


class ControllerResourcesArgs(TypedDict, total=False):
    """What each replica of the controller requests."""

    cpu: str
    """CPU request. Default `1`."""
    memory: str
    """Memory request and limit. Default `1Gi`."""


class KarpenterArgs(TypedDict):
    """Karpenter's settings, apart from the cluster it is for."""

    cluster_endpoint: NotRequired[pulumi.Input[str]]
    """Address of the API server, for nodes to join. By default Karpenter asks EKS for it."""
    version: NotRequired[str]
    """Karpenter's version, exact. Default `1.14.1`."""
    namespace: NotRequired[str]
    """Namespace of the controller. Default `kube-system`."""
    service_account: NotRequired[str]
    """Service account of the controller. Default `karpenter`."""
    replicas: NotRequired[int]
    """Replicas of the controller, each on a node of its own. Default 2."""
    credentials: NotRequired[Credentials]
    """How the controller comes by AWS credentials. Default PodIdentity."""
    oidc_provider_arn: NotRequired[pulumi.Input[str]]
    """ARN of the cluster's IAM OIDC provider. Required with Irsa."""
    runs_on: NotRequired[RunsOn]
    """Where the controller runs. Default NodeGroup. Fargate needs Irsa, since Pod Identity does not run there."""
    interruption: NotRequired[bool]
    """Hear of Spot interruptions and stopped machines: queue, queue policy, event rules and the chart's setting,
    all or none. Default true."""
    spot_service_linked_role: NotRequired[SpotServiceLinkedRole]
    """The role that Spot needs, one for each account. Default Existing. Create fails where it exists already."""
    node_role_name: NotRequired[str]
    """An existing role (at path /) for nodes, by name. By default one is created."""
    node_role_policies: NotRequired[dict[str, pulumi.Input[str]]]
    """Further policies of the created node role: a name of your choice for each, and its ARN."""
    create_access_entry: NotRequired[bool]
    """Let nodes of the node role join, by an EKS access entry. Default true; false where the role has one."""
    permissions_boundary: NotRequired[pulumi.Input[str]]
    """ARN of the permissions boundary of both roles."""
    feature_gates: NotRequired[FeatureGatesArgs]
    """Karpenter's feature gates."""
    vm_memory_overhead_percent: NotRequired[float]
    """Share of an instance's memory that Karpenter believes lost until it has seen one: 0.075 is 7.5 %."""
    reserved_enis: NotRequired[int]
    """Network interfaces that are not counted for pods (custom networking of the VPC CNI). Default 0."""
    isolated_vpc: NotRequired[bool]
    """The VPC reaches only AWS services with an endpoint in it; prices are then not looked up. Default false."""
    zonal_shift: NotRequired[bool]
    """Respect zonal shifts. The cluster must be registered with them, or the controller stops. Default false."""
    resources: NotRequired[ControllerResourcesArgs]
    """What each replica requests."""
    log_level: NotRequired[LogLevel]
    """How much the controller writes. Default info."""
    crd_chart: NotRequired[str]
    """Chart of the CRDs: an OCI reference without tag, or a folder."""
    controller_chart: NotRequired[str]
    """Chart of the controller: an OCI reference without tag, or a folder."""
    image_repository: NotRequired[str]
    """Repository of the controller's image where it is mirrored. Tag and digest stay those of the chart."""
    adopt_crds: NotRequired[bool]
    """Take over CRDs that were installed some other way. Default false."""
    timeout_seconds: NotRequired[int]
    """How long each chart may take to become ready. Default 600."""
    values: NotRequired[dict[str, Any]]
    """Further values of the controller's chart. None that floodplain sets itself."""
    tags: NotRequired[dict[str, str]]
    """Tags on every AWS resource made here. Those of instances are the pools'."""


class KarpenterControllerArgs(KarpenterArgs):
    """Arguments of KarpenterController."""

    cluster_name: str
    """Name of the EKS cluster, 1 to 100 characters."""
    region: str
    """Region of the cluster, such as `eu-central-1`."""
    account_id: str
    """AWS account of the cluster, 12 digits."""
    kubernetes_version: str
    """Version of the cluster's control plane, such as `1.34`. At least 1.33."""


class KarpenterController(pulumi.ComponentResource):
    """Karpenter for an existing EKS cluster: roles and policies, interruption queue and rules, CRDs and controller.

    Anything that Karpenter manages must depend on this component. Destroy then removes pools first, the controller
    after them, its permissions last; CRDs stay.
    """

    node_role_name: pulumi.Output[str]
    """Name of the node role, as an EC2NodeClass wants it."""
    node_role_arn: pulumi.Output[str]
    """ARN of the node role."""
    controller_role_name: pulumi.Output[str]
    """Name of the controller's role."""
    controller_role_arn: pulumi.Output[str]
    """ARN of the controller's role."""
    policy_arns: pulumi.Output[dict[str, str]]
    """ARNs of the controller's policies by what they are for."""
    queue_name: pulumi.Output[Optional[str]]
    """Name of the interruption queue, unless interruption handling is off."""
    queue_arn: pulumi.Output[Optional[str]]
    """ARN of the interruption queue."""
    queue_url: pulumi.Output[Optional[str]]
    """URL of the interruption queue."""
    rule_names: pulumi.Output[list[str]]
    """Names of the event rules that fill the queue."""
    version: pulumi.Output[str]
    """Karpenter's version."""
    namespace: pulumi.Output[str]
    """Namespace of the controller."""
    service_account: pulumi.Output[str]
    """Service account of the controller."""

    def __init__(self, name: str, args: KarpenterControllerArgs, opts: Optional[pulumi.ResourceOptions] = None) -> None:
        super().__init__("floodplain:index:KarpenterController", name, {}, opts)
        self._name = name
        self._args = args
        self._plan = plan = read_args(KarpenterInstallation, args, inputs=INPUTS)
        _check_inputs(plan, args)
        # Whatever the controller needs while it runs. It depends on all of it, and so is removed before any of it.
        self._needs: list[pulumi.Resource] = []
        self._make_node_role()
        self._make_controller_role()
        self._make_policies()
        self._make_interruption()
        if plan.spot_service_linked_role is SpotServiceLinkedRole.CREATE:
            self._needs.append(spot_service_linked_role(f"{name}-spot", self))
        crds = install(f"{name}-crds", plan.crd_release(), parent=self)
        install(
            f"{name}-controller",
            plan.controller_release(
                plan.controller_values(
                    args.get("cluster_endpoint") or "",
                    plan.controller_role_arn if plan.credentials is Credentials.IRSA else None,
                )
            ),
            parent=self,
            depends_on=[crds, *self._needs],
        )
        self.version = pulumi.Output.from_input(plan.version)
        self.namespace = pulumi.Output.from_input(plan.namespace)
        self.service_account = pulumi.Output.from_input(plan.service_account)
        self.register_outputs(
            {
                "nodeRoleName": self.node_role_name,
                "nodeRoleArn": self.node_role_arn,
                "controllerRoleName": self.controller_role_name,
                "controllerRoleArn": self.controller_role_arn,
                "policyArns": self.policy_arns,
                "queueName": self.queue_name,
                "queueArn": self.queue_arn,
                "queueUrl": self.queue_url,
                "ruleNames": self.rule_names,
                "version": self.version,
                "namespace": self.namespace,
                "serviceAccount": self.service_account,
            }
        )

    def _child(self, *depends_on: pulumi.Resource) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self, depends_on=list(depends_on))

    def _make_node_role(self) -> None:
        plan, name = self._plan, self._name
        joins: list[pulumi.Resource] = []
        if plan.node_role_name is not None:
            self.node_role_name = pulumi.Output.from_input(plan.node_role)
            self.node_role_arn = pulumi.Output.from_input(plan.node_role_arn)
        else:
            role = aws.iam.Role(
                f"{name}-node-role",
                name=plan.node_role,
                description=f"Nodes that Karpenter launches for EKS cluster {plan.cluster_name}",
                assume_role_policy=node_trust(plan.place.partition),
                permissions_boundary=self._args.get("permissions_boundary"),
                tags=plan.tags,
                opts=self._child(),
            )
            joins.append(role)
            policies: dict[str, pulumi.Input[str]] = {policy: plan.place.aws_policy(policy) for policy in NODE_POLICIES}
            for key, arn in (policies | (self._args.get("node_role_policies") or {})).items():
                self._needs.append(
                    aws.iam.RolePolicyAttachment(
                        f"{name}-node-role-{key}", role=role.name, policy_arn=arn, opts=self._child()
                    )
                )
            self.node_role_name, self.node_role_arn = role.name, role.arn
        if plan.create_access_entry:
            entry = aws.eks.AccessEntry(
                f"{name}-node-access",
                cluster_name=plan.cluster_name,
                principal_arn=plan.node_role_arn,
                type="EC2_LINUX",
                region=plan.region,
                tags=plan.tags,
                opts=self._child(*joins),
            )
            joins.append(entry)
        self._needs.extend(joins)

    def _make_controller_role(self) -> None:
        plan, name = self._plan, self._name
        account = (plan.namespace, plan.service_account)
        trust: pulumi.Input[str] = pod_identity_trust(plan.cluster_arn, *account)
        if plan.credentials is Credentials.IRSA:
            provider = pulumi.Output.from_input(self._args["oidc_provider_arn"])
            trust = provider.apply(lambda arn: irsa_trust(arn, *account))
        self._role = aws.iam.Role(
            f"{name}-controller-role",
            name=plan.controller_role,
            description=f"Karpenter's controller of EKS cluster {plan.cluster_name}",
            assume_role_policy=trust,
            permissions_boundary=self._args.get("permissions_boundary"),
            tags=plan.tags,
            opts=self._child(),
        )
        self._needs.append(self._role)
        if plan.credentials is Credentials.POD_IDENTITY:
            association = aws.eks.PodIdentityAssociation(
                f"{name}-pod-identity",
                cluster_name=plan.cluster_name,
                namespace=plan.namespace,
                service_account=plan.service_account,
                role_arn=plan.controller_role_arn,
                region=plan.region,
                tags=plan.tags,
                opts=self._child(self._role),
            )
            self._needs.append(association)
        self.controller_role_name, self.controller_role_arn = self._role.name, self._role.arn

    def _make_policies(self) -> None:
        plan, name = self._plan, self._name
        arns: dict[str, pulumi.Output[str]] = {}
        for short, text in controller_policies(plan.policy_scope).items():
            policy = aws.iam.Policy(
                f"{name}-policy-{short}",
                name=plan.policy_name(short),
                description=f"{short} of Karpenter's controller, EKS cluster {plan.cluster_name}",
                policy=text,
                tags=plan.tags,
                opts=self._child(),
            )
            attachment = aws.iam.RolePolicyAttachment(
                f"{name}-controller-role-{short}",
                role=self._role.name,
                policy_arn=policy.arn,
                opts=self._child(),
            )
            self._needs += [policy, attachment]
            arns[short] = policy.arn
        self.policy_arns = pulumi.Output.all(**arns)

    def _make_interruption(self) -> None:
        plan, name = self._plan, self._name
        self.queue_name = self.queue_arn = self.queue_url = pulumi.Output.from_input(None)
        self.rule_names = pulumi.Output.from_input(list[str]())
        if not plan.interruption:
            return
        queue = aws.sqs.Queue(
            f"{name}-queue",
            name=plan.queue,
            message_retention_seconds=QUEUE_RETENTION_SECONDS,
            sqs_managed_sse_enabled=True,
            region=plan.region,
            tags=plan.tags,
            opts=self._child(),
        )
        policy = aws.sqs.QueuePolicy(
            f"{name}-queue-policy",
            queue_url=queue.url,
            policy=queue_policy(plan.queue_arn),
            region=plan.region,
            opts=self._child(),
        )
        self._needs += [queue, policy]
        names = []
        for event in RULES:
            rule = aws.cloudwatch.EventRule(
                f"{name}-rule-{event.key}",
                name=plan.rule_name(event.key),
                description=f"{event.detail_type}: Karpenter {event.does}",
                event_pattern=event.pattern,
                region=plan.region,
                tags=plan.tags,
                opts=self._child(),
            )
            target = aws.cloudwatch.EventTarget(
                f"{name}-target-{event.key}",
                rule=rule.name,
                target_id="karpenter",
                arn=plan.queue_arn,
                region=plan.region,
                opts=self._child(queue),
            )
            self._needs += [rule, target]
            names.append(rule.name)
        self.rule_names = pulumi.Output.all(*names)
        self.queue_name, self.queue_arn, self.queue_url = queue.name, queue.arn, queue.url


def _check_inputs(plan: KarpenterInstallation, args: KarpenterControllerArgs) -> None:
    """What the model cannot see: whether computed arguments are there, and right where they are plain."""
    problems = []
    provider = args.get("oidc_provider_arn")
    if plan.credentials is Credentials.IRSA and provider is None:
        problems.append(
            Problem(
                "oidcProviderArn", "is required with credentials Irsa", "give the ARN of the cluster's OIDC provider"
            )
        )
    if plan.credentials is Credentials.IRSA and isinstance(provider, str):
        try:
            irsa_trust(provider, plan.namespace, plan.service_account)
        except RuleError as error:
            problems.append(Problem("oidcProviderArn", error.rule, error.remedy, provider))
    if plan.node_role_name is not None and args.get("node_role_policies"):
        problems.append(
            Problem(
                "nodeRolePolicies",
                f"are for a role made here, and {plan.node_role_name} exists already",
                "attach them where that role is made",
            )
        )
    if problems:
        raise property_errors("KarpenterController", problems)
