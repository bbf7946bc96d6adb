"""The settings of one pool of workers, small or big, and of what both have in common: probes, tolerations, account.

How much memory they get is in `worker_figures`, rules across both pools are in `worker_settings`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from floodplain import duration, quantity
from floodplain.duration import Duration
from floodplain.pools import POOL_LABEL
from floodplain.problem import RuleError
from floodplain.quantity import BytesText, QuantityText
from floodplain.rules import RuledSettings, rule
from floodplain.settings import SEVERAL_LINES, Settings

from .pool_choices import TaintEffect
from .pool_names import LabelKey, LabelValue, PoolName
from .worker_choices import Drains
from .worker_scaling import WorkerAutoscaling

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
LONGEST_TASK_SECONDS = 7 * 24 * 3600

Texts = Annotated[tuple[str, ...], SEVERAL_LINES]
"""A command or its arguments, which may hold a script."""


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise RuleError("is not a name of an environment variable", "use letters, digits and _, no digit first")
    return name


def _object_name(name: str) -> str:
    if len(name) > 253 or not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name):
        raise RuleError("is not a Kubernetes name", "use lower-case letters, digits, dashes and dots")
    return name


VariableName = Annotated[str, AfterValidator(_variable)]
ObjectName = Annotated[str, AfterValidator(_object_name)]


class WorkerToleration(Settings):
    """A taint that workers tolerate: with this value, or with any."""

    key: LabelKey
    value: LabelValue | None = None
    effect: TaintEffect | None = None

    def manifest(self) -> dict[str, str]:
        """As a pod has it."""
        operator = {"operator": "Exists"} if self.value is None else {"operator": "Equal", "value": self.value}
        effect = {"effect": self.effect.value} if self.effect else {}
        return {"key": self.key, **operator, **effect}


class WorkerProbe(RuledSettings):
    """A question that kubelet asks: a command, or HTTP."""

    command: Texts = ()
    port: int | None = Field(default=None, ge=1, le=65535)
    path: str = "/"
    period: Duration = "30s"
    timeout: Duration = "10s"
    failures: int = Field(default=5, ge=1, le=1000)

    @rule("command", "port")
    def _one_way_to_ask(self) -> Iterator[RuleError]:
        if bool(self.command) == (self.port is not None):
            yield RuleError("asks by a command or by HTTP, one of them", "set command or port", ())

    @rule("path")
    def _path_is_absolute(self) -> Iterator[RuleError]:
        if not self.path.startswith("/"):
            yield RuleError("is not a path", f"write /{self.path}", ("path",), self.path)

    @rule("period", "timeout")
    def _times_are_some(self) -> Iterator[RuleError]:
        for key, given in (("period", self.period), ("timeout", self.timeout)):
            if not 1 <= duration.parse(given) <= 24 * 3600:
                yield RuleError("is not between 1s and 24h", "write some seconds or minutes", (key,), given)

    def manifest(self) -> dict[str, Any]:
        """As a container has it."""
        asked: dict[str, Any] = (
            {"exec": {"command": list(self.command)}}
            if self.command
            else {"httpGet": {"path": self.path, "port": self.port}}
        )
        return {
            **asked,
            "periodSeconds": duration.parse(self.period),
            "timeoutSeconds": duration.parse(self.timeout),
            "failureThreshold": self.failures,
        }


class WorkerAccount(RuledSettings):
    """The workers' ServiceAccount: one that is there, or one that is made."""

    name: ObjectName | None = None
    annotations: dict[LabelKey, str] = Field(default_factory=dict)
    token: bool = False

    @rule("name", "annotations")
    def _annotations_are_of_ours(self) -> Iterator[RuleError]:
        if self.name and self.annotations:
            yield RuleError(
                f"are of an account that is made, and {self.name} is there already",
                "annotate that one where it is made, or leave the name out",
                ("annotations",),
            )


