"""What Karpenter learns from the first node of a type: it plans with the memory that this node has.

It keeps what it has worked out for a class five minutes at most. A second class that differs (it allows other pods)
and has the same image is worked out anew, so that nothing has to be waited for.
"""

from __future__ import annotations

import time

import pytest

from components.swap_pool import SwapPool
from floodplain.quantity import MIB, from_bytes, to_bytes
from tests.cluster.karpenter import prediction
from tests.cluster.karpenter.bed import Bed, pod, swap_pool

TYPE = "m6id.large"
REAL_BYTES = (8192 - 200) * MIB
"""Of 8 GiB; Karpenter believes 7.5 % lost, 614 MiB."""
FIRST = swap_pool("seen", families=["m6id"], vcpus=[2])
LATER = swap_pool("learns", families=["m6id"], vcpus=[2], kubelet={"maxPods": 20})


@pytest.fixture(scope="module", autouse=True)
def _bed_is_up(bed: Bed) -> None:
    """Asks for the bed before the first test, so that its start is not counted as a test's time."""


def estimate(pool: SwapPool) -> int:
    """Allocatable bytes of the pool's only type, as the catalogue believes it before a node is seen."""
    [kind] = prediction.types(pool)
    assert kind.name == TYPE
    return kind.allocatable_memory_bytes


def test_once_a_node_has_registered_karpenter_plans_with_its_real_memory(bed: Bed) -> None:
    bed.apply(FIRST)
    above = from_bytes(estimate(FIRST) + 100 * MIB)
    bed.api.must_apply(pod("before", FIRST, above))
    assert "no instance type has enough resources" in bed.refusal("before")

    bed.kubelets.memory[TYPE] = from_bytes(REAL_BYTES)
    begun = time.monotonic()
    [first] = bed.run(pod("first", FIRST, "1Gi"))
    claim = bed.claim_of(first)
    assert to_bytes(claim["status"]["allocatable"]["memory"]) == estimate(FIRST), "the first one goes by the estimate"

    bed.apply(LATER)
    [second] = bed.run(pod("after", LATER, from_bytes(estimate(LATER) + 100 * MIB)))
    print(f"real memory: planned with {time.monotonic() - begun:.0f} s after the first job")
    assert to_bytes(bed.claim_of(second)["status"]["capacity"]["memory"]) == REAL_BYTES
