"""Is it said which cluster and which account a resource goes to?

A provider of the wrong package is ignored by the SDK without a word, and the default provider, which reads
whatever credentials the machine has, is used instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs, Severity

from .kinds import kind_of
from .proxies import get, text
from .rule import About, resource_rule

_PACKAGES = ("aws", "kubernetes")

# Made of other resources, which the engine shows one by one. They have no provider of their own.
_COMPONENTS = (
    "kubernetes:helm.sh/v4:Chart",
    "kubernetes:helm.sh/v3:Chart",
    "kubernetes:helm.sh/v2:Chart",
    "kubernetes:yaml:ConfigFile",
    "kubernetes:yaml:ConfigGroup",
    "kubernetes:yaml/v2:ConfigFile",
    "kubernetes:yaml/v2:ConfigGroup",
    "kubernetes:kustomize:Directory",
    "kubernetes:kustomize/v2:Directory",
)


def _needs_provider(args: ResourceValidationArgs) -> bool:
    if args.resource_type in _COMPONENTS and args.provider is None:
        return False
    return kind_of(args.resource_type).package in _PACKAGES


def default_provider(args: ResourceValidationArgs) -> Iterator[str]:
    """A resource without provider, or with the engine's default one (whose name starts with `default`)."""
    package = kind_of(args.resource_type).package
    if args.provider is None or args.provider.name.startswith("default"):
        yield (
            f"{args.name} uses the default {package} provider; pass provider=... of package {package} "
            "(a provider of another package is ignored without a word)"
        )
    elif args.provider.resource_type != f"pulumi:providers:{package}":
        yield f"{args.name} has a provider of type {args.provider.resource_type}; it needs one of package {package}"


def _is_kubernetes_provider(args: ResourceValidationArgs) -> bool:
    return args.resource_type == "pulumi:providers:kubernetes" and not args.name.startswith("default")


def no_cluster_identifier(args: ResourceValidationArgs) -> Iterator[str]:
    """A provider that a changed kubeconfig would replace, with every object under it."""
    if not text(get(args.props, "clusterIdentifier")):
        yield "clusterIdentifier: is not set; set it to the cluster's ARN or another text that never changes"


def client_side_apply(args: ResourceValidationArgs) -> Iterator[str]:
    """Server-side apply switched off: previews then check nothing against the cluster."""
    if get(args.props, "enableServerSideApply") in (False, "false"):
        yield "enableServerSideApply: is off, so a preview checks nothing against the cluster; remove it"


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="provider-is-explicit",
            description="Every Kubernetes object and AWS resource has an explicit provider.",
            remedy="Give the component the provider: opts=ResourceOptions(providers=[aws, kubernetes]).",
        ),
        _needs_provider,
        default_provider,
    ),
    resource_rule(
        About(
            name="kubernetes-provider-survives-a-new-kubeconfig",
            description="A Kubernetes provider names its cluster, so that a changed kubeconfig does not replace "
            "the provider and all objects under it, and applies on the server's side.",
            remedy="Set clusterIdentifier on the provider.",
            severity=Severity.MEDIUM,
        ),
        _is_kubernetes_provider,
        no_cluster_identifier,
        client_side_apply,
    ),
]
