"""The provider's service: what the engine asks, put to the table of kinds."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any, NoReturn, TypeVar

import grpc  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import plugin_pb2, provider_pb2_grpc
from pulumi.runtime.proto import provider_pb2 as messages

from testbed.pulumi.aws_standin import account
from testbed.pulumi.aws_standin.account import Account, AccountRefusedError
from testbed.pulumi.aws_standin.checks import config_problems, input_problems
from testbed.pulumi.aws_standin.difference import TAGS_ALL, Difference, differences, same_document
from testbed.pulumi.aws_standin.kind import Kind
from testbed.pulumi.aws_standin.kinds import FUNCTIONS, KINDS
from testbed.pulumi.aws_standin.wire import UNKNOWN, Properties, has_unknown, plain, struct

Result = TypeVar("Result")
PROVIDER_REPLACES = frozenset({"region"})
"""A provider for another region makes other objects."""


class AwsProviderStandIn(provider_pb2_grpc.ResourceProviderServicer):
    """Test double of the AWS provider. Every method that is not here answers "unimplemented"."""

    def __init__(self) -> None:
        self._account: Account | None = None

    def register(self, server: grpc.Server) -> None:
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(self, server)

    def close(self) -> None:
        """It started nothing."""

    # ---- the provider itself

    def Handshake(self, request: Any, context: Any) -> messages.ProviderHandshakeResponse:  # noqa: N802
        return messages.ProviderHandshakeResponse(accept_secrets=False, accept_resources=False)

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:  # noqa: N802
        # It stands in for the provider that the SDK was generated from; the engine warns of any other.
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi-aws"))

    def CheckConfig(self, request: messages.CheckRequest, context: Any) -> messages.CheckResponse:  # noqa: N802
        return messages.CheckResponse(inputs=request.news, failures=_failures(config_problems(plain(request.news))))

    def DiffConfig(self, request: messages.DiffRequest, context: Any) -> messages.DiffResponse:  # noqa: N802
        before, after = plain(request.old_inputs), plain(request.news)
        changed = sorted(key for key in {*before, *after} if key != "version" and before.get(key) != after.get(key))
        return _diff(
            [
                Difference(key, "add" if key not in before else "delete" if key not in after else "update", replaces)
                for key in changed
                for replaces in [key in PROVIDER_REPLACES]
            ]
        )

    def Configure(self, request: messages.ConfigureRequest, context: Any) -> messages.ConfigureResponse:  # noqa: N802
        config = plain(request.args)
        if not has_unknown(config):
            try:
                self._account = Account(account.decoded(config))
            except (AccountRefusedError, BotoCoreError, ClientError) as error:
                context.abort(grpc.StatusCode.UNKNOWN, f"configuring the AWS provider: {error}")
        return messages.ConfigureResponse(
            acceptSecrets=False, acceptResources=False, supportsPreview=True, acceptOutputs=False
        )

    def Invoke(self, request: messages.InvokeRequest, context: Any) -> messages.InvokeResponse:  # noqa: N802
        function = FUNCTIONS.get(request.tok)
        if function is None:
            _refuse(context, f"function {request.tok}")
        answer = self._asked(context, request.tok, lambda: function(self._cloud(context), plain(request.args)))
        return messages.InvokeResponse(**{"return": struct(answer)})

    def Cancel(self, request: Any, context: Any) -> empty_pb2.Empty:  # noqa: N802
        return empty_pb2.Empty()

    # ---- resources

    def Check(self, request: messages.CheckRequest, context: Any) -> messages.CheckResponse:  # noqa: N802
        kind = _kind(request.urn, context)
        return messages.CheckResponse(
            inputs=request.news, failures=_failures(input_problems(kind, plain(request.news)))
        )

    def Diff(self, request: messages.DiffRequest, context: Any) -> messages.DiffResponse:  # noqa: N802
        kind = _kind(request.urn, context)
        before, after = plain(request.old_inputs), plain(request.news)
        if kind.tagged and before.get("tags") == after.get("tags") and not has_unknown(after):
            # The provider's default tags are in no input; they show where they have changed.
            before = {**before, TAGS_ALL: plain(request.olds).get(TAGS_ALL) or {}}
            after = {**after, TAGS_ALL: self._cloud(context).tags(after)}
        return _diff(differences(kind, before, after, ignored=request.ignoreChanges))

    def Create(self, request: messages.CreateRequest, context: Any) -> messages.CreateResponse:  # noqa: N802
        kind, given = _kind(request.urn, context), plain(request.properties)
        if request.preview:
            return messages.CreateResponse(properties=struct({**given, **dict.fromkeys(kind.computed, UNKNOWN)}))
        cloud = self._cloud(context)
        identity = self._asked(context, f"creating {request.urn}", lambda: kind.create(cloud, given))
        return messages.CreateResponse(id=identity, properties=struct(self._state(context, kind, identity, given)))

    def Read(self, request: messages.ReadRequest, context: Any) -> messages.ReadResponse:  # noqa: N802
        kind, cloud = _kind(request.urn, context), self._cloud(context)
        found = self._asked(context, f"reading {request.urn}", lambda: kind.read(cloud, request.id))
        if found is None:
            return messages.ReadResponse()
        given = plain(request.inputs)
        return messages.ReadResponse(
            id=request.id,
            properties=struct(_merged(found, given)),
            inputs=struct(read_inputs(kind, found, given, cloud.tags({}))),
        )

    def Update(self, request: messages.UpdateRequest, context: Any) -> messages.UpdateResponse:  # noqa: N802
        kind, before, after = _kind(request.urn, context), plain(request.olds), plain(request.news)
        if request.preview:
            kept = {key: before[key] for key in kind.computed if key in before}
            return messages.UpdateResponse(properties=struct({**kept, **after}))
        cloud = self._cloud(context)
        wanted = {**after, TAGS_ALL: cloud.tags(after)} if kind.tagged else after
        self._asked(context, f"updating {request.urn}", lambda: kind.update(cloud, request.id, before, wanted))
        return messages.UpdateResponse(properties=struct(self._state(context, kind, request.id, after)))

    def Delete(self, request: messages.DeleteRequest, context: Any) -> empty_pb2.Empty:  # noqa: N802
        kind, cloud = _kind(request.urn, context), self._cloud(context)
        if self._asked(context, f"reading {request.urn}", lambda: kind.read(cloud, request.id)) is not None:
            state = plain(request.properties)
            self._asked(context, f"deleting {request.urn}", lambda: _delete(kind, cloud, request.id, state))
        return empty_pb2.Empty()

    def _state(self, context: Any, kind: Kind, identity: str, given: Properties) -> dict[str, Any]:
        cloud = self._cloud(context)
        found = self._asked(context, f"reading {identity}", lambda: kind.read(cloud, identity))
        if found is None:
            context.abort(grpc.StatusCode.UNKNOWN, f"{kind.token} {identity}: made, and not found afterwards")
        return _merged(found or {}, given)

    def _cloud(self, context: Any) -> Account:
        if self._account is None:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the AWS provider's configuration is not known yet")
        assert self._account is not None
        return self._account

    def _asked(self, context: Any, what: str, ask: Callable[[], Result]) -> Result:
        try:
            return ask()
        except (BotoCoreError, ClientError, ValueError) as error:
            context.abort(grpc.StatusCode.UNKNOWN, f"{what}: {error}")
            raise


def _delete(kind: Kind, cloud: Account, identity: str, state: Properties) -> None:
    """Delete it. What went away meanwhile, such as a queue's policy with its queue, is deleted."""
    try:
        kind.delete(cloud, identity, state)
    except ClientError:
        if kind.read(cloud, identity) is not None:
            raise


