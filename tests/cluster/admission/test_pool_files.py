"""The pools' file breaks and vanishes while a real API server asks: the last good one serves, and it is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from floodplain.pools import dump
from testbed.processes import wait_until
from tests.cluster.admission.sizing_bed import ENFORCED, POOLS, SizingBed, get, pod


@pytest.fixture(autouse=True)
def _as_before(bed: SizingBed) -> Iterator[None]:
    yield
    bed.pools.write_bytes(dump(POOLS))
    wait_until("the pools are good again", lambda: problem(bed) is None)


def problem(bed: SizingBed) -> str | None:
    assert bed.process is not None
    found: str | None = get(bed.process, "/readyz").json()["problem"]
    return found


@pytest.mark.parametrize("content", [b"", b"{", b'{"pools": []}', b'{"pools": [{"name": "swap"}]}', None])
def test_a_file_that_is_broken_or_gone_takes_nothing_away(content: bytes | None, bed: SizingBed) -> None:
    before = bed.create(pod("steady"), ENFORCED, dry_run=True).body["spec"]["containers"][0]["resources"]
    if content is None:
        bed.pools.unlink()
    else:
        bed.pools.write_bytes(content)
    told = wait_until("the problem is told", lambda: problem(bed))
    assert told is not None and "pools.json" in told
    assert bed.process is not None and get(bed.process, "/readyz").status_code == 200
    after = bed.create(pod("steady"), ENFORCED, dry_run=True)
    assert after.ok and after.body["spec"]["containers"][0]["resources"] == before


def test_a_pool_that_changes_is_planned_for_without_a_restart(bed: SizingBed) -> None:
    def limit() -> str:
        made = bed.create(pod("grows"), ENFORCED, dry_run=True)
        assert made.ok, made.message
        return str(made.body["spec"]["containers"][0]["resources"]["limits"]["memory"])

    before = limit()
    bed.pools.write_bytes(dump([POOLS[0].model_copy(update={"margin": 0.9}), POOLS[1]]))
    wait_until("the limit follows the pool's margin", lambda: limit() != before)


def test_a_pool_that_is_gone_gets_no_more_pods(bed: SizingBed) -> None:
    """A pod about which the API server asks just then, for the second time, may be refused: it has the RuntimeClass of
    a pool that is gone, and the API server works no other into it."""

    def runtime_class() -> str | None:
        made = bed.create(pod("moves"), ENFORCED, dry_run=True)
        assert made.ok or "select no node that a pool can have" in made.message, made.message
        return str(made.body["spec"]["runtimeClassName"]) if made.ok else None

    before = runtime_class()
    bed.pools.write_bytes(dump([one for one in POOLS if one.runtime_class != before]))
    wait_until("pods go to the pool that is left", lambda: runtime_class() not in (None, before))
