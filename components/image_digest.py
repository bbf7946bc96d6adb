"""Container images named by digest: what runs is what was reviewed."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from floodplain.problem import RuleError

_DIGEST = re.compile(r"[^\s@]+@sha256:[0-9a-f]{64}")


def _digest(image: str) -> str:
    if not _DIGEST.fullmatch(image):
        raise RuleError("is not an image by digest", "write repository@sha256:..., as a release prints it")
    return image


ImageDigest = Annotated[str, AfterValidator(_digest)]
