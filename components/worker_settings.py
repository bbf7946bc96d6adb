"""The settings of two pools of raster workers, as they stand under `workerPools` in a stack file.

Pure: everything that can be wrong before a cluster is asked. What the settings become is in `worker_objects`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated

from pydantic import Field

from floodplain import quantity
from floodplain.problem import RuleError
from floodplain.quantity import BytesText
from floodplain.raster import gdal_cache
from floodplain.raster.two_pools import TwoPools
from floodplain.rules import RuledSettings, rule
from floodplain.settings import SEVERAL_LINES
from floodplain.settings_path import Location

from .helm_release import KubernetesName
from .pool_names import LabelKey, LabelValue, PoolName
from .sizing_settings import KUBERNETES_NAMESPACES
from .worker_engine import WorkerGdal, WorkerMalloc
from .worker_figures import cache_of, figure_problems, figures
from .worker_image import VersionedImage, digest_problems
from .worker_members import (
    BigWorkers,
    Members,
    ObjectName,
    SmallWorkers,
    Texts,
    VariableName,
    WorkerAccount,
    WorkerProbe,
)
from .worker_names import BIG, FIGURES, LABELS, OWN_VARIABLES, PREFIX, SMALL

_NAMED = re.compile(rf"\$(?:\$|\({PREFIX}([^()]*)\))")
"""One of our variables in a text, as Kubernetes expands it, or `$$`, which is a dollar sign."""

_OFF = ("FALSE", "NO", "OFF", "0")
"""GDAL takes every other text for yes (CPLTestBool)."""

Environment = Annotated[dict[VariableName, str], SEVERAL_LINES]


class Workers(RuledSettings):
    """Two pools: a small one for nearly every task, and a big one for the tail, one task after the other."""

    name: PoolName
    image: VersionedImage
    small: SmallWorkers
    big: BigWorkers
    namespace: KubernetesName | None = None
    make_namespace: bool = True
    command: Texts = ()
    args: Texts = ()
    env: Environment = Field(default_factory=dict)
    env_from_secrets: tuple[ObjectName, ...] = ()
    env_from_config_maps: tuple[ObjectName, ...] = ()
    image_pull_secrets: tuple[ObjectName, ...] = ()
    labels: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    account: WorkerAccount = WorkerAccount()
    run_as_user: int = Field(default=65532, ge=1, le=2**31 - 1)
    read_only_root: bool = True
    scratch: BytesText = "10Gi"
    baseline: BytesText = "104Mi"
    agent: BytesText = "0"
    headroom: float = Field(default=1.3, ge=1, le=10)
    gdal: WorkerGdal = WorkerGdal()
    malloc: WorkerMalloc = WorkerMalloc()
    liveness: WorkerProbe | None = None
    readiness: WorkerProbe | None = None

    @property
    def place(self) -> str:
        """The namespace as set, or called after the workers."""
        return self.namespace or self.name

    @cached_property
    def cache_bytes(self) -> int:
        """GDAL's cache of one process."""
        return cache_of(self)

    @cached_property
    def pools(self) -> TwoPools:
        """Limits, budgets and threshold in bytes."""
        return figures(self)

    @rule("small", "big", "baseline", "agent", "headroom", "gdal")
    def _tasks_fit_their_slots(self) -> Iterator[RuleError]:
        yield from figure_problems(self)

    @rule("env", "small", "big")
    def _variables_are_free(self) -> Iterator[RuleError]:
        yield from _owned(self.env, ())
        yield from _owned(self.small.env, ("small",))
        yield from _owned(self.big.env, ("big",))

    @rule("command", "args", "env", "small", "big")
    def _variables_that_are_named_are_set(self) -> Iterator[RuleError]:
        told = set[Location]()
        for pool, own in ((SMALL, self.small), (BIG, self.big)):
            for where, text in _texts(self, own, pool):
                problems = [] if where in told else list(_unset(pool, text, where))
                told |= {error.path for error in problems}
                yield from problems

    @rule("labels")
    def _labels_are_free(self) -> Iterator[RuleError]:
        for key, value in self.labels.items():
            if key in LABELS:
                yield RuleError("is a label that is set for you", "remove it", ("labels", key), value)

    @rule("scratch")
    def _there_is_room_for_files(self) -> Iterator[RuleError]:
        if quantity.to_bytes(self.scratch) < quantity.MIB:
            yield RuleError("is less than 1 MiB", "write some, such as 10Gi", ("scratch",), self.scratch)

    @rule("baseline")
    def _a_process_takes_memory(self) -> Iterator[RuleError]:
        if quantity.to_bytes(self.baseline) < quantity.MIB:
            yield RuleError("is less than 1 MiB", "write it with its unit, such as 104Mi", ("baseline",), self.baseline)

    @rule("name", "namespace", "make_namespace")
    def _the_namespace_can_be_made(self) -> Iterator[RuleError]:
        if self.make_namespace and self.place in KUBERNETES_NAMESPACES:
            yield RuleError(
                "is a namespace of Kubernetes, which nobody else makes",
                "name another, or set makeNamespace: false to use it",
                ("namespace" if self.namespace else "name",),
                self.place,
            )


