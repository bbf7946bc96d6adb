"""What somebody wrote into the page's form: a workload and a pool, or what is wrong with each field. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlencode

from pydantic import ValidationError

from floodplain.problem import Problem, did_you_mean, problems_of
from floodplain.sizing.workload import Workload

FIELDS = ("images", "options", "megapixels", "capacity_type", "pool")
_LONGEST = 10_000
_MOST_OPTIONS = 200


@dataclass(frozen=True)
class Form:
    """The texts as they were written, and what they mean."""

    values: Mapping[str, str]
    asked: bool = False
    """False for a form that nobody has sent yet."""
    workload: Workload | None = None
    """None while anything is wrong."""
    pool: str | None = None
    """None: any."""
    errors: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def first_wrong(self) -> str | None:
        """The first field with an error."""
        return next((name for name in FIELDS if name in self.errors), None)


def read_form(query: Mapping[str, str], pools: Sequence[str]) -> Form:
    """The form in a query; `pools` are the names that may be chosen."""
    values = {name: query.get(name, "").strip()[:_LONGEST] for name in FIELDS}
    if "images" not in query:
        return Form(values)
    errors: dict[str, list[str]] = {}
    workload: Workload | None = None
    given: dict[str, object] = {name: values[name] for name in FIELDS[:-1] if values[name]}
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", values["megapixels"]):
        given["megapixels"] = float(values["megapixels"])
    if values["options"].count(",") >= _MOST_OPTIONS:
        errors["options"] = [f"has more than {_MOST_OPTIONS} entries; write fewer"]
        del given["options"]
    try:
        workload = Workload.model_validate(given)
    except ValidationError as error:
        for problem in problems_of(error, Workload, snake=True):
            name = re.split(r"[.\[]", problem.path)[0]
            errors.setdefault(name if name in FIELDS else "images", []).append(_sentence(problem))
    pool = values["pool"] or None
    if pool is not None and pool not in pools:
        remedy = did_you_mean(pool, pools) or f"there are {', '.join(pools)}"
        errors["pool"] = [_sentence(Problem("pool", "is no pool here", remedy, pool))]
    return Form(values, True, None if errors else workload, pool, errors)


def address_of(workload: Workload, pool: str | None = None, page: str = "/") -> str:
    """The page's address with this job in its form."""
    given = {
        "images": str(workload.images),
        "options": ",".join(workload.options.texts),
        "megapixels": "" if workload.megapixels is None else f"{workload.megapixels:g}",
        "capacity_type": workload.capacity_type.value if workload.capacity_type else "",
        "pool": pool or "",
    }
    return f"{page}?{urlencode({name: value for name, value in given.items() if value})}"


def _sentence(problem: Problem) -> str:
    """Without the name of the key: the text stands beside its field."""
    return str(problem).removeprefix(f"{problem.path}: ")
