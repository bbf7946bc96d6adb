"""From `pulumi up` to a job that outlives its peak, once through everything that is real; and each figure that the
catalogue foretold beside the one that the machine's kernel and kubelet tell."""

from __future__ import annotations

import json

from components.pool_types import reserves
from components.swap_pool import SwapPool
from floodplain import pools
from floodplain.catalogue import KubeletReserves, allocatable
from floodplain.quantity import MIB, to_bytes
from floodplain.swap import disk, grant
from testbed import chain

from .conftest import Run


def foretold(run: Run) -> pools.PoolType:
    """What the stack's own output says of the type that was launched."""
    (document,) = pools.read(run.bed.project.outputs()["pools"].encode())
    (kind,) = [one for one in document.types if one.name == run.launched.kind.name]
    return kind


def test_the_job_outlives_a_peak_of_twice_its_limit_and_goes_on(run: Run) -> None:
    (status,) = run.pod["status"]["containerStatuses"]
    assert (run.pod["status"]["phase"], status["state"]["terminated"]["exitCode"]) == ("Succeeded", 0)
    assert f"filled {run.plan.peak_bytes // MIB} MiB" in run.log
    assert f"plateau of {run.plan.hot_bytes // MIB} MiB" in run.log


def test_a_count_of_images_is_all_that_its_user_wrote_and_the_plan_is_what_it_got(run: Run) -> None:
    (container,) = run.pod["spec"]["containers"]
    resources = container["resources"]
    plan = run.plan
    assert {key: to_bytes(resources["limits"][key]) for key in ("memory", "ephemeral-storage")} == {
        "memory": plan.limit_bytes,
        "ephemeral-storage": plan.ephemeral_bytes,
    }
    assert to_bytes(resources["requests"]["memory"]) == plan.request_bytes
    assert resources["requests"]["cpu"] == plan.cpu
    assert run.pod["spec"]["runtimeClassName"] == plan.runtime_class
    told = json.loads(run.pod["metadata"]["annotations"]["floodplain.dev/plan"])["plan"]
    assert (told["peak_bytes"], told["limit_bytes"]) == (plan.peak_bytes, plan.limit_bytes)


def test_the_plan_named_the_type_that_karpenter_launched(run: Run) -> None:
    assert run.plan.instance_types == (run.launched.kind.name,)


def test_its_peak_was_in_swap_and_its_limit_was_kept(run: Run) -> None:
    limit = run.plan.limit_bytes
    assert run.cgroup["memory.max"] == limit
    # The kernel charges some of its own pages past the limit; seen: one.
    assert run.cgroup["memory.peak"] - limit <= 64 * grant.PAGE_BYTES
    # The last look may be half a second before the highest use.
    assert run.cgroup["memory.swap.peak"] >= (run.plan.peak_bytes - limit) * 9 // 10


def test_its_swap_is_the_grant_to_the_byte(run: Run) -> None:
    asked = run.plan.request_bytes
    swap, memory = run.meminfo["SwapTotal"], run.meminfo["MemTotal"]
    assert run.cgroup["memory.swap.max"] == grant.grant_bytes(asked, memory, swap)
    assert run.cgroup["memory.swap.max"] >= run.plan.swap_grant_bytes - grant.PAGE_BYTES


def test_admission_completed_the_pod_from_its_runtime_class(run: Run) -> None:
    spec = run.pod["spec"]
    assert spec["nodeSelector"] == {"floodplain.dev/pool": "swap", "karpenter.sh/capacity-type": "on-demand"}
    assert spec["overhead"] == {"memory": "16Mi"}
    assert spec["nodeName"] == run.machine.instance.node_name


def test_karpenter_launched_the_type_that_the_pool_admits(run: Run) -> None:
    assert run.launched.instance["InstanceType"] == "c6id.large"
    assert run.claim["metadata"]["labels"]["karpenter.sh/nodepool"] == "swap"
    conditions = {one["type"]: one["status"] for one in run.claim["status"]["conditions"]}
    assert {kind: conditions[kind] for kind in ("Launched", "Registered", "Initialized")} == {
        "Launched": "True",
        "Registered": "True",
        "Initialized": "True",
    }


def test_the_machine_booted_the_bytes_of_the_launch_template(run: Run) -> None:
    assert run.machine.run("sha256sum /run/instance-metadata/user-data | cut -d' ' -f1") == run.launched.digest


def test_the_node_has_the_swap_that_the_ratio_asks_for_and_kubelet_says_so(run: Run) -> None:
    memory = run.meminfo["MemTotal"]
    expected = disk.swap_total_bytes(disk.swap_file_bytes(memory, 2))
    assert run.meminfo["SwapTotal"] == expected
    assert run.node["status"]["nodeInfo"]["swap"]["capacity"] == expected
    assert expected <= foretold(run).swap_bytes_at_most


def test_the_catalogue_promised_no_more_memory_than_the_node_offers(run: Run) -> None:
    """It takes 7.5 % off for the hypervisor, as Karpenter does; the machine here loses less to its own kernel."""
    offered = to_bytes(run.node["status"]["allocatable"]["memory"])
    promised = foretold(run).allocatable_memory_bytes
    assert promised <= offered <= run.launched.kind.memory_bytes


def test_karpenter_and_the_catalogue_promise_the_same(run: Run) -> None:
    assert to_bytes(run.claim["status"]["allocatable"]["memory"]) == foretold(run).allocatable_memory_bytes
    assert int(run.claim["status"]["allocatable"]["pods"]) == foretold(run).pods


def test_the_difference_to_what_the_node_offers_is_only_the_hypervisors_share(run: Run) -> None:
    """Reserve and eviction threshold, which kubelet takes off, are those that the catalogue takes off."""
    kept = run.meminfo["MemTotal"] - to_bytes(run.node["status"]["allocatable"]["memory"])
    pool = SwapPool.model_validate(chain.pool_settings())
    estimate = allocatable(run.launched.kind, reserves(pool.kubelet, KubeletReserves().vm_memory_overhead_percent))
    assert kept == estimate.capacity_memory_bytes - estimate.memory_bytes


def test_as_many_pods_as_foretold_may_run_there(run: Run) -> None:
    assert int(run.node["status"]["allocatable"]["pods"]) == foretold(run).pods


def test_the_swap_file_is_taken_off_the_disk_that_pods_may_have(run: Run) -> None:
    capacity = to_bytes(run.node["status"]["capacity"]["ephemeral-storage"])
    offered = to_bytes(run.node["status"]["allocatable"]["ephemeral-storage"])
    swap_file = int(run.machine.run("stat -c %s /mnt/k8s-disks/0/floodplain.swap"))
    assert capacity - offered >= swap_file
    assert offered >= foretold(run).ephemeral_bytes_for_pods


def test_nobody_but_jobs_may_swap(run: Run) -> None:
    slices = run.machine.run(
        "cat /sys/fs/cgroup/system.slice/memory.swap.max /sys/fs/cgroup/runtime.slice/memory.swap.max"
    )
    assert slices.split() == ["0", "0"]
