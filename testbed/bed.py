"""The whole testbed in one: a cluster, a pretended AWS, the real Pulumi engine with the testbed's stack, and Karpenter.

`open_bed` gives an empty cluster and account, `deploy` runs `pulumi up` of the stack. The controller runs as soon as,
and as long as, the stack's chart has its Deployment there.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from testbed.aws import Aws, start_aws
from testbed.cluster.api import RefusedError
from testbed.cluster.control_plane import ControlPlane, Options, control_plane
from testbed.cluster.karpenter import READY_SECONDS
from testbed.cluster.karpenter_pod import KarpenterPod, karpenter_pod
from testbed.cluster.kwok import start_kwok
from testbed.engine_error import EngineError
from testbed.processes import Processes, held, wait_until
from testbed.pulumi.charts.server import chart_stand_in
from testbed.pulumi.engine import Engine
from testbed.pulumi.project import Project
from testbed.pulumi.steps import Outcome
from testbed.state import State

CHECKOUT = Path(__file__).resolve().parent.parent
STACK = "testbed"
CLUSTER_NAME = "testbed"


@dataclass
class Bed:
    """A running testbed. `project` is the testbed's stack under the real CLI."""

    state: State
    processes: Processes
    cluster: ControlPlane
    aws: Aws
    engine: Engine
    project: Project
    karpenter: KarpenterPod

    def deploy(self) -> Outcome:
        """`pulumi up` of the stack. Raises EngineError with what the CLI said when it fails."""
        with _explained(self.processes):
            outcome = self.project.up()
        wait_until("Karpenter runs with the chart's settings", self._karpenter_runs, timeout_seconds=READY_SECONDS + 30)
        return outcome

    def require_whole(self) -> None:
        """Raise EngineError when an engine has ended unasked, or Karpenter does not start with its chart's settings."""
        self.processes.require_all()
        if self.karpenter.error is not None:
            raise self.karpenter.error

    def _karpenter_runs(self) -> bool:
        self.require_whole()
        return self.karpenter.process is not None


@contextlib.contextmanager
def open_bed(
    state: State, *, kubelet_hosts: tuple[str, ...] = (), settings: Mapping[str, Any] | None = None
) -> Iterator[Bed]:
    """Everything but what `pulumi up` makes. Ended in reverse order when the block is left.

    `kubelet_hosts` are node names whose kubelets are reached at 127.0.0.1; `settings` change the stack's configuration,
    see Project. Raises EngineError with the last lines of what did not come up.
    """
    with contextlib.ExitStack() as stack:
        processes = stack.enter_context(Processes(state))
        with _explained(processes):
            cluster = stack.enter_context(control_plane(state, processes, Options(kubelet_hosts=kubelet_hosts)))
            stack.enter_context(held(start_kwok(processes, cluster)))  # the API server waits for its clients to go
            aws = start_aws(
                state,
                processes,
                cluster_name=CLUSTER_NAME,
                cluster_endpoint=cluster.endpoint,
                certificate_authority=base64.b64encode(cluster.authority.certificate.read_bytes()).decode(),
            )
            engine = Engine(state, cluster, aws, stack.enter_context(chart_stand_in(state)))
            project = Project(engine, CHECKOUT, STACK, settings=settings or {})
            pod = stack.enter_context(karpenter_pod(state, processes, cluster, aws))
        yield Bed(state, processes, cluster, aws, engine, project, pod)


@contextlib.contextmanager
def _explained(processes: Processes) -> Iterator[None]:
    """What our own clients and files raise, as an EngineError: about an engine that has ended where that is the cause.

    A full disk and a server that was killed come up in whatever happens to be under way.
    """
    try:
        yield
    except (OSError, RefusedError, BotoCoreError, ClientError) as error:
        processes.require_all()
        raise EngineError(f"the testbed did not come up: {error}") from error
