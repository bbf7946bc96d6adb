"""From the API server's objects, as plain mappings, to what doctor looks at. Pure, and forgiving: anything may be null.

What is not there or makes no sense is None, never an error: doctor looks at clusters that are not well.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from floodplain.doctor.seen import (
    ConditionSeen,
    ContainerSeen,
    Death,
    KarpenterSeen,
    LimitRangeSeen,
    NodeSeen,
    PodSeen,
    PoolSeen,
    WebhookSeen,
)
from floodplain.pools import DOMAIN, POOL_LABEL, SWAP_RATIO_ANNOTATION, PoolDocument
from floodplain.quantity import QuantityError, exact
from floodplain.swap import Qos

PLAN_ANNOTATION = f"{DOMAIN}/plan"
SIZING_LABEL = f"{DOMAIN}/sizing"
_QUEUE_ENV, _QUEUE_FLAG = "INTERRUPTION_QUEUE", "--interruption-queue"
_HEADROOM = "floodplain-headroom"
Object = Mapping[str, Any]


def get(thing: Any, *path: str) -> Any:
    """The value at a path of keys; None where anything on the way is missing or no map."""
    for key in path:
        thing = thing.get(key) if isinstance(thing, Mapping) else None
    return thing


def maps(thing: Any, *path: str) -> list[Object]:
    """The maps in a list at a path."""
    found = get(thing, *path)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def text(thing: Any, *path: str) -> str:
    found = get(thing, *path)
    return found if isinstance(found, str) else ""


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def byte_count(value: Any) -> int | None:
    """Bytes of a quantity, rounded up as Kubernetes does; None for none and for what is no quantity."""
    try:
        return math.ceil(exact(value))
    except QuantityError:
        return None


def documented_pool(document: PoolDocument) -> PoolSeen:
    ((key, value),) = document.node_selector.items()
    return PoolSeen(document.name, (key, value), document.swap_ratio, document.runtime_class, document)


def pool_of_node_pool(thing: Object) -> PoolSeen | None:
    """The pool that a NodePool of ours makes; None for other NodePools."""
    name = text(thing, "metadata", "labels", POOL_LABEL)
    if not name:
        return None
    try:
        ratio = float(text(thing, "metadata", "annotations", SWAP_RATIO_ANNOTATION))
    except ValueError:
        ratio = math.nan
    return PoolSeen(name, (POOL_LABEL, name), ratio if 0 <= ratio <= 64 else None, f"floodplain-{name}")


def node(thing: Object, pools: Iterable[PoolSeen]) -> NodeSeen:
    labels = get(thing, "metadata", "labels") or {}
    pool = next((one for one in pools if get(labels, one.label[0]) == one.label[1]), None)
    info = get(thing, "status", "nodeInfo")
    conditions = maps(thing, "status", "conditions")
    return NodeSeen(
        name=text(thing, "metadata", "name"),
        pool=pool,
        ready=any(text(one, "type") == "Ready" and text(one, "status") == "True" for one in conditions),
        kubelet_version=text(info, "kubeletVersion"),
        memory_bytes=byte_count(get(thing, "status", "capacity", "memory")),
        allocatable_bytes=byte_count(get(thing, "status", "allocatable", "memory")),
        swap_bytes=whole(get(info, "swap", "capacity")),
    )


def pod(thing: Object) -> PodSeen:
    metadata, spec, status = (get(thing, key) or {} for key in ("metadata", "spec", "status"))
    annotations = get(metadata, "annotations") or {}
    statuses = {
        text(one, "name"): one for key in ("containerStatuses", "initContainerStatuses") for one in maps(status, key)
    }
    initial = [_container(one, statuses, initial=True) for one in maps(spec, "initContainers")]
    owners = {text(one, "kind"): text(one, "name") for one in maps(metadata, "ownerReferences")}
    qos = text(status, "qosClass")
    return PodSeen(
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        node=text(spec, "nodeName"),
        phase=text(status, "phase"),
        qos=Qos(qos) if qos in tuple(Qos) else Qos.BURSTABLE,
        containers=(*(_container(one, statuses, initial=False) for one in maps(spec, "containers")), *initial),
        reason=text(status, "reason"),
        message=text(status, "message"),
        priority=whole(get(spec, "priority")) or 0,
        static=get(annotations, "kubernetes.io/config.source") in ("file", "http")
        or get(annotations, "kubernetes.io/config.mirror") is not None,
        daemon_set=owners.get("DaemonSet", ""),
        headroom=text(metadata, "labels", "app.kubernetes.io/name") == _HEADROOM,
        runtime_class=text(spec, "runtimeClassName"),
        planned=PLAN_ANNOTATION in annotations,
    )


def _container(thing: Object, statuses: Mapping[str, Object], *, initial: bool) -> ContainerSeen:
    name = text(thing, "name")
    status = statuses.get(name, {})
    sidecar = initial and text(thing, "restartPolicy") == "Always"
    return ContainerSeen(
        name=name,
        request_bytes=byte_count(get(thing, "resources", "requests", "memory")),
        limit_bytes=byte_count(get(thing, "resources", "limits", "memory")),
        sidecar=sidecar,
        initial=initial and not sidecar,
        running=isinstance(get(status, "state", "running"), Mapping),
        restarts=whole(get(status, "restartCount")) or 0,
        death=_death(status),
    )


def _death(status: Object) -> Death | None:
    """How it ended: now, or before its restart."""
    for key in ("state", "lastState"):
        ended = get(status, key, "terminated")
        if isinstance(ended, Mapping):
            return Death(text(ended, "reason"), whole(get(ended, "exitCode")), text(ended, "finishedAt"))
    return None


def limit_ranges(thing: Object) -> Iterator[LimitRangeSeen]:
    """The items that say something of memory."""
    for item in maps(thing, "spec", "limits"):

        def memory(key: str, item: Object = item) -> int | None:
            return byte_count(get(item, key, "memory"))

        try:
            ratio = float(exact(get(item, "maxLimitRequestRatio", "memory")))
        except QuantityError:
            ratio = None
        found = LimitRangeSeen(
            namespace=text(thing, "metadata", "namespace"),
            name=text(thing, "metadata", "name"),
            kind=text(item, "type"),
            default_bytes=memory("default"),
            default_request_bytes=memory("defaultRequest"),
            min_bytes=memory("min"),
            max_bytes=memory("max"),
            ratio=ratio,
        )
        if found.kind in ("Container", "Pod"):
            yield found


def webhook(thing: Object) -> WebhookSeen:
    bundles = tuple(
        (text(one, "name"), decoded(get(one, "clientConfig", "caBundle"))) for one in maps(thing, "webhooks")
    )
    return WebhookSeen(text(thing, "metadata", "name"), bundles)


def decoded(value: Any) -> bytes:
    """Bytes of base64; what cannot be decoded as it is, so that it is told as unreadable and not as missing."""
    if not isinstance(value, str):
        return b""
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value.encode(errors="replace")


def karpenter(thing: Object) -> KarpenterSeen | None:
    """A Deployment of Karpenter's chart; None for one without its controller."""
    containers = maps(thing, "spec", "template", "spec", "containers")
    if not containers:
        return None
    queue = ""
    for container in containers:
        for variable in maps(container, "env"):
            if text(variable, "name") == _QUEUE_ENV:
                queue = text(variable, "value") or queue
        lists = [found for key in ("command", "args") if isinstance(found := get(container, key), list)]
        words = [word for found in lists for word in found if isinstance(word, str)]
        for position, word in enumerate(words):
            name, equals, value = word.partition("=")
            if name == _QUEUE_FLAG:
                queue = value if equals else "".join(words[position + 1 : position + 2])
    image = text(containers[0], "image").partition("@")[0].rpartition("/")[2].partition(":")[2]
    return KarpenterSeen(
        namespace=text(thing, "metadata", "namespace"),
        name=text(thing, "metadata", "name"),
        version=text(thing, "metadata", "labels", "app.kubernetes.io/version") or image,
        interruption_queue=queue,
    )


def not_ready(thing: Object, kind: str) -> Iterator[ConditionSeen]:
    """Conditions of a NodePool or EC2NodeClass that are False: launches that fail are told here, not by pods."""
    for one in maps(thing, "status", "conditions"):
        if text(one, "status") == "False" and text(one, "type") in ("Ready", "NodeRegistrationHealthy"):
            told = text(one, "message") or text(one, "reason") or "no message"
            yield ConditionSeen(f"{kind} {text(thing, 'metadata', 'name')}", text(one, "type"), " ".join(told.split()))
