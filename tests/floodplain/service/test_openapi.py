"""The API's document: complete, and true of what the API takes and gives."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from floodplain.sizing.plan import MonthlyCost, Plan
from floodplain.sizing.workload import Workload


@pytest.fixture
def document(app: Any) -> Any:
    return app.client.get("/openapi.json").json()


def _schema(document: Any, name: str) -> Any:
    return {"$ref": f"#/components/schemas/{name}", "components": document["components"]}


def _examples(document: Any) -> Any:
    return document["paths"]["/v1/plans"]["post"]["requestBody"]["content"]["application/json"]["examples"]


def test_every_field_is_described(document: Any) -> None:
    schemas = document["components"]["schemas"]
    bare = [
        f"{name}.{field}"
        for name in ("Workload", "Plan", "MonthlyCost", "Problem", "Problems")
        for field, schema in schemas[name]["properties"].items()
        if not schema.get("description")
    ]
    assert bare == []
    assert document["info"]["title"] == "floodplain sizing"


def test_the_fields_are_the_models(document: Any) -> None:
    schemas = document["components"]["schemas"]
    assert list(schemas["Workload"]["properties"]) == list(Workload.model_fields)
    assert list(schemas["Plan"]["properties"]) == list(Plan.model_fields)
    assert list(schemas["MonthlyCost"]["properties"]) == list(MonthlyCost.model_fields)


def test_every_reference_leads_somewhere(document: Any) -> None:
    found: list[str] = []

    def walk(part: Any) -> None:
        for item in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            walk(item)
        if isinstance(part, dict) and "$ref" in part:
            found.append(part["$ref"])

    walk(document)
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(found) <= known
    assert "#/components/schemas/Plan" in found


def test_the_examples_are_valid_and_get_the_plans_that_are_described(app: Any, document: Any) -> None:
    for example in _examples(document).values():
        body = example["value"]
        for workload in body if isinstance(body, list) else [body]:
            jsonschema.validate(workload, _schema(document, "Workload"))
        answer = app.plan(body)
        for plan in answer if isinstance(answer, list) else [answer]:
            jsonschema.validate(plan, _schema(document, "Plan"))


def test_problems_look_as_described(app: Any, document: Any) -> None:
    for answer in (app.client.post("/v1/plans", json={"images": 0}), app.client.get("/nowhere")):
        jsonschema.validate(answer.json(), _schema(document, "Problems"))


def test_every_address_has_a_summary_and_tells_how_it_refuses(document: Any) -> None:
    assert {path: sorted(methods) for path, methods in document["paths"].items()} == {
        "/v1/plans": ["post"],
        "/v1/pools": ["get"],
        "/healthz": ["get"],
        "/readyz": ["get"],
        "/metrics": ["get"],
    }
    assert all(one["summary"] for methods in document["paths"].values() for one in methods.values())
    assert sorted(document["paths"]["/v1/plans"]["post"]["responses"]) == ["200", "413", "422", "503"]
