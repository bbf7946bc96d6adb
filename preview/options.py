"""The resource options of a registration that are set, in the engine's spelling."""

from __future__ import annotations

from typing import Any

from pulumi.runtime.proto import resource_pb2


def options_of(request: resource_pb2.RegisterResourceRequest) -> dict[str, Any]:
    """Only what differs from the default, so that recordings stay short and a diff shows what was asked."""
    timeouts = request.customTimeouts
    options: dict[str, Any] = {
        "additionalSecretOutputs": sorted(request.additionalSecretOutputs),
        "customTimeouts": {
            key: getattr(timeouts, key) for key in ("create", "update", "delete") if getattr(timeouts, key)
        },
        "deletedWith": request.deletedWith,
        "hideDiffs": sorted(request.hideDiffs),
        "ignoreChanges": sorted(request.ignoreChanges),
        "import": request.importId,
        "pluginDownloadURL": request.pluginDownloadURL,
        "protect": request.protect,
        "replaceOnChanges": sorted(request.replaceOnChanges),
        "replaceWith": sorted(request.replace_with),
        "retainOnDelete": request.retainOnDelete,
        "transforms": len(request.transforms),
        "version": request.version,
    }
    found = {key: value for key, value in options.items() if value}
    if request.deleteBeforeReplaceDefined:
        found["deleteBeforeReplace"] = request.deleteBeforeReplace
    return dict(sorted(found.items()))
