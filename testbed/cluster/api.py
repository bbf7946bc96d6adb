"""Talks to an API server: objects are plain mappings as in YAML, answers hold the status and the body as they came.

Deliberately not a typed client: tests compare what the server said, also its refusals, word for word.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from testbed.cluster.certificates import Pair

Object = Mapping[str, Any]
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class Answer:
    """Status code, body, and the Warning headers' texts."""

    status: int
    body: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.status < 300

    @property
    def message(self) -> str:
        """The server's words when it refused."""
        return str(self.body.get("message", ""))


class RefusedError(Exception):
    """The API server did not do what was asked; `answer` says why."""

    def __init__(self, asked: str, answer: Answer) -> None:
        super().__init__(f"{asked}: {answer.status} {answer.message}")
        self.answer = answer


class Api:
    """One API server, as one user. Paths begin at the root: /api/v1/nodes. Usable from several threads."""

    def __init__(self, endpoint: str, authority: Path, user: Pair) -> None:
        self.endpoint = endpoint
        self._verify = str(authority)
        self._cert = (str(user.certificate), str(user.key))
        self._plurals: dict[tuple[str, str], tuple[str, bool]] = {}
        self._threads = threading.local()

    @property
    def _session(self) -> requests.Session:
        session: requests.Session | None = getattr(self._threads, "session", None)
        if session is None:
            session = requests.Session()
            session.trust_env = False  # no proxy between loopback and loopback
            session.verify = self._verify
            session.cert = self._cert
            self._threads.session = session
        return session

    def request(
        self,
        method: str,
        path: str,
        body: Object | list[Any] | None = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
        timeout_seconds: float = 60,
    ) -> Answer:
        """Whatever the server answers; raises OSError only when it does not answer at all."""
        answer = self._session.request(
            method,
            self.endpoint + path,
            params=dict(query or {}),
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": content_type, "Accept": "application/json"},
            timeout=timeout_seconds,
        )
        # Python reads headers as Latin-1, Kubernetes writes UTF-8.
        warnings = answer.headers.get("Warning", "").encode("latin-1").decode(errors="replace")
        try:
            parsed = answer.json()
        except requests.exceptions.JSONDecodeError:
            parsed = {"text": answer.text}
        return Answer(answer.status_code, parsed, _warning_texts(warnings))

    def get(self, path: str) -> dict[str, Any]:
        """The object or list at `path`; raises RefusedError when there is none."""
        return self._require(f"GET {path}", self.request("GET", path))

    def find(self, path: str) -> dict[str, Any] | None:
        """The object at `path`, or None when there is none."""
        answer = self.request("GET", path)
        return None if answer.status == 404 else self._require(f"GET {path}", answer)

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The items of a list, e.g. items("/api/v1/nodes", labelSelector="a=b")."""
        items: list[dict[str, Any]] = self._require(f"GET {path}", self.request("GET", path, query=query))["items"]
        return items

    def create(self, thing: Object, *, dry_run: bool = False) -> Answer:
        """POST with strict field validation: an unknown field is refused, not dropped."""
        return self.request("POST", self.path_of(thing, collection=True), thing, query=_options(dry_run))

    def apply(
        self, thing: Object, *, field_manager: str = "testbed", dry_run: bool = False, force: bool = True
    ) -> Answer:
        """Server-side apply."""
        query = {**_options(dry_run), "fieldManager": field_manager, "force": str(force).lower()}
        return self.request("PATCH", self.path_of(thing), thing, content_type=APPLY, query=query)

    def must_apply(self, thing: Object) -> dict[str, Any]:
        """Server-side apply; raises RefusedError when the server does not take it."""
        return self._require(f"apply {thing['kind']} {thing['metadata']['name']}", self.apply(thing))

    def patch(self, path: str, body: Object | list[Any], *, content_type: str = MERGE) -> Answer:
        return self.request("PATCH", path, body, content_type=content_type)

    def delete(self, path: str, *, propagation: str = "Background", grace_seconds: int | None = None) -> Answer:
        """Delete an object, or all of a collection. An object that is not there is an answer of 404, no error."""
        body: dict[str, Any] = {"propagationPolicy": propagation}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        return self.request("DELETE", path, body)

    def path_of(self, thing: Object, *, collection: bool = False) -> str:
        """Where the server keeps `thing`, by its own discovery; the namespace is "default" when none is named."""
        group_version = thing["apiVersion"]
        plural, namespaced = self._plural(group_version, thing["kind"])
        metadata = thing.get("metadata", {})
        root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
        scope = f"/namespaces/{metadata.get('namespace', 'default')}" if namespaced else ""
        return f"{root}{scope}/{plural}" + ("" if collection else f"/{metadata['name']}")

    def _plural(self, group_version: str, kind: str) -> tuple[str, bool]:
        known = self._plurals.get((group_version, kind))
        if known is not None:
            return known
        root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
        for resource in self.get(root)["resources"]:
            if "/" not in resource["name"]:
                self._plurals[group_version, resource["kind"]] = (resource["name"], resource["namespaced"])
        if (group_version, kind) not in self._plurals:
            raise RefusedError(
                f"find {kind} of {group_version}", Answer(404, {"message": "the server serves no such kind"})
            )
        return self._plurals[group_version, kind]

    @staticmethod
    def _require(asked: str, answer: Answer) -> dict[str, Any]:
        if not answer.ok:
            raise RefusedError(asked, answer)
        return answer.body


def is_true(thing: Object, condition: str) -> bool:
    """Whether a condition of an object's status is True."""
    conditions = thing.get("status", {}).get("conditions") or ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def _options(dry_run: bool) -> dict[str, str]:
    return {"fieldValidation": "Strict", **({"dryRun": "All"} if dry_run else {})}


def _warning_texts(header: str) -> tuple[str, ...]:
    """The quoted texts of `299 - "text", 299 - "text"` (RFC 9110 has obsoleted it; Kubernetes sends it)."""
    texts = []
    decoder = json.JSONDecoder()
    at = header.find('"')
    while at >= 0:
        try:
            text, end = decoder.raw_decode(header, at)
        except json.JSONDecodeError:
            text, end = header[at + 1 :], len(header)
        texts.append(str(text))
        at = header.find('"', end)
    return tuple(texts)
