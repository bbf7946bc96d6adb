"""User data texts for an EC2NodeClass: what our pools boot with, and the many ways in which such a text breaks."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from components.pool_boot import boot_text
from tests.cluster.karpenter.bed import swap_pool

PLAIN = boot_text(swap_pool("plain"))
VALID = {
    "default": PLAIN,
    "no-power-off": boot_text(swap_pool("a", swap={"power_off_on_failure": False, "ratio": 1.5})),
    "kubelet": boot_text(swap_pool("a", kubelet_config={"cpuManagerPolicy": "static"}, single_process_oom_kill=True)),
    "scripts": boot_text(swap_pool("a", extra_scripts=["#!/bin/bash\nset -e\necho one\n", "#!/bin/sh\nexit 0"])),
}
"""As our component renders them."""

_HEADER, _BOUNDARY = 'boundary="//"', "--//"
_NODE_CONFIG = "Content-Type: application/node.eks.aws\n"
_SHELL = 'Content-Type: text/x-shellscript; charset="us-ascii"\n'


def _one_for(old: str, new: str, count: int = 1) -> str:
    assert old in PLAIN, f"our text holds no {old!r} any more"
    return PLAIN.replace(old, new, count)


def _base64_part() -> str:
    head, _, script = PLAIN.partition(f"{_SHELL}\n")
    body = script.removesuffix("--//--\n")
    encoded = base64.encodebytes(body.encode()).decode()
    return f"{head}{_SHELL}Content-Transfer-Encoding: base64\n\n{encoded}--//--\n"


WRITTEN = {
    "boundary-mismatch": _one_for(_HEADER, 'boundary="=="'),
    "comment-before-the-header": f"# our nodes\n{PLAIN}",
    "blank-line-before-the-header": f"\n{PLAIN}",
    "text-before-the-header": f"hello\n{PLAIN}",
    "base64-part": _base64_part(),
    "no-closing-boundary": PLAIN.removesuffix("--//--\n"),
    "not-multipart": _one_for("multipart/mixed", "text/plain"),
    "no-boundary": _one_for(f"; {_HEADER}", ""),
    "no-content-type": "".join(
        line for line in PLAIN.splitlines(keepends=True) if not line.startswith("Content-Type: m")
    ),
    "header-in-lower-case": _one_for("MIME-Version:", "mime-version:"),
    "part-of-an-unknown-type": _one_for(_NODE_CONFIG, "Content-Type: application/yaml\n"),
    "part-without-a-type": _one_for(_SHELL, ""),
    "part-whose-header-is-broken": _one_for(_SHELL, f"Content-Type text/x-shellscript\n{_SHELL}"),
    "preamble": _one_for("--//\n", "hello\n--//\n"),
    "epilogue": f"{PLAIN}hello\n",
    "closed-in-the-middle": _one_for(f"--//\n{_SHELL}", f"--//--\n--//\n{_SHELL}"),
    "boundary-inside-a-script": _one_for("#!/bin/bash\n", "#!/bin/bash\n--//\n"),
    "longer-boundary-inside-a-script": _one_for("#!/bin/bash\n", "#!/bin/bash\n--//etc\n"),
    "carriage-returns": PLAIN.replace("\n", "\r\n"),
    "script-that-reads-as-yaml": "#!/bin/bash\necho: hello\n",
    "script-of-comments": "#!/bin/bash\n# nothing\n",
    "bare-script": "#!/bin/bash\nset -e\nswapon -a\n",
    "bare-node-config": "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {}\n",
    "empty-archive": 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n--//--\n',
    "too-large": _one_for("#!/bin/bash\n", "#!/bin/bash\n" + "# padding\n" * 1640),
}
"""Faults that people make, one at a time."""


def _frame_lines() -> Iterator[int]:
    """The lines that make the archive: its headers, boundaries, the parts' headers and the blank lines after them."""
    lines = PLAIN.split("\n")
    for number, line in enumerate(lines):
        begins = line.startswith((_BOUNDARY, "MIME-Version:", "Content-Type:"))
        if begins or (line == "" and number > 0 and lines[number - 1].startswith("Content-Type:")):
            yield number


def generated() -> dict[str, str]:
    """Each line of the frame left out, doubled, indented, and with a space after it."""
    lines = PLAIN.split("\n")
    found: dict[str, str] = {}
    for number in _frame_lines():
        line = lines[number]
        changes = {"without": [], "double": [line, line], "indented": [f" {line}"], "space-after": [f"{line} "]}
        for name, changed in changes.items():
            found[f"{name}-line-{number + 1}"] = "\n".join([*lines[:number], *changed, *lines[number + 1 :]])
    return found
