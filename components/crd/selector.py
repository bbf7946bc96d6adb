"""The terms by which an EC2NodeClass finds images, subnets, security groups, reservations and placement groups.

Terms of a list are alternatives, the fields of a term go together. Where two fields of a term exclude each other,
Karpenter's CRD refuses the mixture only if every term of the list is mixed; in the others one field is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from floodplain.problem import RuleError, did_you_mean

from .model import CrdModel, CrossRule, Raw, has
from .scalars import TextRule, not_empty, one_of, text, text_map
from .violation import RuntimeRuleError

TERMS_MOST = 30
TAGS_MOST = 20
ALIAS_MOST = 30
ALIAS_FAMILIES: Mapping[str, str] = {
    "al2": "AL2",
    "al2023": "AL2023",
    "bottlerocket": "Bottlerocket",
    "windows2019": "Windows2019",
    "windows2022": "Windows2022",
    "windows2025": "Windows2025",
}
"""The family in an alias, and the amiFamily it stands for."""


def _identity(prefix: str, anchored: bool = False) -> TextRule:
    """An id of EC2 such as `subnet-0a1b`; most patterns of the CRD are not anchored."""

    def rule(value: str) -> Iterator[RuleError]:
        whole = re.fullmatch(rf"{prefix}-[0-9a-z]+", value)
        if whole:
            return
        remedy = f"write it as {prefix}-0123456789abcdef0"
        if not anchored and re.search(rf"{prefix}-[0-9a-z]+", value):
            yield RuntimeRuleError(f"holds more than an id of the form {prefix}-...", remedy, value=value)
        else:
            yield RuleError(f"is not an id of the form {prefix}-...", remedy, value=value)

    return rule


def _not_blank(value: str) -> Iterator[RuleError]:
    if not value:
        yield RuntimeRuleError("is empty and then counts as not set", "write a value or leave the key out", value=value)


def _tags(tags: Mapping[str, Any]) -> Iterator[RuleError]:
    if len(tags) > TAGS_MOST:
        yield RuleError(f"has {len(tags)} entries and may have {TAGS_MOST}", f"leave {len(tags) - TAGS_MOST} out")
    for key, value in tags.items():
        if not key:
            yield RuleError("has an empty key", "name the tag", (key,))
        if value == "":
            yield RuleError("is empty", "write a value, or * for any", (key,), value)


def _needs_one_of(*keys: str) -> CrossRule:
    def rule(raw: Raw) -> Iterator[RuleError]:
        if not any(has(raw, key) for key in keys):
            yield RuleError(f"has none of {', '.join(keys)}", "set one of them")

    return rule


def _not_everything(what: str, *others: str) -> CrossRule:
    """A term with empty tags and nothing else has no filter at all and selects all there is."""

    def rule(raw: Raw) -> Iterator[RuleError]:
        if raw.get("tags") == {} and not any(raw.get(key) for key in others):
            yield RuntimeRuleError(
                f"are empty, which selects every {what} of the account and region", "name a tag", ("tags",)
            )

    return rule


TagMap = Annotated[dict[str, str] | None, text_map(_tags)]


def _alias(value: str) -> Iterator[RuleError]:
    if len(value) > ALIAS_MOST:
        yield RuleError(f"has {len(value)} characters and may have {ALIAS_MOST}", "shorten it", value=value)
    family, _, version = value.partition("@")
    if not re.fullmatch(r"[a-zA-Z0-9]+@.+", value):
        yield RuleError("is not of the form family@version", "write for example al2023@v20260625", value=value)
    elif family not in ALIAS_FAMILIES:
        remedy = did_you_mean(family, ALIAS_FAMILIES) or f"known: {', '.join(ALIAS_FAMILIES)}"
        yield RuleError(f"names the unknown family {family}", remedy, value=value)
    elif family.startswith("windows") and version.split("@")[0] != "latest":
        yield RuleError("pins a version, and Windows has only latest", f"write {family}@latest", value=value)
    elif "@" in version:
        yield RuntimeRuleError(
            "has two @ signs, which ends the Karpenter controller", "write family@version", value=value
        )


def _one_image_source_counts(raw: Raw) -> Iterator[RuleError]:
    """Alias beats all, then id, then ssmParameter; the CRD forgets ssmParameter in its own rule."""
    if not has(raw, "ssmParameter"):
        return
    for stronger in ("alias", "id"):
        if has(raw, stronger):
            yield RuntimeRuleError(
                f"is ignored beside {stronger}", "leave one of the two out", ("ssmParameter",), raw["ssmParameter"]
            )
            return
    for weaker in ("name", "tags", "owner"):
        if has(raw, weaker):
            yield RuntimeRuleError("is ignored beside ssmParameter", "leave one of the two out", (weaker,), raw[weaker])


def _image_id_alone(raw: Raw) -> Iterator[RuleError]:
    for alone in ("id", "alias"):
        for other in ("id", "alias", "tags", "name", "owner"):
            if other != alone and has(raw, alone) and has(raw, other) and (alone, other) != ("alias", "id"):
                yield RuleError(f"may not stand beside {alone}", "leave one of the two out", (other,), raw[other])


class AmiTerm(CrdModel):
    """Which images nodes start from."""

    rules = (
        _needs_one_of("tags", "id", "name", "alias", "ssmParameter"),
        _image_id_alone,
        _one_image_source_counts,
        _not_everything("image", "id", "name", "alias", "ssmParameter"),
    )

    alias: Annotated[str | None, text(_alias)] = None
    id: Annotated[str | None, text(_identity("ami"))] = None
    name: Annotated[str | None, text(_not_blank)] = None
    owner: Annotated[str | None, text()] = None
    ssm_parameter: Annotated[str | None, text(_not_blank)] = None
    tags: TagMap = None


class SubnetTerm(CrdModel):
    """Where nodes start."""

    rules = (_needs_one_of("tags", "id"), _not_everything("subnet", "id"))

    id: Annotated[str | None, text(_identity("subnet"))] = None
    tags: TagMap = None


class SecurityGroupTerm(CrdModel):
    """Which security groups nodes get."""

    rules = (_needs_one_of("tags", "id", "name"), _not_everything("security group", "id", "name"))

    id: Annotated[str | None, text(_identity("sg"))] = None
    name: Annotated[str | None, text(_not_blank)] = None
    tags: TagMap = None


def _owner_id(value: str) -> Iterator[RuleError]:
    if not re.fullmatch(r"[0-9]{12}", value):
        yield RuleError("is not an account id of 12 digits", 'write it in quotes: "123456789012"', value=value)


class CapacityReservationTerm(CrdModel):
    """Which capacity reservations nodes may use."""

    rules = (_needs_one_of("tags", "id", "instanceMatchCriteria"),)

    id: Annotated[str | None, text(_identity("cr", anchored=True))] = None
    instance_match_criteria: Annotated[str | None, one_of("open", "targeted")] = None
    owner_id: Annotated[str | None, text(_owner_id)] = Field(default=None, alias="ownerID")
    tags: TagMap = None


def _one_name(raw: Raw) -> Iterator[RuleError]:
    if has(raw, "name") and has(raw, "id"):
        yield RuleError("may not stand beside name", "leave one of the two out", ("id",), raw["id"])


class PlacementGroup(CrdModel):
    """The placement group nodes start in."""

    rules = (_needs_one_of("name", "id"), _one_name)

    id: Annotated[str | None, text(_identity("pg", anchored=True))] = None
    name: Annotated[str | None, text(not_empty)] = None


def alone_in_terms(key: str, *pairs: tuple[str, Mapping[str, str]]) -> CrossRule:
    """`(one, others)`: in a term of the list `key`, `one` excludes the `others`, each with what happens to it.

    The CRD refuses the list when all its terms break this, and so refuses an empty list as well.
    """

    def rule(raw: Raw) -> Iterator[RuleError]:
        if not has(raw, key):
            return
        terms = raw[key]
        if not terms:
            yield RuleError("is an empty list", "add a term", (key,))
        told: dict[tuple[int, frozenset[str]], RuleError] = {}
        for one, others in pairs:
            for position, other, everywhere in _mixed(terms, one, others):
                kind = RuleError if everywhere else RuntimeRuleError
                what = f"may not stand beside {one}" if everywhere else f"{others[other]} beside {one}"
                error = kind(what, "make two terms, or leave one out", (key, position, other))
                identity = (position, frozenset({one, other}))
                if everywhere or identity not in told:
                    told[identity] = error
        yield from told.values()

    return rule


def _mixed(terms: Sequence[Any], one: str, others: Iterable[str]) -> Iterator[tuple[int, str, bool]]:
    """Where `one` stands beside one of `others`, and whether it does so in every term."""
    mixed = [[other for other in others if has(term, one) and has(term, other)] for term in terms]
    for position, found in enumerate(mixed):
        for other in found:
            yield position, other, all(mixed)
