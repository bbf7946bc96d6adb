"""The page as people use it: by keyboard, without script, with errors, in the dark."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

FITS = re.compile("fits pool example")
FOCUSED = "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with this id has the focus."""
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED) == name:
            return
    raise AssertionError(f"Tab does not lead to {name}")


def _chart_is_drawn(page: Page) -> None:
    chart = page.get_by_role("img", name=re.compile("^Chart of image count"))
    expect(chart).to_be_visible()
    assert chart.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    box = chart.bounding_box()
    assert box is not None
    assert box["width"] > 300
    assert box["height"] > 150


def test_a_job_is_planned_by_keyboard_and_the_page_is_not_loaded_anew(tab: Any) -> None:
    page = tab().open()
    page.evaluate("window.stayed = true")
    _tab_to(page, "images")
    page.keyboard.type("5000")
    _tab_to(page, "options")
    page.keyboard.type("dsm")
    _tab_to(page, "plan")
    page.keyboard.press("Enter")
    expect(page.locator("#answer .verdict")).to_have_text("odm of 5,000 images with dsm: fits pool example")
    _chart_is_drawn(page)
    assert page.evaluate("window.stayed")
    assert page.evaluate(FOCUSED) == "plan"
    assert "images=5000" in page.url
    expect(page).to_have_title(re.compile("^odm of 5,000 images with dsm: fits pool example"))
    expect(page.locator("#recent summary")).to_have_count(1)


def test_a_change_and_enter_in_a_field_plan_again(tab: Any) -> None:
    page = tab().open("/?images=500")
    _tab_to(page, "images")
    page.keyboard.type("900000")
    page.keyboard.press("Enter")
    expect(page.locator("#answer .verdict")).to_have_text(re.compile("fits no pool as it is"))
    expect(page.get_by_role("heading", name="What to change")).to_be_visible()
    page.go_back()
    expect(page.locator("#answer .verdict")).to_have_text(re.compile("^odm of 500 images: fits pool"))
    expect(page.get_by_label("Images", exact=True)).to_have_value("500")


def test_recent_plans_open_by_keyboard(tab: Any) -> None:
    page = tab().open("/?images=500")
    _tab_to(page, "SUMMARY")
    page.keyboard.press("Enter")
    expect(page.locator("#recent").get_by_text("Memory limit")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#answer .verdict")).to_have_text(FITS)


def test_the_skip_link_is_first_and_leads_to_the_form(tab: Any) -> None:
    page = tab().open()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the form")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "images"


def test_it_works_without_script(tab: Any) -> None:
    page = tab(java_script_enabled=False).open()
    page.get_by_label("Images", exact=True).fill("5000")
    page.get_by_label("Options of ODM").fill("dsm")
    with page.expect_response(re.compile(r"/chart\.svg\?")) as chart:
        page.keyboard.press("Enter")
    assert chart.value.status == 200
    expect(page.locator("#answer .verdict")).to_have_text("odm of 5,000 images with dsm: fits pool example")
    expect(page.locator("img.chart")).to_be_visible()
    expect(page.get_by_label("Options of ODM")).to_have_value("dsm")


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_an_error_stands_beside_its_field_which_has_the_focus(tab: Any, script: bool) -> None:
    opened = tab(java_script_enabled=script)
    page = opened.open()
    page.get_by_label("Images", exact=True).fill("500")
    page.get_by_label("Options of ODM").fill("dsmm")
    page.keyboard.press("Enter")
    field = page.get_by_label("Options of ODM")
    error = page.locator("#options-error")
    expect(error).to_have_text("'dsmm' is no option of ODM; did you mean `dsm`?")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("With commas.*did you mean `dsm`"))
    below, box = error.bounding_box(), field.bounding_box()
    assert below is not None
    assert box is not None
    assert abs(below["x"] - box["x"]) < 2
    assert 0 <= below["y"] - (box["y"] + box["height"]) < 120
    # Chromium says of a page that came with status 422 that it did.
    opened.errors = [text for text in opened.errors if script or "422" not in text]
    field.fill("dsm")
    page.keyboard.press("Enter")
    expect(page.locator("#answer .verdict")).to_have_text(FITS)
    expect(page.locator("#options-error")).to_have_count(0)


def test_the_focus_is_visible_at_every_stop(tab: Any) -> None:
    page = tab().open("/?images=500")
    stops: list[str] = []
    for _ in range(30):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            f"[{FOCUSED}, getComputedStyle(document.activeElement).outlineStyle"
            " + ' ' + getComputedStyle(document.activeElement).outlineWidth]"
        )
        if name == "BODY":
            break
        stops.append(name)
        assert outline == "solid 3px", name
    assert stops[:7] == ["skip", "images", "options", "megapixels", "capacity_type", "pool", "plan"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_by_day_and_night(tab: Any, scheme: str) -> None:
    page = tab(color_scheme=scheme).open("/?images=900000")
    pairs = page.evaluate(
        """() => {
          const ground = (element) => {
            for (let one = element; one; one = one.parentElement) {
              const colour = getComputedStyle(one).backgroundColor;
              if (colour !== 'rgba(0, 0, 0, 0)') return colour;
            }
            return 'rgb(255, 255, 255)';
          };
          return [...document.querySelectorAll('p, li, th, td, label, input, select, button, h1, h2, h3, a')]
            .filter((element) => element.offsetParent !== null)
            .map((element) => [element.tagName, getComputedStyle(element).color, ground(element)]);
        }"""
    )
    assert len(pairs) > 40
    assert [(tag, text, ground) for tag, text, ground in pairs if _contrast(text, ground) < 4.5] == []
    body = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (_luminance(body) > 0.5) == (scheme == "light")


def test_it_fits_a_narrow_screen(tab: Any) -> None:
    page = tab(viewport={"width": 360, "height": 740}).open("/?images=5000&options=dsm")
    expect(page.locator("img.chart")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_service_that_is_gone_is_told(tab: Any, service: Any) -> None:
    opened = tab()
    page = opened.open()
    service.popen.terminate()
    service.popen.wait(timeout=60)
    page.get_by_label("Images", exact=True).fill("5000")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("The service does not answer. Try again in a moment.")
    # That the connection was refused is the browser's to say.
    opened.errors = [text for text in opened.errors if "ERR_CONNECTION_REFUSED" not in text and "htmx:" not in text]


def _rgb(colour: str) -> list[float]:
    return [float(part) for part in re.findall(r"[0-9.]+", colour)[:3]]


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in _rgb(colour))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: str, other: str) -> float:
    """As WCAG 2.2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)
