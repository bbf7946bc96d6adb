"""What a machine lacks for a tier is told at once, with the command that gets it."""

from __future__ import annotations

import pytest

from testbed.engine_error import EngineError
from testbed.engines import Tier
from testbed.needs import TOOLS, require


@pytest.mark.parametrize("tier", list(Tier))
def test_a_machine_with_everything_passes(tier: Tier) -> None:
    require(tier, which=lambda program: f"/usr/bin/{program}", root=True)


def test_the_cluster_needs_neither_root_nor_machines() -> None:
    require(Tier.CLUSTER, which=lambda program: "/usr/bin/setpriv" if program == "setpriv" else None, root=False)


@pytest.mark.parametrize("tier", [Tier.NODE, Tier.CHAIN])
def test_all_that_lacks_is_told_in_one_message(tier: Tier) -> None:
    there = {tool.program for tool in TOOLS[tier]} - {"qemu-system-x86_64", "ssh", "ssh-keygen"}
    with pytest.raises(EngineError) as caught:
        require(tier, which=lambda program: program if program in there else None, root=False)
    assert str(caught.value) == (
        f"the {tier} tests need what is not here:\n"
        "  qemu-system-x86_64 runs node machines\n"
        "  ssh runs commands in them\n"
        "  ssh-keygen makes the key for that\n"
        "  root makes the file tree of the node image\n"
        "apt-get install openssh-client qemu-system-x86; run it as root"
    )


def test_root_alone_is_told_without_packages() -> None:
    with pytest.raises(EngineError, match=r"node image\nrun it as root$"):
        require(Tier.NODE, which=lambda program: program, root=False)
