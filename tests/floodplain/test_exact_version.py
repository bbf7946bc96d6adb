from __future__ import annotations

import pytest

from floodplain.exact_version import is_exact


@pytest.mark.parametrize("version", ["1.14.1", "v0.17.0", "1.2.3-rc.1", "1.2.3+build.5", "1.2.3-rc.1+b"])
def test_three_numbers_are_exact_with_or_without_a_suffix(version: str) -> None:
    assert is_exact(version)


@pytest.mark.parametrize(
    "version",
    ["", "latest", "1", "1.2", "1.2.x", "*", "^1.2.3", "~1.2.3", ">=1.2.3", "1.2.3 ", "1.2.3\n", "\u0661.2.3"],
)
def test_a_range_a_tag_or_part_of_a_version_is_not_exact(version: str) -> None:
    assert not is_exact(version)
