"""The schema of the component package: what `pulumi package get-schema` prints, without starting a server."""

import json
from functools import cache
from typing import Any

from pulumi.provider.experimental.component import ComponentProvider

from floodplain import __version__

from . import Controllers, Guardrails, KarpenterController, Platform, SwapNodePool

COMPONENTS = [SwapNodePool, KarpenterController, Controllers, Guardrails, Platform]
"""Every component that the package offers, in the order of the docs."""


@cache
def package_schema() -> dict[str, Any]:
    """The package's schema as the engine sees it: resources, types and their descriptions."""
    provider = ComponentProvider(COMPONENTS, "floodplain", version=__version__)
    schema: dict[str, Any] = json.loads(provider.schema or "")
    return schema
