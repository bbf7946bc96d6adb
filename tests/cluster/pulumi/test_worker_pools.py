"""WorkerPools on a real API server, its controllers and the real engine: what an update does to the pods of each pool.

Nobody computes: KWOK calls every pod Ready that a node takes. A worker that is slow to end is a pod with a finalizer,
which stays in the API as one does whose task still runs.
"""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pulumi_kubernetes as kubernetes
import pytest
from pulumi import ResourceOptions, automation

from components import WorkerPools
from testbed.cluster.api import Api
from testbed.cluster.control_plane import ControlPlane, control_plane
from testbed.cluster.kwok import start_kwok
from testbed.processes import Processes, held, wait_until
from testbed.pulumi.engine import Engine
from testbed.pulumi.inline import inline_stack
from testbed.state import State

Object = dict[str, Any]
NAMESPACE = "/api/v1/namespaces/tiles"
PODS = f"{NAMESPACE}/pods"
SMALL = "/apis/apps/v1/namespaces/tiles/deployments/tiles-small"
BIG = "/apis/apps/v1/namespaces/tiles/statefulsets/tiles-big"
SCALER = "/apis/autoscaling/v2/namespaces/tiles/horizontalpodautoscalers/tiles-small"
BUDGET = "/apis/policy/v1/namespaces/tiles/poddisruptionbudgets/tiles-big"
BIG_POD = f"{PODS}/tiles-big-0"
NOWHERE = "testbed.floodplain.dev/nowhere"
WATCHED_LOOKS = 25
TASK = "testbed.floodplain.dev/task"
"""Finalizer of a pod whose task still runs."""
WORKERS: Object = {
    "name": "tiles",
    "image": f"registry.example/tiles:1.2@sha256:{'0' * 64}",
    "small": {"memory": "4Gi", "autoscaling": {"max_replicas": 5, "min_replicas": 2}},
    "big": {"memory": "16Gi"},
    "scratch": "1Gi",
}


@dataclass
class Watched:
    """Every pod of the big pool that a reader of the API ever saw, and how many there were at once at most."""

    api: Api
    uids: list[str] = field(default_factory=list)
    most: int = 0
    looks: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self._over.is_set():
            found = big_pods(self.api)
            self.looks += 1
            self.most = max(self.most, len(found))
            self.uids += [uid for one in found if (uid := one["metadata"]["uid"]) not in self.uids]
            self._over.wait(0.05)

    def end(self) -> None:
        self._over.set()


@dataclass(frozen=True)
class During:
    """An update while the big worker's task runs for a few more seconds."""

    ops: dict[str, str]
    worker: str
    """Uid of the big worker's pod."""
    while_its_task_ran: set[str]
    """Uids of pods of the big pool."""
    over_before_the_task: bool
    watched: Watched


@dataclass(frozen=True)
class Story:
    """What the engine did at each step, and what was found after it."""

    previewed: dict[str, str]
    made: dict[str, str]
    objects: dict[str, Object]
    second: dict[str, str]
    quiet: dict[str, str]
    """A preview after a refresh, while there are more small workers than there were."""
    evictions: dict[str, int]
    edited: During
    replicas: tuple[int, int]
    """Of the small pool before that update and after it."""
    uids: dict[str, tuple[str, str]]
    """Of the Deployment and the StatefulSet, made and after all updates."""
    never_started: Object
    started: Object
    renamed: During
    destroyed: dict[str, str]
    left: list[str]


@dataclass
class Bench:
    cluster: ControlPlane
    stack: automation.Stack
    workers: Object

    @property
    def api(self) -> Api:
        return self.cluster.api


@pytest.fixture(scope="module")
def story() -> Iterator[Story]:
    with contextlib.ExitStack() as running:
        state = running.enter_context(State())
        processes = running.enter_context(Processes(state))
        cluster = running.enter_context(control_plane(state, processes))
        running.enter_context(held(start_kwok(processes, cluster)))
        engine, workers = Engine(state, cluster), copy.deepcopy(WORKERS)
        kubeconfig = cluster.kubeconfig.read_text()

        def program() -> None:
            through = kubernetes.Provider(
                "cluster",
                kubeconfig=kubeconfig,
                cluster_identifier="bench",
                enable_server_side_apply=True,
                enable_config_map_mutable=True,
            )
            args: Any = {"workers": workers}
            WorkerPools("w", args, ResourceOptions(providers=[through]))

        yield told(Bench(cluster, inline_stack(engine, "worker-pools", program), workers))


