"""The shell part, run on a folder as cloud-init would, and what nodeadm then reads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from floodplain.swap import swap_file_bytes
from nodeconfig import BootSettings, files_written, user_data

MEMORY_KIB = 64_889_212


def written(root: Path) -> list[str]:
    return sorted(
        f"/{path.relative_to(root)}"
        for folder in ("etc", "usr")
        for path in (root / folder).rglob("*")
        if path.is_file()
    )


def drop_in(machine: Any) -> dict[str, Any]:
    return yaml.safe_load((machine.root / "etc/eks/nodeadm.d/50-floodplain.yaml").read_text())


def test_every_file_is_written_and_nothing_else(booted: Callable[..., Any], render: Callable[..., str]) -> None:
    machine = booted()
    assert written(machine.root) == sorted(files_written(render("swap-k2")))


def test_programs_may_be_run_and_units_not(booted: Callable[..., Any]) -> None:
    machine = booted()
    modes = {path: Path(f"{machine.root}{path}").stat().st_mode & 0o777 for path in written(machine.root)}
    assert {mode for path, mode in modes.items() if "/sbin/" in path} == {0o755}
    assert {mode for path, mode in modes.items() if "/sbin/" not in path} == {0o644}


def test_systemd_is_reloaded_at_the_end_and_nothing_is_started(machine: Any, boot_script: Callable[[str], str]) -> None:
    machine.run(script=boot_script(user_data(BootSettings(), root=str(machine.root))))
    assert machine.calls == ["systemctl daemon-reload"]


def test_second_run_writes_the_same(booted: Callable[..., Any]) -> None:
    machine = booted()
    before = {path: Path(f"{machine.root}{path}").read_text() for path in written(machine.root)}
    machine = booted()
    assert {path: Path(f"{machine.root}{path}").read_text() for path in written(machine.root)} == before


@pytest.mark.parametrize("ratio", ["0.5", "1.5", "2"])
def test_node_takes_its_swap_file_out_of_its_own_disk(machine: Any, booted: Callable[..., Any], ratio: str) -> None:
    machine.set_memory(MEMORY_KIB)
    booted(swap_ratio=ratio, system_reserved={"memory": "256Mi", "cpu": "1"})
    assert drop_in(machine) == {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "kubelet": {
                "config": {
                    "systemReserved": {
                        "memory": "256Mi",
                        "cpu": "1",
                        "ephemeral-storage": str(swap_file_bytes(MEMORY_KIB * 1024, ratio)),
                    }
                }
            }
        },
    }


def test_disk_the_pool_reserves_is_added_to_the_swap_file(machine: Any, booted: Callable[..., Any]) -> None:
    machine.set_memory(MEMORY_KIB)
    booted(system_reserved={"ephemeral-storage": "2Gi"})
    reserved = drop_in(machine)["spec"]["kubelet"]["config"]["systemReserved"]
    assert reserved == {"ephemeral-storage": str(swap_file_bytes(MEMORY_KIB * 1024, 2) + 2 * 2**30)}


def test_node_without_swap_gets_no_drop_in(booted: Callable[..., Any]) -> None:
    machine = booted(swap_ratio=0)
    assert written(machine.root) == [
        "/etc/systemd/system/floodplain-memory.service",
        "/etc/systemd/system/kubelet.service.d/50-floodplain.conf",
        "/usr/local/sbin/floodplain-memory",
    ]


def broken(machine: Any) -> None:
    """A machine on which the units cannot be written; kubelet's own folder is fine."""
    machine.write("usr/local/sbin", "a file where the folder should be")


def test_shell_part_that_fails_still_keeps_kubelet_from_starting(
    machine: Any, boot_script: Callable[[str], str]
) -> None:
    broken(machine)
    done = machine.run(script=boot_script(user_data(BootSettings(), root=str(machine.root))))
    assert done.returncode != 0
    units = machine.root / "etc/systemd/system"
    requirement = (units / "kubelet.service.d/50-floodplain.conf").read_text()
    assert "Requires=floodplain-memory.service floodplain-swap.service\n" in requirement
    assert not (units / "floodplain-swap.service").exists()


@pytest.mark.parametrize("power_off", [True, False])
def test_shell_part_that_fails_ends_the_machine_unless_told_not_to(
    machine: Any, boot_script: Callable[[str], str], power_off: bool
) -> None:
    broken(machine)
    text = user_data(BootSettings(power_off_on_failure=power_off), root=str(machine.root))
    machine.run(script=boot_script(text))
    assert machine.calls == (["systemctl poweroff --force --no-block"] if power_off else [])
