"""How many nodes may go at once, by the budgets of a pool."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.crd import Budget, Rolling, nodes_at_most

NIGHT = {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}


@pytest.mark.parametrize(
    ("budgets", "nodes", "reason", "wanted"),
    [
        (None, 100, "Drifted", Rolling(10, 10)),
        (None, 5, "Drifted", Rolling(1, 1)),
        (None, 0, "Drifted", Rolling(0, 0)),
        ([], 100, "Drifted", Rolling(100, 100)),
        ([{"nodes": "3"}], 100, "Drifted", Rolling(3, 3)),
        ([{"nodes": "3"}], 2, "Drifted", Rolling(2, 2)),
        ([{"nodes": "0"}], 50, "Drifted", Rolling(0, 0)),
        ([{"nodes": "0%"}], 50, "Drifted", Rolling(0, 0)),
        ([{"nodes": "33%"}], 10, "Drifted", Rolling(4, 4)),
        ([{}], 11, "Drifted", Rolling(2, 2)),
        ([{"nodes": "5"}, {"nodes": "10%"}], 20, "Drifted", Rolling(2, 2)),
        ([{"nodes": "1", "reasons": ["Empty"]}, {"nodes": "4"}], 20, "Drifted", Rolling(4, 4)),
        ([{"nodes": "1", "reasons": ["Empty"]}], 20, "Drifted", Rolling(20, 20)),
        ([{"nodes": "1", "reasons": ["Empty"]}], 20, "Empty", Rolling(1, 1)),
        ([{"nodes": "1", "reasons": []}], 20, "Empty", Rolling(20, 20)),
        ([{"nodes": "2"}, NIGHT], 20, "Drifted", Rolling(2, 0, ("0 9 * * mon-fri for 8h",))),
    ],
)
def test_the_strictest_budget_of_the_reason_counts_and_percentages_round_up(
    budgets: list[dict[str, object]] | None, nodes: int, reason: str, wanted: Rolling
) -> None:
    assert nodes_at_most(budgets, nodes, reason) == wanted


def test_budgets_may_be_models() -> None:
    assert nodes_at_most([Budget(nodes="2")], 20) == Rolling(2, 2)


def test_an_unknown_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="'Expired' is not one of Underutilized, Empty, Drifted"):
        nodes_at_most(None, 5, "Expired")


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 100), st.integers(0, 5000))
def test_a_percentage_never_allows_less_than_its_share_nor_a_whole_node_more(percent: int, nodes: int) -> None:
    allowed = nodes_at_most([{"nodes": f"{percent}%"}], nodes).at_most
    assert nodes * percent <= allowed * 100 < nodes * percent + 100
