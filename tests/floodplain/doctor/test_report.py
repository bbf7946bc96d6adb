"""How findings are told: as JSON, as lines, as metrics; whatever names a cluster has."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from floodplain.cli import app
from floodplain.doctor.examine import examine
from floodplain.doctor.metrics import MetricsError, push, registry, write
from floodplain.doctor.report import document, lines, printable, summary
from tests.floodplain.doctor.clusters import POOL, WELL, with_node

BROKEN = with_node(swap_bytes=None, kubelet=None)


def test_the_document_holds_everything() -> None:
    found = examine(BROKEN)
    made = document(BROKEN, found)
    assert {key: value for key, value in made.items() if key != "findings"} == {
        "schema_version": 1,
        "looked_at": "2026-08-01T12:00:00+00:00",
        "kubernetes": "v1.36.3",
        "pools": ["example"],
        "pool_nodes": 1,
        "pods": 3,
        "severity": "error",
        "exit_status": 2,
        "counts": {"ok": 5, "info": 1, "warning": 1, "error": 1},
    }
    assert made["findings"][0] == {
        "check": "swap-size",
        "severity": "error",
        "object": "node n1",
        "seen": "no swap is on, or kubelet started before it was",
        "expected": "128.0 GiB (2 x its memory of 64.0 GiB)",
        "levers": [
            "replace the node: delete its NodeClaim",
            "if others come up the same way, see docs/how-to/debug-a-node.md",
        ],
        "source": "node status.nodeInfo.swap.capacity",
    }
    assert json.loads(json.dumps(made)) == made


def test_each_line_is_a_finding_with_its_time() -> None:
    found = examine(BROKEN)
    made = [json.loads(line) for line in lines(BROKEN, found)]
    assert [(one["check"], one["severity"]) for one in made] == [(one.check, one.severity.value) for one in found]
    assert {(one["time"], one["event"]) for one in made} == {("2026-08-01T12:00:00+00:00", "finding")}


def test_the_summary_counts_the_worst_first() -> None:
    told = summary(BROKEN, examine(BROKEN))
    assert told == "Kubernetes v1.36.3, 1 node of pools: 1 error, 1 warning, 1 info, 5 ok"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a?[31mb"),
        ("two\nlines\ttab", "two lines tab"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("\u202e", "?"),
    ],
)
def test_names_of_a_cluster_cannot_write_to_the_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


def values(exposition: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(exposition)
        for sample in family.samples
    }


def test_metrics_say_how_many_of_what(tmp_path: Path) -> None:
    file = tmp_path / "doctor.prom"
    write(str(file), registry(BROKEN, examine(BROKEN)))
    found = values(file.read_text())
    assert found["floodplain_doctor_findings", "swap-size", "error"] == 1
    assert found["floodplain_doctor_findings", "swap-size", "warning"] == 0
    assert found["floodplain_doctor_exit_status",] == 2
    assert found["floodplain_doctor_pool_nodes",] == 1
    assert found["floodplain_doctor_last_run_timestamp_seconds",] == WELL.now.timestamp()


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(MetricsError, match=r"--metrics-file: .* cannot be written \(No such file or directory\)"):
        write(str(tmp_path / "none" / "doctor.prom"), registry(WELL, ()))


@pytest.fixture
def gateway() -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Something that takes what a pushgateway takes: address, and method, path and body of each request."""
    taken: list[tuple[str, str, str]] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.command, self.path, body.decode()))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", taken
        finally:
            server.shutdown()
            thread.join()


def test_metrics_replace_those_of_the_last_run_at_a_pushgateway(
    gateway: tuple[str, list[tuple[str, str, str]]],
) -> None:
    address, taken = gateway
    push(address, registry(BROKEN, examine(BROKEN)))
    ((method, path, body),) = taken
    assert (method, path) == ("PUT", "/metrics/job/floodplain-doctor")
    assert values(body)["floodplain_doctor_exit_status",] == 2


