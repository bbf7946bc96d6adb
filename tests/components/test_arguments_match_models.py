"""The published arguments (TypedDict) and the models that check them are two layers; they must not drift apart."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pulumi
import pytest
from pydantic import BaseModel

from components.batch_platform import PlatformArgs
from components.controllers import ControllersArgs
from components.controllers_settings import ControllersSettings
from components.guardrail_settings import GuardrailsSettings
from components.guardrails import GuardrailsArgs
from components.karpenter_controller import INPUTS, KarpenterControllerArgs
from components.karpenter_installation import KarpenterInstallation
from components.platform_settings import PlatformSettings
from components.sizing_installation import SizingInstallation
from components.sizing_service import SizingServiceArgs
from components.swap_node_pool import SwapNodePoolArgs
from components.swap_pool import SwapNodePoolSettings
from components.worker_pools import WorkerPoolsArgs
from components.worker_settings import WorkerPoolsSettings

# Arguments that other resources may compute are the component's own business, not the model's.
SWAP_NODE_POOL_INPUTS = frozenset({"node_role_name", "subnet_ids", "security_group_ids"})

PAIRS: dict[str, tuple[Any, type[BaseModel], frozenset[str]]] = {
    "SwapNodePool": (SwapNodePoolArgs, SwapNodePoolSettings, SWAP_NODE_POOL_INPUTS),
    "KarpenterController": (KarpenterControllerArgs, KarpenterInstallation, frozenset(INPUTS)),
    "Controllers": (ControllersArgs, ControllersSettings, frozenset()),
    "Guardrails": (GuardrailsArgs, GuardrailsSettings, frozenset()),
    "SizingService": (SizingServiceArgs, SizingInstallation, frozenset()),
    "WorkerPools": (WorkerPoolsArgs, WorkerPoolsSettings, frozenset()),
    "Platform": (PlatformArgs, PlatformSettings, frozenset({"kubeconfig"})),
}


def unwrap(annotation: Any) -> Any:
    """The TypedDict, model, enum or plain type inside containers, optionals and Inputs."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(annotation) if option is not type(None)]
        plain = [one for one in options if typing.get_origin(one) is not pulumi.Output and "Awaitable" not in str(one)]
        return unwrap(plain[0])
    if origin in (typing.Annotated, typing.Required, typing.NotRequired, list, tuple, dict):
        arguments = typing.get_args(annotation)
        return unwrap(arguments[1] if origin is dict else arguments[0])
    return annotation


def differences(args: Any, model: type[BaseModel], inputs: frozenset[str], path: str) -> Iterator[str]:
    hints = inspect.get_annotations(args)
    for key in sorted(hints.keys() - model.model_fields.keys() - inputs):
        yield f"{path}.{key}: is published, but the model does not know it"
    for key in sorted(model.model_fields.keys() - hints.keys()):
        yield f"{path}.{key}: the model knows it, but it is not published"
    for key in sorted(hints.keys() & model.model_fields.keys()):
        published, known = unwrap(hints[key]), unwrap(model.model_fields[key].annotation)
        if (key in args.__required_keys__) != model.model_fields[key].is_required():
            yield f"{path}.{key}: required on one side only"
        if typing.is_typeddict(published) != (isinstance(known, type) and issubclass(known, BaseModel)):
            yield f"{path}.{key}: a map of keys on one side only"
        elif typing.is_typeddict(published):
            yield from differences(published, known, inputs, f"{path}.{key}")
        elif isinstance(known, type) and issubclass(known, Enum) and published is not known:
            yield f"{path}.{key}: {published} is published where the model has {known}"


@pytest.mark.parametrize("name", PAIRS)
def test_published_arguments_and_model_have_the_same_keys_all_the_way_down(name: str) -> None:
    args, model, inputs = PAIRS[name]
    assert list(differences(args, model, inputs, name)) == []
