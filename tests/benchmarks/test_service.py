"""The benchmark of the service asks what the service answers, at the rate it says. Times are not judged."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks import service
from benchmarks.open_loop import Measured, drive, quantile
from floodplain.admission.decision import Mode, Outcome
from floodplain.admission.review import answer
from floodplain.pools import dump
from floodplain.service.signing import new_authority, new_serving
from floodplain.service.workloads import read_workloads
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.planner import make_plan
from floodplain.sizing.settings import SizingSettings

pytestmark = pytest.mark.usefixtures("own_event_loop")


def test_every_request_is_for_another_job_that_the_example_pool_takes() -> None:
    bodies = service.plan_bodies(300, seed=1)
    workloads = {read_workloads(body).workloads[0] for body in bodies}
    assert len(workloads) > 295
    assert [one for one in workloads if not make_plan(one, [default_pool()]).feasible] == []
    assert service.plan_bodies(300, seed=1) == bodies


def test_each_body_is_asked_once_and_what_is_refused_is_counted() -> None:
    bodies = [*service.plan_bodies(20, seed=1), b'{"images": 0}']
    with service.serving("sizing") as server:
        measured = drive(server.port, "/v1/plans", bodies, per_second=200)
        assert 30 < server.most_resident_mb < 500
        assert server.cpu_seconds > 0
    assert (len(measured.took), len(measured.late), measured.refused) == (21, 21, 1)
    assert all(late <= took for late, took in zip(measured.late, measured.took, strict=True))


def test_reviews_are_answered_over_tls_with_a_plan(tmp_path: Path) -> None:
    authority, signer = new_authority(datetime.now(UTC))
    certificate, key = new_serving(authority, signer, ("localhost",), datetime.now(UTC))
    for name, content in (("c", certificate), ("k", key), ("p", dump([default_pool()]))):
        (tmp_path / name).write_bytes(content)
    files = [f"--certificate={tmp_path / 'c'}", f"--key={tmp_path / 'k'}", f"--pools={tmp_path / 'p'}"]
    with service.serving("admission", "--health-port=0", *files) as server:
        trust = ssl.create_default_context(cadata=authority.decode("ascii"))
        measured = drive(server.port, "/enforce", service.review_bodies(10, seed=1), per_second=200, tls=trust)
    assert (len(measured.took), measured.refused) == (10, 0)


def test_every_review_is_of_a_pod_that_is_sized() -> None:
    bodies = service.review_bodies(50, seed=1)
    answers = [answer(body, [default_pool()], SizingSettings(), Mode.ENFORCE) for body in bodies]
    assert {one.decision.outcome for one in answers} == {Outcome.SIZED}
    assert len({one.uid for one in answers}) == 50


@pytest.mark.parametrize(("share", "value"), [(0.5, 2.0), (0.99, 4.0), (0.0, 1.0), (1.0, 4.0)])
def test_a_quantile_is_one_of_the_figures(share: float, value: float) -> None:
    assert quantile((1.0, 2.0, 3.0, 4.0), share) == value
    assert Measured((1.0, 2.0, 3.0, 4.0), (), 0).at(share) == value