def test_a_pushgateway_that_is_none_is_told() -> None:
    with pytest.raises(MetricsError, match="--push: 'nonsense://x' does not take the metrics"):
        push("nonsense://x", registry(WELL, ()))


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ("doctor", *arguments), env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"})
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


KUBECONFIGS = {
    "no file": (None, "Configuration file"),
    "not YAML": ("{", "cannot be used"),
    "not a kubeconfig": ("a: 1", "cannot be used"),
    "no such context": ("clusters: []\ncontexts: []\nusers: []\ncurrent-context: x\n", "Context 'x' not found"),
    "no user": (
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\ncurrent-context: x\n"
        "contexts: [{name: x, context: {cluster: c}}]\n",
        "cannot be used",
    ),
    "a program that is not there": (
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\ncurrent-context: x\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
        "users: [{name: u, user: {exec:"
        " {apiVersion: client.authentication.k8s.io/v1beta1, command: no-such-program}}}]",
        "no-such-program",
    ),
    "nobody there": (
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\ncurrent-context: x\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]",
        "https://127.0.0.1:1: does not answer (ConnectError",
    ),
}


@pytest.mark.parametrize(("content", "message"), KUBECONFIGS.values(), ids=KUBECONFIGS)
def test_a_cluster_that_cannot_be_reached_is_status_3(content: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content)
    status, output = run("--kubeconfig", str(file))
    assert (status, message in output) == (3, True), output
    assert len(output.splitlines()) == 1


def test_pools_that_cannot_be_read_are_status_3(tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    file.write_text("{")
    status, output = run("--pools", str(file))
    assert (status, output.startswith(f"--pools: {file}: the pool documents: is not JSON")) == (3, True)


def test_two_ways_of_printing_do_not_go_together() -> None:
    assert run("--json", "--lines") == (3, "--json and --lines do not go together; give one of them\n")


@pytest.fixture
def refusing(tmp_path: Path) -> Iterator[str]:
    """The kubeconfig of an API server that says its version and refuses all else."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/version"
            self.send_response(200 if known else 403)
            self.end_headers()
            self.wfile.write(b'{"gitVersion": "v1.36.3"}' if known else b'{"message": "forbidden"}')

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on stderr."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        file = tmp_path / "refusing"
        address = f"http://127.0.0.1:{server.server_port}"
        file.write_text(
            f"clusters: [{{name: c, cluster: {{server: '{address}'}}}}]\ncurrent-context: x\n"
            "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]"
        )
        try:
            yield str(file)
        finally:
            server.shutdown()
            thread.join()


def test_findings_make_the_status_unless_they_shall_not_and_are_told_all_the_same(
    refusing: str, gateway: tuple[str, list[tuple[str, str, str]]]
) -> None:
    address, taken = gateway
    status, output = run("--kubeconfig", refusing, "--lines")
    assert (status, json.loads(output.splitlines()[0])["severity"]) == (2, "error")
    status, quiet = run("--kubeconfig", refusing, "--lines", "--exit-zero", "--push", address)
    assert (status, len(quiet.splitlines())) == (0, len(output.splitlines()))
    ((_, _, body),) = taken
    assert values(body)["floodplain_doctor_exit_status",] == 2


def test_what_keeps_it_from_looking_or_telling_is_a_failure_whatever_is_asked(refusing: str, tmp_path: Path) -> None:
    assert run("--kubeconfig", str(tmp_path / "none"), "--exit-zero")[0] == 3
    assert run("--kubeconfig", refusing, "--lines", "--exit-zero", "--push", "nonsense://x")[0] == 3
    assert run("--exit-zero", "--no-such-option")[0] == 2


def test_help_says_what_each_exit_status_means() -> None:
    status, output = run("--help")
    assert status == 0
    assert "Exit status: 0 nothing above info, 1 warnings, 2 errors" in " ".join(output.split())


def test_a_pool_without_a_document_has_no_largest_limit() -> None:
    assert replace(POOL, document=None).largest_limit_bytes is None
