"""What must hold for every user data text, whatever the settings."""

import email
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeconfig import BootSettings, files_written, problems_of_user_data, user_data, weak_points_of_user_data
from nodeconfig.boot_settings import PART_HEADER_BYTES, SCRIPTS_MOST_BYTES

KARPENTER_BYTES, EC2_BYTES = 3 * 1024, 16_384
GOAL_BYTES = 12 * 1024
SWAP_CASES = {"swap-k2", "k1-5", "debug-no-power-off", "swappiness-60", "single-process-oom-kill", "extra-scripts"}

ANY_SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "swap_ratio": st.decimals(0, 16, places=3),
        "swappiness": st.integers(0, 200),
        "page_cluster": st.integers(0, 6),
        "io_latency": st.sampled_from([None, "999999us", "1s"]),
        "disk_reserve": st.sampled_from(["0", "20Gi", "1.5Ti"]),
        "start_timeout": st.sampled_from(["30s", "5m", "12m"]),
        "power_off_on_failure": st.booleans(),
        "single_process_oom_kill": st.booleans(),
        "system_reserved": st.dictionaries(
            st.sampled_from(["cpu", "memory", "pid"]), st.sampled_from(["1", "250m", "1Gi"])
        ),
        "kubelet_config": st.sampled_from([{}, {"allowedUnsafeSysctls": ["net.core.somaxconn"] * 30}]),
        "extra_scripts": st.sampled_from([(), ("#!/bin/bash\n" + "echo 12345\n" * 330,)]),
    },
)


def parts_of(text: str) -> list[tuple[str, str]]:
    """(content type, body) of each part, as Python's email parser, which cloud-init uses, sees them."""
    message = email.message_from_string(text)
    assert message.is_multipart()
    return [(part.get_content_type(), part.get_payload()) for part in message.get_payload()]


def kubelet_of(text: str) -> dict[str, Any]:
    document = yaml.safe_load(parts_of(text)[0][1])
    assert document.keys() == {"apiVersion", "kind", "spec"}
    assert document["spec"].keys() == {"kubelet"}
    return document["spec"]["kubelet"]["config"]


@given(ANY_SETTINGS)
@settings(max_examples=30)
def test_any_settings_give_a_sound_text_within_the_goal(values: dict[str, Any]) -> None:
    text = user_data(BootSettings(**values))
    assert len(text.encode()) <= GOAL_BYTES
    assert len(text.encode()) + KARPENTER_BYTES < EC2_BYTES
    assert problems_of_user_data(text) == []


