"""One Karpenter a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.karpenter.bed import Bed, karpenter_bed


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with karpenter_bed() as running:
        yield running
