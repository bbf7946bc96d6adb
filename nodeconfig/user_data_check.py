"""Faults of any user data text for AL2023 under Karpenter, also one written by hand.

Most of them are silent: the EC2NodeClass says Ready, and the part is lost, run as something else, or the node never
joins (seen with Karpenter 1.14.1 against a real API server). Independent of how we render: it only reads. Design
weaknesses of a text that works are in `weak_points`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from floodplain.problem import ABSENT, Problem

from .archive import HEADERS, Archive, read_archive
from .part_check import as_map, kubelet_config_of, part_problems
from .shell_rules import PART_START, SWAP_ON

EC2_MOST_BYTES = 16_384
"""EC2's limit on user data before base64; Karpenter does not compress (UserDataSizeLimitExceeded)."""

KARPENTER_BYTES = 3 * 1024
"""Room for Karpenter's own part: the cluster's certificate (about 1.5 KB), taints, labels, kubelet settings."""


def problems_of_user_data(text: str) -> list[Problem]:
    """Everything wrong with `text`, from its first line to its last; empty for a good one.

    Paths name the line, or the part and the line within the whole text.
    """
    if not text.strip():
        return []
    archive = read_archive(text)
    found = [*_text_problems(text), *_frame_problems(text, archive)]
    for number, part in enumerate(archive.parts, start=1):
        found += part_problems(number, part)
    return [*found, *_swap_problems(archive)]


def _text_problems(text: str) -> Iterator[Problem]:
    size = len(text.encode())
    if size > EC2_MOST_BYTES - KARPENTER_BYTES:
        yield Problem(
            "user data",
            f"bytes are more than {EC2_MOST_BYTES - KARPENTER_BYTES}: EC2 takes {EC2_MOST_BYTES} and "
            f"Karpenter adds up to {KARPENTER_BYTES}",
            "shorten it, or fetch scripts at boot",
            size,
        )
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.isascii():
            yield Problem(f"line {number}", "has characters outside ASCII", "use ASCII only", line)
    if "\r" in text:
        number = text[: text.index("\r")].count("\n") + 1
        yield Problem(f"line {number}", "has a carriage return, which Karpenter removes", "use plain line ends")


def _frame_problems(text: str, archive: Archive) -> Iterator[Problem]:
    if archive.bare:
        yield _bare_problem(text, archive)
        return
    if not text.startswith(HEADERS):
        yield Problem(
            "line 1",
            "is blank before the header, so Karpenter finds no headers and the EC2NodeClass is never ready",
            "let the first byte be the M of MIME-Version",
        )
    if not archive.headers.get("content-type", "").lower().startswith("multipart/"):
        yield Problem(
            "header Content-Type",
            "is not multipart, so Karpenter cannot read the archive",
            'write: Content-Type: multipart/mixed; boundary="//"',
            archive.headers.get("content-type", ABSENT),
        )
        return
    if not archive.boundary:
        yield Problem("header Content-Type", "names no boundary", 'write: boundary="//"')
        return
    if archive.malformed:
        number, line = archive.malformed
        yield Problem(
            f"line {number}",
            "is neither a header nor the blank line that ends the headers, so the EC2NodeClass is never ready",
            "put an empty line, without spaces, after the headers",
            line,
        )
        return
    for match in PART_START.finditer(text):
        if match[1] != archive.boundary:
            yield Problem(
                f"line {text[: match.start()].count(chr(10)) + 1}",
                f"begins a part with another boundary than the header's ({archive.boundary}); it is lost silently",
                f"write --{archive.boundary}",
                f"--{match[1]}",
            )
    if not archive.parts:
        yield Problem("user data", "has no parts", f"begin each part with a line --{archive.boundary}")
    elif not archive.closed:
        yield Problem(
            "last line",
            "is not the closing boundary, so the EC2NodeClass is never ready",
            f"end with a line --{archive.boundary}--",
        )
    if archive.lost:
        yield Problem(f"line {archive.lost[0]}", "lies outside every part and is dropped", "move it into a part")


def _bare_problem(text: str, archive: Archive) -> Problem:
    taken_for = "a NodeConfig" if archive.parts[0].is_node_config else "one shell script"
    hidden = re.search(r"^(MIME-Version|Content-Type):", text, re.MULTILINE | re.IGNORECASE)
    if hidden:
        line = text[: hidden.start()].count("\n") + 1
        return Problem(
            "line 1",
            f"stands before the MIME header of line {line}, so Karpenter takes the whole text for {taken_for}",
            "let the first byte be the M of MIME-Version",
            text.split("\n", 1)[0],
        )
    return Problem(
        "line 1",
        f"is no MIME header, so Karpenter takes the whole text for {taken_for}",
        "write a MIME archive with a NodeConfig part and a shell part",
        text.split("\n", 1)[0],
    )


def _swap_problems(archive: Archive) -> Iterator[Problem]:
    makes_swap = any(SWAP_ON.search(part.body) for _, part in archive.shell_parts())
    config: dict[str, Any] = {}
    for _, part in archive.node_configs():
        config |= kubelet_config_of(part)
    behaviour = as_map(config.get("memorySwap")).get("swapBehavior", "NoSwap")
    if makes_swap and config.get("failSwapOn", True) is not False:
        yield Problem(
            "spec.kubelet.config.failSwapOn",
            "is not false although the script switches swap on, so kubelet refuses to start",
            "set failSwapOn: false in the NodeConfig part",
            config.get("failSwapOn", ABSENT),
        )
    if makes_swap and behaviour != "LimitedSwap":
        yield Problem(
            "spec.kubelet.config.memorySwap.swapBehavior",
            "is not LimitedSwap, so no container may use the swap that the script makes",
            "set memorySwap.swapBehavior: LimitedSwap in the NodeConfig part",
            behaviour,
        )
    if not makes_swap and (behaviour == "LimitedSwap" or config.get("failSwapOn") is False):
        yield Problem(
            "spec.kubelet.config",
            "prepares kubelet for swap, but no shell part switches swap on",
            "add the swap unit, or remove failSwapOn and memorySwap",
            {key: config[key] for key in ("failSwapOn", "memorySwap") if key in config},
        )
