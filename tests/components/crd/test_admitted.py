"""Sets of label values against what they mean value by value."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from components.crd.admitted import Admitted, admitted, contradictions

MANY = settings(max_examples=200, deadline=None)
VALUES = [*(str(n) for n in range(8)), "a", "b", "r6id"]
KEY = "karpenter.k8s.aws/instance-cpu"

requirements = st.one_of(
    st.tuples(st.sampled_from(["In", "NotIn"]), st.lists(st.sampled_from(VALUES), min_size=1, max_size=5)),
    st.tuples(st.sampled_from(["Gt", "Lt", "Gte", "Lte"]), st.integers(0, 7).map(lambda n: [str(n)])),
    st.tuples(st.sampled_from(["Exists", "DoesNotExist"]), st.just([])),
).map(lambda pair: {"key": KEY, "operator": pair[0], "values": pair[1]})


def meant(requirement: dict[str, object], value: str) -> bool:
    """One requirement, as the words of its operator say it."""
    operator, values = requirement["operator"], requirement["values"]
    assert isinstance(values, list)
    if operator in ("In", "NotIn"):
        return (value in values) == (operator == "In")
    if operator in ("Exists", "DoesNotExist"):
        return operator == "Exists"
    if not value.isdecimal():
        return False
    number, bound = int(value), int(values[0])
    return {"Gt": number > bound, "Gte": number >= bound, "Lt": number < bound, "Lte": number <= bound}[str(operator)]


@MANY
@given(st.lists(requirements, min_size=1, max_size=4))
def test_requirements_on_one_key_admit_what_each_of_them_admits(given_: list[dict[str, object]]) -> None:
    found = admitted(given_)[KEY]
    for value in VALUES:
        assert (value in found) == all(meant(requirement, value) for requirement in given_)


@MANY
@given(st.lists(requirements, min_size=1, max_size=3), st.lists(requirements, min_size=1, max_size=3))
def test_a_set_that_covers_another_holds_all_its_values(
    one: list[dict[str, object]], two: list[dict[str, object]]
) -> None:
    wide, narrow = admitted(one)[KEY], admitted(two)[KEY]
    if wide.covers(narrow):
        assert [value for value in VALUES if value in narrow and value not in wide] == []
    if not narrow.all_but:
        assert wide.covers(narrow) == all(value in wide for value in narrow.values)


@MANY
@given(st.lists(requirements, min_size=1, max_size=4))
def test_every_set_covers_itself_and_an_empty_one_holds_nothing(given_: list[dict[str, object]]) -> None:
    found = admitted(given_)[KEY]
    assert found.covers(found)
    if found.is_empty:
        assert [value for value in VALUES if value in found] == []


def test_old_label_keys_count_as_the_new_ones() -> None:
    found = admitted([{"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["amd64"]}])
    assert found == {"kubernetes.io/arch": Admitted(frozenset({"amd64"}), all_but=False)}


def test_a_single_requirement_never_contradicts_itself() -> None:
    assert contradictions([{"key": KEY, "operator": "DoesNotExist"}]) == []
    assert contradictions(
        [{"key": KEY, "operator": "DoesNotExist"}, {"key": KEY, "operator": "In", "values": ["4"]}]
    ) == [KEY]
