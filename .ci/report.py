"""One Markdown report over the offline previews of every stack, for a pull request.

    .venv/bin/python .ci/report.py --base origin/main --out build/preview

Writes OUT/<stack>.md for each stack and OUT/comment.md, which fits into one comment. Ends with 1 if any stack has a
finding that its preview treats as an error. What a preview says is preview/'s business; here it is only collected.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARKER = "<!-- floodplain-preview -->"
LIMIT = 60_000  # GitHub takes 65,535 characters in a comment.


@dataclass(frozen=True)
class Part:
    """The preview of one stack: its Markdown, and whether it passed."""

    stack: str
    markdown: str
    passed: bool


def stacks(folder: Path) -> list[str]:
    """Names of the stacks that have a file in `folder`, sorted."""
    return sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in folder.glob("Pulumi.*.yaml"))


def render(stack: str, base: str | None) -> Part:
    """Run the preview of `stack`, as a user would."""
    command = [sys.executable, "-m", "preview", "report", "--stack", stack, "--format", "markdown"]
    if base:
        command += ["--base", base]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    text = done.stdout.strip()
    if done.stderr.strip():
        text = f"{text}\n\n{fenced(done.stderr.strip())}".strip()
    return Part(stack, text, done.returncode == 0)


def fenced(text: str) -> str:
    """The text as a block of code that nothing in it can end: the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def assemble(parts: list[Part], base: str | None, limit: int = LIMIT) -> str:
    """All parts under one heading, failures first, each cut to a fair share of `limit` where the whole is too long."""
    ordered = sorted(parts, key=lambda part: (part.passed, part.stack))
    against = f" against `{base}`" if base else ""
    failed = [part.stack for part in ordered if not part.passed]
    verdict = f"**Does not pass: {', '.join(failed)}.**" if failed else "Every stack passes its checks."
    head = f"{MARKER}\n# Offline preview{against}\n\n{verdict} Rendered from the stack files; no cluster was asked.\n"
    room = limit - len(head)
    sections: list[str] = []
    # Short parts leave what they do not need to long ones.
    lengths = sorted(ordered, key=lambda part: len(part.markdown))
    shares: dict[str, int] = {}
    for position, part in enumerate(lengths):
        share = room // (len(lengths) - position)
        shares[part.stack] = share
        room -= min(share, len(_section(part, share)))
    for part in ordered:
        sections.append(_section(part, shares[part.stack]))
    return head + "".join(sections)


def _section(part: Part, room: int) -> str:
    # A stack that could not be rendered has lines to tell, but no heading of its own.
    own = part.markdown.lstrip().startswith(("#", "<!--"))
    head = "\n" if own else f"\n## {part.stack}: {'passes' if part.passed else 'does not pass'}\n\n"
    whole = f"{head}{part.markdown}\n"
    return whole if len(whole) <= room else f"{head}{cut(part.markdown, room - len(head) - 1)}\n"


def cut(markdown: str, room: int) -> str:
    """The first lines of `markdown` that fit, with what they opened closed again, and a note."""
    note = f"\n_Cut here: the whole, {len(markdown):,} characters, is in the run's artifact `preview`._"
    room -= len(note) + len("\n") + 4 * len("\n</details>")
    kept: list[str] = []
    fence = ""
    for line in markdown.splitlines():
        found = re.match(r"\s*(`{3,})(.*)", line)
        after = fence
        if found and not fence:
            after = found[1]
        elif found and len(found[1]) >= len(fence) and not found[2].strip():
            after = ""
        if len(line) + 1 + len(after) > room:
            break
        room -= len(line) + 1
        fence = after
        kept.append(line)
    text = "\n".join(kept)
    # Within a fence the tags are text, and a preview nests no more than four of them.
    still_open = min(4, text.count("<details") - text.count("</details>"))
    return text + (f"\n{fence}" if fence else "") + "\n</details>" * still_open + "\n" + note


def main() -> int:
    """Render, write, and say which stacks do not pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", help="git revision to compare with")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    parts = [render(stack, given.base) for stack in stacks(ROOT / "stacks")]
    given.out.mkdir(parents=True, exist_ok=True)
    for part in parts:
        (given.out / f"{part.stack}.md").write_text(part.markdown + "\n", encoding="utf-8")
    (given.out / "comment.md").write_text(assemble(parts, given.base), encoding="utf-8")
    for part in parts:
        print(f"{part.stack}: {'passes' if part.passed else 'does not pass'}")
    return 0 if parts and all(part.passed for part in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
