"""How the rules are asked: always behind the proxy that production puts before the properties."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyProviderResource,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
)
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

from policies.rules import POLICIES
from policies.rules.rendered import RenderedOptions

NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"


def engine_options(
    *, protect: bool = False, secret_outputs: Sequence[str] = (), parent: str | None = None
) -> PolicyResourceOptions:
    """Options as the engine tells them: no secret marks, no retainOnDelete."""
    return PolicyResourceOptions(protect, [], None, [], PolicyCustomTimeouts(0, 0, 0), list(secret_outputs), parent)


def provider_of(package: str, name: str = "prod") -> PolicyProviderResource:
    kind = f"pulumi:providers:{package}"
    return PolicyProviderResource(kind, unknown_checking_proxy({}), f"urn:pulumi:dev::floodplain::{kind}::{name}", name)


@dataclass(frozen=True)
class Given:
    """A resource to judge. `linked` names, for a property, the resource of the stack it comes from."""

    type: str
    props: Mapping[str, Any]
    name: str = "x"
    stack: str = "dev"
    linked: Mapping[str, str] = field(default_factory=dict)

    @property
    def urn(self) -> str:
        return f"urn:pulumi:{self.stack}::floodplain::{self.type}::{self.name}"


class Rules:
    """The pack's rules by name. Answers are messages; a rule that met an unknown ends with `UNKNOWN`."""

    UNKNOWN = "could not see everything"

    def __init__(self) -> None:
        self._by_name = {policy.name: policy for policy in POLICIES}

    def on(
        self,
        rule: str,
        kind: str,
        props: Mapping[str, Any],
        *,
        stack: str = "dev",
        name: str = "x",
        options: PolicyResourceOptions | None = None,
        provider: PolicyProviderResource | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """What one resource rule says of one resource."""
        policy = self._by_name[rule]
        assert isinstance(policy, ResourceValidationPolicy)
        given = Given(kind, props, name, stack)
        args = ResourceValidationArgs(
            kind, _proxied(props), given.urn, name, options or engine_options(), provider, config
        )
        return [message for message, _ in _run(policy, args)]

    def on_stack(
        self, rule: str, resources: Iterable[Given], config: Mapping[str, Any] | None = None
    ) -> list[tuple[str, str | None]]:
        """What one stack rule says: message and name of the resource."""
        given = list(resources)
        args = StackValidationArgs(_as_stack(given), config)
        names = {one.urn: one.name for one in given}
        return [(message, names.get(urn or "")) for message, urn in _run(self._by_name[rule], args)]

    def broken_by(self, resources: Iterable[Given]) -> dict[str, list[str]]:
        """Every rule that has something to say about the resources, with what it says."""
        given = list(resources)
        stack = _as_stack(given)
        found: dict[str, list[str]] = {}
        for name, policy in self._by_name.items():
            if isinstance(policy, ResourceValidationPolicy):
                asked: list[Any] = [
                    ResourceValidationArgs(one.resource_type, one.props, one.urn, one.name, one.opts, one.provider)
                    for one in stack
                ]
            else:
                asked = [StackValidationArgs(stack)]
            messages = [message for args in asked for message, _ in _run(policy, args)]
            if messages:
                found[name] = messages
        return found


def _proxied(props: Mapping[str, Any]) -> Any:
    return unknown_checking_proxy(_floats(dict(props)))


def _floats(value: Any) -> Any:
    """The wire knows doubles only."""
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_stack(given: Sequence[Given]) -> list[PolicyResource]:
    made = {}
    for one in given:
        package = one.type.split(":")[0]
        provider = provider_of(package) if package in ("aws", "kubernetes") else None
        resource = PolicyResource(
            one.type, _proxied(one.props), one.urn, one.name, engine_options(), provider, None, [], {}
        )
        assert one.name not in made, f"two resources are called {one.name}"
        made[one.name] = resource
    for one in given:
        for key, other in one.linked.items():
            made[one.name].property_dependencies[key] = [made[other]]
    return list(made.values())


def _run(policy: Any, args: Any) -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    try:
        assert policy.validate(args, lambda message, urn=None: found.append((message, urn))) is None
    except UnknownValueError:
        found.append((Rules.UNKNOWN, None))
    return found


@pytest.fixture(scope="session")
def rules() -> Rules:
    return Rules()


@pytest.fixture(scope="session")
def given() -> type[Given]:
    return Given


@pytest.fixture
def hotosm_shape() -> list[Given]:
    """A stack of the shape that runs in production at HOTOSM, with its weak points; written for these tests."""
    content = yaml.safe_load((Path(__file__).parent / "data" / "hotosm_shape.yaml").read_text())
    return [Given(stack="hotosm", **copy.deepcopy(entry)) for entry in content["resources"]]


@pytest.fixture(scope="session")
def options() -> Any:
    """`options(...)`: options as the engine tells them."""
    return engine_options


@pytest.fixture(scope="session")
def provider() -> Any:
    """`provider(package, name)`: a provider resource."""
    return provider_of


@pytest.fixture(scope="session")
def rendered_options() -> type[RenderedOptions]:
    return RenderedOptions
