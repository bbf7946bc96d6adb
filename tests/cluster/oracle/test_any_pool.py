"""Whatever pool our settings accept: the API server takes everything that is made of it, without a warning."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.guardrail_rules import manifests
from components.guardrail_settings import GuardrailsSettings
from components.pool_objects import headroom_daemon_set, node_class, node_pool, priority_class, runtime_class
from components.swap_pool import SwapPool
from testbed.cluster.control_plane import ControlPlane
from tests.components.swap_pool.test_any_pool import CLUSTER, POOLS, accepted

LABEL_VALUES = st.from_regex(r"[a-z0-9A-Z]([-a-z0-9A-Z_.]{0,40}[a-z0-9A-Z])?", fullmatch=True)
MORE = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True),
        "weight": st.integers(1, 100),
        "longestJob": st.sampled_from(["30m", "1h", "48h"]),
        "guardrails": st.sampled_from(["enforce", "audit", "off"]),
    },
    optional={
        "taint": st.fixed_dictionaries(
            {"value": LABEL_VALUES},
            optional={
                "key": st.sampled_from(["dedicated", "team.example/pool"]),
                "effect": st.sampled_from(["NoSchedule", "NoExecute"]),
            },
        ),
        "capacityTypes": st.lists(st.sampled_from(["spot", "on-demand"]), min_size=1, unique=True),
        "zones": st.lists(st.sampled_from(["eu-central-1a", "eu-central-1b"]), min_size=1, unique=True),
        "labels": st.dictionaries(st.sampled_from(["team", "cost.example/center"]), LABEL_VALUES, max_size=2),
        "tags": st.dictionaries(st.text("abc:/-. ", min_size=1, max_size=20), st.text(max_size=20), max_size=3),
        "priority": st.fixed_dictionaries({"value": st.integers(-(2**31), 10**9), "preempts": st.booleans()}),
        "disruption": st.fixed_dictionaries(
            {
                "consolidateAfter": st.sampled_from(["0s", "1m", "Never", "1h30m"]),
                "expireAfter": st.sampled_from(["Never", "720h", "100h"]),
                "budgets": st.lists(
                    st.sampled_from(
                        [
                            {"nodes": "1", "reasons": ["Drifted"]},
                            {"nodes": "10%"},
                            {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"},
                        ]
                    ),
                    min_size=1,
                ),
            }
        ),
    },
)


def everything(pool: SwapPool) -> list[dict[str, Any]]:
    guardrails = GuardrailsSettings(cluster=CLUSTER, pools=(pool,))
    return [
        node_class(pool, CLUSTER, "nodes"),
        runtime_class(pool),
        node_pool(pool),
        priority_class(pool),
        headroom_daemon_set(pool),
        *manifests(guardrails),
    ]


@settings(
    max_examples=30,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(POOLS, MORE)
def test_a_pool_that_is_accepted_becomes_objects_that_the_server_takes(
    cluster: ControlPlane, values: dict[str, Any], more: dict[str, Any]
) -> None:
    pool = accepted({**values, **more})
    objects = everything(pool)
    answers = [cluster.api.create(one, dry_run=True) for one in objects]
    assert [(answer.status, answer.message, answer.warnings) for answer in answers] == [(201, "", ())] * len(objects)
    assert len(objects) == (5 if pool.guardrails.value == "off" else 9)
