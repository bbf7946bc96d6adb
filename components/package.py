"""The component package: what it offers, its schema, and the provider that the engine talks to."""

import json
from functools import cache, cached_property
from typing import Any, Optional

import pulumi
from pulumi.errors import InputPropertiesError, InputPropertyError
from pulumi.provider import ConstructResult
from pulumi.provider.experimental.component import ComponentProvider
from pulumi.provider.server import ComponentInitError

from floodplain import __version__

from . import Controllers, Guardrails, KarpenterController, Platform, SizingService, SwapNodePool, WorkerPools
from .arguments import property_errors
from .package_inputs import input_problems

PACKAGE = "floodplain"
COMPONENTS = [SwapNodePool, KarpenterController, Controllers, Guardrails, SizingService, WorkerPools, Platform]
"""Every component that the package offers, in the order of the docs."""


class PackageProvider(ComponentProvider):
    """Constructs components for programs in any language, and reports bad input by property path.

    The SDK (3.272) wraps whatever a component's constructor raises, so that its own server no longer knows an error
    by property path and shows a traceback instead.
    """

    def __init__(self) -> None:
        super().__init__(COMPONENTS, PACKAGE, version=__version__)

    @cached_property
    def published(self) -> dict[str, Any]:
        """The schema as the engine gets it: resources, types and their descriptions."""
        published: dict[str, Any] = json.loads(self.schema or "")
        return published

    def construct(
        self, name: str, resource_type: str, inputs: Any, options: Optional[pulumi.ResourceOptions] = None
    ) -> ConstructResult:
        """Make one component. Raises `InputPropertiesError` for bad input."""
        properties = self.published["resources"].get(resource_type, {}).get("inputProperties", {})
        problems = list(input_problems(inputs, properties, self.published["types"]))
        if problems:
            raise property_errors(resource_type.rsplit(":", 1)[-1], problems)
        try:
            return super().construct(name, resource_type, inputs, options)
        except ComponentInitError as error:
            if isinstance(error.inner, InputPropertiesError | InputPropertyError):
                raise error.inner from None
            raise


@cache
def package_schema() -> dict[str, Any]:
    """The schema that the engine gets, without starting a server.

    `pulumi package get-schema` prints it in its own form: no empty lists, no descriptions within lists and maps.
    """
    return PackageProvider().published
