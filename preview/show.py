"""Single things out of a rendered stack, exactly as nodes, kubectl and AWS get them, but for what is secret.

Prints nothing itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from components.controller_policies import MANAGED_POLICY_LIMIT, policy_length
from floodplain import pools as documents
from floodplain.problem import Problem

from . import document, wire
from .karpenter_objects import NODE_CLASS, NODE_POOL, object_name
from .outputs import Apply
from .pools import pool_documents
from .problems import PreviewError
from .recording import Recorded, Recording
from .redaction import Redactor
from .render import run
from .stackfile import load

_POLICY_DOCUMENTS = ("policy", "assumeRolePolicy", "inlinePolicy")


def rendered(stack: str, root: Path) -> Recording:
    """One run with everything known: enough for looking at single things. Raises PreviewError."""
    return run(load(root, stack), root, Apply())


def pool_names(recording: Recording) -> list[str]:
    return [pool.name for pool in pool_documents(recording.resources)]


def pools_json(recording: Recording) -> bytes:
    """The documents, the same bytes as `floodplain.pools.dump`."""
    written = documents.dump(pool_documents(recording.resources))
    redactor = Redactor([recording])
    return redactor.whole(written.decode()).encode() if redactor else written


def user_data(recording: Recording, pool: str) -> bytes:
    """The boot text of the pool's nodes, as it stands in the EC2NodeClass. Raises PreviewError."""
    spec = wire.conceal(_object(recording, NODE_CLASS, pool).inputs.get("spec", {}))
    text = spec.get("userData") if isinstance(spec, Mapping) else spec
    if not isinstance(text, str):
        raise PreviewError([Problem(f"pool {pool}", "has no user data in its EC2NodeClass")])
    return Redactor([recording]).whole(text).encode()


def node_class(recording: Recording, pool: str) -> str:
    """The EC2NodeClass as YAML that kubectl accepts. Raises PreviewError."""
    return Redactor([recording]).whole(_yaml(_object(recording, NODE_CLASS, pool)))


def node_pool(recording: Recording, pool: str) -> str:
    """The NodePool as YAML that kubectl accepts. Raises PreviewError."""
    return Redactor([recording]).whole(_yaml(_object(recording, NODE_POOL, pool)))


def policies(recording: Recording) -> str:
    """Every IAM document, opened up, with its length as AWS counts it."""
    return Redactor([recording]).whole("\n".join(_policies(recording)))


def _policies(recording: Recording) -> Iterator[str]:
    for resource in recording.resources:
        if not resource.type.startswith(("aws:iam/", "aws:sqs/")):
            continue
        for key in _POLICY_DOCUMENTS:
            text = wire.conceal(resource.inputs.get(key))
            if not isinstance(text, str):
                continue
            name = wire.conceal(resource.inputs.get("name", resource.name))
            if text == wire.SECRET:
                yield f"# {resource.type} {name}: {key}\n{text}\n"
                continue
            limit = f" of {MANAGED_POLICY_LIMIT:,}" if resource.type == "aws:iam/policy:Policy" else ""
            yield f"# {resource.type} {name}: {key}, {policy_length(text):,}{limit} characters"
            yield f"{_opened(text)}\n"


def _opened(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def _object(recording: Recording, kind: str, pool: str) -> Recorded:
    names = pool_names(recording)
    if pool not in names:
        raise PreviewError(
            [Problem("POOL", "is no pool of this stack", f"its pools: {', '.join(names) or 'none'}", pool)]
        )
    for resource in recording.of(kind):
        if object_name(resource) == pool:
            return resource
    raise PreviewError([Problem(f"pool {pool}", f"has no {kind.rpartition(':')[2]} of its name in this stack")])


def _yaml(resource: Recorded) -> str:
    inputs = wire.conceal(dict(resource.inputs))
    ordered = {key: inputs[key] for key in ("apiVersion", "kind", "metadata", "spec") if key in inputs}
    return document.as_yaml(ordered)
