"""The page on the testbed's Pulumi lists what the stand-in for the AWS provider knows."""

from __future__ import annotations

import re
from pathlib import Path

from testbed.pulumi.aws_standin.kinds import KINDS

README = Path(__file__).parents[3] / "testbed" / "pulumi" / "README.md"


def _cells(names: object) -> str:
    assert isinstance(names, list | tuple | frozenset)
    return ", ".join(f"`{name}`" for name in sorted(names))


def test_the_table_of_types_is_that_of_the_stand_in() -> None:
    rows = dict(re.findall(r"^\| `(aws:[^`]+)` \| (.*) \|$", README.read_text(), re.MULTILINE))
    wanted = {token: f"{_cells(kind.replaces)} | {_cells(kind.computed)}".rstrip() for token, kind in KINDS.items()}
    assert {token: cells.rstrip() for token, cells in rows.items()} == wanted
