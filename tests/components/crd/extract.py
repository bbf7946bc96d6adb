"""List every rule of Karpenter's CRDs, one a line, so that the corpus can be held against the real files.

usage: python tests/components/crd/extract.py FOLDER [--check]    FOLDER holds the CRD files of Karpenter for AWS
(pkg/apis/crds of the module github.com/aws/karpenter-provider-aws). Prints the lines of rules.tsv; with --check says
how they differ. `status` is left out: only controllers write it. Patterns and CEL rules stand as digests.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

RULES = Path(__file__).parent / "rules.tsv"
FILES = ("karpenter.sh_nodepools.yaml", "karpenter.k8s.aws_ec2nodeclasses.yaml")
SAYS_NOTHING = {
    "additionalProperties",
    "anyOf",
    "description",
    "items",
    "properties",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
}
"""Keywords that hold other schemas, or that have no part in whether an object is accepted."""
BOUNDS = ("minLength", "maxLength", "minItems", "maxItems", "maxProperties", "minimum", "maximum", "format")


def digest(text: str) -> str:
    """Eight characters that stand for a pattern or an expression, whatever its white space."""
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()[:8]


def rules_of(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, keyword and value of every rule at and below a schema. Fails on a keyword it has not met."""
    ours = {"type", "enum", "pattern", "default", "required", *BOUNDS, *SAYS_NOTHING}
    theirs = {"x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-validations"}
    assert not schema.keys() - ours - theirs, schema.keys() - ours - theirs
    if "type" in schema:
        yield path, "type", schema["type"]
    if schema.get("x-kubernetes-int-or-string"):
        yield path, "type", "integer|string"
    for keyword in BOUNDS:
        if keyword in schema:
            yield path, keyword, str(schema[keyword])
    if "enum" in schema:
        yield path, "enum", "|".join(schema["enum"])
    if "pattern" in schema:
        yield path, "pattern", digest(schema["pattern"])
    if "default" in schema:
        yield path, "default", str(schema["default"])
    if schema.get("x-kubernetes-list-type") == "set":
        yield path, "unique", ""
    for name in schema.get("required", ()):
        yield path, "required", name
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path, "cel", digest(rule["rule"])
    if "properties" in schema:
        yield path, "keys", "|".join(sorted(schema["properties"]))
    for name, below in sorted(schema.get("properties", {}).items()):
        yield from rules_of(below, f"{path}.{name}" if path else name)
    if "items" in schema:
        yield from rules_of(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from rules_of(schema["additionalProperties"], f"{path}.*")


def lines_of(folder: Path) -> list[str]:
    """The lines of rules.tsv, from the CRD files in a folder."""
    lines = ["kind\tpath\tkeyword\tvalue"]
    for name in FILES:
        crd = yaml.safe_load((folder / name).read_text())
        versions = crd["spec"]["versions"]
        assert [version["name"] for version in versions] == ["v1"], versions
        for path, keyword, value in rules_of(versions[0]["schema"]["openAPIV3Schema"]):
            if path.split(".")[0] != "status":
                lines.append("\t".join((crd["spec"]["names"]["kind"], path, keyword, value)))
    return lines


def main() -> int:
    folder, check = Path(sys.argv[1]), "--check" in sys.argv[2:]
    found = lines_of(folder)
    if not check:
        print("\n".join(found))
        return 0
    known = RULES.read_text().splitlines()
    for line in sorted(set(found) - set(known)):
        print(f"new in the CRD: {line}")
    for line in sorted(set(known) - set(found)):
        print(f"no longer in the CRD: {line}")
    return int(sorted(known) != sorted(found))


if __name__ == "__main__":
    sys.exit(main())
