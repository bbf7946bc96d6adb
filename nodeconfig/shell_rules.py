"""What makes a shell part of user data harmful or lost. Shared by the settings and the checker.

Sources: karpenter-provider-aws v1.14.1 (pkg/providers/amifamily/bootstrap), cloud-init's script handling,
kubelet's protectKernelDefaults.
"""

from __future__ import annotations

import re

import yaml

from floodplain.problem import RuleError

SWAP_ON = re.compile(r"^(?!\s*#).*\bswapon\b", re.MULTILINE)
"""A script that switches swap on, outside comments."""

PART_START = re.compile(r"^--(\S+)[ \t]*\n(?=content-type:)", re.MULTILINE | re.IGNORECASE)
"""What looks like the first lines of a MIME part; the group is its boundary."""

LOST_BACKSLASH = "mnt-k8s-disks-0.mount"
"""The RAID0 mount's unit as it looks when the escape of its name was expanded: no such unit exists."""

_KERNEL_KEYS = re.compile(r"vm[./]overcommit_memory|vm[./]panic_on_oom|kernel[./]panic\w*")


def is_yaml_map(text: str) -> bool:
    """Whether Karpenter would read the text as a NodeConfig: it parses as a YAML map, or as nothing at all."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return False
    return value is None or isinstance(value, dict)


def kernel_key_lines(text: str) -> list[tuple[int, str]]:
    """(line number, key) of kernel settings that kubelet insists on, outside comments.

    kubelet's protectKernelDefaults, which nodeadm sets, ends kubelet unless they keep the values it wants.
    """
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        match = _KERNEL_KEYS.search(line)
        if match and not line.lstrip().startswith(("#", ";")):
            found.append((number, match[0]))
    return found


def check_script(script: str) -> None:
    """Raise RuleError when a shell part would break the archive, be skipped, or keep kubelet from starting."""
    if not script.strip():
        raise RuleError("is empty", "remove it", value=script)
    if not script.isascii():
        raise RuleError("has characters outside ASCII, which the part's charset does not allow", "use ASCII")
    if "\r" in script:
        raise RuleError("has carriage returns, which Karpenter removes", "use plain line ends")
    if not script.startswith("#!/"):
        raise RuleError("has no shebang, so cloud-init does not run it", "begin it with #!/bin/bash")
    for number, line in enumerate(script.split("\n"), start=1):
        if line.startswith("--//"):
            raise RuleError(
                f"starts line {number} with --//, which is where Karpenter ends a part", "indent or quote it"
            )
    if is_yaml_map(script):
        raise RuleError(
            "parses as a YAML map, so Karpenter may take it for a NodeConfig", "add a command, such as set -e"
        )
    for number, key in kernel_key_lines(script):
        raise RuleError(
            f"sets {key} on line {number}, which kubelet checks at start (protectKernelDefaults)", "remove it"
        )
    if LOST_BACKSLASH in script:
        raise RuleError("has lost the backslash of the mount unit's name", r"write mnt-k8s\x2ddisks-0.mount")
    if PART_START.search(script):
        raise RuleError("holds lines that look like the start of a MIME part", "build that text differently")
    if SWAP_ON.search(script):
        raise RuleError("switches swap on beside the node's own swap unit", "set the swap ratio instead")
