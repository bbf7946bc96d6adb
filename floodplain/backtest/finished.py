"""Past jobs from pods and Jobs of a cluster that ask to be sized and have ended. Pure: takes plain mappings.

Kubernetes keeps no peaks, so that each job is known by its end only. Pods that are gone are known by their Job, if
that is still there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from floodplain.admission.annotations import PLAN
from floodplain.admission.annotations import read as read_annotations
from floodplain.admission.record import written_in
from floodplain.admission.subject import Kind, Subject
from floodplain.backtest.past_job import Outcome, PastJob
from floodplain.doctor import objects
from floodplain.doctor.grants import swap_node
from floodplain.doctor.objects import Object, get, maps, text
from floodplain.doctor.seen import ContainerSeen, NodeSeen, PodSeen
from floodplain.problem import Problem
from floodplain.sizing.workload import Workload
from floodplain.swap import container_grant_bytes

_JOB_LABEL = "batch.kubernetes.io/job-name"


@dataclass(frozen=True)
class Finished:
    """Jobs that have ended, what was wrong with others, and how many still run."""

    jobs: tuple[PastJob, ...]
    problems: tuple[Problem, ...]
    running: int


def finished(
    pods: Iterable[Object], jobs: Iterable[Object], nodes: Mapping[str, NodeSeen], swap_ratio: float | None = None
) -> Finished:
    """Every pod, and every Job without one.

    `swap_ratio` is the swap per byte of request that pods had on nodes that are gone; None is not known.
    """
    found: list[PastJob] = []
    problems: list[Problem] = []
    with_pods: set[tuple[str, str]] = set()
    running = 0
    for thing in pods:
        asked = _asked(Subject(Kind.POD, thing))
        if asked is None:
            continue
        with_pods.add((text(thing, "metadata", "namespace"), text(thing, "metadata", "labels", _JOB_LABEL)))
        if isinstance(asked, list):
            problems += [_placed(problem, "pod", thing) for problem in asked]
            continue
        ended = _pod(thing, *asked, nodes, swap_ratio)
        running += ended is None
        found += [ended] if ended else []
    for thing in jobs:
        if (text(thing, "metadata", "namespace"), text(thing, "metadata", "name")) in with_pods:
            continue
        asked = _asked(Subject(Kind.JOB, thing))
        if isinstance(asked, list):
            problems += [_placed(problem, "Job", thing) for problem in asked]
        elif asked is not None:
            ended = _job(thing, *asked)
            running += ended is None
            found += [ended] if ended else []
    return Finished(tuple(found), tuple(problems), running)


def _asked(subject: Subject) -> tuple[Workload, str] | list[Problem] | None:
    """Workload and container; every problem with them; None where nothing is asked."""
    written = written_in(subject.template_annotations.get(PLAN))
    reading = read_annotations(subject, recorded=written.container if written else None)
    if reading.problems:
        return list(reading.problems)
    return (reading.request.workload, reading.request.container) if reading.request else None


def _placed(problem: Problem, kind: str, thing: Object) -> Problem:
    place = f"{kind} {text(thing, 'metadata', 'namespace')}/{text(thing, 'metadata', 'name')}"
    return Problem(f"{place}, {problem.path}", problem.rule, problem.remedy, problem.value)


def _pod(
    thing: Object, workload: Workload, container: str, nodes: Mapping[str, NodeSeen], swap_ratio: float | None
) -> PastJob | None:
    pod = objects.pod(thing)
    one = next((found for found in pod.containers if found.name == container and not found.initial), None)
    if one is None:
        return None
    outcome = _outcome(pod, one)
    if outcome is None:
        return None
    node = nodes.get(pod.node)
    request = pod.swap_container(one).effective_request_bytes
    return PastJob(
        name=f"{pod.namespace}/{pod.name}",
        workload=workload,
        outcome=outcome,
        request_bytes=request,
        limit_bytes=one.limit_bytes,
        swap_bytes=_swap(pod, one, node, None if swap_ratio is None else math.floor(swap_ratio * request)),
        node_memory_bytes=node.memory_bytes if node else None,
        seconds=_seconds(thing, container),
    )


def _outcome(pod: PodSeen, container: ContainerSeen) -> Outcome | None:
    """How it ended; None while it runs for the first time."""
    if pod.reason == "Evicted":
        return Outcome.EVICTED if "memory" in pod.message else Outcome.FAILED
    death = container.death
    if death is None:
        return {"Succeeded": Outcome.SUCCEEDED, "Failed": Outcome.FAILED}.get(pod.phase)
    if death.out_of_memory:
        return Outcome.OOM
    return Outcome.SUCCEEDED if death.exit_code == 0 else Outcome.FAILED


def _swap(pod: PodSeen, container: ContainerSeen, node: NodeSeen | None, otherwise: int | None) -> int | None:
    """What it had: none where the node has none, kubelet's grant on a pool's node, else what was assumed."""
    if node is not None and not node.swap_bytes:
        return 0
    if node is not None and node.pool is not None:
        return container_grant_bytes(pod.swap_container(container), swap_node(node))
    return otherwise


def _seconds(thing: Object, container: str) -> float | None:
    for status in maps(thing, "status", "containerStatuses"):
        if text(status, "name") == container:
            for key in ("state", "lastState"):
                ended = get(status, key, "terminated")
                if ended is not None:
                    return _between(text(ended, "startedAt"), text(ended, "finishedAt"))
    return None


def _job(thing: Object, workload: Workload, container: str) -> PastJob | None:
    """A Job whose pods are gone: that it failed is known, why is not."""
    conditions = {text(one, "type"): text(one, "status") for one in maps(thing, "status", "conditions")}
    ended = [kind for kind in ("Complete", "Failed") if conditions.get(kind) == "True"]
    if not ended:
        return None
    containers = maps(thing, "spec", "template", "spec", "containers")
    resources = next((get(one, "resources") for one in containers if text(one, "name") == container), None)
    limit = objects.byte_count(get(resources, "limits", "memory"))
    request = objects.byte_count(get(resources, "requests", "memory"))
    return PastJob(
        name=f"{text(thing, 'metadata', 'namespace')}/{text(thing, 'metadata', 'name')}",
        workload=workload,
        outcome=Outcome.SUCCEEDED if ended[0] == "Complete" else Outcome.FAILED,
        request_bytes=limit if request is None else request,
        limit_bytes=limit,
        seconds=_between(text(thing, "status", "startTime"), text(thing, "status", "completionTime")),
    )


def _between(start: str, end: str) -> float | None:
    try:
        seconds = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None
    return seconds if seconds >= 0 else None
