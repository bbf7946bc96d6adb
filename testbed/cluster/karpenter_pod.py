"""Plays kubelet for Karpenter's own Deployment: while the Deployment is there, the real controller runs as a process.

Its pods run nothing on KWOK's node. So `pulumi up` may wait for what only Karpenter does, settings that the chart
changes restart the controller, and `pulumi destroy` ends it when it has taken the Deployment away.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from testbed.aws import Aws
from testbed.cluster.api import RefusedError
from testbed.cluster.control_plane import ControlPlane
from testbed.cluster.karpenter import settings_from_deployment, start_karpenter
from testbed.engine_error import EngineError
from testbed.processes import Process, Processes
from testbed.state import State

DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/karpenter"
PAUSE_SECONDS = 0.25


@dataclass
class KarpenterPod:
    """`process` is the controller while it runs, `settings` what it was started with; `error`: why it is not up."""

    state: State
    processes: Processes
    cluster: ControlPlane
    aws: Aws
    process: Process | None = None
    settings: Mapping[str, str] | None = None
    error: EngineError | None = None
    _ending: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Until `end`, in a thread that lives as long: the kernel ends the controller with it."""
        while not self._ending.wait(PAUSE_SECONDS):
            try:
                self._follow()
            except (OSError, RefusedError):  # the API server is gone or busy
                continue
            except (KeyError, ValueError) as error:
                self.error = EngineError(f"{DEPLOYMENT} is not one that Karpenter can be started from: {error}")

    def end(self) -> None:
        self._ending.set()

    def _follow(self) -> None:
        deployment = self.cluster.api.find(DEPLOYMENT)
        runs = deployment is not None and deployment["spec"].get("replicas", 1) > 0
        wanted = settings_from_deployment(deployment) if deployment is not None and runs else None
        if wanted == self.settings:
            return
        if self.process is not None:
            self.process.stop()
        self.process, self.settings, self.error = None, wanted, None
        if wanted is not None:
            try:
                self.process = start_karpenter(self.state, self.processes, self.cluster, self.aws, wanted)
            except EngineError as error:
                self.error = error


@contextlib.contextmanager
def karpenter_pod(state: State, processes: Processes, cluster: ControlPlane, aws: Aws) -> Iterator[KarpenterPod]:
    """Follows the Deployment until the block is left."""
    pod = KarpenterPod(state, processes, cluster, aws)
    thread = threading.Thread(target=pod.run, name="karpenter-pod", daemon=True)
    thread.start()
    try:
        yield pod
    finally:
        pod.end()
        if pod.process is not None:
            pod.process.stop()
        thread.join(timeout=10)
