"""Wrong configurations, one file each under corpus/, and how a file's edits become objects and stack files.

Every case is the `hotosm` stack with one mistake: as a stack file has it (`stack`), as the objects of a hand-written
configuration have it (`objects`), or both. Edits are JSON pointers to new values; null takes the key away.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from floodplain.settings import Settings

CORPUS = Path(__file__).resolve().parent / "corpus"
BASE_STACK = "hotosm"

Kind = Literal["weak point", "silent failure", "CRD rule", "wrong setting"]
KINDS: tuple[Kind, ...] = ("weak point", "silent failure", "CRD rule", "wrong setting")


class CaseSettings(Settings):
    """Settings that hold pieces of wrong objects, control characters included."""

    plain_texts = False


class TextEdit(CaseSettings):
    """Replace what `find` (a regular expression without groups) matches by `put`, everywhere."""

    find: str
    put: str
    times: int = 1
    """How often `put` is repeated."""


class Objects(CaseSettings):
    """The mistake in the objects that Kubernetes and AWS get."""

    node_pool: dict[str, Any] = {}
    node_class: dict[str, Any] = {}
    user_data: tuple[TextEdit, ...] = ()
    drop: tuple[str, ...] = ()
    """Names of other resources that are left out."""
    others: dict[str, dict[str, Any]] = {}
    """Edits of other resources, by name."""
    policies: dict[str, tuple[TextEdit, ...]] = {}
    """Edits of the JSON text of IAM policies, by name."""


class ApiServer(CaseSettings):
    """What a real API server said of the objects at dry run, and which one. `says` is its message, shortened."""

    verdict: Literal["accepts", "refuses", "not its subject"]
    seen: str = ""
    says: str = ""


class Case(CaseSettings):
    """One wrong configuration and who catches it before apply."""

    name: str
    title: str
    kind: Kind
    why: str
    """What happens where nobody catches it, and where that is written down."""
    stack: dict[str, Any] | str | None = None
    """Edits of the stack file, or its whole text."""
    objects: Objects | None = None
    floodplain: Literal["refuses", "warns", "accepts"] = "refuses"
    says: str = ""
    """Regular expression that floodplain's message matches."""
    api_server: ApiServer
    terraform: Literal["accepts", "not possible", "not read"] = "accepts"
    """terraform-aws-eks: its module checks no input, so it can only make a mistake impossible."""


def load(folder: Path = CORPUS) -> list[Case]:
    """All cases, by kind and name. Raises pydantic.ValidationError for a file that is no case."""
    cases = []
    for path in sorted(folder.glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        cases.append(Case.model_validate({**content, "name": path.stem}))
    return sorted(cases, key=lambda case: (KINDS.index(case.kind), case.name))


def edited(document: Any, edits: Mapping[str, Any]) -> Any:
    """A copy of `document` with each pointer of `edits` set to its value, or taken away where that is None.

    `-` as the last part, or the index after the last, appends to a list. Raises KeyError or IndexError where a
    pointer leads nowhere.
    """
    made = copy.deepcopy(document)
    for pointer, value in edits.items():
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")]
        place = made
        for part in way:
            place = place[int(part)] if isinstance(place, list) else place[part]
        if isinstance(place, list):
            _edit_list(place, last, value)
        elif value is None:
            del place[last]
        else:
            place[last] = value
    return made


def _edit_list(place: list[Any], last: str, value: Any) -> None:
    if last in ("-", str(len(place))):
        place.append(value)
    elif value is None:
        del place[int(last)]
    else:
        place[int(last)] = value


def edited_text(text: str, edits: Sequence[TextEdit]) -> str:
    """The text with every edit made. Raises LookupError for one that finds nothing: the corpus is stale then."""
    for edit in edits:
        parts = re.split(edit.find, text, flags=re.MULTILINE | re.DOTALL)
        text = (edit.put * edit.times).join(parts)
        if len(parts) == 1:
            raise LookupError(f"nothing matches {edit.find!r}; the rendered text has changed")
    return text
