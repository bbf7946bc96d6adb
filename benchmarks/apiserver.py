"""A real API server with Karpenter's CRDs, asked whether it would take an object: `kubectl apply --dry-run=server`.

It is the testbed's, without controllers: only API and admission answer here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from testbed import engines
from testbed.cluster.api import Api
from testbed.cluster.control_plane import Options, control_plane
from testbed.engine_error import EngineError
from testbed.processes import Processes
from testbed.state import State


def available() -> bool:
    """Whether etcd and the API server are built (`python -m testbed build`)."""
    try:
        return all(engines.path(name) for name in ("etcd", "kube-apiserver"))
    except EngineError:
        return False


@contextmanager
def running() -> Iterator[Api]:
    """A server that is ready and knows Karpenter's kinds. Raises EngineError with what is missing."""
    options = Options(scheduler=False, controller_manager=False)
    with State() as state, Processes(state) as processes, control_plane(state, processes, options) as cluster:
        cluster.install_karpenter_crds()
        yield cluster.api


def version(api: Api) -> str:
    """The version of Kubernetes, such as 1.36.3."""
    return str(api.get("/version")["gitVersion"]).removeprefix("v")
