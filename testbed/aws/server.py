"""The process that pretends to be AWS: moto's server with our front before it, on one loopback port.

    python -m testbed.aws.server PORT ACCOUNT.json PRICES.go

Paths below /testbed/ are not AWS's: they tell a test what was asked and let it take capacity away.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from werkzeug.serving import make_server
from werkzeug.wrappers import Request, Response

from testbed.aws import calls, images, prices
from testbed.aws.account import Account
from testbed.aws.corrections import Corrections, Exchange, user_data
from testbed.aws.upstream import Answer, Moto

CONTROL = "/testbed/"


class Front:
    """The WSGI application."""

    def __init__(self, account: Account, moto: WSGIApplication, price_table: Mapping[str, float]) -> None:
        self._corrections = Corrections(account, Moto(moto, account.region), price_table)
        self._calls: list[calls.Call] = []

    def __call__(self, environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        body = request.get_data()
        if request.path.startswith(CONTROL):
            content = self._control(request.method, request.path.removeprefix(CONTROL), body)
            return Response(json.dumps(content), mimetype="application/json")(environ, start)
        answer = self._aws(request, environ, body)
        return Response(answer.body, answer.status, list(answer.headers))(environ, start)

    def _aws(self, request: Request, environ: WSGIEnvironment, body: bytes) -> Answer:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = calls.asked(request.method, environ.get("REQUEST_URI", request.path), headers, body)
        begun = time.monotonic()
        answer = self._corrections.answer(Exchange(asked, environ, body))
        took = round((time.monotonic() - begun) * 1000)
        call = calls.ended(asked, answer.status, answer.body, front=answer.front, milliseconds=took)
        self._calls.append(call)
        # In one piece, since several threads write.
        sys.stdout.write(call.line() + "\n")
        return answer

    def _control(self, method: str, what: str, body: bytes) -> Any:
        memory = self._corrections.memory
        if what == "starved" and method == "PUT":
            memory.starved = {(kind, zone) for kind, zone in json.loads(body)}
        if what == "starved":
            return sorted(memory.starved)
        if what == "calls":
            return [json.loads(call.as_json()) for call in list(self._calls)]
        if what == "launched":
            return dict(memory.launched)
        if what == "launch-templates":
            return [
                {
                    "name": name,
                    "user_data": base64.b64encode(user_data(form)).decode(),
                    "fields": {key: value for key, value in form.items() if not key.endswith(".UserData")},
                }
                for name, form in dict(memory.templates).items()
            ]
        return {"error": f"nothing is called {what}"}


def application(account: Account, price_table: Mapping[str, float]) -> Front:
    """The front before moto. moto reads its settings when it is imported, so they are set first."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as table:
        json.dump(images.moto_table(images.images(account)), table)
        table.flush()
        os.environ["MOTO_AMIS_PATH"] = table.name
        os.environ["MOTO_ACCOUNT_ID"] = account.account_id
        # A node's role has policies of AWS's own, which moto holds only when it is told to.
        os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
        import moto.ec2.models.amis  # noqa: F401, it reads the table of images
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    return Front(account, DomainDispatcherApplication(create_backend_app), price_table)


def main(port: str, account_file: str, price_file: str) -> None:
    """Serve until the process is ended."""
    account = Account.from_json(Path(account_file).read_text())
    front = application(account, prices.read_table(Path(price_file).read_text()))
    from moto.moto_server.werkzeug_app import MotoRequestHandler

    class Quiet(MotoRequestHandler):
        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    server = make_server("127.0.0.1", int(port), front, threaded=True, request_handler=Quiet)
    print(f"moto with the front on 127.0.0.1:{port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
