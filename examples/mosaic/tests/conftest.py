"""A Prefect server, two pools and their workers, started once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mosaic.local_prefect import LocalPrefect, local_prefect


@pytest.fixture(scope="session")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalPrefect]:
    with local_prefect(tmp_path_factory.mktemp("prefect")) as running:
        yield running
