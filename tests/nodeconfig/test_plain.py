"""The plain script, run on a folder as an administrator would."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from nodeconfig import PlainSettings, files_written, plain_script

FILE_BYTES = 2 * 65536 * 1024 + 4096
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "failSwapOn": False,
    "memorySwap": {"swapBehavior": "LimitedSwap"},
    "singleProcessOOMKill": False,
}


@pytest.fixture
def install(machine: Any) -> Callable[..., Any]:
    def run(**settings: Any) -> Any:
        machine.forget_calls()
        text = plain_script(PlainSettings(**{"swap_ratio": 2, **settings}), root=str(machine.root))
        return machine.run(script=text)

    return run


def test_install_writes_files_starts_the_units_and_leaves_kubelet_alone(
    machine: Any, install: Callable[..., Any]
) -> None:
    done = install()
    assert (done.returncode, done.stderr) == (0, "")
    assert [call for call in machine.calls if not call.startswith("stat ")] == [
        "systemctl daemon-reload",
        "systemctl is-active --quiet floodplain-memory.service",
        "systemctl start floodplain-memory.service",
        "systemctl is-active --quiet floodplain-swap.service",
        "systemctl start floodplain-swap.service",
    ]
    assert done.stdout.replace(str(machine.root), "").splitlines() == [
        "floodplain: kubelet must run with --config-dir=/etc/kubernetes/kubelet.conf.d",
        "floodplain: drain the node and restart kubelet; it reads swap only at its start",
    ]


def test_kubelet_drop_in_lets_containers_swap(machine: Any, install: Callable[..., Any]) -> None:
    install()
    assert yaml.safe_load((machine.root / "etc/kubernetes/kubelet.conf.d/50-floodplain.conf").read_text()) == KUBELET


def test_without_a_kubelet_directory_it_says_what_to_add(machine: Any, install: Callable[..., Any]) -> None:
    said = install(kubelet_config_directory=None).stdout
    text = said.split("floodplain: add to kubelet's configuration:\n")[1].split("floodplain: drain")[0]
    assert yaml.safe_load(text) == KUBELET
    assert not (machine.root / "etc/kubernetes").exists()


def test_second_install_runs_the_programs_and_does_not_restart_what_kubelet_requires(
    machine: Any, install: Callable[..., Any]
) -> None:
    machine.write("active", "")
    machine.write("var/lib/floodplain/keep", "")
    done = install()
    assert done.returncode == 0
    calls = machine.calls
    assert f"fallocate -l {FILE_BYTES} /var/lib/floodplain/swap.new" in calls
    assert not [call for call in calls if "start" in call]


def test_unit_that_fails_is_told_with_its_journal(machine: Any, install: Callable[..., Any]) -> None:
    machine.write("bin/systemctl", '#!/bin/bash\necho "systemctl $*" >>"$ROOT/calls.log"\n[ "$1" = daemon-reload ]\n')
    assert install().returncode == 1
    assert machine.calls[-1] == "journalctl -n 20 -u floodplain-memory"


def test_cgroup_v1_is_refused(machine: Any, install: Callable[..., Any]) -> None:
    stand_in = machine.write("bin/stat", "#!/bin/bash\necho tmpfs\n")
    done = install()
    assert stand_in.exists()
    assert (done.returncode, done.stderr) == (1, "floodplain: cgroup v2 is needed for swap limits\n")
    assert not (machine.root / "etc").exists()


@pytest.mark.parametrize("kind", ["btrfs", "overlay", "nfs4", ""])
def test_file_system_that_cannot_hold_a_swap_file_is_refused(
    machine: Any, install: Callable[..., Any], kind: str
) -> None:
    install()
    machine.write("fstype", f"{kind}\n")
    done = machine.run(f"{machine.root}/usr/local/sbin/floodplain-swap")
    assert done.returncode == 1
    assert f"is {kind}; a swap file needs xfs or ext4" in done.stderr


def test_machine_is_not_powered_off_unless_asked() -> None:
    unit = "/etc/systemd/system/floodplain-swap.service"
    assert "FailureAction" not in files_written(plain_script(PlainSettings(swap_ratio=1)))[unit]
    asked = plain_script(PlainSettings(swap_ratio=1, power_off_on_failure=True))
    assert "FailureAction=poweroff-force\n" in files_written(asked)[unit]


def test_daemons_slices_are_kept_out_of_swap() -> None:
    text = plain_script(PlainSettings(swap_ratio=1, slices=("system.slice", "kube.slice"), io_latency="10ms"))
    files = files_written(text)
    for name in ("system.slice", "kube.slice"):
        assert files[f"/etc/systemd/system/{name}.d/50-floodplain.conf"] == "[Slice]\nMemorySwapMax=0\n"
        assert f"\nprotect {name} || say " in text
