"""One comment per pull request, found again by its marker, against a stand-in for GitHub's interface on loopback."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

TEXT = "<!-- floodplain-preview -->\n## Offline preview\n"


class Github:
    """Pull requests and comments in memory, and what was asked of them."""

    def __init__(self) -> None:
        self.pulls = [{"number": 7, "head": {"sha": "abc", "label": "someone:fix/it"}}]
        self.comments: list[dict[str, Any]] = []
        self.writes: list[tuple[str, str]] = []
        self.tokens: set[str | None] = set()

    def answer(self, method: str, url: str, body: dict[str, str]) -> Any:
        parts, query = urlsplit(url), parse_qs(urlsplit(url).query)
        if method != "GET":
            self.writes.append((method, parts.path))
        if parts.path.endswith("/pulls"):
            return [pull for pull in self.pulls if [pull["head"]["label"]] == query["head"]]  # type: ignore[index]
        if found := re.fullmatch(r".*/issues/comments/(\d+)", parts.path):
            self.comments[int(found[1])]["body"] = body["body"]
            return {}
        if method == "POST":
            self.comments.append(
                {"id": len(self.comments), "user": {"login": "github-actions[bot]"}, "body": body["body"]}
            )
            return {}
        page = int(query["page"][0])
        return self.comments[100 * (page - 1) : 100 * page]


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[Github]:
    state = Github()

    class Handler(BaseHTTPRequestHandler):
        def _any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            state.tokens.add(self.headers.get("Authorization"))
            body = json.loads(self.rfile.read(length) or b"{}")
            answer = json.dumps(state.answer(self.command, self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = _any  # noqa: N815 names of the standard library

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/repo")
    monkeypatch.setenv("GITHUB_TOKEN", "t0ken")
    yield state
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def run(comment: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def run(text: str = TEXT, branch: str = "fix/it", sha: str = "abc") -> int:
        file = tmp_path / "comment.md"
        file.write_text(text)
        arguments = ["--file", str(file), "--head-owner", "someone", "--head-branch", branch, "--head-sha", sha]
        monkeypatch.setattr("sys.argv", ["comment", *arguments])
        return int(comment.main())

    return run


def test_the_first_run_creates_the_comment_and_the_second_replaces_it(github: Github, run: Any) -> None:
    assert run() == 0
    assert run(TEXT + "again\n") == 0
    assert github.writes == [
        ("POST", "/repos/owner/repo/issues/7/comments"),
        ("PATCH", "/repos/owner/repo/issues/comments/0"),
    ]
    assert [found["body"] for found in github.comments] == [TEXT + "again\n"]
    assert github.tokens == {"Bearer t0ken"}


def test_it_is_found_among_hundreds_and_nobody_elses_comment_is_touched(github: Github, run: Any) -> None:
    for number in range(150):
        login = "github-actions[bot]" if number == 120 else "someone"
        github.comments.append({"id": number, "user": {"login": login}, "body": TEXT})
    assert run(TEXT + "new\n") == 0
    assert [found["id"] for found in github.comments if found["body"] != TEXT] == [120]


def test_a_commit_that_is_no_longer_the_head_gets_no_comment(github: Github, run: Any, capsys: Any) -> None:
    assert run(sha="older") == 0
    assert run(branch="gone") == 0
    assert github.writes == []
    assert "nothing was posted" in capsys.readouterr().out


def test_a_file_without_our_marker_is_not_posted(github: Github, run: Any, capsys: Any) -> None:
    assert run("# anything\n") == 1
    assert github.writes == []
    assert "does not start with our marker" in capsys.readouterr().err


def test_the_report_starts_with_the_marker_that_is_looked_for(report: ModuleType) -> None:
    assert report.assemble([report.Part("dev", "", True)], None).startswith("<!-- floodplain-preview -->\n")
