"""The engine's side of the conversation: takes every request down and answers it without doing anything.

What the answers are is not decided here but by an `Answers` (see `outputs`). The SDK's own mock monitor keeps
neither parent nor dependencies nor options, so this one speaks the protocol itself.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from google.protobuf import empty_pb2, struct_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import engine_pb2, provider_pb2, resource_pb2

from . import wire
from .aliases import alias_urns
from .options import options_of
from .recording import Invoke, Message, Read, Recorded, Recording
from .urn import STACK_TYPE, child, parse

# Everything a current engine offers that changes what the SDK sends, but output values: without them the
# properties arrive plain, and the dependencies beside them.
_FEATURES = (
    resource_pb2.RESOURCE_MONITOR_FEATURE_SECRETS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_REFERENCES,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ALIAS_SPECS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACEMENT_TRIGGER,
    resource_pb2.RESOURCE_MONITOR_FEATURE_DELETED_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_REPLACE_WITH,
    resource_pb2.RESOURCE_MONITOR_FEATURE_TRANSFORMS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_INVOKE_TRANSFORMS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_PARAMETERIZATION,
    resource_pb2.RESOURCE_MONITOR_FEATURE_RESOURCE_HOOKS,
    resource_pb2.RESOURCE_MONITOR_FEATURE_ERROR_HOOKS,
)


@dataclass(frozen=True)
class Request:
    """What an answer may be derived from. `inputs` have no secret marks; `region` is the provider's."""

    type: str
    name: str
    inputs: Mapping[str, Any]
    region: str = ""
    id: str = ""


class Answers(Protocol):
    """What providers would say."""

    @property
    def known(self) -> bool:
        """Whether computed values are known (an update) or not (a preview)."""

    def resource(self, request: Request) -> tuple[str, Mapping[str, Any]]:
        """The id ("" for unknown) and the outputs that are not inputs."""

    def invoke(self, request: Request) -> Mapping[str, Any] | None:
        """The result of a function call, or None when it is unknown."""


