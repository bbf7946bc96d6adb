"""Applies policies and waits until the API server goes by them: it reads them with a delay of up to some seconds.

Waits by asking about pods whose verdict shows which policies are at work, never by the clock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

from testbed.cluster.api import Api
from testbed.processes import wait_until
from tests.cluster.guardrails.server_words import fits
from tests.components.guardrails.api_server import Manifest, Request, Verdict, admitted, judge
from tests.components.guardrails.corpus import GOOD_METADATA, GOOD_SPEC, IMAGE


def probes(runtime_class: str) -> tuple[Manifest, Manifest]:
    """A pod that breaks the rules of containment, and one that only gets advice: one for each policy of a pool."""
    container = GOOD_SPEC["containers"][0]
    broken = _pod("probe-broken", GOOD_METADATA, runtime_class, {"name": "main", "image": IMAGE})
    advised = _pod("probe-advised", {"namespace": "jobs"}, runtime_class, {**container, "image": IMAGE})
    return broken, advised


UNSIZED: Manifest = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "probe-unsized", "namespace": "sized", "annotations": {"floodplain.dev/engine": "odm"}},
    "spec": {"containers": [{"name": "main", "image": IMAGE}]},
}
"""A pod that only the policy about sizing has something to say about."""


def _pod(name: str, metadata: Manifest, runtime_class: str, container: Manifest) -> Manifest:
    spec = {"runtimeClassName": runtime_class, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": name}, "spec": spec}


@contextlib.contextmanager
def in_force(api: Api, policies: list[Manifest], runtime_classes: list[Manifest]) -> Iterator[None]:
    """`policies` judge pods in this block, and no other do before and after it. They are those of the pools that have
    these RuntimeClasses, which exist, and the one about sizing."""
    try:
        for policy in policies:
            api.must_apply(policy)
        wait_until_judged(api, policies, runtime_classes)
        yield
    finally:
        for policy in reversed(policies):
            api.delete(api.path_of(policy))
        wait_until_judged(api, [], runtime_classes)


def wait_until_judged(api: Api, policies: list[Manifest], runtime_classes: list[Manifest]) -> None:
    """Until the server says of the probes of every pool what exactly these policies say."""
    asked = [(pod, one) for one in runtime_classes for pod in probes(one["metadata"]["name"])]
    for pod, runtime_class in (*asked, (UNSIZED, None)):
        verdict = judge(policies, Request(admitted(pod, [runtime_class] if runtime_class else [])))
        pool = f" of {runtime_class['metadata']['name']}" if runtime_class else ""
        question = f"{pod['metadata']['name']}{pool} is judged by {len(policies)} policies"
        wait_until(question, partial(_is_judged, api, pod, verdict), timeout_seconds=120)


def _is_judged(api: Api, pod: Manifest, verdict: Verdict) -> bool:
    return fits(api.create(pod, dry_run=True), pod["metadata"]["name"], verdict)
