"""Every way in which user data is known to go wrong, one at a time, from a text that is right."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeconfig import problems_of_user_data

GOOD = r"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="==B=="

--==B==
Content-Type: application/node.eks.aws

apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config:
      failSwapOn: false
      memorySwap:
        swapBehavior: LimitedSwap

--==B==
Content-Type: text/x-shellscript; charset="us-ascii"

#!/bin/bash
set -e
# swapon waits for mnt-k8s\x2ddisks-0.mount
swapon /mnt/k8s-disks/0/swapfile
--==B==--
"""


def said(text: str) -> list[tuple[str, str]]:
    """(place, first words of the rule) of every problem."""
    return [(problem.path, " ".join(problem.rule.split()[:4])) for problem in problems_of_user_data(text)]


def test_good_text_has_no_problem() -> None:
    assert said(GOOD) == []


def test_no_text_has_no_problem() -> None:
    assert said("") == said("\n \n") == []


def test_content_type_may_come_first() -> None:
    first, second, rest = GOOD.split("\n", 2)
    assert said(f"{second}\n{first}\n{rest}") == []


HEADER = 'Content-Type: multipart/mixed; boundary="==B=="\n'
NODE_CONFIG_HEADER = "Content-Type: application/node.eks.aws\n"
SHELL_HEADER = 'Content-Type: text/x-shellscript; charset="us-ascii"\n'
SCRIPT = GOOD.partition(f"{SHELL_HEADER}\n")[2].removesuffix("--==B==--\n")
KUBELET = "      failSwapOn: false\n"

