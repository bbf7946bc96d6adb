"""The settings of guardrails: for each pool the facts that its admission rules need, and what to do on a breach.

Not the rules: those are CEL, in `guardrail_match`, `guardrail_figures`, `guardrail_containment`, `guardrail_advice`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from floodplain.pools import PoolDocument
from floodplain.problem import RuleError, raise_rules
from floodplain.quantity import QuantityText, from_bytes, to_bytes
from floodplain.settings import Settings

from .swap_pool import POOL_LABEL, GuardrailMode, LabelKey, LabelValue, PoolName, Taint

KUBE_SYSTEM = "kube-system"

DAEMON_SET_CONTROLLERS = (
    "system:serviceaccount:kube-system:daemon-set-controller",
    "system:kube-controller-manager",
)
"""Who creates the pods of DaemonSets: Kubernetes' own controller, with and without a service account of its own."""


def _user_name(name: str) -> str:
    if not name or any(mark in name for mark in "'\"\\\n"):
        raise RuleError("is not a user name", "write it as audit logs do, such as system:serviceaccount:NAMESPACE:NAME")
    return name


UserName = Annotated[str, AfterValidator(_user_name)]


class PoolGuardrail(Settings):
    """What admission must know of one pool.

    `largest_allocatable` is the allocatable memory of the largest node the pool may launch and `headroom` what its
    DaemonSets take of it; `overhead` is the RuntimeClass's; `ephemeral_per_memory` is the most disk a pod may use, in
    bytes per byte of its memory request. A pool without swap (`swap` false) keeps the rules of containment and disk.
    """

    pool: PoolName
    largest_allocatable: QuantityText
    headroom: QuantityText = "0"
    overhead: QuantityText = "16Mi"
    ephemeral_per_memory: float = Field(default=1.0, gt=0, le=64)
    taint: Taint | None = None
    node_selector: dict[LabelKey, LabelValue] = Field(default_factory=dict, max_length=1)
    runtime_class: str = Field(default="", pattern=r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$")
    swap: bool = True
    mode: GuardrailMode = GuardrailMode.ENFORCE

    @model_validator(mode="after")
    def _room_is_left(self) -> PoolGuardrail:
        if self.room_bytes <= 0:
            raise RuleError(
                "leaves no memory for pods beside the headroom",
                "write the allocatable memory of the pool's largest node",
                ("largest_allocatable",),
                self.largest_allocatable,
            )
        return self

    @property
    def node_taint(self) -> Taint:
        """The taint as set, or `floodplain.dev/pool=<pool>:NoSchedule`."""
        return self.taint or Taint(value=self.pool)

    @property
    def node_label(self) -> tuple[str, str]:
        """Key and value of the label that the pool's nodes carry, by default `floodplain.dev/pool` and the pool."""
        return next(iter(self.node_selector.items()), (POOL_LABEL, self.pool))

    @property
    def runtime_class_name(self) -> str:
        """The RuntimeClass as set, or `floodplain-<pool>`."""
        return self.runtime_class or f"floodplain-{self.pool}"

    @property
    def room_bytes(self) -> int:
        """Most memory that one pod's requests and overhead may have: the largest node less its headroom."""
        return to_bytes(self.largest_allocatable) - to_bytes(self.headroom)


class GuardrailsSettings(Settings):
    """What `Guardrails` takes."""

    pools: tuple[PoolGuardrail, ...]
    exempt_namespaces: tuple[Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")], ...] = ()
    daemon_set_controllers: tuple[UserName, ...] = Field(default=DAEMON_SET_CONTROLLERS, min_length=1)
    judge_node_names: bool = True

    @property
    def all_exempt_namespaces(self) -> tuple[str, ...]:
        """The namespaces that no rule looks at, kube-system always among them."""
        return tuple(sorted({KUBE_SYSTEM, *self.exempt_namespaces}))

    @model_validator(mode="after")
    def _pools_differ(self) -> GuardrailsSettings:
        raise_rules(
            RuleError(f"is used by pools[{first}] too", "give each pool its own", ("pools", index, key), value)
            for key, values in (
                ("pool", [one.pool for one in self.pools]),
                ("taint", [f"{one.node_taint.key}={one.node_taint.value}" for one in self.pools]),
                ("runtime_class", [one.runtime_class_name for one in self.pools]),
            )
            for index, value in enumerate(values)
            if (first := values.index(value)) < index
        )
        return self


def guardrail_of(document: PoolDocument, mode: GuardrailMode = GuardrailMode.ENFORCE) -> PoolGuardrail:
    """The guardrail of a pool that is described by its document."""
    return PoolGuardrail(
        pool=document.name,
        largest_allocatable=from_bytes(document.largest_allocatable_memory_bytes),
        headroom=from_bytes(document.headroom_bytes),
        overhead=from_bytes(document.overhead_bytes),
        ephemeral_per_memory=document.ephemeral_bytes_per_memory_byte,
        taint=Taint.model_validate(document.taint.model_dump()),
        node_selector=dict(document.node_selector),
        runtime_class=document.runtime_class,
        swap=document.swap_ratio > 0,
        mode=mode,
    )