class Members(RuledSettings):
    """What the workers of either pool have."""

    memory: BytesText | None = None
    task_peak: BytesText | None = None
    cpu: QuantityText
    longest_task: Duration
    command: Texts = ()
    args: Texts = ()
    env: Annotated[dict[VariableName, str], SEVERAL_LINES] = Field(default_factory=dict)
    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict)
    tolerations: tuple[WorkerToleration, ...] = ()
    priority_class: ObjectName | None = None

    @rule("memory", "task_peak")
    def _memory_is_told_once(self) -> Iterator[RuleError]:
        if (self.memory is None) == (self.task_peak is None):
            told = "is given beside taskPeak, from which it follows" if self.memory else "is not given, nor is taskPeak"
            remedy = "leave one of them out" if self.memory else "set the limit of a worker, or the peak of a task"
            value = {"value": self.memory} if self.memory else {}
            yield RuleError(told, remedy, ("memory",), **value)

    @rule("task_peak")
    def _a_task_holds_something(self) -> Iterator[RuleError]:
        if self.task_peak is not None and quantity.to_bytes(self.task_peak) < quantity.MIB:
            yield RuleError(
                "is less than 1 MiB", "write what a task holds, with its unit", ("task_peak",), self.task_peak
            )

    @rule("cpu")
    def _cpu_is_requested(self) -> Iterator[RuleError]:
        try:
            nothing = quantity.to_millicores(self.cpu) == 0
        except RuleError as error:
            yield RuleError(error.rule, error.remedy, ("cpu",), self.cpu)
            return
        if nothing:
            yield RuleError("is no CPU, of which shares are counted", "write 100m or more", ("cpu",), self.cpu)

    @rule("longest_task")
    def _tasks_end(self) -> Iterator[RuleError]:
        if not 1 <= duration.parse(self.longest_task) <= LONGEST_TASK_SECONDS:
            yield RuleError(
                "is not between 1s and 168h: a worker that is told to end is given so long",
                "write how long a task may run, such as 15m",
                ("longest_task",),
                self.longest_task,
            )

    @rule("node_selector")
    def _workers_run_on_linux(self) -> Iterator[RuleError]:
        value = self.node_selector.get("kubernetes.io/os", "linux")
        if value != "linux":
            yield RuleError("is set for you", "remove it", ("node_selector", "kubernetes.io/os"), value)

    @property
    def longest_task_seconds(self) -> int:
        return duration.parse(self.longest_task)


class SmallWorkers(Members):
    """The small pool: `slots` tasks in each of its workers, and as many workers as are wanted."""

    cpu: QuantityText = "4"
    longest_task: Duration = "15m"
    slots: int = Field(default=8, ge=1, le=256)
    processes: int = Field(default=1, ge=1, le=256)
    threshold: BytesText | None = None
    replicas: int | None = Field(default=None, ge=0, le=5000)
    autoscaling: WorkerAutoscaling | None = None

    @rule("replicas", "autoscaling")
    def _one_says_how_many(self) -> Iterator[RuleError]:
        if self.replicas is not None and self.autoscaling is not None:
            yield RuleError("is chosen by the autoscaler", "leave it out, or autoscaling", ("replicas",), self.replicas)


class BigWorkers(Members):
    """The big pool. It has no count of workers or slots: one of each is what it is for."""

    not_settable: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("autoscaling", "processes", "replicas", "slots", "threshold"),
        "cannot be set: the big pool is one worker of one slot, so that its tasks run one after the other",
    )

    cpu: QuantityText = "1"
    longest_task: Duration = "2h"
    drains: Drains = Drains.REFUSE
    swap_pool: PoolName | None = None

    @rule("swap_pool", "node_selector")
    def _the_swap_pool_selects_its_nodes(self) -> Iterator[RuleError]:
        if self.swap_pool and POOL_LABEL in self.node_selector:
            yield RuleError(
                "is selected by the RuntimeClass of swapPool",
                "remove it",
                ("node_selector", POOL_LABEL),
                self.node_selector[POOL_LABEL],
            )

    @rule("swap_pool", "priority_class")
    def _critical_pods_get_no_swap(self) -> Iterator[RuleError]:
        if self.swap_pool and (self.priority_class or "").startswith("system-"):
            yield RuleError(
                "makes the pod critical, and kubelet grants critical pods no swap",
                "leave it out for the swap pool's own",
                ("priority_class",),
                self.priority_class,
            )
