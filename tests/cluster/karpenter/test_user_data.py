"""What does real Karpenter make of user data, and do our models refuse every text of which it loses or changes a part?

The merged archive is read from the launch template with which Karpenter checks an EC2NodeClass. Ready says little:
several broken texts are Ready with our parts gone.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from components import crd
from nodeconfig import problems_of_user_data
from nodeconfig.archive import read_archive
from tests.cluster.karpenter.bed import CLASSES, Bed, condition, swap_pool
from tests.cluster.karpenter.user_data_cases import PLAIN, VALID, WRITTEN, generated

TEXTS = {**VALID, **WRITTEN, **generated()}
Parts = list[tuple[str, str]]


@dataclass(frozen=True)
class Outcome:
    """`parts` are type and body of what Karpenter put before its own part; None when it made no archive at all."""

    ready: bool
    parts: Parts | None
    said: str


def parts_of(text: str) -> Parts:
    """Type and body of an archive's parts; the last line's end, which Karpenter may add, does not count."""
    return [(part.media_type, part.body.rstrip("\n")) for part in read_archive(text).parts]


def meaning(parts: Parts | None) -> list[tuple[str, Any]]:
    """The same with what a NodeConfig says instead of how it is written; its text where it says nothing readable."""
    found: list[tuple[str, Any]] = []
    for kind, body in parts or []:
        try:
            found.append((kind, yaml.safe_load(body) if kind.endswith("eks.aws") else body))
        except yaml.YAMLError:
            found.append((kind, body))
    return found


def templates(bed: Bed) -> dict[str, str]:
    """Merged user data by the name of the EC2NodeClass it was made for."""
    found: dict[str, str] = {}
    for template in bed.aws.launch_templates():
        tags = [value for key, value in template.fields.items() if key.startswith("TagSpecification.1.Tag.")]
        names = [name for name in TEXTS if f"case-{name}" in tags]
        found |= {name: template.user_data.decode() for name in names}
    return found


@pytest.fixture(scope="module")
def outcomes(bed: Bed) -> dict[str, Outcome]:
    """All texts given to Karpenter at once, when it has said something of each."""
    # The first class waits for caches of a controller that has just started.
    bed.apply(swap_pool("first"))
    begun = time.monotonic()
    bed.apply(swap_pool("second"))
    print(f"an EC2NodeClass and a NodePool are checked in {time.monotonic() - begun:.1f} s warm")
    for name, text in TEXTS.items():
        manifest = bed.node_class_of(swap_pool("case"), text)
        manifest["metadata"]["name"] = f"case-{name}"
        bed.api.must_apply(manifest)
    return {name: outcome(bed, name) for name in TEXTS}


def outcome(bed: Bed, name: str) -> Outcome:
    def known() -> Outcome | None:
        found = bed.api.get(f"{CLASSES}/case-{name}")
        ready = condition(found, "Ready").get("status") == "True"
        checked = condition(found, "ValidationSucceeded")
        errors = [line for line in bed.errors() if f"'case-{name}'" in line]
        if not ready and checked.get("status") != "False" and not errors:
            return None
        merged = templates(bed).get(name)
        if ready and merged is None:
            return None
        before = parts_of(merged)[:-1] if merged else None
        refused = checked.get("status") == "False"
        said = errors[-1].splitlines()[0] if errors and not refused else str(checked.get("reason"))
        return Outcome(ready, before, said)

    return bed.until(f"Karpenter has an opinion on {name}", known)


def refused(name: str) -> bool:
    """Whether our checker of user data or our model of the EC2NodeClass refuses a text."""
    manifest = {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "spec": {"userData": TEXTS[name]}}
    by_model = any(violation.path.startswith("spec.userData") for violation in crd.violations(manifest))
    return by_model or bool(problems_of_user_data(TEXTS[name]))


@pytest.mark.parametrize("name", sorted(VALID))
def test_what_our_pools_boot_with_is_kept_whole_and_in_order(bed: Bed, outcomes: dict[str, Outcome], name: str) -> None:
    assert not refused(name)
    assert outcomes[name] == Outcome(True, parts_of(TEXTS[name]), outcomes[name].said)
    archive = read_archive(templates(bed)[name])
    ours, karpenters = archive.parts[:-1], archive.parts[-1]
    assert (archive.boundary, archive.closed, archive.lost) == ("//", True, ())
    assert ours == read_archive(TEXTS[name]).parts
    assert karpenters.media_type == "application/node.eks.aws"
    assert karpenters.body.startswith("# Karpenter Generated NodeConfig\n")


@pytest.mark.parametrize("name", sorted({*WRITTEN, *generated()}))
def test_our_models_refuse_what_karpenter_does_not_keep_as_it_is(outcomes: dict[str, Outcome], name: str) -> None:
    found = outcomes[name]
    kept = found.ready and meaning(found.parts) == meaning(parts_of(PLAIN))
    print(f"{name}: {'kept' if kept else 'changed' if found.ready else 'never ready'}; {found.said}")
    assert kept or refused(name)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_our_reader_sees_the_parts_that_karpenter_sees(bed: Bed, outcomes: dict[str, Outcome], name: str) -> None:
    found, archive = outcomes[name], read_archive(TEXTS[name])
    if found.parts is None:
        # Karpenter could not read it, or it was too large. Our reader keeps what it can, for the checker to judge.
        assert problems_of_user_data(TEXTS[name])
    elif archive.bare:
        # One part. Where it holds lines that look like our boundary, a node would see several.
        [part] = archive.parts
        head = re.escape(f"--//\nContent-Type: {part.media_type}")
        assert re.search(rf"^{head}[^\n]*\n\n{re.escape(TEXTS[name])}", templates(bed)[name], re.MULTILINE)
    else:
        assert parts_of(TEXTS[name]) == found.parts


def test_broken_texts_are_ready_although_parts_are_gone(outcomes: dict[str, Outcome]) -> None:
    """Why Ready is not enough: these are facts about Karpenter, seen here."""
    ready_but_changed = {name for name in WRITTEN if outcomes[name].ready and outcomes[name].parts != parts_of(PLAIN)}
    never = {name for name in WRITTEN if not outcomes[name].ready}
    print("ready, but changed:", sorted(ready_but_changed))
    print("never ready:", sorted(never))
    assert {"boundary-mismatch", "comment-before-the-header", "base64-part", "script-that-reads-as-yaml"} <= (
        ready_but_changed
    )
    assert {"no-closing-boundary", "not-multipart", "too-large"} <= never
    assert outcomes["too-large"].said == "UserDataSizeLimitExceeded"
