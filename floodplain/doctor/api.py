"""Edge: reads one API server over HTTPS, with lightkube's reading of kubeconfig and credentials. Writes nothing.

Objects are plain mappings as the server sends them: fields that a library's models do not know yet are wanted here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Self

import httpx2
from lightkube.config.client_adapter import Client, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError

PAGE = 500
"""Objects a request of a list brings; a cluster may have many thousands of pods."""
_GONE = 410
_SECONDS = 15.0
# The last four: programs of a kubeconfig that give a token, and what they may say.
_FAILURES = (httpx2.HTTPError, httpx2.InvalidURL, OSError, ConfigError, ValueError, KeyError, TypeError)


class UnreachableError(Exception):
    """The cluster does not answer, or there is no way in. `str()` says which and what to do."""


class RefusedError(Exception):
    """The API server answered, but not with what was asked for. `status` is HTTP's, 0 for an answer that broke off."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KubeApi:
    """One API server as one user. Usable from several threads."""

    def __init__(self, http: httpx2.Client) -> None:
        self._http = http

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._http.close()

    def text(self, path: str, query: Mapping[str, str] | None = None) -> str:
        """What is at a path. Raises RefusedError."""
        try:
            answer = self._http.get(path, params=dict(query or {}))
        except _FAILURES as error:
            raise RefusedError(0, f"{type(error).__name__}: {_one_line(str(error))}") from error
        if answer.status_code != httpx2.codes.OK:
            raise RefusedError(answer.status_code, _message(answer.text) or f"HTTP {answer.status_code}")
        return answer.text

    def object(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The object or list at a path. Raises RefusedError."""
        try:
            found = json.loads(self.text(path, query))
        except (ValueError, RecursionError) as error:
            raise RefusedError(0, "the answer is not JSON") from error
        if not isinstance(found, dict):
            raise RefusedError(0, "the answer is not an object")
        return found

    def items(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """Every object of a list, page by page. Raises RefusedError.

        When the place in the list has expired on the server (410), it is asked for all once more; what was given
        already is not given again.
        """
        given: set[str] = set()
        asked = {**query, "limit": str(PAGE)}
        while True:
            try:
                page = self.object(path, asked)
            except RefusedError as error:
                if error.status != _GONE or "continue" not in asked:
                    raise
                asked = dict(query)
                continue
            for one in page.get("items") or ():
                if isinstance(one, dict):
                    uid = str((one.get("metadata") or {}).get("uid", ""))
                    if not uid or uid not in given:
                        given.add(uid)
                        yield one
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            asked = {**query, "limit": str(PAGE), "continue": str(token)}


def connect(kubeconfig: str | None = None, context: str | None = None) -> KubeApi:
    """The cluster of a kubeconfig; without one that of the pod this runs in, of KUBECONFIG, or of ~/.kube/config.

    Raises UnreachableError when there is none, when it cannot be read, or when the server does not answer.
    """
    try:
        config = KubeConfig.from_file(kubeconfig) if kubeconfig else KubeConfig.from_env()
        chosen = config.get(context)
        if chosen is None:
            raise ConfigError("it names no context")
        api = KubeApi(Client(chosen, ConnectionParams(timeout=httpx2.Timeout(_SECONDS))))
    except Exception as error:  # whatever a kubeconfig can be wrong in: YAML, types, files, certificates
        where = repr(kubeconfig) if kubeconfig else "the kubeconfig"
        raise UnreachableError(
            f"{where}: cannot be used ({_one_line(str(error)) or type(error).__name__}); name one with --kubeconfig,"
            " and a context of it with --context"
        ) from error
    try:
        api.object("/version")
    except RefusedError as error:
        remedy = (
            "check the credentials" if error.status in (401, 403) else "check the address, the network and the context"
        )
        raise UnreachableError(f"{chosen.cluster.server}: does not answer ({error}); {remedy}") from error
    return api


def _message(body: str) -> str:
    """The `message` of a Status, or the first line of what else the server said."""
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        return _one_line(body)[:200]
    return _one_line(str(loaded.get("message", "")))[:400] if isinstance(loaded, dict) else ""


def _one_line(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
