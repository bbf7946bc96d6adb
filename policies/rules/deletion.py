"""What must outlive a destroy or a mistaken edit?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs, Severity

from .kinds import is_chart, is_kubernetes
from .protected import PROTECTED_STACKS_SCHEMA, is_protected
from .proxies import get, known_leaves, shown, text
from .rendered import is_kept
from .rule import About, resource_rule

_KEEP = "helm.sh/resource-policy"
_CRD_CHART = re.compile(r"(.*/)?[\w.-]*-crds?")

_WITH_DATA = (
    "aws:dynamodb/table:Table",
    "aws:ebs/volume:Volume",
    "aws:efs/fileSystem:FileSystem",
    "aws:eks/cluster:Cluster",
    "aws:kms/key:Key",
    "aws:rds/cluster:Cluster",
    "aws:rds/instance:Instance",
    "aws:s3/bucket:Bucket",
    "aws:s3/bucketV2:BucketV2",
)


def _is_crd(resource_type: str) -> bool:
    return is_kubernetes(resource_type, "apiextensions.k8s.io", "CustomResourceDefinition")


def _defines_kinds(args: ResourceValidationArgs) -> bool:
    if _is_crd(args.resource_type):
        return True
    return is_chart(args.resource_type) and bool(_CRD_CHART.fullmatch(text(get(args.props, "chart")) or ""))


def _helm_keeps(values: object) -> bool:
    """Whether a chart is told to annotate its CRDs, each chart under a key of its own, or to keep them."""
    for path, value in known_leaves(values):
        if (path[-1:] == (_KEEP,) and value == "keep") or (path == ("crds", "keep") and value is True):
            return True
    return False


def deletable_crds(args: ResourceValidationArgs) -> Iterator[str]:
    """CRDs that go with the stack, and take every object of their kind along."""
    if is_kept(args.opts):
        return
    if _is_crd(args.resource_type):
        # The annotation is Helm's: it means something on what a chart made, nothing on an object of Pulumi's own.
        of_chart = "kubernetes:helm.sh/" in (args.opts.parent or "")
        if not (of_chart and text(get(args.props, "metadata", "annotations", _KEEP)) == "keep"):
            yield f"{args.name} may be deleted with all objects of its kind; protect it"
    elif not _helm_keeps(get(args.props, "values")):
        yield (
            f"chart {shown(get(args.props, 'chart'))} may be uninstalled, and all objects of its kinds with it; "
            f"have its values annotate the CRDs with {_KEEP}: keep, or protect the release"
        )


def _holds_data(resource_type: str) -> bool:
    return resource_type in _WITH_DATA or is_kubernetes(resource_type, "core", "PersistentVolumeClaim")


def deletable_data(args: ResourceValidationArgs) -> Iterator[str]:
    """Something with data, or the cluster itself, that one wrong edit would delete."""
    if not is_kept(args.opts):
        yield f"{args.name} holds data and may be deleted by an edit; set protect on it"


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="crds-outlive-the-stack",
            description="Custom resource definitions are protected, retained or kept by Helm: deleting one deletes "
            "every NodePool and drains the fleet. The engine does not tell rules of retainOnDelete.",
            remedy="Set Helm's annotation helm.sh/resource-policy: keep, or protect.",
        ),
        _defines_kinds,
        deletable_crds,
    ),
    resource_rule(
        About(
            name="data-is-protected-in-protected-stacks",
            description="In a protected stack databases, buckets, volumes, keys and the cluster are protected.",
            remedy="Set protect=True in the resource's options.",
            severity=Severity.MEDIUM,
            config=PROTECTED_STACKS_SCHEMA,
        ),
        lambda args: _holds_data(args.resource_type) and is_protected(args),
        deletable_data,
    ),
]
