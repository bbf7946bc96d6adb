"""What the settings refuse, and what they say about it."""

from decimal import Decimal
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from floodplain.problem import problems_of
from nodeconfig import TEXTFILE_DIRECTORY, BootSettings, PlainSettings, plain_script, user_data
from nodeconfig.kubelet_fields import OVERWRITTEN_BY_KARPENTER, SEEN_BY_KARPENTER

SCRIPT = "#!/bin/bash\nset -e\n"


def problem_of(model: type[Any], **values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        model(**values)
    (problem,) = problems_of(caught.value, model)
    return str(problem)


BAD_BOOT: list[tuple[dict[str, Any], str]] = [
    ({"swap_ratio": -1}, "swapRatio: -1 should be greater than or equal to 0"),
    ({"swap_ratio": 17}, "swapRatio: 17 should be less than or equal to 16"),
    (
        {"swap_ratio": "1.2345"},
        "swapRatio: '1.2345' is finer than a thousandth; round the swap ratio to three decimals",
    ),
    ({"swappiness": 201}, "swappiness: 201 should be less than or equal to 200"),
    ({"page_cluster": 7}, "pageCluster: 7 should be less than or equal to 6"),
    (
        {"start_timeout": "15m"},
        "startTimeout: '15m' must lie between 30s and 12m: Karpenter gives up on a node after 15 minutes; write 5m",
    ),
    (
        {"start_timeout": "10s"},
        "startTimeout: '10s' must lie between 30s and 12m: Karpenter gives up on a node after 15 minutes; write 5m",
    ),
    (
        {"io_latency": "25"},
        "ioLatency: '25' is not a latency; write a whole number and us, ms or s, such as 25ms",
    ),
    (
        {"disk_reserve": "20GB"},
        "diskReserve: '20GB' is not a quantity; write 20G (decimal) or 20Gi (binary)",
    ),
    (
        {"system_reserved": {"gpu": "1"}},
        "systemReserved.gpu: '1' is not a resource that can be reserved; known: cpu, memory, ephemeral-storage, pid",
    ),
    (
        {"system_reserved": {"ephemeral-storage": "0.5"}},
        "systemReserved.ephemeral-storage: '0.5' is not a whole number of bytes; "
        "write whole bytes or a smaller unit, such as 1536Mi for 1.5Gi",
    ),
    ({"swapiness": 60}, "swapiness: is not a known key; did you mean `swappiness`?"),
    (
        {"kubelet_config": {"memorySwap": {}}},
        "kubeletConfig.memorySwap: {} is set by floodplain; it follows from the swap ratio",
    ),
    (
        {"kubelet_config": {"singleProcessOOMKill": True}},
        "kubeletConfig.singleProcessOOMKill: True is set by floodplain; use singleProcessOomKill",
    ),
    (
        {"kubelet_config": {"containerLogMaxsize": "1Mi"}},
        "kubeletConfig.containerLogMaxsize: '1Mi' is not a key of KubeletConfiguration, and kubelet refuses to start "
        "with one it does not know; did you mean containerLogMaxSize?",
    ),
    (
        {"kubelet_config": {"featureGates": {"NodeSwap": False}}},
        "kubeletConfig.featureGates.NodeSwap: False turns swap off for every pod; remove it",
    ),
]

BAD_SCRIPTS = {
    "": "is empty; remove it",
    "echo hello\n": "has no shebang, so cloud-init does not run it; begin it with #!/bin/bash",
    f"{SCRIPT}echo \u00e9\n": "has characters outside ASCII, which the part's charset does not allow; use ASCII",
    f"{SCRIPT}ls\r\n": "has carriage returns, which Karpenter removes; use plain line ends",
    f"{SCRIPT}--// x\n": "starts line 3 with --//, which is where Karpenter ends a part; indent or quote it",
    "#!/bin/bash\n# nothing\n": "parses as a YAML map, so Karpenter may take it for a NodeConfig; "
    "add a command, such as set -e",
    f"{SCRIPT}sysctl -w vm.overcommit_memory=0\n": "sets vm.overcommit_memory on line 3, which kubelet checks at start "
    "(protectKernelDefaults); remove it",
    f"{SCRIPT}swapon /dev/xvdz\n": "switches swap on beside the node's own swap unit; set the swap ratio instead",
    f"{SCRIPT}systemctl start mnt-k8s-disks-0.mount\n": "has lost the backslash of the mount unit's name; "
    r"write mnt-k8s\x2ddisks-0.mount",
    f"{SCRIPT}cat <<X\n--b\nContent-Type: x\nX\n": "holds lines that look like the start of a MIME part; "
    "build that text differently",
}


@pytest.mark.parametrize(("values", "message"), BAD_BOOT)
def test_bad_value_is_refused_with_key_value_rule_and_remedy(values: dict[str, Any], message: str) -> None:
    assert problem_of(BootSettings, **values) == message


@pytest.mark.parametrize("script", BAD_SCRIPTS)
def test_bad_script_is_refused_by_its_place(script: str) -> None:
    assert problem_of(BootSettings, extra_scripts=(SCRIPT, script)).startswith("extraScripts[1]: ")
    message = problem_of(BootSettings, extra_scripts=(script,))
    assert message in (f"extraScripts[0]: {BAD_SCRIPTS[script]}", f"extraScripts[0]: '' {BAD_SCRIPTS[script]}")


@pytest.mark.parametrize("key", [*OVERWRITTEN_BY_KARPENTER, *SEEN_BY_KARPENTER, "cluster", "failSwapOn"])
def test_kubelet_key_that_belongs_elsewhere_is_refused(key: str) -> None:
    assert problem_of(BootSettings, kubelet_config={key: "x"}).startswith(f"kubeletConfig.{key}: 'x' ")


def test_every_bad_kubelet_key_is_told_at_once() -> None:
    with pytest.raises(ValidationError) as caught:
        BootSettings(kubelet_config={"maxPods": 1, "evictionHard": {}, "fooBar": 1})
    found = [problem.path for problem in problems_of(caught.value, BootSettings)]
    assert found == ["kubeletConfig.maxPods", "kubeletConfig.evictionHard", "kubeletConfig.fooBar"]


def paths_of(model: type[Any], **values: Any) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        model(**values)
    return sorted(problem.path for problem in problems_of(caught.value, model))


def test_every_fault_of_a_node_is_told_at_once() -> None:
    assert paths_of(
        BootSettings,
        swappiness=201,
        io_latency="soon",
        system_reserved={"gpu": "1", "tpu": "1", "ephemeral-storage": "0.5"},
        kubelet_config={"maxPods": 1, "tlsCipherSuites": ["x" * 50] * 40},
        extra_scripts=("", SCRIPT, "echo hello\n", SCRIPT + "#" * 5000),
    ) == [
        "extraScripts",
        "extraScripts[0]",
        "extraScripts[2]",
        "ioLatency",
        "kubeletConfig",
        "kubeletConfig.maxPods",
        "swappiness",
        "systemReserved.ephemeral-storage",
        "systemReserved.gpu",
        "systemReserved.tpu",
    ]


def test_every_fault_of_a_plain_node_is_told_at_once() -> None:
    faults = {"slices": ("a", "b.slice", "c"), "kubelet_config": {"fooBar": 1}, "start_timeout": "1s"}
    assert paths_of(PlainSettings, swap_ratio=0, swap_size="0", **faults) == [
        "kubeletConfig.fooBar",
        "slices[0]",
        "slices[2]",
        "startTimeout",
        "swapRatio",
        "swapSize",
        "swapSize",
    ]


def test_nodes_write_their_state_where_the_exporter_is_told_to_look() -> None:
    for text in (user_data(BootSettings()), plain_script(PlainSettings(swap_ratio=1))):
        assert f"text={TEXTFILE_DIRECTORY}/floodplain_swap.prom\n" in text


def test_scripts_beyond_the_room_are_refused() -> None:
    message = problem_of(BootSettings, extra_scripts=(SCRIPT + "echo 12345\n" * 400,))
    assert message == (
        "extraScripts: take 4483 bytes of the 4096 that the boot text has room for; "
        "shorten them, or fetch the rest at boot"
    )


def test_kubelet_settings_beyond_the_room_are_refused() -> None:
    message = problem_of(BootSettings, kubelet_config={"tlsCipherSuites": ["x" * 50] * 40})
    assert message.startswith("kubeletConfig: takes ")


def test_value_that_is_no_yaml_is_refused() -> None:
    message = problem_of(BootSettings, kubelet_config={"tracing": object()})
    assert message.startswith("kubeletConfig: cannot be written as YAML")


def test_float_ratio_is_taken_as_written() -> None:
    assert BootSettings(swap_ratio=1.7).swap_ratio == Decimal("1.7")
    assert "* 1700 +" in user_data(BootSettings(swap_ratio=1.7))


def test_settings_read_camel_case() -> None:
    assert BootSettings.model_validate({"swapRatio": 1, "powerOffOnFailure": False}) == BootSettings(
        swap_ratio=1, power_off_on_failure=False
    )


def test_harmless_kubelet_values_reach_the_node_config_whatever_they_hold() -> None:
    config = {"allowedUnsafeSysctls": ["kernel.panic", "--// x"], "clusterDomain": "a\n--//\nb: \u00fc"}
    text = user_data(BootSettings(kubelet_config=config))
    body = text.split("node.eks.aws\n\n", 1)[1].split("\n--//\n", 1)[0]
    assert yaml.safe_load(body)["spec"]["kubelet"]["config"].items() >= config.items()


BAD_PLAIN: list[tuple[dict[str, Any], str]] = [
    ({}, "swapRatio: is required unless swapSize is given; write swapRatio: 2"),
    ({"swap_ratio": 1, "swap_size": "1Gi"}, "swapSize: '1Gi' is given beside swapRatio; keep one of them"),
    ({"swap_ratio": 0}, "swapRatio: 0 makes no swap at all; write more than 0"),
    ({"swap_size": "0"}, "swapSize: 0 makes no swap at all; write more than 0"),
    ({"swap_size": "64GB"}, "swapSize: '64GB' is not a quantity; write 64G (decimal) or 64Gi (binary)"),
    (
        {"swap_ratio": 1, "swap_file": "swap"},
        "swapFile: 'swap' is not a plain absolute path; "
        "use letters, digits, dots, dashes and slashes, such as /var/lib/x",
    ),
    (
        {"swap_ratio": 1, "swap_file": "/var/../etc"},
        "swapFile: '/var/../etc' is not a plain absolute path; "
        "use letters, digits, dots, dashes and slashes, such as /var/lib/x",
    ),
    (
        {"swap_ratio": 1, "kubelet_config_directory": "/etc/$(reboot)"},
        "kubeletConfigDirectory: '/etc/$(reboot)' is not a plain absolute path; "
        "use letters, digits, dots, dashes and slashes, such as /var/lib/x",
    ),
    (
        {"swap_ratio": 1, "slices": ("system",)},
        "slices[0]: 'system' is not a slice; write a systemd slice such as system.slice",
    ),
    (
        {"swap_ratio": 1, "start_timeout": "1s"},
        "startTimeout: '1s' is too short to make a swap file; write 30s or more",
    ),
]


@pytest.mark.parametrize(("values", "message"), BAD_PLAIN)
def test_bad_plain_value_is_refused(values: dict[str, Any], message: str) -> None:
    assert problem_of(PlainSettings, **values) == message


def test_plain_timeout_may_be_long() -> None:
    assert "TimeoutStartSec=3600\n" in plain_script(PlainSettings(swap_ratio=1, start_timeout="1h"))
