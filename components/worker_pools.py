"""`WorkerPools`: a small pool of raster workers for nearly every task, and a big one that runs the rest one by one."""

from collections.abc import Mapping
from typing import Any, NotRequired, Optional, TypedDict

import pulumi
from pulumi import CustomTimeouts, Output, ResourceOptions
from pydantic.alias_generators import to_camel

from floodplain import duration

from . import worker_objects
from .arguments import read_args
from .kubernetes_object import kubernetes_object
from .worker_args import WorkersArgs
from .worker_figures import document
from .worker_names import BIG, SMALL, config_map_name, pool_name
from .worker_pods import environment, grace_seconds
from .worker_settings import WorkerPoolsSettings, Workers


class WorkerPoolsArgs(TypedDict):
    """Two pools of raster workers."""

    workers: WorkersArgs
    """The workers, as they would stand under `workerPools` in a stack file."""
    protected: NotRequired[bool]
    """Whether the stack is protected: the image must then be named by digest. Default false."""


class WorkerPools(pulumi.ComponentResource):
    """Two pools of workers for raster tasks, of any engine: a small one of many slots, and a big one of a single slot.

    The small pool is a Deployment, scaled on demand. The big pool is a StatefulSet of one replica, so that no two of
    its pods ever run at once. Works on any cluster. What it depends on (`depends_on`) the pods wait for.
    """

    namespace: Output[str]
    """Namespace of the workers."""
    small_name: Output[str]
    """Name of the small pool's Deployment."""
    big_name: Output[str]
    """Name of the big pool's StatefulSet."""
    service_account_name: Output[str]
    """Name of the ServiceAccount."""
    config_map_name: Output[str]
    """Name of the ConfigMap that holds `raster` as `raster.json`."""
    raster: Output[str]
    """The figures of both pools: JSON, as `floodplain raster route --pools-file` reads it."""
    slots: Output[int]
    """Tasks that one small worker runs at once."""
    small_memory_bytes: Output[int]
    """Memory limit of one small worker."""
    big_memory_bytes: Output[int]
    """Memory limit of the big worker."""
    slot_budget_bytes: Output[int]
    """What one task in a small worker may hold."""
    threshold_bytes: Output[int]
    """Estimate above which a task goes to the big pool."""
    big_budget_bytes: Output[int]
    """What the one task of the big worker may hold."""
    gdal_cachemax: Output[str]
    """GDAL_CACHEMAX of each process."""

    def __init__(self, name: str, args: WorkerPoolsArgs, opts: Optional[ResourceOptions] = None) -> None:
        super().__init__("floodplain:index:WorkerPools", name, {}, opts)
        self._name = name
        workers = read_args(WorkerPoolsSettings, args).workers
        around = self._make_around(workers)
        small = self._make(
            "small", worker_objects.small(workers), *around, given=opts, timeouts=_timeouts(workers, SMALL)
        )
        if scaler := worker_objects.autoscaler(workers):
            self._make("autoscaler", scaler, small)
        # Before the pod, so that it is never without.
        budget = worker_objects.disruption_budget(workers)
        kept = [self._make("big-budget", budget, *around[:1])] if budget else []
        self._make("big", worker_objects.big(workers), *around, *kept, given=opts, timeouts=_timeouts(workers, BIG))

        pools = workers.pools
        outputs: dict[str, Any] = {
            "namespace": workers.place,
            "small_name": pool_name(workers.name, SMALL),
            "big_name": pool_name(workers.name, BIG),
            "service_account_name": workers.account.name or workers.name,
            "config_map_name": config_map_name(workers.name),
            "raster": document(pools),
            "slots": pools.slots,
            "small_memory_bytes": pools.small_limit_bytes,
            "big_memory_bytes": pools.big_limit_bytes,
            "slot_budget_bytes": pools.slot_budget_bytes,
            "threshold_bytes": pools.threshold_bytes,
            "big_budget_bytes": pools.big_budget_bytes,
            "gdal_cachemax": environment(workers, SMALL)["GDAL_CACHEMAX"],
        }
        for key, value in outputs.items():
            setattr(self, key, Output.from_input(value))
        self.register_outputs({to_camel(key): value for key, value in outputs.items()})

    def _make_around(self, workers: Workers) -> list[pulumi.Resource]:
        """What pods need before they start: namespace, account, and the figures for those who route."""
        place = [self._make("namespace", worker_objects.namespace(workers))] if workers.make_namespace else []
        account = (
            [] if workers.account.name else [self._make("account", worker_objects.service_account(workers), *place)]
        )
        return [*place, *account, self._make("figures", worker_objects.config_map(workers), *place)]

    def _make(
        self,
        key: str,
        manifest: Mapping[str, Any],
        *after: pulumi.Resource,
        given: Optional[ResourceOptions] = None,
        timeouts: Optional[CustomTimeouts] = None,
    ) -> pulumi.Resource:
        """An object of the workers. With `given`, after what the component depends on."""
        options = ResourceOptions.merge(
            # The engine does not pass a component's dependencies on to its children.
            ResourceOptions(depends_on=given.depends_on if given else None),
            ResourceOptions(
                parent=self,
                depends_on=list(after),
                custom_timeouts=timeouts,
                # Two big workers must never run beside each other, not even where one replaces the other.
                delete_before_replace=True if key == "big" else None,
            ),
        )
        return kubernetes_object(f"{self._name}-{key}", manifest, options)


def _timeouts(workers: Workers, pool: str) -> CustomTimeouts:
    """A deletion waits for a worker that finishes its tasks, and an update may."""
    waits = duration.text(grace_seconds(workers, pool) + worker_objects.READY_SECONDS)
    return CustomTimeouts(create=duration.text(worker_objects.READY_SECONDS), update=waits, delete=waits)
