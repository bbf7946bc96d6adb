"""What callers of `WorkerPools` write, in any Pulumi language: the published schema of two pools of raster workers.

The same fields as the models of `worker_settings` and its neighbours, which hold defaults and rules; a test compares
the two field by field.
"""

from typing import NotRequired, TypedDict

from .pool_choices import TaintEffect
from .worker_choices import Drains, SiblingFiles


class WorkerTolerationArgs(TypedDict):
    """A taint that workers tolerate."""

    key: str
    """Key of the taint."""
    value: NotRequired[str]
    """Its value. By default any."""
    effect: NotRequired[TaintEffect]
    """Its effect. By default both."""


class WorkerMetricArgs(TypedDict):
    """A metric by which the small pool is scaled, such as the length of a queue."""

    name: str
    """Its name, as the cluster's metrics adapter serves it."""
    average: str
    """Value for each worker, a quantity such as `8`: the pool is scaled to the total by this."""
    selector: NotRequired[dict[str, str]]
    """Labels of an external metric. Without them and `external` it is a metric of the workers' pods."""
    external: NotRequired[bool]
    """Whether something outside the cluster measures it. Default false: each worker has a value of its own."""


class WorkerAutoscalingArgs(TypedDict):
    """How many small workers there may be, and by what their number is chosen."""

    max_replicas: int
    """Most workers."""
    min_replicas: NotRequired[int]
    """Fewest workers, at least 1. Default 1."""
    cpu_percent: NotRequired[int]
    """Share of the requested CPU that they should use on average, 1 to 100. Default 70 where no metric is given."""
    metric: NotRequired[WorkerMetricArgs]
    """A metric beside CPU, or instead of it."""


class SmallWorkersArgs(TypedDict, total=False):
    """The small pool: many workers of many slots each. `memory` or `task_peak` is needed."""

    memory: str
    """Memory request and limit of one worker, such as `8Gi`."""
    task_peak: str
    """Instead of `memory`: what nearly every task (p99) holds beyond the baseline; the limit follows."""
    slots: int
    """Tasks that run at once in one worker, in all its processes together. Default 8."""
    processes: int
    """Processes in which they run: 1 with threads, as many as `slots` with one task each. Default 1."""
    threshold: str
    """Estimate above which a task goes to the big pool. Default: half the slot budget."""
    cpu: str
    """CPU request of one worker. Default `4`."""
    replicas: int
    """Fixed number of workers. Default 1 where `autoscaling` is not set."""
    autoscaling: WorkerAutoscalingArgs
    """Instead of `replicas`: scale them by CPU or by a metric."""
    longest_task: str
    """How long a task may run: what a worker that is told to end is given to finish. Default `15m`."""
    command: list[str]
    """Command of these workers instead of the common one."""
    args: list[str]
    """Arguments of these workers instead of the common ones."""
    env: dict[str, str]
    """Environment of these workers beside the common one."""
    node_selector: dict[str, str]
    """Labels of their nodes, beside Linux."""
    tolerations: list[WorkerTolerationArgs]
    """Taints that they tolerate."""
    priority_class: str
    """Their PriorityClass."""


class BigWorkersArgs(TypedDict, total=False):
    """The big pool: one worker of one slot, so one task after the other. `memory` or `task_peak` is needed."""

    memory: str
    """Memory limit of the worker, such as `64Gi`."""
    task_peak: str
    """Instead of `memory`: what the largest task holds beyond the baseline; the limit follows."""
    cpu: str
    """CPU request. Default `1`."""
    longest_task: str
    """How long a task may run: what a worker that is told to end is given to finish. Default `2h`."""
    drains: Drains
    """What a drain of its node may do to it. Default refuse."""
    swap_pool: str
    """Name of a swap pool to run in, with its RuntimeClass and PriorityClass: the request is then 1 MiB below the
    limit, so that kubelet grants swap."""
    command: list[str]
    """Command of this worker instead of the common one."""
    args: list[str]
    """Arguments of this worker instead of the common ones."""
    env: dict[str, str]
    """Environment of this worker beside the common one."""
    node_selector: dict[str, str]
    """Labels of its node, beside Linux."""
    tolerations: list[WorkerTolerationArgs]
    """Taints that it tolerates."""
    priority_class: str
    """Its PriorityClass. Default: that of `swap_pool`."""


