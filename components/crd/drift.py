"""Which edits of a NodePool or EC2NodeClass make Karpenter replace nodes, and whether all of them or some.

Static drift compares hashes of the objects, so the comparison here follows what enters them (Karpenter 1.14.1: hash
version v3 of NodePools, v5 of EC2NodeClasses): lists count as sets, defaults are filled in, and durations and sizes
count by value. Dynamic drift depends on what selectors find. Not how many nodes go at once: see `disruption`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from floodplain.catalogue.requirements import ALIASES
from floodplain.duration import seconds_or_never
from floodplain.problem import ABSENT

from . import nodepool
from .admitted import admitted
from .objects import model_of
from .selector import ALIAS_FAMILIES
from .violation import path_of

Reach = Literal["all", "some", "resolved"]
"""`all` nodes; `some`: those that no longer fit; `resolved`: it depends on what the new terms find in the account."""

_DEFAULT_EXPIRY = "720h"
_DEFAULT_METADATA = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 1,
    "httpTokens": "required",
}
# By the `hash:"ignore"` tags of EC2NodeClassSpec. ipPrefixCount has no dynamic check either: it rolls nothing.
_NOT_HASHED = {
    "amiFamily",
    "amiSelectorTerms",
    "capacityReservationSelectorTerms",
    "ipPrefixCount",
    "securityGroupSelectorTerms",
    "subnetSelectorTerms",
}
_SELECTORS = {
    "amiSelectorTerms": "AMIDrift",
    "subnetSelectorTerms": "SubnetDrift",
    "securityGroupSelectorTerms": "SecurityGroupDrift",
    "capacityReservationSelectorTerms": "CapacityReservationDrift",
}
_UNITS = {"Gi": (2**30, "binary"), "Ti": (2**40, "binary"), "G": (10**9, "decimal"), "T": (10**12, "decimal")}
_GO_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}


@dataclass(frozen=True)
class DriftedField:
    """A field whose change replaces nodes: where, from what (ABSENT if not set) to what.

    `reason` is the one Karpenter puts into the NodeClaim's Drifted condition.
    """

    path: str
    old: Any
    new: Any
    reason: str
    reach: Reach = "all"


def drift_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[DriftedField]:
    """The changed fields of a NodePool or EC2NodeClass that make nodes drift; none for any other kind.

    What Karpenter leaves out of its comparison is left out here:
    limits, weight, disruption, replicas and minValues of a NodePool; ipPrefixCount of an EC2NodeClass.
    Where a manifest is not sound (see `violations`) it is compared as it stands.
    """
    if model_of(old) is None or model_of(old) is not model_of(new):
        return []
    before, after = _without_nulls(old.get("spec") or {}), _without_nulls(new.get("spec") or {})
    if old["kind"] == nodepool.KIND:
        return [*_template_changes(before, after), *_requirement_changes(before, after)]
    return [*_class_changes(before, after), *_selector_changes(before, after)]


def _template_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[DriftedField]:
    one, two = (_hashed_template(spec.get("template") or {}) for spec in (before, after))
    for path, was, now in _differences(one, two, ("spec", "template")):
        yield DriftedField(path, was, now, "NodePoolDrifted")


def _hashed_template(template: Mapping[str, Any]) -> dict[str, Any]:
    spec = {key: value for key, value in (template.get("spec") or {}).items() if key != "requirements"}
    spec.setdefault("expireAfter", _DEFAULT_EXPIRY)
    return {"metadata": template.get("metadata") or {}, "spec": spec}


def _requirement_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[DriftedField]:
    """A node drifts when its labels no longer satisfy the requirements; a wider requirement drifts none."""
    old, new = (((spec.get("template") or {}).get("spec") or {}).get("requirements") or [] for spec in (before, after))
    try:
        had, has_now = admitted(old), admitted(new)
    except (LookupError, TypeError, ValueError):
        if old != new:
            path = path_of(("spec", "template", "spec", "requirements"))
            yield DriftedField(path, old, new, "RequirementsDrifted", "some")
        return
    for key, values in has_now.items():
        if key in had and values.covers(had[key]):
            continue
        nothing_left = key in had and had[key].both(values).is_empty
        yield DriftedField(
            path_of(("spec", "template", "spec", "requirements", key)),
            _about(key, old),
            _about(key, new),
            "RequirementsDrifted",
            "all" if nothing_left else "some",
        )


def _about(key: str, requirements: Sequence[Mapping[str, Any]]) -> Any:
    return [item for item in requirements if ALIASES.get(item["key"], item["key"]) == key] or ABSENT


def _class_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[DriftedField]:
    one, two = _hashed_class(before), _hashed_class(after)
    for path, was, now in _differences(one, two, ("spec",)):
        yield DriftedField(path, was, now, "NodeClassDrift")


def _hashed_class(spec: Mapping[str, Any]) -> dict[str, Any]:
    hashed = {key: value for key, value in spec.items() if key not in _NOT_HASHED}
    hashed["metadataOptions"] = {**_DEFAULT_METADATA, **(spec.get("metadataOptions") or {})}
    return {"amiFamily": _family(spec), **hashed}


def _family(spec: Mapping[str, Any]) -> str:
    """The family that Karpenter resolves, which is what it hashes."""
    if spec.get("amiFamily"):
        return str(spec["amiFamily"])
    aliases = [term["alias"] for term in spec.get("amiSelectorTerms") or [] if term.get("alias")]
    return ALIAS_FAMILIES.get(aliases[0].split("@")[0], "Custom") if aliases else "Custom"


def _selector_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[DriftedField]:
    for key, reason in _SELECTORS.items():
        was, now = before.get(key, ABSENT), after.get(key, ABSENT)
        if _canonical(was, (key,)) == _canonical(now, (key,)):
            continue
        certain = key == "amiSelectorTerms" and _other_images(was, now)
        yield DriftedField(path_of(("spec", key)), was, now, reason, "all" if certain else "resolved")


def _other_images(was: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no image can be the same: pinned aliases that differ, or ids of which none is left."""
    for key in ("alias", "id"):
        old, new = ([term.get(key) or "" for term in terms] for terms in (was, now))
        pinned = all(text and not text.endswith("@latest") for text in (*old, *new))
        if pinned and not set(old) & set(new):
            return True
    return False


