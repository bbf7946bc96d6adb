"""The rules that our models know are those of the CRDs that this Karpenter brings, and those that the server serves."""

from __future__ import annotations

from typing import Any

import pytest

from components.crd import KARPENTER_VERSION
from testbed import engines
from testbed.cluster.control_plane import ControlPlane
from tests.components.crd.extract import FILES, RULES, lines_of, rules_of

MODULE = "github.com/aws/karpenter-provider-aws"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_the_list_of_rules_is_what_the_module_s_files_say() -> None:
    folder = engines.module_folder(MODULE)
    assert folder.name.endswith(f"@v{KARPENTER_VERSION}")
    assert lines_of(folder / "pkg" / "apis" / "crds") == RULES.read_text().splitlines()


@pytest.mark.parametrize("file", FILES)
def test_the_server_serves_every_rule(file: str, cluster: ControlPlane) -> None:
    """A schema that a server knows only in part would be pruned without a word."""
    group, plural = file.removesuffix(".yaml").split("_")
    crd: dict[str, Any] = cluster.api.get(f"{CRDS}/{plural}.{group}")
    kind = crd["spec"]["names"]["kind"]
    (version,) = crd["spec"]["versions"]
    served = {
        "\t".join((kind, *rule))
        for rule in rules_of(version["schema"]["openAPIV3Schema"])
        if rule[0].split(".")[0] != "status"
    }
    assert served == {line for line in RULES.read_text().splitlines() if line.startswith(f"{kind}\t")}
