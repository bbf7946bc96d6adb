"""Gives a component arguments that it refuses."""

import pulumi
from pulumi.errors import InputPropertiesError, InputPropertyError


class Strict(pulumi.ComponentResource):
    def __init__(self) -> None:
        super().__init__("test:index:Strict", "strict")
        if pulumi.Config().get("several"):
            raise InputPropertiesError("Strict has 2 problem(s):\n  size: is too small\n  color: is unknown")
        raise InputPropertyError("size", "is too small")


Strict()
