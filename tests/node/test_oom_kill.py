"""What dies when a container without swap hits its limit. For the other setting see test_faults."""

from __future__ import annotations

import pytest

from tests.node.jobs import Jobs, container

pytestmark = pytest.mark.full


def test_by_default_the_whole_container_dies_with_its_child(jobs: Jobs) -> None:
    jobs.start("parent", container(request_mib=100, limit_mib=100, eat=("-child", "-mib=300")))
    jobs.running("parent")
    ends = jobs.ended("parent")
    assert (ends["parent"].exit_code, ends["parent"].reason) == (137, "OOMKilled")
