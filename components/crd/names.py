"""Grammar of names in Kubernetes (label keys, label values, object names) and which labels Karpenter reserves.

Rules of k8s.io/apimachinery's validation package and of Karpenter 1.14.1's CRDs for AWS. Not EC2's tag rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from floodplain.catalogue.requirements import AWS_DOMAIN, AWS_LABELS
from floodplain.problem import RuleError, did_you_mean

from .violation import RuntimeRuleError

NAME_MOST = 63
DOMAIN_MOST = 253

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DNS_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")

CAPACITY_TYPE = "karpenter.sh/capacity-type"
CORE_DOMAIN = "karpenter.sh"

NUMERIC_AWS_LABELS = frozenset(
    f"{AWS_DOMAIN}/{name}"
    for name in (
        "instance-accelerator-count",
        "instance-cpu",
        "instance-cpu-sustained-clock-speed-mhz",
        "instance-ebs-bandwidth",
        "instance-generation",
        "instance-gpu-count",
        "instance-gpu-memory",
        "instance-local-nvme",
        "instance-memory",
        "instance-network-bandwidth",
        "placement-group-partition",
    )
)
"""Labels whose values are whole numbers, so that Gt, Lt, Gte and Lte can match."""

KNOWN_VALUES: Mapping[str, frozenset[str]] = {
    CAPACITY_TYPE: frozenset({"on-demand", "reserved", "spot"}),
    f"{AWS_DOMAIN}/instance-tenancy": frozenset({"dedicated", "default"}),
    "kubernetes.io/arch": frozenset({"amd64", "arm64"}),
    "kubernetes.io/os": frozenset({"linux", "windows"}),
}
"""The values that nodes can have; Karpenter drops others with a line in its log, or nothing ever matches them."""


def qualified_name(text: str) -> str:
    """What is wrong with a label, annotation or taint key; an empty text when nothing is."""
    domain, slash, name = text.rpartition("/")
    if slash and (not _DNS_NAME.fullmatch(domain) or len(domain) > DOMAIN_MOST):
        return f"is no key: what stands before / must be a lower-case DNS name of at most {DOMAIN_MOST} characters"
    if not _NAME.fullmatch(name) or len(name) > NAME_MOST:
        return (
            f"is no key: a name has 1 to {NAME_MOST} letters, digits, -, _ or . and begins and ends with "
            "a letter or digit"
        )
    return ""


def label_value(text: str) -> str:
    """What is wrong with a label's value; an empty text when nothing is."""
    if len(text) > NAME_MOST:
        return f"has {len(text)} characters and a label's value may have {NAME_MOST}"
    if text and not _NAME.fullmatch(text):
        return "is no label value: letters, digits, -, _ and . only, beginning and ending with a letter or digit"
    return ""


def object_name(text: str) -> str:
    """What is wrong with metadata.name; an empty text when nothing is."""
    if not _DNS_NAME.fullmatch(text) or len(text) > DOMAIN_MOST:
        return f"is no object name: lower-case letters, digits, - and . only, at most {DOMAIN_MOST} characters"
    return ""


def taint_text(text: str) -> bool:
    """Whether the CRD takes this as a taint's key or value: an optional DNS name, a slash, a name."""
    domain, slash, name = text.rpartition("/")
    return bool(_NAME.fullmatch(name)) and (not slash or bool(_DNS_NAME.fullmatch(domain)))


def reserved_label(key: str) -> Iterator[RuleError]:
    """The CRD's rules on labels that Karpenter keeps for itself, in requirements and in template labels.

    As in the CRD, the domain is whatever stands before the first slash and is compared by its end, so that
    `mykarpenter.sh/x` is refused too.
    """
    domain = "" if key.startswith("/") else key.split("/", 1)[0]
    if key == "karpenter.sh/nodepool":
        yield RuleError("is set by Karpenter itself, to the name of the pool", "leave it out", value=key)
    elif domain.endswith(CORE_DOMAIN) and key != CAPACITY_TYPE:
        yield RuleError(
            f"is in Karpenter's own domain {CORE_DOMAIN}",
            f"use {CAPACITY_TYPE} or a domain of your own",
            value=key,
        )
    if domain.endswith(AWS_DOMAIN) and key not in AWS_LABELS:
        remedy = did_you_mean(key, AWS_LABELS) or "use a domain of your own"
        yield RuleError(f"is not among the labels of {AWS_DOMAIN}", remedy, value=key)
    if key == "kubernetes.io/hostname":
        yield RuleError("differs on every node", "leave it out", value=key)


def qualified(key: str) -> Iterator[RuleError]:
    """The length rules on keys, which the CRD leaves to Karpenter."""
    wrong = qualified_name(key)
    if wrong:
        yield RuntimeRuleError(wrong, "Karpenter takes the pool out of service; rename it", value=key)


def label_text(value: str) -> Iterator[RuleError]:
    """A label's value, where the API server or the CRD checks it."""
    wrong = label_value(value)
    if wrong:
        yield RuleError(wrong, "correct it", value=value)
