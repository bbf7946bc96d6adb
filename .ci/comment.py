"""Create or replace one comment under a pull request. Standard library only: it runs without the environment.

The comment is found again by the marker in its first line, so a pull request has one of it however often it is
pushed to. The pull request is found by branch and commit as GitHub's event names them. The file's text is not
trusted and not interpreted: it is posted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

LIMIT = 65_000
BOT = "github-actions[bot]"


class Api:
    """The few calls of GitHub's REST interface that are needed."""

    def __init__(self, url: str, repository: str, token: str) -> None:
        self._root = f"{url}/repos/{repository}"
        self._token = token

    def call(self, method: str, path: str, body: dict[str, str] | None = None) -> Any:
        """The decoded answer; raises urllib.error.HTTPError for a refusal."""
        request = urllib.request.Request(
            f"{self._root}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def pages(self, path: str) -> list[dict[str, Any]]:
        """Every item of a list, a hundred at a time."""
        found: list[dict[str, Any]] = []
        for page in range(1, 31):
            items = self.call("GET", f"{path}{'&' if '?' in path else '?'}per_page=100&page={page}")
            found += items
            if len(items) < 100:
                break
        return found


def pull_request(api: Api, owner: str, branch: str, sha: str) -> int | None:
    """Number of the open pull request from `owner:branch` whose head is `sha`; None if it has moved on or closed."""
    head = urllib.parse.quote(f"{owner}:{branch}", safe="")
    for found in api.pages(f"/pulls?state=open&head={head}"):
        if found["head"]["sha"] == sha:
            return int(found["number"])
    return None


def publish(api: Api, number: int, text: str) -> str:
    """Replace our comment that starts with the first line of `text`, or write it; says which."""
    marker = text.splitlines()[0]
    for comment in api.pages(f"/issues/{number}/comments"):
        if comment["user"]["login"] == BOT and comment["body"].startswith(marker):
            api.call("PATCH", f"/issues/comments/{comment['id']}", {"body": text})
            return "updated"
    api.call("POST", f"/issues/{number}/comments", {"body": text})
    return "created"


def main() -> int:
    """Read the arguments and GitHub's environment, and publish."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--file", type=Path, required=True)
    parser.add_argument("--head-owner", required=True)
    parser.add_argument("--head-branch", required=True)
    parser.add_argument("--head-sha", required=True)
    given = parser.parse_args()
    text = given.file.read_text(encoding="utf-8")[:LIMIT]
    if not text.startswith("<!-- floodplain-"):
        print(f"{given.file} does not start with our marker; nothing was posted", file=sys.stderr)
        return 1
    api = Api(
        os.environ.get("GITHUB_API_URL", "https://api.github.com"),
        os.environ["GITHUB_REPOSITORY"],
        os.environ["GITHUB_TOKEN"],
    )
    number = pull_request(api, given.head_owner, given.head_branch, given.head_sha)
    if number is None:
        print("no open pull request has this commit as its head any more; nothing was posted")
        return 0
    print(f"{publish(api, number, text)} the comment of pull request {number}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
