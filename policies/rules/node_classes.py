"""Is an EC2NodeClass tied to one role and one machine image?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pulumi_policy import EnforcementLevel, Policy, ResourceValidationArgs, Severity

from components.cloud_names import role_name_problems

from .kinds import is_node_class
from .protected import PROTECTED_STACKS_SCHEMA, is_protected
from .proxies import Unknowns, each, get, shown, text
from .rule import About, of_type, resource_rule

_PINNED_ALIAS = re.compile(r"[a-z0-9]+@v[0-9][0-9A-Za-z.-]*")
_PINNED_ID = re.compile(r"ami-[0-9a-z]+")
# /aws/service/eks/optimized-ami/1.34/amazon-linux-2023/x86_64/standard/amazon-eks-node-...-v20260714/image_id
_PINNED_PARAMETER = re.compile(r".*v\d{8}.*|.*:\d+")


def role_is_no_name(args: ResourceValidationArgs) -> Iterator[str]:
    """A role given as ARN or path: Karpenter takes it for a name and never finds it."""
    role = get(args.props, "spec", "role")
    if role is not None:
        for error in role_name_problems(text(role) or ""):
            yield f"spec.role: {shown(role)} {error}"
    profile = get(args.props, "spec", "instanceProfile")
    name = text(profile) or ""
    if name.startswith("arn:") or "/" in name:
        yield f"spec.instanceProfile: {shown(profile)} is no name; write {shown(name.rsplit('/', 1)[-1])}"


def role_or_profile(args: ResourceValidationArgs) -> Iterator[str]:
    """Neither or both of role and instance profile."""
    given = [key for key in ("role", "instanceProfile") if get(args.props, "spec", key) is not None]
    if len(given) != 1:
        yield f"spec: has {' and '.join(given) or 'neither role nor instanceProfile'}; give exactly one"


def _unpinned(term: object) -> str | None:
    """Why a term of amiSelectorTerms does not always give the same image."""
    alias, image = text(get(term, "alias")), text(get(term, "id"))
    parameter = text(get(term, "ssmParameter"))
    if alias is not None:
        return None if _PINNED_ALIAS.fullmatch(alias) else f"alias {shown(alias)} names no release"
    if image is not None:
        return None if _PINNED_ID.fullmatch(image) else f"id {shown(image)} is no image id"
    if parameter is not None:
        return None if _PINNED_PARAMETER.fullmatch(parameter) else f"parameter {shown(parameter)} names no release"
    return "a term by tags or name takes the newest image that matches"


def unpinned_image(args: ResourceValidationArgs) -> Iterator[str]:
    """Terms that follow what AWS or somebody else publishes; each new image then rolls the fleet."""
    unknowns = Unknowns()
    terms = get(args.props, "spec", "amiSelectorTerms")
    found = 0
    for position, term in enumerate(each(terms)):
        found += 1
        with unknowns:
            reason = _unpinned(term)
            if reason:
                yield f"spec.amiSelectorTerms[{position}]: {reason}; pin it, such as alias: al2023@v20260714"
    if not found and not unknowns:
        yield "spec.amiSelectorTerms: is empty; pin an image, such as alias: al2023@v20260714"
    unknowns.raise_first()


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="node-role-is-a-name",
            description="An EC2NodeClass names its role (or instance profile) by name, never by ARN or path.",
            remedy="Write the role's name, as KarpenterController exports it.",
            severity=Severity.CRITICAL,
        ),
        of_type(is_node_class),
        role_is_no_name,
        role_or_profile,
    ),
    resource_rule(
        About(
            name="machine-image-is-pinned-in-protected-stacks",
            description="In a protected stack an EC2NodeClass always boots the same image.",
            remedy="Name an alias with a release (al2023@vYYYYMMDD) or image ids.",
            config=PROTECTED_STACKS_SCHEMA,
        ),
        lambda args: is_node_class(args.resource_type) and is_protected(args),
        unpinned_image,
    ),
    resource_rule(
        About(
            name="machine-image-is-pinned",
            description="An EC2NodeClass always boots the same image; otherwise each release of AWS rolls the fleet.",
            remedy="Name an alias with a release (al2023@vYYYYMMDD) or image ids.",
            level=EnforcementLevel.ADVISORY,
            severity=Severity.LOW,
            config=PROTECTED_STACKS_SCHEMA,
        ),
        lambda args: is_node_class(args.resource_type) and not is_protected(args),
        unpinned_image,
    ),
]
