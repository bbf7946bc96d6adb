"""Whether a text is one exact version of a chart. Not for versions of Karpenter or Kubernetes, which are compared."""

from __future__ import annotations

import re

# Three numbers, perhaps a suffix, perhaps a leading v. Ranges, tags and versions of two numbers are not exact to Helm.
_EXACT = re.compile(r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII)


def is_exact(version: str) -> bool:
    """True for `1.14.1`, `v0.17.0` and `1.2.3-rc.1+build`; false for ranges, `latest` and what is not complete."""
    return _EXACT.fullmatch(version) is not None
