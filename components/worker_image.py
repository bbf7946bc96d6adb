"""Images of workers: not floodplain's own, so that a version is enough where the stack is not protected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator

from floodplain.problem import RuleError

_REFERENCE = re.compile(
    r"[a-zA-Z0-9][a-zA-Z0-9._:/-]*?(:(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(@(?P<digest>.*))?"
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def _versioned(image: str) -> str:
    found = _REFERENCE.fullmatch(image)
    if not found or image.endswith("/") or (found["digest"] is not None and not _DIGEST.fullmatch(found["digest"])):
        raise RuleError("is not an image", "write repository:version or repository@sha256:...")
    if found["digest"] is None and found["tag"] in (None, "latest"):
        raise RuleError(
            "follows `latest`, so that two workers may run different programs",
            "write repository:version or repository@sha256:...",
        )
    return image


VersionedImage = Annotated[str, AfterValidator(_versioned)]
"""An image by version or by digest."""


def digest_problems(image: str, *, protected: bool) -> Iterator[RuleError]:
    """Why a protected stack does not take the image."""
    if protected and "@" not in image:
        yield RuleError(
            "is not named by digest, so that a protected stack would run what somebody pushes later",
            "append @sha256:... of the version",
            ("image",),
            image,
        )
