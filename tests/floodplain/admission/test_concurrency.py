"""Where `--max-concurrency` is added, by which rule, and why not elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from floodplain.admission.concurrency import Addition, addition

ADDED = ("--max-concurrency", "4")
UNKNOWN = Addition(why_not="--max-concurrency is not set: neither image nor command is known as ODM's")


@pytest.mark.parametrize(
    ("container", "wanted"),
    [
        ({"image": "opendronemap/odm", "args": ["map"]}, Addition(ADDED, "image odm")),
        ({"image": "docker.io/opendronemap/odm:3.5.4", "args": ["map"]}, Addition(ADDED, "image odm")),
        ({"image": "registry:5000/x/odx@sha256:00", "args": ["map"]}, Addition(ADDED, "image odx")),
        ({"image": "tool", "command": ["/code/run.sh"], "args": []}, Addition(ADDED, "command /code/run.sh")),
        ({"image": "tool", "command": ["python3", "/code/run.py", "map"]}, Addition(ADDED, "command /code/run.py")),
        (
            {
                "image": "tool",
                "command": [
                    "/var/run/argo/argoexec",
                    "emissary",
                    "--loglevel",
                    "info",
                    "--",
                    "python3",
                    "/code/run.py",
                ],
                "args": ["map"],
            },
            Addition(ADDED, "command /code/run.py"),
        ),
        ({"image": "tool", "command": ["/var/run/argo/argoexec", "emissary", "--", "sh"], "args": ["x"]}, UNKNOWN),
        ({"image": "opendronemap/odm", "command": ["sh", "-c", "/code/run.sh map"]}, UNKNOWN),
        ({"image": "opendronemap/nodeodm:3", "args": ["map"]}, UNKNOWN),
        ({"image": "odm/tool", "args": ["map"]}, UNKNOWN),
        ({"image": "tool", "command": ["python3"]}, UNKNOWN),
        ({"image": None, "args": ["map"]}, UNKNOWN),
        ({}, UNKNOWN),
        ({"image": "odm", "args": ["map", "--max-concurrency", "8"]}, Addition(rule="image odm")),
        ({"image": "odm", "args": ["map", "--max-concurrency=8"]}, Addition(rule="image odm")),
        ({"image": "odm", "args": ["map", "--max-conc=8"]}, Addition(rule="image odm")),
        ({"image": "odm", "args": ["map", "--m", "--max-concurrent"]}, Addition(ADDED, "image odm")),
        (
            {"image": "odm", "args": ["--", "map"]},
            Addition(rule="image odm", why_not="--max-concurrency is not set: the arguments hold a bare --"),
        ),
        (
            {"image": "odm"},
            Addition(
                rule="image odm",
                why_not="--max-concurrency is not set: the container has no args, and the image may have some",
            ),
        ),
    ],
)
def test_it_is_added_to_what_is_known_as_odm(container: Any, wanted: Addition) -> None:
    assert addition(container, 4) == wanted


def test_nothing_is_added_or_said_without_a_figure() -> None:
    assert addition({"image": "odm", "args": ["map"]}, None) == Addition()
