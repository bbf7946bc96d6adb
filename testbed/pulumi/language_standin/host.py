"""The language host's service, as far as programs, plugins and policy packs need it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import language_pb2 as messages
from pulumi.runtime.proto import language_pb2_grpc, plugin_pb2

PROGRAM = Path(__file__).with_name("program.py")
SHOWN_ALREADY = 32
"""Exit status of a program that has told a person what is wrong; the engine then adds nothing."""


class PythonHostStandIn(language_pb2_grpc.LanguageRuntimeServicer):
    """Test double of the Python language host. Every method that is not here answers "unimplemented"."""

    def __init__(self, engine: str) -> None:
        self._engine = engine
        self._children: list[subprocess.Popen[bytes]] = []

    def register(self, server: grpc.Server) -> None:
        language_pb2_grpc.add_LanguageRuntimeServicer_to_server(self, server)

    def close(self) -> None:
        for child in self._children:
            if child.poll() is None:
                child.terminate()

    def Handshake(self, request: Any, context: Any) -> messages.LanguageHandshakeResponse:  # noqa: N802
        return messages.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:  # noqa: N802
        return plugin_pb2.PluginInfo(version="0.0.0")

    def GetRequiredPackages(self, request: Any, context: Any) -> messages.GetRequiredPackagesResponse:  # noqa: N802
        # The real one lists what the environment has installed, for the engine to download; here all is on PATH.
        return messages.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, request: Any, context: Any) -> messages.GetRequiredPluginsResponse:  # noqa: N802
        return messages.GetRequiredPluginsResponse()

    def RuntimeOptionsPrompts(self, request: Any, context: Any) -> messages.RuntimeOptionsResponse:  # noqa: N802
        return messages.RuntimeOptionsResponse()

    def About(self, request: Any, context: Any) -> messages.AboutResponse:  # noqa: N802
        return messages.AboutResponse(executable=sys.executable, version=sys.version.split()[0])

    def GetProgramDependencies(  # noqa: N802
        self, request: Any, context: Any
    ) -> messages.GetProgramDependenciesResponse:
        return messages.GetProgramDependenciesResponse()

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[messages.InstallDependenciesResponse]:  # noqa: N802
        return iter(())

    def Cancel(self, request: Any, context: Any) -> empty_pb2.Empty:  # noqa: N802
        self.close()
        return empty_pb2.Empty()

    def Run(self, request: messages.RunRequest, context: Any) -> messages.RunResponse:  # noqa: N802
        environment = {
            **os.environ,
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
            "PYTHONUNBUFFERED": "1",
        }
        folder = request.info.program_directory
        command = [sys.executable, str(PROGRAM), *arguments(request, self._engine), folder]
        child = subprocess.Popen(command, env=environment, cwd=request.pwd or folder)
        self._children.append(child)
        status = child.wait()
        if status in (0, SHOWN_ALREADY):
            return messages.RunResponse(bail=status == SHOWN_ALREADY)
        return messages.RunResponse(error=f"the Python program ended with status {status}")

    def RunPlugin(  # noqa: N802
        self, request: messages.RunPluginRequest, context: Any
    ) -> Iterator[messages.RunPluginResponse]:
        folder = request.info.program_directory
        environment = {**os.environ, **dict(pair.split("=", 1) for pair in request.env)}
        child = subprocess.Popen(
            [sys.executable, "-u", *plugin_command(request.kind, folder, request.args)],
            cwd=request.pwd or folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._children.append(child)
        context.add_callback(child.terminate)
        yield from _outputs(child)
        yield messages.RunPluginResponse(exitcode=child.wait())


def arguments(request: messages.RunRequest, engine: str) -> list[str]:
    """What the program must know of the run, for `program.py`."""
    return [
        *("--project", request.project),
        *("--stack", request.stack),
        *("--organization", request.organization),
        *("--monitor", request.monitor_address),
        *("--engine", engine),
        *("--parallel", str(request.parallel)),
        *(("--dry-run",) if request.dryRun else ()),
    ]


def plugin_command(kind: str, folder: str, given: Sequence[str]) -> list[str]:
    """A policy pack is run by the SDK's own module, every other plugin is a program of its own."""
    if kind == "analyzer":
        return ["-m", "pulumi.policy", *given, folder]
    return [str(Path(folder) / "__main__.py"), *given]


def _outputs(child: subprocess.Popen[bytes]) -> Iterator[messages.RunPluginResponse]:
    """Both streams in the order in which they arrive, until both have ended."""
    arrived: queue.Queue[messages.RunPluginResponse | None] = queue.Queue()

    def pump(stream: IO[bytes], message: Callable[[bytes], messages.RunPluginResponse]) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            arrived.put(message(chunk))
        arrived.put(None)

    assert child.stdout is not None and child.stderr is not None
    pumps = (
        (child.stdout, lambda chunk: messages.RunPluginResponse(stdout=chunk)),
        (child.stderr, lambda chunk: messages.RunPluginResponse(stderr=chunk)),
    )
    for stream, message in pumps:
        threading.Thread(target=pump, args=(stream, message), daemon=True).start()
    for _ in pumps:
        while (said := arrived.get()) is not None:
            yield said
