"""Makes objects that nobody wrote, out of those of the corpus: a seeded walk, so that one number names each object.

Three ways: the changes of several cases laid over one base; a value, key or item of a right object replaced by an odd
one; a part of one object carried over to the same place of another. Pure; whether the results are right is for our
models and the API server to say.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from tests.components.crd.cases import Case, merged

Manifest = dict[str, Any]
Steps = tuple[str | int, ...]

ODD_TEXTS = (
    *("", " ", "a", "A", "0", "-1", "1", "07", "1.5", "1e3", "100%", "101%", "-5%", "5 %", "true", "null", "Never"),
    *("10", "10m", "10s", "1h", "1h30m", "90m", "0s", "-1h", "1d", "1h1h", "720h", "1ns", "1.5h", "2540400h10m10s"),
    *("1Gi", "1G", "1Ki", "0Gi", "1gi", "500m", "-1Gi", "+1Gi", ".5Gi", "1e3Gi", "12E", "9223372036854775808", "1 Gi"),
    *("a/b", "a/b/c", "/a", "a/", "a.b", "a..b", "-a", "a-", "a_b", "ä", "a\n", "a b", "x" * 63, "x" * 64, "x" * 254),
    *("@daily", "@monthly", "0 9 * * 1-5", "* * * * *", "60 * * * *", "0 9 * *", "0 9 * * MON", "*/5 * * * *"),
    *("karpenter.sh/nodepool", "karpenter.sh/capacity-type", "kubernetes.io/hostname", "kubernetes.io/os"),
    *("node.kubernetes.io/instance-type", "karpenter.k8s.aws/instance-cpu", "karpenter.k8s.aws/other", "k8s.io/a"),
    *("al2023@latest", "al2023@v20260714", "al2023", "AL2023", "windows2022@v1", "bottlerocket@latest", "a@b@c"),
    *("ami-0a", "ami-", "subnet-0a", "xsubnet-0ax", "sg-0a", "cr-0a", "cr-0A", "pg-0a", "123456789012", "12345678901"),
    *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "NoSchedule", "NoExecute", "PreferNoSchedule"),
    *("spot", "gp3", "io2", "enabled", "disabled", "required", "RAID0", "10.0.0.1", "fd00::1", "::", "1.2.3", "open"),
    *("memory.available", "nodefs.inodesFree", "cpu", "memory", "ephemeral-storage", "pid", "nodes", "pods", "storage"),
)
ODD_NUMBERS = (-1, 0, 1, 2, 50, 51, 63, 64, 65, 100, 101, 150, 300, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 1.5, 2.0, -0.0)
OTHER_TYPES: tuple[Any, ...] = (None, True, False, [], {}, [None], {"a": None}, {"": "a"}, [[]], 7, "7")


def variations(cases: list[Case], seed: int, count: int) -> Iterator[tuple[str, Manifest]]:
    """`count` objects and how each was made."""
    chance = random.Random(seed)
    sound = [case.manifest for case in cases if case.file == "valid"]
    for number in range(count):
        make = (_several_changes, _odd_place, _odd_place, _carried_over)[number % 4]
        how, manifest = make(chance, cases, sound)
        yield f"walk {seed}.{number}: {how}", manifest


def _several_changes(chance: random.Random, cases: list[Case], sound: list[Manifest]) -> tuple[str, Manifest]:
    first = chance.choice([case for case in cases if "patch" in case.raw])
    others = [case for case in cases if "patch" in case.raw and case.raw["base"] == first.raw["base"]]
    chosen = [first, *chance.sample(others, chance.randint(1, 2))]
    manifest = first.manifest
    for case in chosen[1:]:
        manifest = merged(manifest, case.raw["patch"])
    return " + ".join(case.label for case in chosen), manifest


def _odd_place(chance: random.Random, cases: list[Case], sound: list[Manifest]) -> tuple[str, Manifest]:
    manifest = copy.deepcopy(chance.choice(sound))
    told = [_change(chance, manifest) for _ in range(chance.choice((1, 1, 1, 2)))]
    return f"{manifest.get('kind')} {manifest['metadata'].get('name')}: {'; '.join(told)}"[:400], manifest


def _change(chance: random.Random, manifest: Manifest) -> str:
    """Change one place; says what was done."""
    steps = chance.choice([place for place in places(manifest) if place[0] == "spec" and len(place) > 1] or [("spec",)])
    parent = _at(manifest, steps[:-1])
    value, last = parent[steps[-1]], steps[-1]
    at = "/".join(str(step) for step in steps)
    way = chance.random()
    if way < 0.1:
        del parent[last]
        return f"{at} left out"
    if way < 0.2:
        parent[last] = copy.deepcopy(chance.choice(OTHER_TYPES))
    elif way < 0.4 and isinstance(parent, dict):
        key = chance.choice(ODD_TEXTS)
        parent[key] = value
        return f"{at} also as {key!r}"
    elif way < 0.5 and isinstance(parent, list):
        parent.append(copy.deepcopy(value))
        return f"{at} twice"
    elif isinstance(value, str):
        parent[last] = chance.choice(ODD_TEXTS)
    elif isinstance(value, bool):
        parent[last] = not value
    elif isinstance(value, int | float):
        parent[last] = chance.choice(ODD_NUMBERS)
    elif isinstance(value, list):
        parent[last] = value * chance.choice((0, 2, 40))
    elif isinstance(value, dict):
        parent[last] = {key: value[key] for key in value if chance.random() < 0.5}
    else:
        parent[last] = copy.deepcopy(chance.choice(OTHER_TYPES))
    return f"{at} = {json.dumps(parent[last])[:80]}"


def _carried_over(chance: random.Random, cases: list[Case], sound: list[Manifest]) -> tuple[str, Manifest]:
    source = chance.choice(cases).manifest
    onto = copy.deepcopy(chance.choice([one for one in sound if one["kind"] == source.get("kind")] or sound))
    steps = chance.choice([place for place in places(source) if place[0] == "spec"] or [("metadata",)])
    target: Any = onto
    for step in steps[:-1]:
        if isinstance(target, dict) and isinstance(step, str):
            target = target.setdefault(step, {})
        elif isinstance(target, list) and isinstance(step, int) and target:
            target = target[min(step, len(target) - 1)]
        else:
            break
    part, last = copy.deepcopy(_at(source, steps)), steps[-1]
    if isinstance(target, dict) and isinstance(last, str):
        target[last] = part
    elif isinstance(target, list) and isinstance(last, int):
        target.append(part)
    return f"{source.get('kind')} {'/'.join(str(step) for step in steps)} = {json.dumps(part)[:200]}", onto


def places(value: Any, at: Steps = ()) -> Iterator[Steps]:
    """Where an object has anything, the object itself left out."""
    below: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    for step, item in below:
        yield (*at, step)
        yield from places(item, (*at, step))


def _at(value: Any, steps: Steps) -> Any:
    for step in steps:
        value = value[step]
    return value
