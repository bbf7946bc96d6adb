"""Do raster workers fit their memory, and is the big pool serial? Whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulumi_policy import Policy, ResourceValidationArgs

from floodplain.pools import DOMAIN
from floodplain.quantity import QuantityError, to_bytes
from floodplain.raster import gdal_cache

from .kinds import kind_of
from .pod_templates import containers, makes_pods, pod_labels, pod_spec
from .proxies import Unknowns, each, get, shown, text
from .rule import About, of_type, resource_rule

POOL_LABEL = f"{DOMAIN}/raster-pool"
PROCESSES = "FLOODPLAIN_RASTER_PROCESSES"


def caches(args: ResourceValidationArgs) -> Iterator[str]:
    """Containers with GDAL's cache set: without a memory limit, or with a cache that does not suit it."""
    unknowns = Unknowns()
    with unknowns:
        spec = pod_spec(args.resource_type, args.props)
        for name, container in containers(spec):
            with unknowns:
                cache = _variable(container, gdal_cache.NAME)
                if cache is None:
                    continue
                limits = (_bytes(get(of, "resources", "limits", "memory")) for of in (container, spec))
                # Without one of its own a container has that of its pod.
                limit = next((found for found in limits if found is not None), None)
                if limit is None:
                    yield (
                        f"container {name}: sets {gdal_cache.NAME} and has no memory limit, so nothing says how much"
                        " its tasks may hold; set resources.limits.memory"
                    )
                    continue
                count = _count(_variable(container, PROCESSES))
                for problem in gdal_cache.lint(cache, limit, limit_bytes=limit, processes=count):
                    yield f"container {name}: {problem}"
    unknowns.raise_first()


def several_at_once(args: ResourceValidationArgs) -> Iterator[str]:
    """A big pool that may run two pods at a time."""
    if text(get(pod_labels(args.resource_type, args.props), POOL_LABEL)) != "big":
        return
    kind = kind_of(args.resource_type).name.removesuffix("Patch")
    if kind != "StatefulSet":
        yield (
            f"spec: is the big raster pool as a {kind}, which may start a pod while another one still runs;"
            " make it a StatefulSet of one replica"
        )
        return
    replicas = get(args.props, "spec", "replicas")
    if replicas not in (None, 0, 1):
        yield f"spec.replicas: {shown(replicas)} in the big raster pool, whose tasks run one by one; write 1"


def _variable(container: Mapping[str, object], name: str) -> str | None:
    """A variable as it is written out: of several the last, as kubelet does. None: not set, or taken from elsewhere."""
    found = None
    for variable in each(get(container, "env")):
        if get(variable, "name") == name:
            value = text(get(variable, "value"))
            found = None if value is None or "$(" in value else value
    return found


def _bytes(value: object) -> int | None:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, bool) or not isinstance(whole, str | int):
        return None
    try:
        return to_bytes(whole) or None
    except QuantityError:
        return None


def _count(given: str | None) -> int:
    return int(given) if given and given.isascii() and given.isdigit() and len(given) < 6 and int(given) else 1


POLICIES: list[Policy] = [
    resource_rule(
        About(
            name="gdal-cache-fits-its-worker",
            description="A container that sets GDAL_CACHEMAX has a memory limit, and GDAL reads the setting as a cache "
            "that takes at most half of it in all processes together (FLOODPLAIN_RASTER_PROCESSES of them).",
            remedy="Write whole MB with their unit, such as 256MB; GDAL has one cache for each process.",
        ),
        of_type(makes_pods),
        caches,
    ),
    resource_rule(
        About(
            name="big-raster-pool-is-serial",
            description=f"Pods labelled {POOL_LABEL}=big are made by a StatefulSet of one replica, so that no two of "
            "them ever run at once.",
            remedy="Take WorkerPools, or make it a StatefulSet with replicas: 1.",
        ),
        of_type(makes_pods),
        several_at_once,
    ),
]