def ops(run: Any, **options: Any) -> dict[str, str]:
    """What becomes of each resource that does not stay the same, by name."""
    seen: list[Any] = []
    run(on_event=seen.append, **options)
    steps = [event.resource_pre_event.metadata for event in seen if event.resource_pre_event]
    found = {str(step.urn).rpartition("::")[2]: str(step.op.value) for step in steps}
    return {
        name: "replace" if "replace" in op else op
        for name, op in found.items()
        if op not in ("same", "read", "refresh") and not name.startswith("worker-pools-")
    }


def told(bench: Bench) -> Story:
    api, stack = bench.api, bench.stack
    previewed, made = ops(stack.preview), ops(stack.up)
    wait_until("the scaler has its fewest workers", lambda: api.get(SMALL)["spec"]["replicas"] == 2)
    objects = {path: api.get(path) for path in (SMALL, BIG, SCALER, BUDGET)}
    second = ops(stack.up)
    # As the scaler does, which has no metrics here.
    api.patch(f"{SMALL}/scale", {"spec": {"replicas": 4}})
    stack.refresh()
    quiet = ops(stack.preview)
    evictions = {pool: evict(api, pool) for pool in ("big", "small")}
    replicas = api.get(SMALL)["spec"]["replicas"]
    edited = update_during_a_task(bench, {"big": {"memory": "32Gi"}})
    never_started, started = mended_by_hand(api)
    uids = {path: (objects[path]["metadata"]["uid"], api.get(path)["metadata"]["uid"]) for path in (SMALL, BIG)}
    after = api.get(SMALL)["spec"]["replicas"]
    renamed = update_during_a_task(bench, {"name": "maps", "namespace": "tiles"})
    return Story(
        previewed=previewed,
        made=made,
        objects=objects,
        second=second,
        quiet=quiet,
        evictions=evictions,
        edited=edited,
        replicas=(replicas, after),
        uids=uids,
        never_started=never_started,
        started=started,
        renamed=renamed,
        destroyed=ops(stack.destroy),
        left=[path for path in (NAMESPACE, SMALL, BIG, SCALER, BUDGET) if api.find(path)],
    )


@contextlib.contextmanager
def watched_big_pods(api: Api) -> Iterator[Watched]:
    watched = Watched(api)
    with ThreadPoolExecutor(1) as worker:
        looking = worker.submit(watched.run)
        try:
            yield watched
        finally:
            watched.end()
        looking.result()