def read_inputs(kind: Kind, found: Properties, given: Properties, default_tags: Properties) -> dict[str, Any]:
    """The inputs that would give this object: those that were given with their present value, all on an import."""
    names = given or dict.fromkeys(name for name in kind.inputs if found.get(name) is not None)
    inputs = {key: value for key, value in _merged(found, given).items() if key in names and key in kind.inputs}
    tags = {key: value for key, value in (found.get(TAGS_ALL) or {}).items() if default_tags.get(key) != value}
    if kind.tagged and (tags or "tags" in given):
        inputs["tags"] = tags
    return inputs


def _merged(found: Properties, given: Properties) -> dict[str, Any]:
    """What AWS says, in the spelling of the inputs where both are the same document."""
    state = {key: value for key, value in {**given, **found}.items() if value is not None}
    for key, value in given.items():
        if key in found and same_document(found[key], value):
            state[key] = value
    return state


def _kind(urn: str, context: Any) -> Kind:
    token = urn.split("::")[2].rpartition("$")[2]
    kind = KINDS.get(token)
    if kind is None:
        _refuse(context, f"resource type {token}")
    return kind


def _refuse(context: Any, what: str) -> NoReturn:
    context.abort(
        grpc.StatusCode.UNIMPLEMENTED,
        f"{what}: not among those of the stand-in for pulumi-resource-aws (testbed/pulumi/aws_standin/kinds.py)",
    )
    raise AssertionError("abort raises")


def _failures(problems: dict[str, str]) -> list[messages.CheckFailure]:
    return [messages.CheckFailure(property=key, reason=reason) for key, reason in problems.items()]


_CHANGES = messages.PropertyDiff.Kind


def _diff(found: Any) -> messages.DiffResponse:
    names = sorted({one.path.partition(".")[0] for one in found})
    return messages.DiffResponse(
        changes=messages.DiffResponse.DIFF_SOME if found else messages.DiffResponse.DIFF_NONE,
        diffs=names,
        replaces=sorted({one.path.partition(".")[0] for one in found if one.replaces}),
        hasDetailedDiff=True,
        detailedDiff={
            one.path: messages.PropertyDiff(
                kind=_CHANGES.Value(one.change.upper() + ("_REPLACE" if one.replaces else "")), inputDiff=True
            )
            for one in found
        },
    )
