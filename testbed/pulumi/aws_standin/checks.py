"""What is wrong with the inputs of a resource or of the provider, by property. Pure."""

from __future__ import annotations

from testbed.pulumi.aws_standin.account import KNOWN
from testbed.pulumi.aws_standin.kind import Kind
from testbed.pulumi.aws_standin.wire import Properties

_ENGINE_OWN = frozenset({"version", "pluginDownloadURL", "__internal"})
"""Keys that the SDK or the engine adds to a provider's inputs. The real provider has defaults for the skip switches."""


def input_problems(kind: Kind, given: Properties) -> dict[str, str]:
    """Properties that the stand-in does not know, and those that are missing."""
    unknown = dict.fromkeys({*given} - kind.inputs, f"is not among those that the stand-in knows for {kind.token}")
    # The real provider would make a name up; floodplain's names are given, so that a preview can check them.
    missing = dict.fromkeys(kind.required - {*given}, "is required")
    return dict(sorted({**unknown, **missing}.items()))


def config_problems(given: Properties) -> dict[str, str]:
    """Of the provider itself."""
    return {
        name: "is not among the provider inputs that the stand-in knows"
        for name in sorted({*given} - KNOWN - _ENGINE_OWN)
        if not name.startswith("skip")
    }
