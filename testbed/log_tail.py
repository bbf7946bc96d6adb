"""What of an engine's log does a person want to see? Its last lines, without Go's stack traces, and no endless ones.

Pure text. A Go program that panics writes why first and then a screen full of its own functions.
"""

import re
from collections.abc import Iterable, Iterator

LINE_MOST = 500
_STACK = re.compile(r"goroutine \d+( gp=\S+)?( m=\S+)?( mp=\S+)? \[.*\]:")


def last_lines(text: str, count: int) -> str:
    """The last `count` lines, indented."""
    shown = [
        line if len(line) <= LINE_MOST else f"{line[:LINE_MOST]}..." for line in _without_stacks(text.splitlines())
    ]
    return "\n".join(f"    {line}" for line in shown[-count:]) or "    (it wrote nothing)"


def _without_stacks(lines: Iterable[str]) -> Iterator[str]:
    in_stack = False
    for line in lines:
        if _STACK.fullmatch(line.strip()):
            in_stack = True
        elif not line.strip():
            in_stack = False
        elif not in_stack:
            yield line
