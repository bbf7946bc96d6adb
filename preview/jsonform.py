"""The report for machines. Its schema is `python -m preview schema`; keys are camelCase and only ever added to."""

from __future__ import annotations

import json

from .model import Report


def text(report: Report) -> str:
    content = report.model_dump(mode="json", by_alias=True)
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def schema() -> str:
    """JSON schema of what `text` writes."""
    content = Report.model_json_schema(by_alias=True, mode="serialization")
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
