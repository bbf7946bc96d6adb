"""In-place resize of a pod that has swap: what kubelet carries out, what it refuses, and what becomes of a brake
(memory.high) that was written into the container's cgroup by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from floodplain.quantity import MIB
from testbed.cluster.api import STRATEGIC
from testbed.processes import wait_until
from tests.node.jobs import PODS, Jobs, container

pytestmark = pytest.mark.full

NAME = "resized"
REQUEST_MIB, LIMIT_MIB = 100, 120
BRAKE = 90 * MIB
SECONDS = 120


@dataclass(frozen=True)
class Resized:
    """A pod with swap, its request below its limit."""

    jobs: Jobs

    def ask(self, **resources: dict[str, str]) -> None:
        """PATCH its resize subresource; the API server takes every one of these."""
        body = {"spec": {"containers": [{"name": "job", "resources": resources}]}}
        answer = self.jobs.api.patch(f"{PODS}/{NAME}/resize", body, content_type=STRATEGIC)
        assert answer.ok, answer.message

    def files(self) -> dict[str, str]:
        """What its container's cgroup allows."""
        folder = self.jobs.cgroups(NAME)["job"]
        names = ("memory.max", "memory.high", "memory.swap.max")
        values = self.jobs.machine.run(f"cd {folder} && cat {' '.join(names)}").split()
        return dict(zip(names, values, strict=True))

    def brake(self) -> None:
        self.jobs.machine.run(f"echo {BRAKE} >{self.jobs.cgroups(NAME)['job']}/memory.high")
        assert self.files()["memory.high"] == str(BRAKE)

    def status(self) -> dict[str, Any]:
        (found,) = self.jobs.get(NAME)["status"]["containerStatuses"]
        return dict(found)

    def pending(self) -> tuple[str, str] | None:
        """Reason and message of PodResizePending for what the spec asks for now."""
        found = self.jobs.get(NAME)
        for one in found["status"].get("conditions", []):
            if one["type"] == "PodResizePending" and one.get("observedGeneration") == found["metadata"]["generation"]:
                return one["reason"], one["message"]
        return None

    def until(self, question: str, answered: Callable[[], Any]) -> Any:
        return wait_until(question, answered, timeout_seconds=SECONDS, pause_seconds=0.2)

    def until_limit(self, mib: int) -> None:
        """The cgroup has it, and kubelet says so."""
        self.until(f"memory.max is {mib} MiB", lambda: self.files()["memory.max"] == str(mib * MIB))
        told = partial(self._told, "limits", f"{mib}Mi")
        self.until(f"kubelet tells of a limit of {mib} MiB", told)

    def _told(self, kind: str, memory: str) -> bool:
        return bool(self.status().get("resources", {}).get(kind, {}).get("memory") == memory)


@pytest.fixture
def resized(jobs: Jobs) -> Resized:
    jobs.start(NAME, container(request_mib=REQUEST_MIB, limit_mib=LIMIT_MIB, cpu="50m"))
    jobs.running(NAME)
    return Resized(jobs)


def test_the_limit_alone_changes_up_and_down_the_grant_stays_and_a_brake_goes(resized: Resized) -> None:
    grant = resized.files()["memory.swap.max"]
    assert int(grant) > 0
    for mib in (200, 110):
        resized.brake()
        resized.ask(limits={"memory": f"{mib}Mi"})
        resized.until_limit(mib)
        assert resized.files() == {
            "memory.max": str(mib * MIB),
            "memory.high": "max",
            "memory.swap.max": grant,
        }
    assert resized.status()["restartCount"] == 0


def test_a_resize_of_cpu_takes_a_brake_away_too(resized: Resized) -> None:
    before = resized.files()
    resized.brake()
    resized.ask(requests={"cpu": "60m"}, limits={"cpu": "60m"})
    resized.until("the brake is gone", lambda: resized.files()["memory.high"] == "max")
    assert resized.files() == before


def test_a_change_of_the_request_is_infeasible_and_so_is_what_follows_until_it_is_taken_back(
    resized: Resized,
) -> None:
    before = resized.files()
    resized.ask(requests={"memory": f"{REQUEST_MIB + 20}Mi"}, limits={"memory": "200Mi"})
    refused = resized.until("kubelet says what it makes of the request", resized.pending)
    assert refused == ("Infeasible", "In-place resize of containers with swap is not supported.")
    assert resized.files() == before
    # The limit alone would be feasible, but the request that was refused is still in the spec.
    resized.ask(limits={"memory": "210Mi"})
    assert resized.until("kubelet says what it makes of the limit", resized.pending) == refused
    assert resized.files() == before
    resized.ask(requests={"memory": f"{REQUEST_MIB}Mi"})
    resized.until_limit(210)
    assert resized.files() == {**before, "memory.max": str(210 * MIB)}
    assert resized.pending() is None
    assert resized.status()["restartCount"] == 0
