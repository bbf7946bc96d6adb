"""Every rule of the policy pack over the rendered stack, as the engine would run them with `--policy-pack`.

The properties go through the SDK's own proxy, so a rule that would stumble over it in production stumbles here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    PolicyProviderResource,
    PolicyResource,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.policy import _NotApplicableError
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from floodplain.problem import Problem
from policies.rules import POLICIES
from policies.rules.protected import DEFAULT_PROTECTED_STACKS
from policies.rules.rendered import RenderedOptions

from .. import wire
from ..finding import Finding, Severity
from ..origin import place
from ..recording import Recorded
from ..render import Applied
from ..stackfile import StackFile

Report = Callable[[str, str | None], None]
_PROPERTY = re.compile(r"([A-Za-z]\w*(?:\.\w+|\[[^\]]*\])*): ")


def check(rendering: Applied, policies: Any = POLICIES) -> Iterator[Finding]:
    by_urn = rendering.apply.by_urn()
    resources = _resources(by_urn)
    config = _config(rendering.stackfile)
    arguments = [
        ResourceValidationArgs(one.resource_type, one.props, urn, one.name, one.opts, one.provider, config)
        for urn, one in resources.items()
    ]
    for policy in policies:
        if policy.enforcement_level == EnforcementLevel.DISABLED:
            continue
        advisory = policy.enforcement_level in (None, EnforcementLevel.ADVISORY)
        severity: Severity = "warning" if advisory else "error"
        for message, urn in _violations(policy, arguments, resources):
            resource = by_urn.get(urn)
            property_path = _property(message)
            where = rendering.stackfile.path
            if resource is not None:
                where = place(rendering.stackfile, resource, property_path) or resource.name
                message = message.removeprefix(f"{resource.name} ") if where == resource.name else message
            # Many messages say what to do themselves, after a semicolon.
            remedy = "" if "; " in message else (policy.remediation_steps or "").removesuffix(".")
            remedy = remedy[:1].lower() + remedy[1:]
            yield Finding(severity, policy.name, Problem(where, message, remedy), urn, property_path)


def _property(message: str) -> str:
    """The property a message is about, which it names first: `spec.limits: ...`."""
    said = _PROPERTY.match(message)
    return said.group(1) if said else ""


def _config(stackfile: StackFile) -> dict[str, Any]:
    """A stack whose file says that it is protected is judged as one, whatever its name."""
    protected = stackfile.values.get(f"{stackfile.project}:protected") is True
    return {"protectedStacks": [*DEFAULT_PROTECTED_STACKS, *([stackfile.stack] if protected else [])]}


def _violations(
    policy: Any, arguments: list[ResourceValidationArgs], resources: dict[str, PolicyResource]
) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def reporter(about: str) -> Report:
        def report(message: str, urn: str | None = None) -> None:
            found.append((" ".join(message.split()), urn or about))

        return report

    if isinstance(policy, StackValidationPolicy):
        _run(policy.validate, StackValidationArgs(list(resources.values())), reporter(""), found, "")
    elif isinstance(policy, ResourceValidationPolicy):
        validates = policy.validate if isinstance(policy.validate, list) else [policy.validate]
        for args in arguments:
            for validate in validates:
                _run(validate, args, reporter(args.urn), found, args.urn)
    return found


def _run(validate: Any, args: Any, report: Report, found: list[tuple[str, str]], urn: str) -> None:
    try:
        validate(args, report)
    except _NotApplicableError:
        pass
    except UnknownValueError as error:
        found.append((f"could not be checked: {error.message}", urn))


def _resources(recorded: dict[str, Recorded]) -> dict[str, PolicyResource]:
    """The stack as rules see it, with parents and dependencies as references."""
    proxied = {urn: unknown_checking_proxy(_as_engine(one.inputs)) for urn, one in recorded.items()}
    made = {urn: _resource(one, recorded.get(one.provider), proxied) for urn, one in recorded.items()}
    for urn, one in recorded.items():
        made[urn].parent = made.get(one.parent)
        made[urn].dependencies.extend(made[other] for other in one.depends_on if other in made)
        for key, others in one.property_depends_on.items():
            made[urn].property_dependencies[key] = [made[other] for other in others if other in made]
    return made


def _resource(resource: Recorded, given: Recorded | None, proxied: Mapping[str, Any]) -> PolicyResource:
    provider = None
    if given is not None:
        provider = PolicyProviderResource(given.type, proxied[given.urn], given.urn, given.name)
    options = resource.options
    rendered = RenderedOptions(
        protect=bool(options.get("protect")),
        retain_on_delete=bool(options.get("retainOnDelete")),
        secret_paths=list(_secret_paths(resource.inputs)),
        ignore_changes=options.get("ignoreChanges", ()),
        delete_before_replace=options.get("deleteBeforeReplace"),
        aliases=resource.aliases,
        additional_secret_outputs=options.get("additionalSecretOutputs", ()),
        parent=resource.parent or None,
    )
    props = proxied[resource.urn]
    return PolicyResource(resource.type, props, resource.urn, resource.name, rendered, provider, None, [], {})


def _as_engine(value: Any) -> Any:
    """As the engine hands properties to a pack: secrets opened, unknowns marked its way, numbers all floats."""
    if isinstance(value, Mapping):
        if set(value) == {wire.SECRET}:
            return _as_engine(value[wire.SECRET])
        return {key: _as_engine(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_engine(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return wire.RAW_UNKNOWN if value == wire.UNKNOWN else value


def _secret_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, Mapping):
        if set(value) == {wire.SECRET}:
            yield path
        else:
            for key, item in value.items():
                yield from _secret_paths(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _secret_paths(item, (*path, index))
