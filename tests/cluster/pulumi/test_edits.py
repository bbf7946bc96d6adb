"""What an edit of a stack file does: the offline preview's verdict and the engine's, resource by resource.

The testbed's stack is deployed once; each edit is then previewed by both and not carried out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from preview import stackfile
from preview.diff import ONLY_OPTIONS, ONLY_RENAMED, compare
from preview.dump import concealed
from preview.outputs import Apply
from preview.recording import Recording
from preview.render import run
from testbed.bed import open_bed
from testbed.pulumi.project import Project, RefusedError
from testbed.state import State
from tests.cluster.pulumi.edits import EDITS

REFUSED = {
    "a higher priority": (
        "may not be changed in an update",
        "the provider of January 2026 tries the new object over the old one and knows only the words `field is "
        "immutable`; the update itself replaces it (test_updates), and later providers create it apart",
    ),
}
"""Edits whose preview fails on the engine: what it says, and why."""


@dataclass(frozen=True)
class Base:
    """The stack as it is deployed."""

    project: Project
    recording: Recording
    file: str


@pytest.fixture(scope="module")
def base() -> Iterator[Base]:
    with State() as state, open_bed(state) as bed:
        bed.deploy()
        yield Base(bed.project, offline(bed.project), bed.project.file.read_text())


def offline(project: Project) -> Recording:
    """What the stack asks for when everything is known; secrets as marks."""
    return concealed(run(stackfile.load(project.folder, project.stack), project.folder, Apply()))


@pytest.fixture
def edited(base: Base) -> Iterator[Callable[[str], dict[str, str]]]:
    """Carries an edit out in the stack's file and returns the offline verdict by URN; taken back afterwards."""

    def edit(name: str) -> dict[str, str]:
        base.project.edit(EDITS[name])
        return {
            change.urn: change.action
            for change in compare(base.recording, offline(base.project), name="deployed").changes
            if change.reason not in (ONLY_RENAMED, ONLY_OPTIONS)
        }

    yield edit
    base.project.file.write_text(base.file)


@pytest.mark.parametrize("name", [name for name in EDITS if name not in REFUSED])
def test_the_engine_does_what_the_offline_preview_says(
    base: Base, edited: Callable[[str], dict[str, str]], name: str, row: Callable[..., None]
) -> None:
    said = edited(name)
    found = base.project.preview()
    assert found.ops() == said
    counts = Counter(said.values())
    row(
        "edits of the testbed's stack, the same verdict offline and by the engine",
        edit=name,
        **{action: counts.get(action, "") for action in ("create", "update", "replace", "delete")},
        same=len(found.steps) - len(said),
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_preview_that_the_engine_refuses_is_explained(
    base: Base, edited: Callable[[str], dict[str, str]], name: str, row: Callable[..., None]
) -> None:
    said = edited(name)
    text, why = REFUSED[name]
    with pytest.raises(RefusedError) as caught:
        base.project.preview()
    assert text in str(caught.value)
    assert [*said.values()] == ["replace"]
    row("edits on which the two differ", edit=name, offline="replace", engine=text, why=why)
