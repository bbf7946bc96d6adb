"""S3 for tests and benchmarks: moto behind a log of every request, in a process of its own.

with s3_serving({"bucket/scene.tif": path}) as server:
    with rasterio.Env(...):            # under the variables of `server_variables(server)`
        read_header("s3://bucket/scene.tif")
    server.requests()
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.ranges_server import Request, Server

REGION = "eu-central-1"


@contextmanager
def s3_serving(objects: Mapping[str, Path]) -> Iterator[Server]:
    """Serve `objects` (bucket/key: file) until the block ends. The log begins after they are put."""
    import boto3  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "requests.jsonl"
        log.touch()
        command = [sys.executable, str(Path(__file__).resolve()), str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            try:
                assert process.stdout is not None
                server = Server(f"http://127.0.0.1:{int(process.stdout.readline())}", log)
                client = boto3.client(
                    "s3",
                    endpoint_url=server.url,
                    region_name=REGION,
                    aws_access_key_id="testing",
                    aws_secret_access_key="testing",
                )
                for bucket in sorted({name.partition("/")[0] for name in objects}):
                    client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
                for name, file in objects.items():
                    client.put_object(Bucket=name.partition("/")[0], Key=name.partition("/")[2], Body=file.read_bytes())
                os.truncate(log, 0)
                yield server
            finally:
                process.terminate()


def server_variables(server: Server) -> dict[str, str]:
    """What the environment must hold for GDAL to reach it."""
    return {
        "AWS_S3_ENDPOINT": server.url.removeprefix("http://"),
        "AWS_HTTPS": "NO",
        "AWS_VIRTUAL_HOSTING": "FALSE",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }


def _serve(log: Path) -> None:
    from moto import server as moto_server
    from werkzeug.serving import make_server

    module: Any = moto_server
    moto: Any = module.DomainDispatcherApplication(module.create_backend_app)
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)

    def logged(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        answer: list[Any] = []
        body = b"".join(moto(environ, lambda *given: answer.append(given)))
        one = Request(
            environ["REQUEST_METHOD"],
            environ["PATH_INFO"],
            environ.get("HTTP_RANGE"),
            int(answer[0][0].split()[0]),
            len(body),
        )
        os.write(descriptor, (json.dumps(asdict(one)) + "\n").encode())
        start_response(*answer[0])
        return [body]

    server = make_server("127.0.0.1", 0, logged, threaded=True)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
