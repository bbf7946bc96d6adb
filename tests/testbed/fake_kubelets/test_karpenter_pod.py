"""Who follows Karpenter's Deployment goes on while the API server is busy, and tells what it cannot start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from testbed import engines
from testbed.cluster import karpenter, karpenter_pod
from testbed.cluster.api import Answer, RefusedError
from testbed.cluster.karpenter_pod import KarpenterPod
from testbed.engine_error import EngineError
from testbed.processes import Process, Processes
from testbed.state import State
from tests.testbed.owners import FOREVER, soon

DEPLOYMENT: dict[str, Any] = {
    "metadata": {"namespace": "kube-system"},
    "spec": {"template": {"spec": {"containers": [{"env": [{"name": "CLUSTER_NAME", "value": "demo"}]}]}}},
}
UNKNOWN_SOURCE = {
    "metadata": {},
    "spec": {"template": {"spec": {"containers": [{"env": [{"name": "A", "valueFrom": {"secretKeyRef": {}}}]}]}}},
}


def followed(answers: Iterator[object], monkeypatch: pytest.MonkeyPatch, start: Any) -> KarpenterPod:
    """What came of it once the answers of the API server have run out."""

    def find(_: str) -> object:
        try:
            answer = next(answers)
        except StopIteration:
            pod.end()
            return pod.settings and DEPLOYMENT
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(karpenter_pod, "start_karpenter", start)
    monkeypatch.setattr(karpenter_pod, "PAUSE_SECONDS", 0)
    cluster = SimpleNamespace(api=SimpleNamespace(find=find))
    pod = KarpenterPod(cast(Any, None), cast(Any, None), cast(Any, cluster), cast(Any, None))
    pod.run()
    return pod


def test_an_api_server_that_is_busy_or_gone_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    process = cast(Process, object())

    def start(*arguments: object) -> Process:
        started.append(arguments[-1])
        return process

    busy = RefusedError("GET", Answer(504, {"message": "etcdserver: request timed out"}))
    answers = iter([None, busy, ConnectionRefusedError(), DEPLOYMENT, busy, DEPLOYMENT])
    pod = followed(answers, monkeypatch, start)
    assert started == [{"CLUSTER_NAME": "demo"}]
    assert (pod.process is process, pod.error) == (True, None)


def test_settings_that_cannot_be_followed_are_told_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = followed(iter([UNKNOWN_SOURCE]), monkeypatch, None)
    assert str(pod.error) == (
        "/apis/apps/v1/namespaces/kube-system/deployments/karpenter is not one that Karpenter can be started from: "
        "A comes from {'secretKeyRef': {}}, which is not followed here"
    )


def test_a_controller_that_does_not_come_up_does_not_run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would act beside the next one, which is started when the settings have changed."""
    program = tmp_path / "karpenter"
    program.write_text(f"#!/bin/sh\nexec sleep {FOREVER}\n")
    program.chmod(0o755)
    monkeypatch.setattr(engines, "path", lambda _: program)
    monkeypatch.setattr(karpenter, "environment", lambda *_: {"PATH": "/usr/bin:/bin"})
    monkeypatch.setattr(karpenter, "READY_SECONDS", 0.3)
    with State(tmp_path / "state") as state, Processes(state) as processes:
        with pytest.raises(EngineError, match="waiting until Karpenter is ready"):
            karpenter.start_karpenter(state, processes, cast(Any, None), cast(Any, None), {})
        assert soon(lambda: processes.running() == [])
        processes.require_all()
