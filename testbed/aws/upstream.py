"""Hands requests to moto's own WSGI application, which is left as it is, and takes its answers whole."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from werkzeug.test import EnvironBuilder, run_wsgi_app

from testbed.aws import query

_DROPPED = {"connection", "content-length", "date", "server", "transfer-encoding"}
_SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=front/20260101/{region}/{service}/aws4_request, SignedHeaders=host, Signature=0"
)


@dataclass(frozen=True)
class Answer:
    """Status, headers and body of an answer. `front` says whether any of it is ours."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    front: bool = False

    def corrected(self, body: bytes) -> Answer:
        return replace(self, body=body, front=True)


def json_answer(status: int, content: str) -> Answer:
    return Answer(status, (("Content-Type", "application/x-amz-json-1.1"),), content.encode(), front=True)


def xml_answer(status: int, body: bytes) -> Answer:
    return Answer(status, (("Content-Type", "text/xml;charset=UTF-8"),), body, front=True)


class Moto:
    """moto behind the front."""

    def __init__(self, application: WSGIApplication, region: str) -> None:
        self._application = application
        self._region = region

    def forward(self, environ: WSGIEnvironment, body: bytes) -> Answer:
        """The answer to a request, with `body` in place of its own."""
        ours = {**environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
        ours.pop("wsgi.input_terminated", None)
        return self._run(ours)

    def ec2(self, **fields: str) -> Answer:
        """The answer to an EC2 request of the front's own."""
        builder = EnvironBuilder(
            method="POST",
            base_url=f"http://ec2.{self._region}.amazonaws.com",
            content_type="application/x-www-form-urlencoded",
            headers=[("Authorization", _SIGNATURE.format(region=self._region, service="ec2"))],
            data=query.form({"Version": "2016-11-15", **fields}),
        )
        return self._run(builder.get_environ())

    def _run(self, environ: Mapping[str, Any]) -> Answer:
        chunks, status, headers = run_wsgi_app(self._application, dict(environ), buffered=True)
        kept = tuple((name, value) for name, value in headers.items() if name.lower() not in _DROPPED)
        return Answer(int(status.partition(" ")[0]), kept, b"".join(chunks))
