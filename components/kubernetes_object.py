"""Registering a Kubernetes object from its whole manifest.

The typed classes of pulumi_kubernetes register the same, but load the types of core/v1 first, which takes longer than
all the rest of an offline preview. Our manifests come from pure builders that know every rule, so nothing is lost.
"""

from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

import pulumi
from pulumi import ResourceOptions


def kubernetes_object(name: str, manifest: Mapping[str, Any], opts: ResourceOptions) -> pulumi.CustomResource:
    """One object, as `kubectl apply` would take it. Values may be Outputs."""
    version = str(manifest["apiVersion"])
    # The provider reads group and version from the token, and calls the group without a name so.
    module = version if "/" in version else f"core/{version}"
    token = f"kubernetes:{module}:{manifest['kind']}"
    pinned = ResourceOptions(version=_sdk_version())
    return pulumi.CustomResource(token, name, dict(manifest), ResourceOptions.merge(pinned, opts))


@cache
def _sdk_version() -> str:
    """The provider's version goes with the SDK's, as for its own classes."""
    return metadata.version("pulumi-kubernetes")