def evict(api: Api, pool: str) -> int:
    """What the server says to a drain of the node of one pod of the pool, when its controllers have counted pods."""
    wait_until("the budget is counted", lambda: api.get(BUDGET)["status"].get("expectedPods") == 1)
    name = api.items(PODS, labelSelector=f"floodplain.dev/raster-pool={pool}")[0]["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "tiles"}}
    return api.request("POST", f"{PODS}/{name}/eviction", eviction).status


def update_during_a_task(bench: Bench, change: Object) -> During:
    """Change the settings of the workers while a task of the big one runs."""
    api = bench.api
    api.patch(BIG_POD, {"metadata": {"finalizers": [TASK]}})
    worker = api.get(BIG_POD)["metadata"]["uid"]
    bench.workers |= change
    with watched_big_pods(api) as watched, ThreadPoolExecutor(1) as thread:
        update = thread.submit(ops, bench.stack.up)
        try:
            wait_until("the big worker is told to end", lambda: deleting(api), timeout_seconds=120)
            seen: set[str] = set()
            for _ in range(WATCHED_LOOKS):
                seen |= {one["metadata"]["uid"] for one in big_pods(api)}
                time.sleep(0.2)
            over = update.done()
        finally:
            api.patch(BIG_POD, {"metadata": {"finalizers": None}})
        done = update.result(timeout=300)
        wait_until("the next big worker runs", lambda: [one for one in big_pods(api) if next_one(one, worker)])
    return During(done, worker, seen, over, watched)


def next_one(pod: Object, worker: str) -> bool:
    return bool(pod["metadata"]["uid"] != worker and pod["status"].get("phase") == "Running")


def deleting(api: Api) -> bool:
    return "deletionTimestamp" in (api.find(BIG_POD) or {"metadata": {}})["metadata"]


def big_pods(api: Api) -> list[Object]:
    return api.items(PODS, labelSelector="floodplain.dev/raster-pool=big")


def mended_by_hand(api: Api) -> tuple[Object, Object]:
    """The big pod under a template that no node suits, and the one after the template is mended."""

    def select(value: str | None) -> None:
        api.patch(BIG, {"spec": {"template": {"spec": {"nodeSelector": {NOWHERE: value}}}}})

    def pod(phase: str, selects: bool) -> Object:
        found = api.find(BIG_POD) or {}
        fits = (NOWHERE in found.get("spec", {}).get("nodeSelector", {})) is selects
        return found if fits and found.get("status", {}).get("phase") == phase else {}

    select("true")
    never = wait_until("the new big worker finds no node", lambda: pod("Pending", True))
    select(None)
    return never, wait_until("the mended big worker runs", lambda: pod("Running", False))


def test_up_makes_what_the_preview_says(story: Story) -> None:
    names = ("account", "autoscaler", "big", "big-budget", "figures", "namespace", "small")
    assert story.made == {"cluster": "create", "w": "create", **{f"w-{name}": "create" for name in names}}
    assert story.previewed == story.made


def test_the_server_takes_every_object_as_it_is_meant(story: Story) -> None:
    big = story.objects[BIG]["spec"]
    assert (big["replicas"], big["podManagementPolicy"], big["updateStrategy"]["type"]) == (
        1,
        "Parallel",
        "RollingUpdate",
    )
    assert story.objects[BIG]["status"]["readyReplicas"] == 1
    (container,) = big["template"]["spec"]["containers"]
    assert container["resources"]["requests"]["memory"] == container["resources"]["limits"]["memory"] == "16Gi"
    assert story.objects[SCALER]["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 900
    assert story.objects[BUDGET]["spec"]["maxUnavailable"] == 0


def test_a_second_up_changes_nothing_whatever_the_scaler_has_done(story: Story) -> None:
    assert story.second == story.quiet == {}


def test_an_update_is_made_in_place_and_leaves_the_number_of_small_workers_alone(story: Story) -> None:
    assert story.edited.ops == {"w-big": "update", "w-figures": "update", "w-small": "update"}
    assert {before == after for before, after in story.uids.values()} == {True}
    assert story.replicas == (4, 4)


def test_during_an_update_the_old_big_worker_ends_its_task_and_no_second_one_runs(story: Story) -> None:
    """Whether the update itself waits is chance: the provider may take the StatefulSet's old status for the new."""
    edited = story.edited
    assert edited.while_its_task_ran == {edited.worker}
    assert edited.watched.uids[0] == edited.worker
    assert len(edited.watched.uids) == 2
    assert edited.watched.most == 1
    assert edited.watched.looks > WATCHED_LOOKS


def test_a_big_worker_that_never_started_is_replaced_when_its_template_is_mended(story: Story) -> None:
    assert story.never_started["metadata"]["uid"] != story.started["metadata"]["uid"]


def test_two_big_workers_do_not_meet_where_one_pool_replaces_another(story: Story) -> None:
    renamed = story.renamed
    assert renamed.ops["w-big"] == "replace"
    assert not renamed.over_before_the_task
    assert renamed.while_its_task_ran == {renamed.worker}
    assert len(renamed.watched.uids) == 2
    assert renamed.watched.most == 1


def test_a_drain_takes_small_workers_and_not_the_big_one(story: Story) -> None:
    assert story.evictions == {"big": 429, "small": 201}


def test_nothing_of_it_is_left(story: Story) -> None:
    assert set(story.destroyed.values()) == {"delete"}
    assert story.left == []
