"""Which resources of a pod a LimitRange has filled in, told by the annotation that the API server leaves. Pure.

Format: kubernetes/plugin/pkg/admission/limitranger/admission.go, mergePodResourceRequirements. The plugin runs before
webhooks, and again after them; a second run that fills in anything overwrites what the first one said.
"""

from __future__ import annotations

import re

ANNOTATION = "kubernetes.io/limit-ranger"
_START = "LimitRanger plugin set: "
_PART = re.compile(r"(?P<resources>.+) (?P<what>request|limit) for (?P<init>init )?container (?P<name>.+)", re.S)
_LONGEST = 100_000

Default = tuple[str, str, str]
"""Container, `requests` or `limits`, resource. Names are unique over a pod's containers of both kinds."""


def defaults(annotation: object) -> frozenset[Default]:
    """What the annotation names; nothing for any other text."""
    if not isinstance(annotation, str) or not annotation.startswith(_START) or len(annotation) > _LONGEST:
        return frozenset()
    found: set[Default] = set()
    for part in annotation.removeprefix(_START).split("; "):
        match = _PART.fullmatch(part)
        if match:
            for resource in match["resources"].split(", "):
                found.add((match["name"], f"{match['what']}s", resource))
    return frozenset(found)
