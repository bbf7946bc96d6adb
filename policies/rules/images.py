"""Does the stack say exactly which images it runs?"""

from __future__ import annotations

from collections.abc import Iterator

from pulumi_policy import Policy, ResourceValidationArgs, Severity

from .pod_templates import images, makes_pods, pod_spec, read_image
from .protected import PROTECTED_STACKS_SCHEMA, is_protected
from .proxies import shown
from .rule import About, of_type, resource_rule

_OUT_OF_SIGHT = "Images inside Helm releases and operators' objects are out of this rule's sight."


def versionless(args: ResourceValidationArgs) -> Iterator[str]:
    """Images without tag and digest, or with the tag `latest`."""
    for where, reference in images(pod_spec(args.resource_type, args.props)):
        image = read_image(reference)
        if image.digest is not None:
            continue
        if not reference.strip() or image.tag is None:
            yield f"{where}: image {shown(reference)} has no version, which means `latest`; name a version or digest"
        elif image.tag.lower() == "latest":
            yield f"{where}: image {shown(reference)} follows `latest`; name a version or a digest"


def without_digest(args: ResourceValidationArgs) -> Iterator[str]:
    """Images that are not named by a whole digest."""
    for where, reference in images(pod_spec(args.resource_type, args.props)):
        if not read_image(reference).has_valid_digest:
            yield f"{where}: image {shown(reference)} is not named by digest; append @sha256:<64 hex digits>"


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="images-have-a-version",
            description=f"Images of pod templates name a version or a digest, never `latest`. {_OUT_OF_SIGHT}",
            remedy="Write repository:version or repository@sha256:digest.",
        ),
        of_type(makes_pods),
        versionless,
    ),
    resource_rule(
        About(
            name="images-by-digest-in-protected-stacks",
            description=f"In a protected stack images of pod templates are named by digest. {_OUT_OF_SIGHT}",
            remedy="Put the digests that the release workflow writes into the stack file.",
            severity=Severity.MEDIUM,
            config=PROTECTED_STACKS_SCHEMA,
        ),
        lambda args: makes_pods(args.resource_type) and is_protected(args),
        without_digest,
    ),
]