def _differences(was: Any, now: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str, Any, Any]]:
    """The smallest parts that differ in what the hash sees."""
    if _canonical(was, path) == _canonical(now, path):
        return
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in (*was, *(key for key in now if key not in was)):
            yield from _differences(was.get(key, ABSENT), now.get(key, ABSENT), (*path, key))
    elif isinstance(was, list | tuple) and isinstance(now, list | tuple) and len(was) == len(now):
        for position, (one, two) in enumerate(zip(was, now, strict=True)):
            yield from _differences(one, two, (*path, position))
    else:
        yield path_of(path), was, now


def _canonical(value: Any, path: tuple[str | int, ...]) -> Any:
    """A value as the hash sees it, in a form that can be compared."""
    if isinstance(value, Mapping):
        entries = {key: _canonical(item, (*path, key)) for key, item in value.items()}
        if entries.get("rootVolume") is False:
            del entries["rootVolume"]
        return entries
    if isinstance(value, list | tuple):
        return sorted((_canonical(item, path) for item in value), key=lambda item: json.dumps(item, default=str))
    name = path[-1]
    if name in ("expireAfter", "terminationGracePeriod") and value is not ABSENT:
        return seconds_or_never(value)
    if name == "volumeSize" and isinstance(value, str):
        return _size(value)
    if "evictionSoftGracePeriod" in path and isinstance(value, str):
        return _nanoseconds(value)
    return value


def _size(text: str) -> Any:
    found = re.fullmatch(r"([0-9]+)([GT]i?)", text)
    return [int(found[1]) * _UNITS[found[2]][0], _UNITS[found[2]][1]] if found else text


def _nanoseconds(text: str) -> str:
    parts = re.findall(r"([0-9.]+)(ns|us|µs|ms|s|m|h)", text.replace("μ", "µ"))
    return str(sum(Fraction(number) * _GO_UNITS[unit] for number, unit in parts))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value
