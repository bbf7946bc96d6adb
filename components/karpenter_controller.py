"""`KarpenterController`: Karpenter's charts and everything in AWS that they need, made and removed in the right order.

Registers resources only; what they contain comes from `karpenter_installation`. Not for pools: `SwapNodePool` makes
those, and they must depend on this component so that they go first.
"""

from typing import Optional

import pulumi
import pulumi_aws as aws
from pydantic.alias_generators import to_camel

from floodplain.problem import Problem

from .arguments import property_errors, read_args
from .controller_policies import NODE_POLICIES, controller_policies
from .controller_trust import irsa_trust, node_trust, pod_identity_trust
from .helm_release import install
from .interruption import QUEUE_RETENTION_SECONDS, RULES, queue_policy
from .karpenter_args import INPUTS, KarpenterArgs, KarpenterControllerArgs
from .karpenter_installation import KarpenterInstallation, input_problems
from .karpenter_settings import Credentials, SpotServiceLinkedRole
from .service_linked_role import spot_service_linked_role

__all__ = ["INPUTS", "KarpenterArgs", "KarpenterController", "KarpenterControllerArgs"]


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
        self._given: KarpenterArgs = args.get("karpenter") or {}
        self._plan = plan = read_args(KarpenterInstallation, args, inputs=[f"karpenter.{key}" for key in INPUTS])
        _check_inputs(plan, self._given)
        # Whatever the controller needs while it runs. It depends on all of it, and so is removed before any of it.
        self._needs: list[pulumi.Resource] = []
        self._make_node_role()
        self._make_controller_role()
        self._make_policies()
        self._make_interruption()
        if plan.karpenter.spot_service_linked_role is SpotServiceLinkedRole.CREATE:
            self._needs.append(spot_service_linked_role(f"{name}-spot", self))
        crds = install(f"{name}-crds", plan.crd_release(), parent=self)
        install(
            f"{name}-controller",
            plan.controller_release(
                plan.controller_values(
                    self._given.get("cluster_endpoint") or "",
                    plan.controller_role_arn if plan.karpenter.credentials is Credentials.IRSA else None,
                )
            ),
            parent=self,
            depends_on=[crds, *self._needs],
        )
        self.version = pulumi.Output.from_input(plan.karpenter.version)
        self.namespace = pulumi.Output.from_input(plan.karpenter.namespace)
        self.service_account = pulumi.Output.from_input(plan.karpenter.service_account)
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
        if plan.karpenter.node_role_name is not None:
            self.node_role_name = pulumi.Output.from_input(plan.node_role)
            self.node_role_arn = pulumi.Output.from_input(plan.node_role_arn)
        else:
            role = aws.iam.Role(
                f"{name}-node-role",
                name=plan.node_role,
                description=f"Nodes that Karpenter launches for EKS cluster {plan.cluster.name}",
                assume_role_policy=node_trust(plan.cluster.place.partition),
                permissions_boundary=self._given.get("permissions_boundary"),
                tags=plan.karpenter.tags or None,
                opts=self._child(),
            )
            joins.append(role)
            policies: dict[str, pulumi.Input[str]] = {
                policy: plan.cluster.place.aws_policy(policy) for policy in NODE_POLICIES
            }
            for key, arn in (policies | (self._given.get("node_role_policies") or {})).items():
                self._needs.append(
                    aws.iam.RolePolicyAttachment(
                        f"{name}-node-role-{key}", role=role.name, policy_arn=arn, opts=self._child()
                    )
                )
            self.node_role_name, self.node_role_arn = role.name, role.arn
        if plan.karpenter.create_access_entry:
            entry = aws.eks.AccessEntry(
                f"{name}-node-access",
                cluster_name=plan.cluster.name,
                principal_arn=plan.node_role_arn,
                type="EC2_LINUX",
                region=plan.cluster.region,
                tags=plan.karpenter.tags or None,
                opts=self._child(*joins),
            )
            joins.append(entry)
        self._needs.extend(joins)

    def _make_controller_role(self) -> None:
        plan, name = self._plan, self._name
        account = (plan.karpenter.namespace, plan.karpenter.service_account)
        trust: pulumi.Input[str] = pod_identity_trust(plan.cluster.arn, *account)
        if plan.karpenter.credentials is Credentials.IRSA:
            provider = pulumi.Output.from_input(self._given["oidc_provider_arn"])
            trust = provider.apply(lambda arn: irsa_trust(arn, *account))
        self._role = aws.iam.Role(
            f"{name}-controller-role",
            name=plan.controller_role,
            description=f"Karpenter's controller of EKS cluster {plan.cluster.name}",
            assume_role_policy=trust,
            permissions_boundary=self._given.get("permissions_boundary"),
            tags=plan.karpenter.tags or None,
            opts=self._child(),
        )
        self._needs.append(self._role)
        if plan.karpenter.credentials is Credentials.POD_IDENTITY:
            association = aws.eks.PodIdentityAssociation(
                f"{name}-pod-identity",
                cluster_name=plan.cluster.name,
                namespace=plan.karpenter.namespace,
                service_account=plan.karpenter.service_account,
                role_arn=plan.controller_role_arn,
                region=plan.cluster.region,
                tags=plan.karpenter.tags or None,
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
                description=f"{short} of Karpenter's controller, EKS cluster {plan.cluster.name}",
                policy=text,
                tags=plan.karpenter.tags or None,
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
        if not plan.karpenter.interruption:
            return
        queue = aws.sqs.Queue(
            f"{name}-queue",
            name=plan.queue,
            message_retention_seconds=QUEUE_RETENTION_SECONDS,
            sqs_managed_sse_enabled=True,
            region=plan.cluster.region,
            tags=plan.karpenter.tags or None,
            opts=self._child(),
        )
        policy = aws.sqs.QueuePolicy(
            f"{name}-queue-policy",
            queue_url=queue.url,
            policy=queue_policy(plan.queue_arn, plan.rule_arns, plan.cluster.account_id),
            region=plan.cluster.region,
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
                region=plan.cluster.region,
                tags=plan.karpenter.tags or None,
                opts=self._child(),
            )
            target = aws.cloudwatch.EventTarget(
                f"{name}-target-{event.key}",
                rule=rule.name,
                target_id="karpenter",
                arn=plan.queue_arn,
                region=plan.cluster.region,
                opts=self._child(queue),
            )
            self._needs += [rule, target]
            names.append(rule.name)
        self.rule_names = pulumi.Output.all(*names)
        self.queue_name, self.queue_arn, self.queue_url = queue.name, queue.arn, queue.url


def _check_inputs(plan: KarpenterInstallation, args: KarpenterArgs) -> None:
    """What the model cannot see: whether computed arguments are there, and right where they are plain."""
    problems = [
        Problem(".".join(("karpenter", to_camel(key), *rest)), error.rule, error.remedy, error.value)
        for error in input_problems(plan, args)
        for key, *rest in [[str(part) for part in error.path]]
    ]
    if plan.karpenter.credentials is Credentials.IRSA and args.get("oidc_provider_arn") is None:
        problems.append(
            Problem(
                "karpenter.oidcProviderArn",
                "is required with credentials Irsa",
                "give the ARN of the cluster's OIDC provider",
            )
        )
    if problems:
        raise property_errors("KarpenterController", problems)
