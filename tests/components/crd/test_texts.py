"""Texts with a grammar of their own: built by the grammar they pass, and no text whatever makes a rule fail."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.crd import violations
from components.crd.amounts import budget_duration, duration, duration_or_never, go_duration, quantity
from components.crd.disruption import Budget
from components.crd.schedule import cron_schedule
from components.crd.violation import where_of
from floodplain.duration import DurationError, parse
from tests.components.crd.builders import manifest, need, pool_spec

MANY = settings(max_examples=150, deadline=None)
numbers = st.integers(0, 10**6).map(str)
# Four times 600,000 hours are less than the 2,562,047 that Go can count.
durations = st.lists(st.tuples(st.integers(0, 600_000).map(str), st.sampled_from("smh")), min_size=1, max_size=4).map(
    lambda parts: "".join(number + unit for number, unit in parts)
)
mantissas = st.one_of(
    numbers, st.tuples(numbers, numbers).map(".".join), numbers.map(lambda n: f"{n}."), numbers.map(lambda n: f".{n}")
)
suffixes = st.one_of(
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
    st.tuples(st.sampled_from("eE"), st.sampled_from(["", "+", "-"]), st.integers(0, 18).map(str)).map("".join),
)
budget_nodes = st.one_of(st.integers(0, 2**31 - 1).map(str), st.integers(0, 100).map(lambda n: f"{n}%"))


def cron_field(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    plain = st.one_of(st.just("*"), number.map(str), span)
    stepped = st.tuples(plain, st.integers(1, 60)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(st.one_of(plain, stepped), min_size=1, max_size=3).map(",".join)


schedules = st.tuples(cron_field(0, 59), cron_field(0, 23), cron_field(1, 31), cron_field(1, 12), cron_field(0, 6)).map(
    " ".join
)


@MANY
@given(durations)
def test_durations_pass(text: str) -> None:
    assert list(duration(text)) == []
    assert list(duration_or_never(text)) == []


@MANY
@given(st.text(max_size=12))
def test_a_text_that_passes_as_a_duration_is_one_for_floodplain_too(text: str) -> None:
    try:
        parse(text)
        readable = True
    except DurationError:
        readable = False
    assert readable == (list(duration(text)) == [])


@MANY
@given(st.tuples(st.sampled_from(["", "+", "-"]), mantissas, suffixes).map("".join))
def test_quantities_of_every_suffix_pass(text: str) -> None:
    assert list(quantity(text)) == []


@MANY
@given(mantissas, st.sampled_from(["B", "KB", "GB", "gb", "GiB", " Gi", "K", "g", "b", "i"]))
def test_byte_suffixes_and_spaces_are_refused_with_a_hint(number: str, suffix: str) -> None:
    (error,) = quantity(number + suffix)
    assert error.remedy.startswith("write ")


@MANY
@given(schedules)
def test_cron_schedules_within_their_bounds_pass(text: str) -> None:
    assert list(cron_schedule(text)) == []


@MANY
@given(schedules, st.integers(0, 4), st.sampled_from(["60", "5-1", "x", "1/0", "1-2-3", "*/", "99"]))
def test_a_cron_schedule_with_one_wrong_field_stops_all_disruption(text: str, place: int, wrong: str) -> None:
    fields = text.split(" ")
    fields[place] = wrong
    (error,) = cron_schedule(" ".join(fields))
    assert where_of(error) == "runtime"
    assert "disrupts nothing" in error.rule


@MANY
@given(budget_nodes, durations, schedules)
def test_budgets_take_counts_percentages_and_schedules(nodes: str, length: str, schedule: str) -> None:
    hours = f"{re.split('[smh]', length)[0]}h"
    budget = Budget(nodes=nodes, schedule=schedule, duration=hours)
    assert budget.fragment() == {"nodes": nodes, "schedule": schedule, "duration": hours}


@MANY
@given(st.text(max_size=20))
def test_any_text_is_judged_without_an_exception(text: str) -> None:
    for rule in (quantity, duration, duration_or_never, budget_duration, go_duration, cron_schedule):
        assert all(error.rule for error in rule(text))


KEYS = [
    "template",
    "spec",
    "metadata",
    "labels",
    "requirements",
    "key",
    "operator",
    "values",
    "minValues",
    "taints",
    "limits",
    "disruption",
    "budgets",
    "amiSelectorTerms",
    "alias",
    "id",
    "tags",
    "blockDeviceMappings",
    "ebs",
    "kubelet",
    "networkInterfaces",
    "deviceIndex",
]
label_values = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,20}[A-Za-z0-9])?", fullmatch=True)


@MANY
@given(st.lists(label_values, min_size=1, max_size=8, unique=True), st.integers(1, 8))
def test_in_needs_as_many_values_as_min_values(values: list[str], least: int) -> None:
    made = manifest(pool_spec("small", [need("a", "Exists")]), "small")
    requirement = {"key": "example.com/rack", "operator": "In", "values": values, "minValues": least}
    made["spec"]["template"]["spec"]["requirements"] = [requirement]
    found = [item.path for item in violations(made)]
    wanted = ["spec.template.spec.requirements[0].minValues"] if least > len(values) else []
    assert found == wanted


scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@MANY
@given(scraps)
def test_any_spec_whatever_is_judged_without_an_exception(spec: object) -> None:
    for version, kind in (("karpenter.sh/v1", "NodePool"), ("karpenter.k8s.aws/v1", "EC2NodeClass")):
        found = violations({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec})
        assert all(item.path for item in found)


@pytest.mark.parametrize("text", ["1.5h", "90s", "1m30s", "0", "100ms", "2h0.5m", "3µs"])
def test_go_durations_of_every_form_pass_as_grace_periods(text: str) -> None:
    assert list(go_duration(text)) == []