class RecordingMonitor:
    """Speaks the engine's two services, ResourceMonitor and Engine, in process."""

    def __init__(self, answers: Answers, *, project: str, stack: str) -> None:
        self._answers, self._project, self._stack = answers, project, stack
        self._lock = threading.Lock()
        self._resources: list[Recorded] = []
        self._states: dict[str, tuple[str, struct_pb2.Struct]] = {}
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._registered: dict[str, dict[str, Any]] = {}
        self._reads: list[Read] = []
        self._invokes: list[Invoke] = []
        self._messages: list[Message] = []
        self._outputs: dict[str, Any] = {}

    @property
    def urns(self) -> list[str]:
        return [resource.urn for resource in self._resources]

    def recording(self) -> Recording:
        """Everything so far, sorted, since requests arrive in no fixed order."""
        resources = [replace(one, outputs=self._registered.get(one.urn, {})) for one in self._resources]
        return Recording(
            resources=tuple(sorted(resources, key=lambda one: one.urn)),
            outputs=dict(sorted(self._outputs.items())),
            reads=tuple(sorted(self._reads, key=lambda one: (one.urn, one.id))),
            invokes=tuple(sorted(self._invokes, key=lambda one: (one.token, str(one.arguments)))),
            messages=tuple(sorted(self._messages, key=lambda one: (one.severity, one.urn, one.text))),
        )

    # ---- resources

    def RegisterResource(  # noqa: N802 the protocol's name
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        urn = child(request.parent, request.type, request.name, stack=self._stack, project=self._project)
        if request.type == STACK_TYPE:
            return resource_pb2.RegisterResourceResponse(urn=urn)
        inputs = wire.decode(request.object)
        parent = "" if not request.parent or parse(request.parent).type == STACK_TYPE else request.parent
        with self._lock:
            aliases = alias_urns(request, urn, parent, self._aliases.get(parent, ()))
            self._aliases[urn] = aliases
        recorded = Recorded(
            urn=urn,
            type=request.type,
            name=request.name,
            parent=parent,
            inputs=inputs,
            provider=_without_id(request.provider),
            providers={key: _without_id(value) for key, value in sorted(request.providers.items())},
            depends_on=tuple(sorted(set(request.dependencies))),
            property_depends_on={
                key: tuple(sorted(set(value.urns)))
                for key, value in sorted(request.propertyDependencies.items())
                if value.urns
            },
            aliases=aliases,
            options=options_of(request),
            custom=request.custom,
            remote=request.remote,
        )
        if not (request.custom or request.remote):
            identity, state = "", request.object
        else:
            identity, state = self._answer(request, inputs, tuple(request.additionalSecretOutputs))
        with self._lock:
            self._resources.append(recorded)
            self._states[urn] = (identity, state)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=identity, object=state)

    def RegisterResourceOutputs(  # noqa: N802
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> empty_pb2.Empty:
        outputs = wire.decode(request.outputs)
        with self._lock:
            if parse(request.urn).type == STACK_TYPE:
                self._outputs = outputs
            else:
                self._registered[request.urn] = outputs
        return empty_pb2.Empty()

    def ReadResource(  # noqa: N802
        self, request: resource_pb2.ReadResourceRequest
    ) -> resource_pb2.ReadResourceResponse:
        urn = child(request.parent, request.type, request.name, stack=self._stack, project=self._project)
        inputs = wire.decode(request.properties)
        read = Read(urn, request.type, request.name, request.id, inputs, _without_id(request.provider))
        question = Request(request.type, request.name, wire.reveal(inputs), self._region(request.provider), request.id)
        state = _merged(request.properties, self._answers.resource(question)[1])
        with self._lock:
            self._reads.append(read)
            self._states[urn] = (request.id, state)
        return resource_pb2.ReadResourceResponse(urn=urn, properties=state)

    def ExistsResource(  # noqa: N802
        self, request: resource_pb2.ExistsResourceRequest
    ) -> resource_pb2.ExistsResourceResponse:
        return resource_pb2.ExistsResourceResponse(exists=False)

    def _answer(
        self, request: resource_pb2.RegisterResourceRequest, inputs: dict[str, Any], secrets: tuple[str, ...]
    ) -> tuple[str, struct_pb2.Struct]:
        plain = wire.reveal(inputs)
        question = Request(request.type, request.name, plain, self._region(request.provider), request.importId)
        identity, computed = self._answers.resource(question)
        marked = {key: {wire.SECRET: value} if key in secrets else value for key, value in computed.items()}
        return identity, _merged(request.object, marked)

    def _region(self, provider: str) -> str:
        state = self._states.get(_without_id(provider))
        return str(wire.reveal(wire.decode(state[1])).get("region", "")) if state else ""

    # ---- functions

    def Invoke(  # noqa: N802
        self, request: resource_pb2.ResourceInvokeRequest
    ) -> resource_pb2.ResourceInvokeResponse:
        arguments = wire.decode(request.args)
        if request.tok == "pulumi:pulumi:getResource":
            identity, state = self._states.get(arguments["urn"], ("", struct_pb2.Struct()))
            found = wire.encode({"urn": arguments["urn"], "id": identity or wire.UNKNOWN})
            found.fields["state"].struct_value.CopyFrom(state)
            return resource_pb2.ResourceInvokeResponse(**{"return": found})
        with self._lock:
            self._invokes.append(Invoke(request.tok, arguments, _without_id(request.provider)))
        answer = self._answers.invoke(Request(request.tok, "", wire.reveal(arguments), self._region(request.provider)))
        if answer is None:
            return resource_pb2.ResourceInvokeResponse(unknown=True)
        return resource_pb2.ResourceInvokeResponse(**{"return": wire.encode(answer)})

    def Call(self, request: resource_pb2.ResourceCallRequest) -> provider_pb2.CallResponse:  # noqa: N802
        return provider_pb2.CallResponse()

    # ---- the rest of the protocol

    def GetDeploymentInfo(self, request: empty_pb2.Empty) -> resource_pb2.DeploymentInfo:  # noqa: N802
        return resource_pb2.DeploymentInfo(supportedFeatures=_FEATURES)

    def RegisterPackage(  # noqa: N802
        self, request: resource_pb2.RegisterPackageRequest
    ) -> resource_pb2.RegisterPackageResponse:
        return resource_pb2.RegisterPackageResponse(ref=f"{request.name}@{request.version}")

    def RegisterStackTransform(self, request: Any) -> empty_pb2.Empty:  # noqa: N802
        return empty_pb2.Empty()

    RegisterStackInvokeTransform = RegisterResourceHook = RegisterErrorHook = RegisterStackTransform
    SignalAndWaitForShutdown = RequirePulumiVersion = RegisterStackTransform

    def Log(self, request: engine_pb2.LogRequest) -> empty_pb2.Empty:  # noqa: N802
        severity = engine_pb2.LogSeverity.Name(request.severity).lower()
        if severity != "debug":
            with self._lock:
                self._messages.append(Message(severity, request.message, request.urn))
        return empty_pb2.Empty()


def _merged(properties: struct_pb2.Struct, computed: Mapping[str, Any]) -> struct_pb2.Struct:
    state = struct_pb2.Struct()
    state.CopyFrom(properties)
    state.MergeFrom(wire.encode({key: value for key, value in computed.items() if key not in state.fields}))
    return state


def _without_id(reference: str) -> str:
    """A provider reference is its URN, `::` and its id, which may be the mark of the unknown."""
    return "::".join(reference.split("::")[:4])