CHANGES: dict[str, tuple[str, str, list[tuple[str, str]]]] = {
    "blank line before the header": (
        "MIME-Version: 1.0",
        "\nMIME-Version: 1.0",
        [("line 1", "is blank before the")],
    ),
    "indented header": ("MIME-Version: 1.0", " MIME-Version: 1.0", [("line 1", "is blank before the")]),
    "header that is not multipart": (
        HEADER,
        "Content-Type: text/plain\n",
        [("header Content-Type", "is not multipart, so")],
    ),
    "header without a boundary": (
        HEADER,
        "Content-Type: multipart/mixed\n",
        [("header Content-Type", "names no boundary")],
    ),
    "header with another boundary than the parts": (
        HEADER,
        'Content-Type: multipart/mixed; boundary="//"\n',
        [
            ("line 4", "begins a part with"),
            ("line 16", "begins a part with"),
            ("user data", "has no parts"),
            ("line 4", "lies outside every part"),
        ],
    ),
    "one part with another boundary": (
        f"--==B==\n{SHELL_HEADER}",
        f"--==C==\n{SHELL_HEADER}",
        [
            ("line 16", "begins a part with"),
            ("part 1", "is not YAML (while"),
        ],
    ),
    "missing closing boundary": ("--==B==--\n", "", [("last line", "is not the closing")]),
    "text after the closing boundary": (
        "--==B==--\n",
        "--==B==--\necho late\n",
        [("line 24", "lies outside every part")],
    ),
    "text before the first part": (
        "\n--==B==\nContent-Type: app",
        "\nhello\n--==B==\nContent-Type: app",
        [("line 4", "lies outside every part")],
    ),
    "base64 part": (
        SHELL_HEADER,
        f"{SHELL_HEADER}Content-Transfer-Encoding: base64\n",
        [("part 2, Content-Transfer-Encoding", "is dropped by Karpenter")],
    ),
    "seven-bit part": (SHELL_HEADER, f"{SHELL_HEADER}Content-Transfer-Encoding: 7bit\n", []),
    "cloud-config part": (
        SHELL_HEADER,
        "Content-Type: text/cloud-config\n",
        [("part 2, Content-Type", "is not one that"), ("spec.kubelet.config", "prepares kubelet for swap,")],
    ),
    "part without a content type": (
        SHELL_HEADER,
        "X-Other: 1\n",
        [("part 2, Content-Type", "is not one that"), ("spec.kubelet.config", "prepares kubelet for swap,")],
    ),
    "no blank line after a part's header": (
        f"{SHELL_HEADER}\n#!/bin/bash",
        f"{SHELL_HEADER}#!/bin/bash",
        [("part 2, line 18", "is neither a header")],
    ),
    "blank line of spaces after a part's header": (
        f"{SHELL_HEADER}\n#!/bin/bash",
        f"{SHELL_HEADER} \n#!/bin/bash",
        [("part 2, line 19", "is neither a header")],
    ),
    "blank line of spaces before a NodeConfig, whose lines then look like headers": (
        f"{NODE_CONFIG_HEADER}\n",
        f"{NODE_CONFIG_HEADER} \n",
        [
            ("part 1", "is not a YAML"),
            ("spec.kubelet.config.failSwapOn", "is not false although"),
            ("spec.kubelet.config.memorySwap.swapBehavior", "is not LimitedSwap, so"),
        ],
    ),
    "headers up to the next boundary": (
        f"{SHELL_HEADER}\n{SCRIPT}",
        SHELL_HEADER,
        [
            ("part 2, line 18", "is neither a header"),
            ("part 2, line 18", "has no shebang, so"),
            ("part 2", "parses as a YAML"),
            ("spec.kubelet.config", "prepares kubelet for swap,"),
        ],
    ),
    "no blank line after the headers": (
        f"{HEADER}\n",
        HEADER,
        [("line 3", "is neither a header")],
    ),
    "blank line of spaces after the headers": (
        f"{HEADER}\n",
        f"{HEADER} \n",
        [("line 4", "is neither a header")],
    ),
    "no shebang": ("#!/bin/bash\n", "", [("part 2, line 19", "has no shebang, so")]),
    "script that is a YAML map": (
        "set -e\n# swapon waits for mnt-k8s\\x2ddisks-0.mount\nswapon /mnt/k8s-disks/0/swapfile\n",
        "key: swapon\n",
        [("part 2", "parses as a YAML")],
    ),
    "script of comments only": (
        "set -e\n# swapon waits for mnt-k8s\\x2ddisks-0.mount\nswapon /mnt/k8s-disks/0/swapfile\n",
        "",
        [("part 2", "parses as a YAML"), ("spec.kubelet.config", "prepares kubelet for swap,")],
    ),
    "line with Karpenter's boundary": (
        "set -e\n",
        "set -e\n--// end\n",
        [("part 2, line 21", "starts with the boundary")],
    ),
    "lost backslash": (r"mnt-k8s\x2ddisks", "mnt-k8s-disks", [("part 2, line 21", "has lost the backslash")]),
    "carriage return": ("set -e\n", "set -e\r\n", [("line 20", "has a carriage return,")]),
    "umlaut": ("set -e\n", "set -e # \u00fc\n", [("line 20", "has characters outside ASCII")]),
    "overcommit": ("set -e\n", "sysctl -w vm.overcommit_memory=2\n", [("part 2, line 20", "is a kernel setting")]),
    "overcommit by path": (
        "set -e\n",
        "echo 2 >/proc/sys/vm/overcommit_memory\n",
        [("part 2, line 20", "is a kernel setting")],
    ),
    "panic": ("set -e\n", "sysctl -w kernel.panic_on_oops=0\n", [("part 2, line 20", "is a kernel setting")]),
    "overcommit in a comment": ("set -e\n", "set -e\n# vm.overcommit_memory stays 1\n", []),
    "cluster": (
        "  kubelet:\n",
        "  cluster: {name: x}\n  kubelet:\n",
        [("part 1, spec.cluster", "is overwritten by Karpenter's")],
    ),
    "storage strategy": (
        "  kubelet:\n",
        "  instance: {localStorage: {strategy: RAID0}}\n  kubelet:\n",
        [("part 1, spec.instance.localStorage.strategy", "hides from Karpenter that")],
    ),
    "maxPods": (
        KUBELET,
        f"{KUBELET}      maxPods: 10\n",
        [("part 1, spec.kubelet.config.maxPods", "is overwritten by Karpenter")],
    ),
    "taints": (
        KUBELET,
        f"{KUBELET}      registerWithTaints: []\n",
        [("part 1, spec.kubelet.config.registerWithTaints", "is overwritten by Karpenter")],
    ),
    "hidden threshold": (
        KUBELET,
        f"{KUBELET}      evictionHard: {{memory.available: 1Gi}}\n",
        [("part 1, spec.kubelet.config.evictionHard", "is hidden from the")],
    ),
    "hidden reserve": (
        KUBELET,
        f"{KUBELET}      systemReserved: {{memory: 1Gi}}\n",
        [("part 1, spec.kubelet.config.systemReserved", "is hidden from the")],
    ),
    "kind": ("kind: NodeConfig", "kind: NodeConf", [("part 1, kind", "must be NodeConfig")]),
    "version": ("node.eks.aws/v1alpha1", "node.eks.aws/v1", [("part 1, apiVersion", "must be node.eks.aws/v1alpha1")]),
    "broken YAML": (
        "kind: NodeConfig",
        "kind: [NodeConfig",
        [
            ("part 1", "is not YAML (while"),
            ("spec.kubelet.config.failSwapOn", "is not false although"),
            ("spec.kubelet.config.memorySwap.swapBehavior", "is not LimitedSwap, so"),
        ],
    ),
    "kubelet refuses swap": (KUBELET, "", [("spec.kubelet.config.failSwapOn", "is not false although")]),
    "containers get no swap": (
        "swapBehavior: LimitedSwap",
        "swapBehavior: NoSwap",
        [("spec.kubelet.config.memorySwap.swapBehavior", "is not LimitedSwap, so")],
    ),
    "nobody makes the swap": (
        "swapon /mnt",
        "echo /mnt",
        [("spec.kubelet.config", "prepares kubelet for swap,")],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_each_fault_is_found_where_it_is(name: str) -> None:
    before, after, wanted = CHANGES[name]
    assert GOOD.count(before) >= 1
    found = said(GOOD.replace(before, after, 1))
    assert [place for place, _ in found] == [place for place, _ in wanted]
    assert [rule for (_, rule), (_, words) in zip(found, wanted, strict=True) if not rule.startswith(words)] == []


def test_comment_before_the_header_hides_the_archive() -> None:
    found = problems_of_user_data(f"# our nodes\n{GOOD}")
    assert str(found[0]) == (
        "line 1: '# our nodes' stands before the MIME header of line 2, so Karpenter takes the whole text for "
        "one shell script; let the first byte be the M of MIME-Version"
    )


def test_bare_script_and_bare_node_config_are_told_apart() -> None:
    script = problems_of_user_data("#!/bin/bash\nset -e\nls\n")
    config = problems_of_user_data("apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n")
    assert [problem.rule.rpartition(" for ")[2] for problem in (*script, *config)] == [
        "one shell script",
        "a NodeConfig",
    ]


def test_bare_script_that_makes_swap_lacks_the_kubelet_side() -> None:
    places = [place for place, _ in said("#!/bin/bash\nset -e\nswapon /x\n")]
    assert places == [
        "line 1",
        "spec.kubelet.config.failSwapOn",
        "spec.kubelet.config.memorySwap.swapBehavior",
    ]


@pytest.mark.parametrize(("size", "problems"), [(13_312, 0), (13_313, 1)])
def test_room_for_karpenters_part_is_kept(size: int, problems: int) -> None:
    filler = "x" * (size - len(GOOD) - len("echo \n"))
    text = GOOD.replace("set -e\n", f"set -e\necho {filler}\n")
    assert len(text) == size
    assert [place for place, _ in said(text)] == ["user data"] * problems


def test_later_node_config_wins_as_in_nodeadm() -> None:
    second = f"--==B==\n{NODE_CONFIG_HEADER}\n" + GOOD.split(NODE_CONFIG_HEADER)[1].split("\n--==B==")[0].strip() + "\n"
    spoiled = GOOD.replace("swapBehavior: LimitedSwap", "swapBehavior: NoSwap")
    assert said(spoiled.replace("--==B==--", f"{second}--==B==--")) == []


def test_every_case_we_render_passes(boot_case: str, render: Callable[..., str]) -> None:
    assert problems_of_user_data(render(boot_case)) == []


@given(st.text(alphabet="-=/B:# \n\r{}[]ax", max_size=60))
def test_no_text_breaks_the_checker(noise: str) -> None:
    problems_of_user_data(noise)
    problems_of_user_data(GOOD[:100] + noise + GOOD[100:])
    problems_of_user_data(f"MIME-Version: 1.0\n{noise}")
