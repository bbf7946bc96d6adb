"""What the API server's audit log says about requests for a pod: the part of an audit binding that no client sees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FAILURES = "validation.policy.admission.k8s.io/validation_failure"


@dataclass(frozen=True)
class AuditLog:
    """The file that the server writes, an event a line. It has written an event before it answers the request."""

    path: Path

    def events(self, pod: str) -> list[dict[str, Any]]:
        lines = self.path.read_text().splitlines()
        events = [json.loads(line) for line in lines if f'"{pod}"' in line]
        return [event for event in events if event.get("objectRef", {}).get("name") == pod]

    def failures(self, pod: str) -> list[tuple[str, str, list[str]]]:
        """Policy, message and actions of every failed validation of every request for a pod of that name."""
        return [
            (failure["policy"], failure["message"], failure["validationActions"])
            for event in self.events(pod)
            for failure in json.loads(event.get("annotations", {}).get(FAILURES, "[]"))
        ]
