"""The page as a server sends it: every answer without script, everything escaped, errors beside their fields."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree

import pytest

from floodplain.pools import dump
from floodplain.service.form import Form, address_of, read_form
from floodplain.service.recent import Recent
from floodplain.sizing.default_pool import default_pool
from floodplain.sizing.explain import explain
from floodplain.sizing.planner import make_plan
from floodplain.sizing.workload import CapacityType, Workload


class Page(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def by_id(self, name: str) -> dict[str, str | None]:
        (found,) = [attributes for _, attributes in self.tags if attributes.get("id") == name]
        return found

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def page(app: Any, path: str = "/", status: int = 200, **headers: str) -> Page:
    answer = app.client.get(path, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return Page(answer.text)


def test_the_empty_form_asks_and_says_nothing_is_wrong(app: Any) -> None:
    shown = page(app)
    assert [one["name"] for one in (*shown.all("input"), *shown.all("select"))] == [
        "images",
        "options",
        "megapixels",
        "capacity_type",
        "pool",
    ]
    assert not [one for one in shown.all("input") if "aria-invalid" in one]
    assert "None yet." in shown.texts


def test_every_field_has_a_label_and_a_hint(app: Any) -> None:
    shown = page(app)
    fields = [*shown.all("input"), *shown.all("select")]
    assert {one["for"] for one in shown.all("label")} == {one["id"] for one in fields}
    for one in fields:
        assert shown.by_id(str(one["aria-describedby"]))["class"] == "hint"


def test_a_plan_is_shown_in_the_words_of_the_command(app: Any) -> None:
    shown = page(app, "/?images=5000&options=dsm&megapixels=20&capacity_type=spot&pool=example")
    workload = Workload(images=5000, options="dsm", megapixels=20, capacity_type=CapacityType.SPOT)
    words = explain(make_plan(workload, [default_pool()]))
    assert words.headline in shown.texts
    for text in (*(row.name for row in words.rows), *(row.value for row in words.rows)):
        assert text in shown.texts
    for section in words.sections:
        assert section.heading in shown.texts
        assert set(section.sentences) <= set(shown.texts)
    assert shown.by_id("images")["value"] == "5000"
    assert [one["value"] for one in shown.all("option") if "selected" in one] == ["spot", "example"]


@pytest.mark.parametrize(
    ("query", "field", "error"),
    [
        ("images=", "images", "is required; set it"),
        ("images=0", "images", "0 is not from 1 to 1000000; write how many images the job reads"),
        ("images=5.5", "images", "'5.5' is not a count of images; write a whole number from 1 to 1000000"),
        ("images=5&options=dsmm", "options", "'dsmm' is no option of ODM; did you mean `dsm`?"),
        ("images=5&megapixels=many", "megapixels", "'many' should be a number"),
        ("images=5&megapixels=0", "megapixels", "0.0 should be greater than 0"),
        ("images=5&capacity_type=x", "capacity_type", "'x' should be 'spot', 'on-demand' or 'reserved'"),
        ("images=5&pool=exampl", "pool", "'exampl' is no pool here; did you mean `example`?"),
    ],
)
def test_an_error_stands_beside_its_field(app: Any, query: str, field: str, error: str) -> None:
    shown = page(app, f"/?{query}", 422)
    wrong = shown.by_id(field)
    assert (wrong["aria-invalid"], wrong["aria-describedby"]) == ("true", f"{field}-hint {field}-error")
    assert "autofocus" in wrong
    assert shown.by_id(f"{field}-error")["class"] == "error"
    assert any(error in text for text in shown.texts)
    assert [one["id"] for one in (*shown.all("input"), *shown.all("select")) if "aria-invalid" in one] == [field]


def test_every_error_is_shown_at_once(app: Any) -> None:
    shown = page(app, "/?images=x&options=nothing-such&megapixels=-1&capacity_type=y&pool=z", 422)
    assert len([one for one in (*shown.all("input"), *shown.all("select")) if one.get("aria-invalid")]) == 5
    assert [one.get("id") for _, one in shown.tags if "autofocus" in one] == ["images"]


def test_htmx_gets_errors_with_a_status_that_it_shows(app: Any) -> None:
    assert page(app, "/?images=0", 200, **{"hx-request": "true"}).by_id("images-error")


INJECTION = "<script>alert(1)</script>\"' onfocus=alert(1) {{7*7}}"


def test_what_is_written_into_a_field_comes_back_as_text(app: Any) -> None:
    scripts = page(app).all("script")
    query = dict.fromkeys(("images", "options", "megapixels", "capacity_type", "pool"), INJECTION)
    answer = app.client.get("/", params=query)
    shown = Page(answer.text)
    assert answer.status_code == 422
    assert shown.all("script") == scripts
    assert shown.by_id("images")["value"] == INJECTION
    assert not [name for _, attributes in shown.tags for name in attributes if name.startswith("on")]


def test_nothing_inline_and_nothing_from_elsewhere(app: Any) -> None:
    shown = page(app, "/?images=5000")
    for tag, attributes in shown.tags:
        assert tag != "style"
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith(("on", "hx-on"))]
        for name in ("src", "href", "action", "hx-get"):
            if name in attributes:
                parts = urlsplit(str(attributes[name]))
                assert (parts.netloc, parts.scheme in ("", "data")) == ("", True)
    assert all(one.get("src") for one in shown.all("script"))


def test_what_the_page_loads_is_there_and_may_be_kept(app: Any) -> None:
    shown = page(app)
    addresses = [str(one["src"]) for one in shown.all("script")]
    addresses += [str(one["href"]) for one in shown.all("link") if one["rel"] == "stylesheet"]
    assert len(addresses) == 3
    for address in addresses:
        answer = app.client.get(address)
        assert (answer.status_code, "immutable" in answer.headers["cache-control"]) == (200, True)
        assert answer.headers["content-type"].startswith(("text/css", "text/javascript"))


@pytest.mark.parametrize("name", ["README.md", "..%2fpage.py", "%2e%2e/page.py", "nothing.css", ""])
def test_only_what_the_page_loads_is_given_out(app: Any, name: str) -> None:
    assert app.client.get(f"/static/{name}").status_code == 404


def test_the_chart_marks_the_job_and_says_so_in_words(app: Any) -> None:
    shown = page(app, "/?images=5000&options=dsm")
    (image,) = shown.all("img")
    answer = app.client.get(str(image["src"]))
    assert answer.headers["content-type"] == "image/svg+xml"
    root = ElementTree.fromstring(answer.text)
    described = root.findtext("{http://www.w3.org/2000/svg}desc") or ""
    assert "Marked: 5,000 images" in described
    assert image["alt"]


def test_a_chart_of_nothing_is_refused_like_a_plan(app: Any) -> None:
    answer = app.client.get("/chart.svg?images=0")
    (problem,) = answer.json()["problems"]
    assert (answer.status_code, problem["path"]) == (422, "images")
    assert app.client.get("/chart.svg").json() == {
        "problems": [{"path": "images", "rule": "is required", "remedy": "set it"}]
    }


def test_a_job_may_be_planned_for_one_pool_of_several(in_process: Callable[..., Any], tmp_path: Path) -> None:
    small = default_pool().model_copy(update={"name": "small", "types": default_pool().types[:2]})
    (tmp_path / "pools.json").write_bytes(dump([default_pool(), small]))
    app = in_process(pools=str(tmp_path / "pools.json"))
    assert "fits pool example" in "".join(page(app, "/?images=5000&pool=example").texts)
    assert "fits no pool as it is" in "".join(page(app, "/?images=5000&pool=small").texts)


def test_recent_plans_are_of_page_and_api_the_newest_first(app: Any) -> None:
    app.plan([{"images": 40}, {"images": 50}])
    shown = page(app, "/?images=60")
    headlines = [text for text in shown.texts if text.startswith("odm of")]
    # The title and the plan itself, then the recent ones.
    assert [headline.split()[2] for headline in headlines[2:]] == ["60", "50", "40"]
    assert "/?images=50" in [one["href"] for one in shown.all("a")]
    assert "Recent plans since this process started" in shown.texts


def test_at_most_fifty_recent_plans_are_kept_and_one_that_is_repeated_once() -> None:
    recent = Recent(clock=lambda: 7.0)
    plans = [make_plan(Workload(images=images), [default_pool()]) for images in range(1, 61)]
    for plan in plans:
        for _ in range(2):
            recent.add(Workload(images=plan.images), plan)
    assert [one.plan.images for one in recent.plans()] == list(range(60, 10, -1))


def test_what_is_wrong_with_the_files_is_said_on_the_page(in_process: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "pools.json"
    file.write_bytes(dump([default_pool()]))
    app = in_process(pools=str(file))
    assert "banner" not in [one.get("class") for one in page(app).all("p")]
    file.write_text("{")
    app.source.look()
    assert f"since now something is wrong: {file}: " in "".join(page(app, "/?images=5").texts)


def test_without_pools_the_page_says_so_instead_of_a_plan(in_process: Callable[..., Any], tmp_path: Path) -> None:
    app = in_process(pools=str(tmp_path / "none.json"))
    shown = page(app, "/?images=5", 503)
    assert "none.json: does not exist" in "".join(shown.texts)


@pytest.mark.parametrize(
    "workload",
    [
        Workload(images=5),
        Workload(images=5000, options="dsm,pc-quality=high,gcp=a b&c=d", megapixels=20.5, capacity_type="spot"),
    ],
)
def test_the_address_of_a_job_leads_back_to_it(workload: Workload) -> None:
    query = dict(parse_qsl(urlsplit(address_of(workload, "example")).query))
    read = read_form(query, ["example"])
    assert (read.workload, read.pool) == (workload, "example")


def test_a_form_that_nobody_has_sent_is_not_judged() -> None:
    values = {"images": "", "options": "x", "megapixels": "", "capacity_type": "", "pool": ""}
    assert read_form({"options": "x"}, []) == Form(values)
