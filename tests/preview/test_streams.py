"""What reaches the terminal, the pipe or the full disk behind the command; and how it ends when it is told to."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from preview import terminal
from preview.model import FindingEntry, Report
from preview.streams import printable

CHECKOUT = Path(__file__).parent.parent.parent
Sample = Callable[..., Path]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "preview", *arguments]


def written(tmp_path: Path, text: str) -> Path:
    """A program of this text with a stack `dev`."""
    (tmp_path / "stacks").mkdir(parents=True, exist_ok=True)
    (tmp_path / "Pulumi.yaml").write_text("name: test\nruntime: python\nstackConfigDir: stacks\n")
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text("config: {}\n")
    (tmp_path / "__main__.py").write_text(text)
    return tmp_path


def report(message: str) -> Report:
    finding = FindingEntry(severity="error", check="c", place="there", message=f"there: {message}")
    parts = {"tree": (), "pools": (), "unknowns": (), "findings": (finding,)}
    return Report(project="test", stack="dev", file="f", resources=0, **parts)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(made: Report) -> str:
    stream = Terminal()
    terminal.show(made, stream)
    return stream.getvalue()


def test_control_characters_are_spelt_out() -> None:
    text = "a\x1b[31m\r\x00\x7f\x9b\u202e\ud800\tb\n"
    assert printable(text) == "a\\u001b[31m\\u000d\\u0000\\u007f\\u009b\\u202e\\ud800\tb\n"


def test_names_do_not_steer_the_terminal() -> None:
    for text in (terminal.text(report("\x1b[2Jgone \x9b")), shown(report("\x1b[2Jgone \x9b"))):
        assert "\\u001b[2Jgone \\u009b" in text
        assert "\x1b[2J" not in text and "\x9b" not in text


@pytest.mark.parametrize("columns", ["0", "-5", "abc", "1", "", "²", "9" * 5000])
def test_a_width_that_shows_nothing_is_no_width(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    made = report("is wrong")
    assert "there: is wrong" in terminal.text(made)
    assert ": is wrong" in shown(made)


def test_a_width_that_is_given_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    for text in (terminal.text(report("word " * 30)), shown(report("word " * 30))):
        assert "word word" in text and text.count("\n") > 5


def test_what_the_program_prints_is_not_in_the_answer(tmp_path: Path) -> None:
    text = "import subprocess\nprint('from the program')\nsubprocess.run(['echo', 'from its child'])\n"
    root = str(written(tmp_path, text))
    for arguments in (("report", "--format", "json"), ("dump",)):
        done = subprocess.run(
            command(*arguments, "--stack", "dev", "--root", root), cwd=CHECKOUT, capture_output=True, text=True
        )
        assert json.loads(done.stdout)["stack"] == "dev"
        assert "from the program" in done.stderr and "from its child" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sys.exit(0)", "sys.exit(0)"),
        ("sys.exit()", "sys.exit()"),
        ("sys.exit('enough')", "sys.exit('enough')"),
        ("pulumi.Output.from_input(1).apply(lambda _: sys.exit(0))", "sys.exit(0)"),
    ],
)
def test_a_program_that_ends_early_has_not_passed(tmp_path: Path, line: str, said: str) -> None:
    root = written(tmp_path, f"import sys\nimport pulumi\n{line}\n")
    done = subprocess.run(
        command("report", "-s", "dev", "--root", str(root)), cwd=CHECKOUT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"__main__.py:3: ends the program with {said}; let it run to its end, or raise what is wrong\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [("schema",), ("report", "--stack", "dev"), ("list",), ("--help",)])
def test_a_full_disk_is_told_in_a_line(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(command(*arguments), cwd=CHECKOUT, stdout=full, stderr=subprocess.PIPE, text=True)
    told = "stdout: cannot be written (No space left on device); name another file\n"
    assert (done.returncode, done.stderr) == (1, told)


def test_a_closed_output_is_told_in_a_line() -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command("schema")], cwd=CHECKOUT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (1, "stdout: cannot be written (it is closed); name another file\n")


def test_sigterm_leaves_no_worktree_behind(tmp_path: Path) -> None:
    root = written(tmp_path / "repository", "import time\n")
    (root / "preview").mkdir()
    # The base renders for ever; that it began is told in a file.
    (root / "preview" / "__init__.py").write_text("")
    (root / "preview" / "__main__.py").write_text(
        f"import os, time\nopen({str(tmp_path / 'began')!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    for arguments in (("init", "-q"), ("add", "--all"), ("commit", "-q", "-m", "first")):
        subprocess.run(["git", *identity, *arguments], cwd=root, check=True)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    process = subprocess.Popen(
        command("report", "-s", "dev", "--base", "HEAD", "--root", str(root)),
        cwd=CHECKOUT,
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not ((tmp_path / "began").exists() and (tmp_path / "began").read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130 and "Traceback" not in said
    listed = subprocess.run(["git", "worktree", "list"], cwd=root, check=True, capture_output=True, text=True).stdout
    assert (listed.count("\n"), list(scratch.iterdir())) == (1, [])
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "began").read_text()), 0)