def _owned(env: Mapping[str, str], above: tuple[str, ...]) -> Iterator[RuleError]:
    """Variables that follow from other settings."""
    for name, value in env.items():
        where = (*above, "env", name)
        if name == gdal_cache.NAME:
            read = "" if "%" in value else f"; GDAL would read this as {gdal_cache.cache_bytes(value, 0):,} bytes"
            yield RuleError(f"is set from gdal.cache{read}", "set gdal.cache, with its unit", where, value)
        elif name in OWN_VARIABLES:
            yield RuleError(f"is set from {OWN_VARIABLES[name]}", f"set {OWN_VARIABLES[name]}", where, value)
        elif name == "VSI_CACHE" and value.upper() not in _OFF:
            rule = "is a cache for each open file (25 MB unless VSI_CACHE_SIZE is set), which no memory is counted for"
            yield RuleError(rule, "remove it; gdal.curlCache is one a process and counted", where, value)
        elif name == "GLIBC_TUNABLES" and "glibc.malloc." in value:
            rule = "sets malloc, and so would win over malloc.arenas and malloc.trimThreshold"
            yield RuleError(rule, "leave glibc.malloc out of it and set malloc", where, value)
        elif name.startswith(PREFIX):
            yield RuleError("follows from the figures of the pools", "remove it", where, value)


def _texts(workers: Workers, own: Members, pool: str) -> Iterator[tuple[Location, str]]:
    """The texts of a pool's workers in which Kubernetes puts variables, and where they are written."""
    for key in ("command", "args"):
        below: tuple[str, ...] = getattr(own, key)
        yield from (((pool, key), text) for text in below)
        yield from (((key,), text) for text in (() if below else getattr(workers, key)))
    yield from (((pool, "env", name), text) for name, text in own.env.items())
    yield from ((("env", name), text) for name, text in workers.env.items() if name not in own.env)


def _unset(pool: str, text: str, where: Location) -> Iterator[RuleError]:
    """Names of ours in a text that are no variable of this pool: Kubernetes would leave the text as it stands."""
    for found in _NAMED.finditer(text):
        if found[1] is not None and found[1] not in FIGURES[pool]:
            known = ", ".join(FIGURES[pool])
            yield RuleError(
                f"names {PREFIX}{found[1]}, which {pool} workers do not have, so that it would stay as it is written",
                f"name {PREFIX} with one of {known}",
                where,
                text,
            )


class WorkerPoolsSettings(RuledSettings):
    """What `WorkerPools` takes."""

    workers: Workers
    protected: bool = False

    @rule("workers", "protected")
    def _where_it_is_used(self) -> Iterator[RuleError]:
        for error in digest_problems(self.workers.image, protected=self.protected):
            yield RuleError(error.rule, error.remedy, ("workers", *error.path), error.value)
