"""Do IAM documents allow no more than what is meant, and do they fit what AWS stores?"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs, Severity, StackValidationArgs

from .iam_documents import Document, Role, Statement, documents, has_documents
from .interruption_parts import is_karpenter_chart
from .kinds import is_chart
from .proxies import Unknowns, get, shown, texts
from .rule import About, of_type, resource_rule, resources_of, stack_rule

# Verbs that only look. Whatever else an action does counts as writing.
_READS = ("batchdescribe", "batchget", "check", "describe", "estimate", "get", "list", "lookup", "search", "view")
# They look too, but what they return is a secret.
_SECRET_READS = (
    "secretsmanager:batchgetsecretvalue",
    "secretsmanager:getsecretvalue",
    "ssm:getparameter",
    "ssm:getparameters",
    "ssm:getparametersbypath",
)
_LAUNCHES = ("ec2:createfleet", "ec2:runinstances")
_SERVICE = re.compile(r"[a-z0-9.-]+\.amazonaws\.com(\.cn)?")
_SOURCES = ("aws:sourcearn", "aws:sourceaccount", "aws:sourceorgid", "aws:sourceorgpaths")
# What is attached here gets the whole account, or can give itself that.
_ADMINISTRATOR = re.compile(r"arn:aws[a-z-]*:iam::aws:policy/(AdministratorAccess|PowerUserAccess|IAMFullAccess)")
# Where policies are attached by ARN.
_ATTACHMENTS = {
    "aws:iam/role:Role": "managedPolicyArns",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": "policyArn",
    "aws:iam/rolePolicyAttachmentsExclusive:RolePolicyAttachmentsExclusive": "policyArns",
    "aws:iam/policyAttachment:PolicyAttachment": "policyArn",
    "aws:iam/userPolicyAttachment:UserPolicyAttachment": "policyArn",
    "aws:iam/userPolicyAttachmentsExclusive:UserPolicyAttachmentsExclusive": "policyArns",
    "aws:iam/groupPolicyAttachment:GroupPolicyAttachment": "policyArn",
    "aws:iam/groupPolicyAttachmentsExclusive:GroupPolicyAttachmentsExclusive": "policyArns",
}
_WANTED_FROM_1_12 = "ec2:DescribeInstanceStatus"


def _allowed(args: ResourceValidationArgs) -> Iterator[tuple[Document, Statement]]:
    for document in documents(args.resource_type, args.props):
        for statement in document.statements or ():
            if statement.allows:
                yield document, statement


def writes(action: str) -> bool:
    """Whether an action changes something or gives out a secret."""
    folded = action.lower()
    if folded in _SECRET_READS:
        return True
    return not folded.partition(":")[2].startswith(_READS)


def is_wildcard_resource(resource: str) -> bool:
    """`*`, or an ARN whose last part is `*`: everything of a service."""
    parts = resource.split(":", 5)
    return resource == "*" or (len(parts) == 6 and parts[5] == "*")


def unreadable(args: ResourceValidationArgs) -> Iterator[str]:
    """A document that is no JSON object."""
    for document in documents(args.resource_type, args.props):
        if document.statements is None:
            yield f"{document.where}: is not a policy document in JSON; AWS would refuse it"


def wildcard_actions(args: ResourceValidationArgs) -> Iterator[str]:
    """Actions with `*` or `?`, and everything-but lists, in what is allowed."""
    for document, statement in _allowed(args):
        where = f"{document.where}: {statement.label}"
        for action in statement.actions:
            if "*" in action or "?" in action:
                yield f"{where} allows {shown(action)}; name each action"
        if statement.not_actions:
            yield f"{where} allows everything but its NotAction list; name each action in Action"


def too_long(args: ResourceValidationArgs) -> Iterator[str]:
    """Documents longer than AWS stores. Cluster name and region count: their length is not known to a template."""
    for document in documents(args.resource_type, args.props):
        limit = document.role.limit
        if limit is not None and document.characters > limit:
            yield (
                f"{document.where}: {document.role.words} of {document.characters} characters is over the "
                f"{limit} that IAM stores; split it"
            )


def unscoped_writes(args: ResourceValidationArgs) -> Iterator[str]:
    """Writing on every resource, or by everybody, without a condition."""
    for document, statement in _allowed(args):
        if statement.conditions:
            continue
        where = f"{document.where}: {statement.label}"
        wide = [resource for resource in statement.resources if is_wildcard_resource(resource)]
        changing = [action for action in statement.actions if writes(action)]
        if changing and (wide or statement.not_resources):
            on = shown(wide[0]) if wide else "everything but its NotResource list"
            yield (
                f"{where} allows {', '.join(changing[:3])}{', ...' if len(changing) > 3 else ''} on {on} without a "
                "condition; name the resources or add a condition"
            )
        if "*" in statement.principals and document.role in (Role.TRUST, Role.RESOURCE):
            yield f"{where} allows everybody (Principal *) without a condition; name the principal"


def confused_deputies(args: ResourceValidationArgs) -> Iterator[str]:
    """Services that may use a resource for whoever asks them, from any account."""
    for document, statement in _allowed(args):
        if document.role is not Role.RESOURCE:
            continue
        if any(condition.key in _SOURCES and condition.narrows for condition in statement.conditions):
            continue
        services = [name for name in statement.principals if _SERVICE.fullmatch(name)]
        if services:
            yield (
                f"{document.where}: {statement.label} lets {', '.join(services)} act for any account; "
                "add a condition on aws:SourceArn or aws:SourceAccount"
            )


def administrators(args: ResourceValidationArgs) -> Iterator[str]:
    """Policies of AWS that give whoever has them the account."""
    key = _ATTACHMENTS[args.resource_type]
    for arn in texts(get(args.props, key)):
        if _ADMINISTRATOR.fullmatch(arn):
            yield f"{key}: {shown(arn)} gives away the whole account; attach a policy that names what is needed"


def outdated_karpenter_permissions(args: StackValidationArgs) -> Iterator[tuple[str, str | None]]:
    """Karpenter's permissions in the stack, without the one that version 1.12 and later cannot do without."""
    unknowns = Unknowns()
    installs = False
    for chart in resources_of(args, is_chart):
        with unknowns:
            installs = installs or is_karpenter_chart(chart)
    if not installs:
        unknowns.raise_first()
        return
    launching: str | None = None
    for resource in resources_of(args, has_documents):
        with unknowns:
            for document in documents(resource.resource_type, resource.props):
                actions = [
                    action.lower()
                    for statement in document.statements or ()
                    if statement.allows
                    for action in statement.actions
                ]
                if any(fnmatch.fnmatchcase(_WANTED_FROM_1_12.lower(), action) for action in actions):
                    return
                if any(fnmatch.fnmatchcase(wanted, action) for wanted in _LAUNCHES for action in actions):
                    launching = launching or resource.urn
    unknowns.raise_first()
    if launching:
        yield (
            f"no policy of the stack allows {_WANTED_FROM_1_12}, which Karpenter needs from 1.12 on; "
            "allow it on all resources",
            launching,
        )


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="iam-no-wildcard-action",
            description="IAM and resource policies name each action they allow. KMS key policies are not looked at.",
            remedy="Replace the wildcard by the actions that are used.",
            severity=Severity.CRITICAL,
        ),
        of_type(has_documents),
        wildcard_actions,
    ),
    resource_rule(
        About(
            name="iam-policy-fits",
            description="Managed policies have at most 6,144 characters, inline ones 10,240, trust policies 2,048, "
            "for the real cluster name and region.",
            remedy="Split the document over several managed policies.",
        ),
        of_type(has_documents),
        unreadable,
        too_long,
    ),
    resource_rule(
        About(
            name="iam-writes-are-scoped",
            description="What changes something or gives out a secret is allowed on named resources or under a "
            "condition, and never to everybody.",
            remedy="Name the resources by ARN, or add a condition on tags, region or source.",
            severity=Severity.CRITICAL,
        ),
        of_type(has_documents),
        unscoped_writes,
    ),
    resource_rule(
        About(
            name="iam-no-administrators",
            description="AdministratorAccess, PowerUserAccess and IAMFullAccess are attached to nothing: what runs on "
            "a node can use the node's role.",
            remedy="Attach a policy that names the actions and resources that are needed.",
            severity=Severity.CRITICAL,
        ),
        of_type(_ATTACHMENTS.__contains__),
        administrators,
    ),
    resource_rule(
        About(
            name="iam-services-act-for-somebody-known",
            description="Where a resource's policy lets an AWS service in, a condition says for which resource, "
            "account or organization it acts; without one anybody's events reach the resource (the confused deputy).",
            remedy="Add a condition on aws:SourceArn, or on aws:SourceAccount where the ARN is not known.",
        ),
        of_type(has_documents),
        confused_deputies,
    ),
    stack_rule(
        About(
            name="karpenter-has-its-permissions",
            description="A stack with Karpenter's chart and its permissions allows what newer versions need.",
            remedy="Take the policies of KarpenterController.",
            severity=Severity.MEDIUM,
        ),
        outdated_karpenter_permissions,
    ),
]