@pytest.mark.parametrize(
    "scripts",
    [
        ("#!/bin/bash\n".ljust(SCRIPTS_MOST_BYTES - PART_HEADER_BYTES - 8, "x") + "\necho 1",),
        ("#!/bin/sh\nls",) * (SCRIPTS_MOST_BYTES // (PART_HEADER_BYTES + 12)),
    ],
)
def test_largest_settings_stay_within_the_goal(scripts: tuple[str, ...]) -> None:
    values = {
        "swap_ratio": Decimal("15.999"),
        "io_latency": "999999us",
        "disk_reserve": "1.5Ti",
        "system_reserved": dict.fromkeys(("cpu", "memory", "pid"), "0." + "0" * 60 + "1"),
        "kubelet_config": {"allowedUnsafeSysctls": ["net.core.somaxconn"] * 35},
        "extra_scripts": scripts,
    }
    assert 11_000 < len(user_data(BootSettings(**values))) <= GOAL_BYTES


def test_first_byte_is_the_header(boot_case: str, render: Callable[..., str]) -> None:
    assert render(boot_case).startswith('MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n--//\n')


def test_text_is_ascii_without_carriage_returns_and_ends_with_the_closing_boundary(
    boot_case: str, render: Callable[..., str]
) -> None:
    text = render(boot_case)
    assert text.isascii()
    assert "\r" not in text
    assert text.endswith("\n--//--\n")


def test_parts_are_a_node_config_and_shell_scripts(boot_case: str, render: Callable[..., str]) -> None:
    types = [kind for kind, _ in parts_of(render(boot_case))]
    assert types[0] == "application/node.eks.aws"
    assert types[1:] == ["text/x-shellscript"] * (3 if boot_case == "extra-scripts" else 1)


def test_no_body_has_a_line_that_begins_with_the_boundary(boot_case: str, render: Callable[..., str]) -> None:
    bodies = [body for _, body in parts_of(render(boot_case))]
    assert not [line for body in bodies for line in body.split("\n") if line.startswith("--//")]


def test_kubelet_accepts_swap_exactly_when_there_is_some(boot_case: str, render: Callable[..., str]) -> None:
    config = kubelet_of(render(boot_case))
    swap = {key: config.get(key) for key in ("failSwapOn", "memorySwap")}
    if boot_case in SWAP_CASES:
        assert swap == {"failSwapOn": False, "memorySwap": {"swapBehavior": "LimitedSwap"}}
    else:
        assert swap == {"failSwapOn": None, "memorySwap": None}


def test_kubelet_part_sets_nothing_that_karpenter_overwrites(boot_case: str, render: Callable[..., str]) -> None:
    assert not kubelet_of(render(boot_case)).keys() & {"maxPods", "clusterDNS", "registerWithTaints"}


def test_mount_unit_keeps_its_backslash(boot_case: str, render: Callable[..., str]) -> None:
    named = re.findall(r"mnt-k8s\S+\.mount", render(boot_case))
    assert set(named) == ({r"mnt-k8s\x2ddisks-0.mount"} if boot_case in SWAP_CASES else set())


def test_swap_unit_is_a_oneshot_that_kubelet_requires(boot_case: str, render: Callable[..., str]) -> None:
    files = files_written(render(boot_case))
    drop_in = files["/etc/systemd/system/kubelet.service.d/50-floodplain.conf"]
    units = ["floodplain-memory.service", *(["floodplain-swap.service"] if boot_case in SWAP_CASES else [])]
    assert drop_in == f"[Unit]\nRequires={' '.join(units)}\nAfter={' '.join(units)}\n"
    for name in units:
        lines = files[f"/etc/systemd/system/{name}"].splitlines()
        wanted = {"Type=oneshot", "RemainAfterExit=yes", "TimeoutStartSec=300", "Before=kubelet.service"}
        assert wanted <= set(lines)
        assert ("FailureAction=poweroff-force" in lines) == (boot_case != "debug-no-power-off")
        assert not {"[Install]"} & set(lines)
        assert not [line for line in lines if line.startswith(("ExecStop=", "RequiresMountsFor="))]
    assert ("/etc/systemd/system/floodplain-swap.service" in files) == (boot_case in SWAP_CASES)


def test_kernel_settings_that_kubelet_checks_are_left_alone(case: str, render: Callable[..., str]) -> None:
    text = render(case)
    assert not re.search(r"overcommit_memory|panic", text)
    keys = set(re.findall(r"\bvm\.[\w-]+", text))
    reserve = {"vm.min_free_kbytes", "vm.watermark_scale_factor"}
    assert keys == (reserve if case == "no-swap" else reserve | {"vm.swappiness", "vm.page-cluster"})


def test_daemons_keep_their_memory_and_their_disk(boot_case: str, render: Callable[..., str]) -> None:
    text = render(boot_case)
    files = files_written(text)
    drop_ins = {path: body for path, body in files.items() if ".slice.d/" in path}
    wanted = {
        f"/etc/systemd/system/{name}.slice.d/50-floodplain.conf": "[Slice]\nMemorySwapMax=0\n"
        for name in ("system", "runtime")
    }
    assert drop_ins == (wanted if boot_case in SWAP_CASES else {})
    protected = boot_case in SWAP_CASES - {"swappiness-60"}
    assert ("IODeviceLatencyTargetSec" in text) == protected


def test_own_texts_have_no_faults_and_no_weak_points(boot_case: str, render: Callable[..., str]) -> None:
    text = render(boot_case)
    assert problems_of_user_data(text) == []
    weak = [problem.path for problem in weak_points_of_user_data(text)]
    assert weak == {
        "debug-no-power-off": ["/etc/systemd/system/floodplain-swap.service"],
        "swappiness-60": ["system.slice and runtime.slice"],
    }.get(boot_case, [])


def test_ratio_zero_makes_no_swap_at_all() -> None:
    text = user_data(BootSettings(swap_ratio=Decimal(0)))
    assert not re.search(r"swap", text, re.IGNORECASE)
