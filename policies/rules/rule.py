"""How a rule becomes a policy: independent checks, each of which yields what is wrong.

A check is a pure function. One that meets an unknown value is cut short; the others still have their say, and
the unknown is raised last, so that the engine reports both the violations and that it could not see all.
A resource that a rule is not about passes silently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyResource,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    Severity,
    StackValidationArgs,
    StackValidationPolicy,
)

from .proxies import Unknowns

ResourceCheck = Callable[[ResourceValidationArgs], Iterable[str]]
StackCheck = Callable[[StackValidationArgs], Iterable[tuple[str, str | None]]]
"""Yields a message and the URN it is about (None: the stack as a whole)."""


@dataclass(frozen=True)
class About:
    """What a policy says of itself."""

    name: str
    description: str
    remedy: str
    level: EnforcementLevel = EnforcementLevel.MANDATORY
    severity: Severity = Severity.HIGH
    config: Mapping[str, Mapping[str, object]] | None = None

    @property
    def schema(self) -> PolicyConfigSchema | None:
        """The configuration schema. Defaults are advertised here and kept by whoever reads the value, too."""
        if self.config is None:
            return None
        return PolicyConfigSchema(properties={key: dict(value) for key, value in self.config.items()})

    @property
    def arguments(self) -> dict[str, Any]:
        """The same in Pulumi's words, for the constructor of either kind of policy."""
        return {
            "name": self.name,
            "description": self.description,
            "enforcement_level": self.level,
            "severity": self.severity,
            "remediation_steps": self.remedy,
            "config_schema": self.schema,
        }


def resource_rule(
    about: About, applies: Callable[[ResourceValidationArgs], bool], *checks: ResourceCheck
) -> ResourceValidationPolicy:
    """A policy over single resources of which `applies` says yes."""

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if not applies(args):
            return
        unknowns = Unknowns()
        for check in checks:
            with unknowns:
                for message in check(args):
                    report(message, None)
        unknowns.raise_first()

    return ResourceValidationPolicy(validate=validate, **about.arguments)


def stack_rule(about: About, *checks: StackCheck) -> StackValidationPolicy:
    """A policy over all resources of a stack together."""

    def validate(args: StackValidationArgs, report: ReportViolation) -> None:
        unknowns = Unknowns()
        for check in checks:
            with unknowns:
                for message, urn in check(args):
                    report(message, urn)
        unknowns.raise_first()

    return StackValidationPolicy(validate=validate, **about.arguments)


def of_type(applies: Callable[[str], bool]) -> Callable[[ResourceValidationArgs], bool]:
    """A question about type tokens, asked of a resource."""
    return lambda args: applies(args.resource_type)


def resources_of(args: StackValidationArgs, applies: Callable[[str], bool]) -> Iterator[PolicyResource]:
    """The stack's resources of the types that `applies` says yes to."""
    return (resource for resource in args.resources if applies(resource.resource_type))
