"""What doctor says of a cluster in which one thing is wrong, and that it says nothing of one in which all is well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from floodplain.doctor.examine import CHECKS, examine
from floodplain.doctor.finding import Finding, Severity, exit_status, names, worst
from floodplain.doctor.seen import (
    Cluster,
    ConditionSeen,
    Death,
    KarpenterSeen,
    LimitRangeSeen,
    Measured,
    QueueSeen,
    RuleSeen,
    Unseen,
)
from floodplain.quantity import GIB, MIB
from floodplain.swap import grant_bytes
from tests.floodplain.doctor.clusters import (
    GRANT,
    LIMIT,
    MEMORY,
    NETWORK,
    NODE,
    POOL,
    REQUEST,
    WELL,
    container,
    daemon,
    measured,
    pod,
    with_node,
    with_pods,
)

Told = tuple[str, str, str, str]
"""Severity, check, object, what was seen."""


def told(cluster: Cluster) -> list[Told]:
    """Everything above info."""
    bad = (Severity.WARNING, Severity.ERROR)
    return [(one.severity.value, one.check, one.object, one.seen) for one in examine(cluster) if one.severity in bad]


def finding(cluster: Cluster, check: str, *severities: Severity) -> Finding:
    wanted = severities or (Severity.INFO, Severity.WARNING, Severity.ERROR)
    (one,) = [found for found in examine(cluster) if found.check == check and found.severity in wanted]
    return one


def test_a_cluster_in_which_all_is_well_gives_no_finding_above_info_and_every_check_says_so() -> None:
    found = examine(WELL)
    assert told(WELL) == []
    assert exit_status(found) == 0
    assert [one.check for one in found if one.severity is Severity.OK] == [
        "swap-size",
        "kubelet-swap",
        "grant",
        "oom-kill",
        "containment",
        "headroom",
        "eviction-room",
        "limit-range",
        "versions",
    ]


JOB = "pod jobs/job-1, container job"
NO_SWAP_WORDS = "no swap is on, or kubelet started before it was"
SPOILT: dict[str, tuple[Cluster, list[Told]]] = {
    "a node without swap": (
        with_node(swap_bytes=None, kubelet=measured(job=Measured(None, 0, 0, 0))),
        [("error", "swap-size", "node n1", NO_SWAP_WORDS)],
    ),
    "swap of half the size": (
        with_node(swap_bytes=64 * GIB, kubelet=None),
        [
            (
                "error",
                "swap-size",
                "node n1",
                "swap of 64.0 GiB: a ratio of 1, so every grant is that much smaller than planned",
            ),
            (
                "warning",
                "grant",
                JOB,
                "cannot see memory.swap.max of 1 container: their kubelets' measurements were not to be read, or hold"
                " no swap limit",
            ),
        ],
    ),
    "other swap beside the pool's": (
        with_node(swap_bytes=129 * GIB, kubelet=measured(job=Measured(1, grant_bytes(REQUEST, MEMORY, 129 * GIB)))),
        [
            ("warning", "swap-size", "node n1", "swap of 129.0 GiB: other swap is on beside the pool's, zram for one"),
        ],
    ),
    "kubelet without LimitedSwap": (
        with_node(kubelet=replace(measured(job=Measured(1, 0, 0, 0)), swap_behavior="")),
        [
            (
                "error",
                "kubelet-swap",
                "node n1",
                "memorySwap.swapBehavior is not set: no container gets swap",
            ),
            (
                "warning",
                "no-swap",
                JOB,
                "gets no swap: the node's kubelet does not run with swapBehavior LimitedSwap",
            ),
        ],
    ),
    "kubelet that fails with swap on": (
        with_node(kubelet=replace(measured(), fail_swap_on=True)),
        [("error", "kubelet-swap", "node n1", "failSwapOn is true: kubelet will not start again once swap is on")],
    ),
    "a grant that is one page short": (
        with_node(kubelet=measured(job=Measured(1, GRANT - 4096))),
        [
            (
                "error",
                "grant",
                JOB,
                f"memory.swap.max is 40.0 GiB ({GRANT - 4096} bytes): the job may be killed before its planned peak",
            )
        ],
    ),
    "a grant of nothing, which cAdvisor confirms": (
        with_node(kubelet=measured(job=Measured(1, 0, None, 0))),
        [
            (
                "error",
                "grant",
                JOB,
                "memory.swap.max is 0 bytes (0 bytes): the job may be killed before its planned peak",
            )
        ],
    ),
    "a grant above the rule's": (
        with_node(kubelet=measured(job=Measured(1, GRANT + 4096))),
        [("warning", "grant", JOB, f"memory.swap.max is 40.0 GiB ({GRANT + 4096} bytes), more than the rule gives")],
    ),
    "request equal to limit": (
        replace(
            with_pods(pod(containers=(container(request_bytes=LIMIT),))),
            nodes=(replace(NODE, kubelet=measured(job=Measured(1, 0, 0, 0))),),
        ),
        [
            (
                "warning",
                "no-swap",
                JOB,
                "gets no swap: the container's memory request equals its limit (a limit alone sets both)",
            )
        ],
    ),
    "a pod of a system priority": (
        replace(
            with_pods(pod(priority=2_000_000_000)),
            nodes=(replace(NODE, kubelet=measured(job=Measured(1, 0, 0, 0))),),
        ),
        [
            (
                "warning",
                "no-swap",
                JOB,
                "gets no swap: the pod is critical (static, or of a system priority class)",
            )
        ],
    ),
    "a container killed for want of memory": (
        with_pods(pod(phase="Failed", containers=(container(running=False, death=Death("OOMKilled", 137, "12:00")),))),
        [
            (
                "warning",
                "oom-kill",
                JOB,
                "was killed for want of memory (OOMKilled) at 12:00; it could hold 20.0 GiB of memory and 40.0 GiB of"
                " swap",
            )
        ],
    ),
    "a container that ended with 137": (
        with_pods(pod(phase="Failed", containers=(container(running=False, death=Death("Error", 137)),))),
        [
            (
                "warning",
                "oom-kill",
                JOB,
                "was killed by SIGKILL (exit 137): memory, or a stop; it could hold 20.0 GiB of memory and 40.0 GiB of"
                " swap",
            )
        ],
    ),
    "a process killed inside a container that goes on": (
        with_node(kubelet=measured(job=Measured(1, GRANT, oom_events=3))),
        [
            (
                "warning",
                "oom-kill",
                JOB,
                "lives on, but 3 of its processes were killed for want of memory: a success may be a partial one;"
                " it could hold 20.0 GiB of memory and 40.0 GiB of swap",
            )
        ],
    ),
    "an eviction for memory": (
        with_pods(
            pod(
                phase="Failed",
                reason="Evicted",
                message="The node was low on resource: memory. Threshold quantity: 100Mi, available: 408Ki. ",
                containers=(container(running=False, death=Death("Error", 137)),),
            )
        ),
        [
            (
                "error",
                "eviction",
                "pod jobs/job-1",
                "was evicted: The node was low on resource: memory. Threshold quantity: 100Mi, available: 408Ki.",
            )
        ],
    ),
    "an eviction for disk": (
        with_pods(pod(phase="Failed", reason="Evicted", message="The node was low on resource: ephemeral-storage.")),
        [
            (
                "warning",
                "eviction",
                "pod jobs/job-1",
                "was evicted: The node was low on resource: ephemeral-storage.",
            )
        ],
    ),
    "limits that pass the node": (
        with_pods(
            *(pod(f"old-{number}", phase="Pending", containers=(container(limit_bytes=31 * GIB),)) for number in (1, 2))
        ),
        [
            (
                "error",
                "containment",
                "node n1",
                "limits of 62.0 GiB and DaemonSets' 60 MiB pass what pods may have by 2108 MiB, so that kubelet may"
                " evict while swap is empty; limits far above requests: jobs/old-1 (limit 31.0 GiB, request 20.0 GiB),"
                " jobs/old-2 (limit 31.0 GiB, request 20.0 GiB)",
            )
        ],
    ),
    "DaemonSets that leave too little": (
        replace(
            with_pods(*(pod(f"ours-{number}", phase="Pending") for number in (1, 2, 3))),
            nodes=(replace(NODE, kubelet=measured(network=Measured(100 * MIB))),),
        ),
        [
            (
                "error",
                "containment",
                "node n1",
                "limits of 60.0 GiB and DaemonSets' 100 MiB pass what pods may have by 100 MiB, so that kubelet may"
                " evict while swap is empty; DaemonSets use more than was kept for them",
            )
        ],
    ),
    "a container without a limit": (
        with_pods(pod(phase="Pending", containers=(container(), container("logs", limit_bytes=None)))),
        [("error", "containment", "pod jobs/job-1", "nothing contains logs on node n1: no memory limit")],
    ),
    "DaemonSets above the headroom": (
        with_node(kubelet=measured(network=Measured(300 * MIB))),
        [
            (
                "warning",
                "headroom",
                "node n1",
                "DaemonSets use 300 MiB beyond their requests (pod kube-system/aws-node)",
            )
        ],
    ),
    "no headroom": (
        replace(WELL, pods=(pod(), NETWORK)),
        [
            (
                "warning",
                "headroom",
                "node n1",
                "has no headroom pod: nothing keeps memory for DaemonSets that request less than they use",
            )
        ],
    ),
    "kubelet about to evict": (
        with_node(kubelet=replace(measured(), pods_available_bytes=99 * MIB)),
        [("error", "eviction-room", "node n1", "kubelet has 99 MiB left for pods, and evicts below 100 MiB")],
    ),
    "a threshold in per cent": (
        with_node(kubelet=replace(measured(), memory_eviction="5%", pods_available_bytes=3 * GIB)),
        [("error", "eviction-room", "node n1", "kubelet has 3072 MiB left for pods, and evicts below 3276.8 MiB")],
    ),
    "Karpenter without a queue": (
        replace(WELL, karpenters=(KarpenterSeen("kube-system", "karpenter", "1.14.1", ""),)),
        [
            (
                "warning",
                "interruption",
                "Karpenter kube-system/karpenter",
                "has no interruption queue: a node that powered itself off is replaced after 15 minutes, and Spot nodes"
                " go without a drain",
            )
        ],
    ),
    "a queue that is gone": (
        replace(WELL, queues=(QueueSeen("Karpenter-prod", exists=False),)),
        [("error", "interruption", "queue Karpenter-prod", "does not exist: Karpenter hears of nothing")],
    ),
    "a pool that launches nothing": (
        replace(WELL, conditions=(ConditionSeen("NodePool example", "Ready", "NodeClass not ready"),)),
        [("warning", "pool-ready", "NodePool example", "Ready: NodeClass not ready")],
    ),
}


@pytest.mark.parametrize(("cluster", "expected"), SPOILT.values(), ids=SPOILT)
def test_one_thing_wrong_is_told(cluster: Cluster, expected: list[Told]) -> None:
    assert told(cluster) == expected
    assert exit_status(examine(cluster)) == (2 if expected[0][0] == "error" else 1)


def test_a_sidecar_without_swap_beside_a_job_that_has_it_is_no_warning() -> None:
    sidecar = container("logs", request_bytes=64 * MIB, limit_bytes=64 * MIB, running=False)
    cluster = with_pods(pod(containers=(container(), sidecar)))
    assert told(cluster) == []
    assert finding(cluster, "no-swap").object == "pod jobs/job-1, container logs"


def test_daemon_sets_and_finished_pods_are_not_asked_for_their_grant() -> None:
    ended = pod("done", phase="Succeeded", containers=(container(running=False),))
    assert told(with_pods(pod(), ended, daemon("logs", 100 * MIB))) == []


@pytest.mark.parametrize(
    ("measured_", "seen"),
    [
        # Kubelets before kubernetes/kubernetes#137098: zero whatever the truth is.
        (Measured(1, 0, GRANT, None), GRANT),
        (Measured(1, 0, None, GRANT), GRANT),
        (Measured(1, 0, GRANT, 0), 0),
        (Measured(1, 0, None, None), None),
        (Measured(1, None, None, None), None),
        # Before cAdvisor knows a container kubelet fills in zeros, in both of its own.
        (Measured(1, 0, 0, None), None),
        (Measured(1, None, 0, None), None),
        (Measured(1, GRANT, 0, 0), GRANT),
        (Measured(1, None, GRANT, None), GRANT),
    ],
)
def test_a_zero_of_kubelet_counts_only_if_another_reading_agrees(measured_: Measured, seen: int | None) -> None:
    assert measured_.swap_limit_bytes == seen


NETWORK_ALONE = {("kube-system", "aws-node", "main"): Measured(1, 0, 0, 0)}


@pytest.mark.parametrize(
    "containers",
    [
        pytest.param(NETWORK_ALONE, id="kubelet does not know it"),
        pytest.param({**NETWORK_ALONE, ("jobs", "job-1", "job"): Measured(0, 0, 0)}, id="kubelet has filled in zeros"),
    ],
)
def test_a_container_that_kubelet_has_not_measured_yet_is_no_warning(
    containers: dict[tuple[str, str, str], Measured],
) -> None:
    cluster = with_node(kubelet=replace(measured(), containers=containers))
    one = finding(cluster, "grant")
    assert (told(cluster), one.object, one.severity) == ([], JOB, Severity.INFO)
    assert one.seen == "kubelet has not measured 1 container yet: look again in a minute"


def test_a_kill_on_a_node_that_is_gone_is_judged_by_the_pools_ratio() -> None:
    death = container(running=False, death=Death("OOMKilled", 137))
    cluster = with_pods(pod(phase="Failed", node="gone", containers=(death,)))
    one = finding(cluster, "oom-kill")
    assert one.seen == (
        "was killed for want of memory (OOMKilled); it could hold 20.0 GiB of memory and perhaps 40.0 GiB of swap (its"
        " node is gone)"
    )
    assert one.levers[0] == "bigger request: raise the memory limit from 20.0 GiB to 30.0 GiB, request 1 MiB below"


def test_a_kubelet_too_old_to_tell_its_swap_is_not_said_to_have_none() -> None:
    old = replace(with_node(kubelet_version="v1.32.1", swap_bytes=None, kubelet=None), pods=())
    assert sorted(check for _, check, _, _ in told(old)) == ["headroom", "versions"]


def test_what_kubelet_1_33_does_not_serve_is_said() -> None:
    cluster = with_node(kubelet_version="v1.33.4-eks-1", kubelet=measured(job=Measured(1)))
    one = finding(cluster, "grant")
    assert (one.severity, one.seen) == (
        Severity.WARNING,
        "cannot see memory.swap.max of 1 container: kubelets of v1.33.4-eks-1 do not serve container_swap_limit_bytes,"
        " which came with 1.34, and neither /stats/summary nor /metrics/cadvisor had it",
    )
    assert one.levers == (
        "grant get on nodes/proxy",
        "run Kubernetes 1.36 or newer, whose kubelet reports every grant",
    )


def test_after_a_kill_the_bigger_request_comes_first_and_then_more_node_swap() -> None:
    death = container(running=False, death=Death("OOMKilled", 137))
    one = finding(with_pods(pod(phase="Failed", containers=(death,))), "oom-kill")
    # Half as much again as the 60 GiB it could hold is 90 GiB: a third of that, or 20 GiB and three and a half times.
    assert one.levers == (
        "bigger request: raise the memory limit from 20.0 GiB to 30.0 GiB, request 1 MiB below",
        "more node swap: raise the swap ratio of pool example from 2 to 3.5, where its disks hold that"
        " (`floodplain catalogue show`)",
    )


def test_a_kill_at_the_size_of_the_largest_node_leaves_only_more_swap() -> None:
    small = replace(POOL, document=None)
    large = container(running=False, death=Death("OOMKilled", 137), request_bytes=50 * GIB, limit_bytes=50 * GIB + MIB)
    cluster = replace(
        with_pods(pod(phase="Failed", containers=(large,))), pools=(small,), nodes=(replace(NODE, pool=small),)
    )
    assert finding(cluster, "oom-kill").levers[0] == (
        "bigger request: the pool's largest node takes a limit of 60.0 GiB, less than the job needs"
    )


def test_a_pool_without_swap_is_not_asked_for_any() -> None:
    none = replace(POOL, swap_ratio=0.0)
    kubelet = replace(measured(job=Measured(1, 0, 0, 0)), swap_behavior="")
    cluster = replace(WELL, pools=(none,), nodes=(replace(NODE, pool=none, swap_bytes=None, kubelet=kubelet),))
    assert told(cluster) == []


def test_a_cluster_without_nodes_of_a_pool_is_told_as_information() -> None:
    cluster = replace(WELL, nodes=(), pods=())
    one = finding(cluster, "swap-size")
    assert (told(cluster), one.severity) == ([], Severity.INFO)
    assert one.seen == "there is no node of a swap pool now (pools: example)"


RANGE = LimitRangeSeen("jobs", "limits", "Container")
RANGES: dict[str, tuple[LimitRangeSeen, list[tuple[str, str]]]] = {
    "a default limit only": (
        replace(RANGE, default_bytes=GIB),
        [("warning", "gives containers without memory settings request = limit = 1024 MiB: no swap")],
    ),
    "default request equal to default limit": (
        replace(RANGE, default_bytes=GIB, default_request_bytes=GIB),
        [("warning", "gives containers without memory settings request = limit = 1024 MiB: no swap")],
    ),
    "default request below default limit": (replace(RANGE, default_bytes=GIB, default_request_bytes=GIB - MIB), []),
    "a default request only": (replace(RANGE, default_request_bytes=GIB), []),
    "no limit above the request": (
        replace(RANGE, ratio=1.0),
        [
            (
                "error",
                "maxLimitRequestRatio 1 for memory refuses a request below the limit, and so every pod that gets swap",
            )
        ],
    ),
    "a ratio that lets ours pass": (replace(RANGE, ratio=1.1), []),
    "one size for all": (
        replace(RANGE, min_bytes=GIB, max_bytes=GIB),
        [("error", "min 1024 MiB and max 1024 MiB leave no room for request = limit - 1 MiB")],
    ),
    "a small maximum of a pod": (
        replace(RANGE, kind="Pod", max_bytes=8 * GIB),
        [("warning", "refuses memory limits above 8192 MiB")],
    ),
    "a large minimum": (
        replace(RANGE, min_bytes=4 * GIB),
        [("warning", "refuses memory requests below 4096 MiB, which small jobs have")],
    ),
    "bounds that do not matter": (replace(RANGE, min_bytes=MIB, max_bytes=4096 * GIB), []),
    "another namespace": (replace(RANGE, namespace="other", ratio=1.0), []),
}


@pytest.mark.parametrize(("found", "expected"), RANGES.values(), ids=RANGES)
def test_a_limit_range_in_the_way_of_swap_is_told(found: LimitRangeSeen, expected: list[tuple[str, str]]) -> None:
    assert [(severity, seen) for severity, _, _, seen in told(replace(WELL, limit_ranges=(found,)))] == expected


VERSIONS = {
    "a server too old": (
        replace(with_node(kubelet_version="v1.32.1"), server_version="v1.32.1", karpenters=()),
        ["1.32 is too old for swap in containers", "1.32 is too old for swap in containers"],
    ),
    "a kubelet ahead": (with_node(kubelet_version="v1.37.0"), ["is newer than the API server (1.36)"]),
    "a kubelet four behind": (
        replace(with_node(kubelet_version="v1.33.0"), server_version="v1.37.0", karpenters=()),
        ["is more than 3 minor versions behind the API server (1.37)"],
    ),
    "Karpenter too old": (
        replace(WELL, karpenters=(KarpenterSeen("kube-system", "karpenter", "1.12.0", "q"),)),
        ["1.12.0 is too old for Kubernetes 1.36"],
    ),
    "versions that cannot be read": (
        replace(
            with_node(kubelet_version="?"),
            server_version="",
            karpenters=(KarpenterSeen("kube-system", "karpenter", "latest", "q"),),
        ),
        [],
    ),
}


@pytest.mark.parametrize(("cluster", "expected"), VERSIONS.values(), ids=VERSIONS)
def test_versions_that_do_not_go_together_are_told(cluster: Cluster, expected: list[str]) -> None:
    assert [seen for _, check, _, seen in told(cluster) if check == "versions"] == expected


def rule(kind: str, *, enabled: bool = True) -> RuleSeen:
    return RuleSeen(kind, enabled, f'{{"source":["aws.ec2"],"detail-type":["{kind}"]}}')


def test_each_event_without_a_rule_is_told_and_rebalance_only_as_information() -> None:
    rules = (
        rule("EC2 Spot Instance Interruption Warning"),
        rule("EC2 Instance State-change Notification", enabled=False),
        RuleSeen("broken", True, "{"),
    )
    cluster = replace(WELL, queues=(QueueSeen("Karpenter-prod", True, rules),))
    found = [(one.severity.value, one.seen) for one in examine(cluster) if one.check == "interruption"]
    assert found == [
        ("warning", "no rule for AWS Health Event"),
        ("warning", "the rule is disabled for EC2 Instance State-change Notification"),
        ("warning", "no rule for EC2 Capacity Reservation Instance Interruption Warning"),
        ("info", "no rule for EC2 Instance Rebalance Recommendation"),
    ]


def test_a_cause_shared_by_many_places_is_told_once() -> None:
    kubelets = tuple(Unseen("kubelet's /configz", "forbidden", "grant it", f"n{number}") for number in range(7))
    (one,) = [found for found in examine(replace(WELL, unseen=kubelets)) if found.check == "cannot-see"]
    assert one == Finding(
        "cannot-see",
        Severity.WARNING,
        "n0, n1, n2, n3, n4 and 2 more",
        "cannot see kubelet's /configz: forbidden",
        levers=("grant it",),
    )


def test_no_check_needs_what_could_not_be_read() -> None:
    blind = Cluster(
        now=WELL.now,
        nodes=None,
        pods=None,
        limit_ranges=None,
        sized_namespaces=None,
        karpenters=None,
        server_version="",
    )
    assert [one for check in CHECKS for one in check(blind)] == []
    bare = replace(NODE, memory_bytes=None, allocatable_bytes=None, swap_bytes=None, kubelet=None, kubelet_version="")
    assert worst(examine(replace(WELL, nodes=(bare,)))) is Severity.WARNING


@pytest.mark.parametrize(
    ("severities", "status"),
    [((), 0), (("ok", "info"), 0), (("warning", "ok"), 1), (("error", "warning"), 2)],
)
def test_the_exit_status_is_that_of_the_worst(severities: tuple[str, ...], status: int) -> None:
    assert exit_status([Finding("c", Severity(one), "o", "s") for one in severities]) == status


def test_only_a_few_names_are_shown() -> None:
    assert names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert names([]) == ""
