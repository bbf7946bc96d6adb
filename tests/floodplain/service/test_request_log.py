"""What is told of each request: a line in the log, counters, headers. And what an error of ours looks like outside."""

from __future__ import annotations

import io
import json
import logging
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from floodplain.service import logs
from floodplain.service.metrics import ServiceMetrics
from floodplain.service.request_log import RequestLog


@pytest.fixture
def log() -> io.StringIO:
    stream = io.StringIO()
    logs.configure(stream)
    return stream


def lines(log: io.StringIO) -> list[Any]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_a_request_is_one_line_with_its_id_and_its_measure(app: Any, log: io.StringIO) -> None:
    answer = app.client.post("/v1/plans", json={"images": 5}, headers={"x-request-id": "job-7.a"})
    (line,) = lines(log)
    assert line.pop("ms") > 0
    assert line.pop("time")
    assert line == {
        "event": "request",
        "level": "info",
        "request": "job-7.a",
        "method": "POST",
        "path": "/v1/plans",
        "status": 200,
        "client": "testclient",
    }
    assert answer.headers["x-request-id"] == "job-7.a"


@pytest.mark.parametrize("name", ["a b", "x" * 65, "é", '"', ""])
def test_an_id_that_is_no_plain_word_is_replaced(app: Any, log: io.StringIO, name: str) -> None:
    answer = app.client.get("/v1/pools", headers={"x-request-id": name.encode()})
    given = answer.headers["x-request-id"]
    assert given != name
    assert lines(log)[0]["request"] == given


def test_what_a_caller_writes_stays_inside_its_line(app: Any, log: io.StringIO) -> None:
    app.client.get("/%0a%22%7d%1b[31m%e2%80%a8" + "x" * 5000)
    (line,) = log.getvalue().splitlines()
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["path"].startswith('/\n"}\x1b[31m\u2028xxx')
    assert len(line) < 600


def test_probes_that_succeed_are_counted_and_not_logged(app: Any, log: io.StringIO) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        app.client.get(path)
    assert lines(log) == []
    assert app.counted("floodplain_http_requests_total", route="/healthz", method="GET", code="200") == 1


def test_requests_are_counted_by_route_so_that_no_caller_can_make_labels(app: Any) -> None:
    app.client.post("/v1/plans", json={"images": 5})
    app.client.post("/v1/plans", json={"images": 0})
    for number in range(3):
        app.client.get(f"/nowhere/{number}")
        app.client.get(f"/static/{number}.css")
    app.client.request("BREW", "/nowhere")
    count = "floodplain_http_requests_total"
    assert app.counted(count, route="/v1/plans", method="POST", code="200") == 1
    assert app.counted(count, route="/v1/plans", method="POST", code="422") == 1
    assert app.counted(count, route="other", method="GET", code="404") == 3
    assert app.counted(count, route="/static/{name}", method="GET", code="404") == 3
    assert app.counted(count, route="other", method="other", code="404") == 1
    assert app.counted("floodplain_http_request_seconds_count", route="/v1/plans") == 2
    assert app.counted("floodplain_plans_total", feasible="true") == 1
    text = app.client.get("/metrics").text
    assert "nowhere" not in text
    assert 'floodplain_http_request_seconds_bucket{le="0.01",route="/v1/plans"}' in text


@pytest.mark.parametrize("path", ["/", "/v1/pools", "/nowhere", "/healthz", "/openapi.json", "/chart.svg?images=50"])
def test_every_answer_tells_browsers_to_guess_and_load_nothing(app: Any, path: str) -> None:
    headers = app.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_an_error_of_ours_names_the_request_outside_and_its_cause_in_the_log(log: io.StringIO) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        secret = "what the user sent"  # noqa: F841
        raise ZeroDivisionError("by nobody")

    metrics = ServiceMetrics()
    answer = TestClient(RequestLog(fails, metrics)).get("/", headers={"x-request-id": "seven"})
    told = {"path": "the service", "rule": "failed", "remedy": "look for request seven in its log"}
    assert (answer.status_code, answer.json()) == (500, {"problems": [told]})
    failed, request = lines(log)
    assert (failed["event"], failed["request"], failed["level"]) == ("failed", "seven", "error")
    assert failed["exception"][0]["exc_type"] == "ZeroDivisionError"
    assert "what the user sent" not in log.getvalue()
    assert (request["event"], request["status"]) == ("request", 500)


def test_lines_of_other_libraries_are_json_as_well(log: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").warning("careful with %s\n", "this")
    logging.getLogger("somebody").info("chatter")
    (line,) = lines(log)
    assert (line["event"], line["logger"], line["level"]) == ("careful with this\n", "uvicorn.error", "warning")
