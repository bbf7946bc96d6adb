"""What a request must keep to: size, time, how many at once. Asked of the layer itself, message by message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Gauge
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from floodplain.service.request_limits import RequestLimits

KIB = 1024


class Caller:
    """One HTTP request: hands out body messages and keeps what is answered."""

    def __init__(self, body: Iterable[Message] = (), *, path: str = "/v1/plans", **headers: str) -> None:
        self.scope: Scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        self._body = iter(body)
        self.read_bytes = 0
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        message = next(self._body, None)
        if message is None:
            await asyncio.Event().wait()
            raise AssertionError
        self.read_bytes += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def problem(self) -> Any:
        (problem,) = json.loads(b"".join(one.get("body", b"") for one in self.sent))["problems"]
        return problem


def part(size: int, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


async def says_how_much(scope: Scope, receive: Receive, send: Send) -> None:
    message = await receive()
    await Response(str(len(message["body"])))(scope, receive, send)


def limited(app: Callable[[Scope, Receive, Send], Awaitable[None]] = says_how_much, **limits: Any) -> RequestLimits:
    chosen: dict[str, Any] = {"body_bytes": 256 * KIB, "in_flight": 4, "seconds": 30, **limits}
    return RequestLimits(app, busy=Gauge("busy", "", registry=CollectorRegistry()), **chosen)


async def ask(app: RequestLimits, caller: Caller) -> Caller:
    await app(caller.scope, caller.receive, caller.send)
    return caller


def asked(app: RequestLimits, caller: Caller) -> Caller:
    return asyncio.run(ask(app, caller))


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"content_length": str(256 * KIB)}, [part(128 * KIB), part(128 * KIB, more=False)]),
        ({"transfer_encoding": "chunked"}, [part(128 * KIB), part(128 * KIB), part(0, more=False)]),
    ],
    ids=["told", "chunked"],
)
def test_a_body_of_just_the_limit_passes(headers: dict[str, str], body: list[Message]) -> None:
    caller = asked(limited(), Caller(body, **headers))
    assert (caller.status, caller.sent[1]["body"]) == (200, b"262144")


TOO_LARGE = {"path": "body", "rule": "is larger than 262144 bytes", "remedy": "ask for less at once"}


@pytest.mark.parametrize(
    "headers",
    [
        {"content_length": str(10 << 20)},
        {"transfer_encoding": "chunked"},
        {"content_length": "10"},
        {"content_length": "9" * 400},
        {"content_length": "nonsense"},
    ],
    ids=["told", "chunked", "told wrong", "told absurdly", "told in words"],
)
def test_ten_megabytes_are_refused_and_never_read_whole(headers: dict[str, str]) -> None:
    chunk = 64 * KIB
    caller = asked(limited(), Caller([part(chunk)] * (10 * 1024 // 64), **headers))
    assert (caller.status, caller.problem, caller.headers[b"connection"]) == (413, TOO_LARGE, b"close")
    # The limit, and a little more so that a client which still writes sees the answer.
    assert caller.read_bytes <= 256 * KIB + (1 << 20) + chunk


def test_a_body_that_does_not_arrive_is_waited_for_no_longer_than_the_limit() -> None:
    caller = asked(limited(seconds=0.05), Caller([part(10)], content_length="20"))
    told = {"path": "body", "rule": "did not arrive within 0.05 s", "remedy": "send it at once"}
    assert (caller.status, caller.problem, caller.headers[b"connection"]) == (408, told, b"close")


def test_a_client_that_leaves_while_it_sends_is_not_answered() -> None:
    assert asked(limited(), Caller([part(10), {"type": "http.disconnect"}], content_length="20")).sent == []


async def never_ends(scope: Scope, receive: Receive, send: Send) -> None:
    await asyncio.Event().wait()


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    caller = asked(limited(never_ends, seconds=0.05), Caller())
    told = {
        "path": "the answer",
        "rule": "takes more than 0.05 s",
        "remedy": "ask for less at once, or try again",
    }
    assert (caller.status, caller.problem, caller.headers[b"retry-after"]) == (503, told, b"5")


def test_more_than_may_be_worked_on_at_once_are_told_to_come_back_and_health_is_still_answered() -> None:
    async def run() -> None:
        free, inside = asyncio.Event(), asyncio.Semaphore(0)

        async def waits(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"] == "/v1/plans":
                inside.release()
                await free.wait()
            await Response("done")(scope, receive, send)

        app = limited(waits, in_flight=2)
        working = [asyncio.create_task(ask(app, Caller())) for _ in range(2)]
        for _ in working:
            await inside.acquire()
        busy = await ask(app, Caller())
        told = {"path": "the service", "rule": "is busy with 2 requests", "remedy": "try again in a second"}
        assert (busy.status, busy.problem, busy.headers[b"retry-after"]) == (503, told, b"1")
        assert (await ask(app, Caller(path="/healthz"))).status == 200
        free.set()
        assert [caller.status for caller in await asyncio.gather(*working)] == [200, 200]
        assert (await ask(app, Caller())).status == 200

    asyncio.run(run())


def test_a_place_is_free_again_after_a_failure() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    app = limited(fails, in_flight=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            asked(app, Caller())
