"""A release is refused unless tag, package and changelog agree."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import floodplain

SOURCE = '"""Doc."""\n\n__version__ = "1.2.3"\n'


@pytest.mark.parametrize(
    ("tag", "source", "changelog", "problem"),
    [
        ("v1.2.3", SOURCE, "# Changelog\n\n## 1.2.3\n", None),
        ("v1.2.3", SOURCE, "## 1.2.3 (2026-11-30)\n", None),
        (
            "v1.2.4",
            SOURCE,
            "## 1.2.3\n",
            "the tag is v1.2.4 but floodplain.__version__ is 1.2.3; tag v1.2.3, or set the version first",
        ),
        (
            "1.2.3",
            SOURCE,
            "## 1.2.3\n",
            "the tag is 1.2.3 but floodplain.__version__ is 1.2.3; tag v1.2.3, or set the version first",
        ),
        ("v1.2.3", SOURCE, "## 1.2.30\n", "CHANGELOG.md has no section `## 1.2.3`; say what this release brings"),
        ("v1.2.3", "", "## 1.2.3\n", "floodplain/__init__.py sets no __version__"),
    ],
)
def test_tag_package_and_changelog_agree(
    release_version: ModuleType, tag: str, source: str, changelog: str, problem: str | None
) -> None:
    assert release_version.problem(tag, source, changelog) == problem


def test_the_version_of_this_tree_could_be_released(release_version: ModuleType, root: Path) -> None:
    assert release_version.main(f"v{floodplain.__version__}") == 0
