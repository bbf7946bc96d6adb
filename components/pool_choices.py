"""The choices that a pool's settings offer, each with what it means. Published in the package's schema."""

from enum import StrEnum


class CapacityType(StrEnum):
    """How the instances are bought."""

    ON_DEMAND = "on-demand"
    """Never taken back by AWS; right for jobs of hours."""
    SPOT = "spot"
    """Cheaper, taken back with two minutes' notice."""
    RESERVED = "reserved"
    """From capacity reservations."""


class TaintEffect(StrEnum):
    """Kubernetes taint effects that keep pods away."""

    NO_SCHEDULE = "NoSchedule"
    """Pods without the toleration are not placed."""
    NO_EXECUTE = "NoExecute"
    """Pods without the toleration are also evicted."""


class GuardrailMode(StrEnum):
    """What the guardrails do about a pod that breaks the pool's rules."""

    ENFORCE = "enforce"
    """Refuse the pod."""
    AUDIT = "audit"
    """Admit it, warn its author and write an audit annotation."""
    OFF = "off"
    """Nothing."""