class WorkerGdalArgs(TypedDict, total=False):
    """GDAL's settings in every worker."""

    cache: str
    """GDAL_CACHEMAX of one process, with its unit, such as `256Mi`: GDAL has one cache for each process. Default: one
    sixteenth of the small worker's limit over its processes, from 16 to 512 MiB."""
    curl_cache: str
    """CPL_VSIL_CURL_CACHE_SIZE of one process: blocks fetched over the network. Default `16Mi`."""
    threads: int
    """GDAL_NUM_THREADS. Default 1: slots fill the CPUs already, and each thread has buffers of its own."""
    sibling_files: SiblingFiles
    """GDAL_DISABLE_READDIR_ON_OPEN. Default EMPTY_DIR."""


class WorkerMallocArgs(TypedDict, total=False):
    """glibc's settings in every worker. Without them freed memory stays with the process."""

    arenas: int
    """MALLOC_ARENA_MAX. Default 2; by itself glibc has eight for each CPU, and each keeps what was freed in it."""
    trim_threshold: str
    """MALLOC_TRIM_THRESHOLD_: free memory at the top of the heap above which it goes back. Default `128Ki`; set, it no
    longer grows, and neither does the size from which a block is mapped for itself and returned at once."""


class WorkerProbeArgs(TypedDict, total=False):
    """How kubelet asks a worker. `command` or `port` is needed."""

    command: list[str]
    """Command in the container that ends with status 0."""
    port: int
    """Port of the container that answers HTTP."""
    path: str
    """Path on it. Default `/`."""
    period: str
    """Time between two questions. Default `30s`."""
    timeout: str
    """How long an answer may take: a worker in native code may be slow. Default `10s`."""
    failures: int
    """Failures in a row that count. Default 5."""


class WorkerAccountArgs(TypedDict, total=False):
    """The workers' ServiceAccount."""

    name: str
    """One that exists already. By default one is made, called after the workers."""
    annotations: dict[str, str]
    """Annotations of the one that is made, such as that of an IAM role."""
    token: bool
    """Whether pods get a token of the API server. Default false."""


class WorkersArgs(TypedDict):
    """Two pools of raster workers: a small one for nearly every task, and a big one for the tail."""

    name: str
    """Begins the names of their objects: `<name>-small`, `<name>-big`."""
    image: str
    """Image of the workers, by version or digest; by digest in a protected stack."""
    small: SmallWorkersArgs
    """The small pool."""
    big: BigWorkersArgs
    """The big pool."""
    namespace: NotRequired[str]
    """Their namespace. Default: `name`."""
    make_namespace: NotRequired[bool]
    """Whether the namespace is made, for them alone. Default true."""
    command: NotRequired[list[str]]
    """Command of every worker. `$(FLOODPLAIN_RASTER_POOL)` in it becomes `small` or `big`. Default: the image's."""
    args: NotRequired[list[str]]
    """Arguments of it."""
    env: NotRequired[dict[str, str]]
    """Environment of every worker. No secrets: they belong into `env_from_secrets`."""
    env_from_secrets: NotRequired[list[str]]
    """Secrets of the namespace whose keys become environment."""
    env_from_config_maps: NotRequired[list[str]]
    """ConfigMaps of the namespace whose keys become environment."""
    image_pull_secrets: NotRequired[list[str]]
    """Secrets of the namespace with which the image is pulled."""
    labels: NotRequired[dict[str, str]]
    """Labels of the pods beside ours."""
    account: NotRequired[WorkerAccountArgs]
    """Their ServiceAccount."""
    run_as_user: NotRequired[int]
    """User id of the processes, not 0. Default 65532."""
    read_only_root: NotRequired[bool]
    """Whether the image's own files are read-only; `/scratch` never is. Default true."""
    scratch: NotRequired[str]
    """Disk of each worker at `/scratch`, for temporary files. Default `10Gi`."""
    baseline: NotRequired[str]
    """Memory of one process that has warmed up and runs no task. Default `104Mi`: Python, rasterio, floodplain."""
    agent: NotRequired[str]
    """Memory of what else runs in a worker: the engine's agent, the parent of a process pool. Default `0`."""
    headroom: NotRequired[float]
    """Factor on `task_peak`. Default 1.3."""
    gdal: NotRequired[WorkerGdalArgs]
    """GDAL's settings."""
    malloc: NotRequired[WorkerMallocArgs]
    """glibc's settings."""
    liveness: NotRequired[WorkerProbeArgs]
    """Restarts a worker that fails it, with all its tasks. Default none."""
    readiness: NotRequired[WorkerProbeArgs]
    """Makes an update wait until new workers answer. Default none."""
