"""What kubelets serve, read: shapes as in kubelet's resource_metrics.go, its stats API and cAdvisor's exposition."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from floodplain.doctor.kubelet_text import kubelet
from floodplain.doctor.seen import KubeletSeen, Measured

CONFIGZ = json.dumps(
    {
        "kubeletconfig": {
            "failSwapOn": False,
            "memorySwap": {"swapBehavior": "LimitedSwap"},
            "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
        }
    }
)
RESOURCE = """\
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="job",namespace="jobs",pod="j"} 2.29257216e+08 1785585600000
# HELP container_swap_limit_bytes [ALPHA] Current amount of the container swap limit in bytes.
# TYPE container_swap_limit_bytes gauge
container_swap_limit_bytes{container="job",namespace="jobs",pod="j"} 6.43379171328e+11 1785585600000
container_swap_usage_bytes{container="job",namespace="jobs",pod="j"} 0 1785585600000
node_swap_usage_bytes 3.4340864e+07 1785585600000
scrape_error 0
"""
CADVISOR = """\
# HELP container_oom_events_total Count of out of memory events observed for the container
# TYPE container_oom_events_total counter
container_oom_events_total{container="",id="/kubepods.slice",image="",name="",namespace="",pod=""} 4 1785585600000
container_oom_events_total{container="job",id="/k/a",image="i",name="n",namespace="jobs",pod="j"} 2 1785585600000
# TYPE container_spec_memory_swap_limit_bytes gauge
container_spec_memory_swap_limit_bytes{container="job",id="/k/a",image="i",name="n",namespace="jobs",pod="j"} 8192
container_spec_memory_swap_limit_bytes{container="other",id="/k/b",image="i",name="n",namespace="jobs",pod="j"} 0
"""
SUMMARY = json.dumps(
    {
        "node": {"systemContainers": [{"name": "kubelet"}, {"name": "pods", "memory": {"availableBytes": 417792}}]},
        "pods": [
            {
                "podRef": {"name": "j", "namespace": "jobs"},
                "containers": [
                    {"name": "job", "swap": {"swapAvailableBytes": 4096, "swapUsageBytes": 4096}},
                    {"name": "other", "swap": {"swapUsageBytes": 0}},
                ],
            }
        ],
    }
)


def test_everything_of_a_kubelet_is_read() -> None:
    assert kubelet(configz=CONFIGZ, summary=SUMMARY, resource=RESOURCE, cadvisor=CADVISOR) == KubeletSeen(
        swap_behavior="LimitedSwap",
        fail_swap_on=False,
        memory_eviction="100Mi",
        containers={
            ("jobs", "j", "job"): Measured(229257216, 643379171328, 8192, 8192, 2),
            ("jobs", "j", "other"): Measured(cadvisor_swap_limit_bytes=0),
        },
        pods_available_bytes=417792,
    )


def test_what_a_kubelet_does_not_set_is_told_from_what_was_not_read() -> None:
    assert kubelet(configz='{"kubeletconfig": {}}').swap_behavior == ""
    assert kubelet(configz="").swap_behavior is None
    assert kubelet() == KubeletSeen()


@given(st.text(), st.text())
def test_no_text_makes_doctor_stumble(first: str, second: str) -> None:
    found = kubelet(configz=first, summary=second, resource=f"container_swap_limit_bytes{{{first}}} {second}")
    assert isinstance(found, KubeletSeen)
