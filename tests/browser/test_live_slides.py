"""The slides of a notebook over JupyterLab in a real browser: sized for a room, alive, and gone when the show ends."""

import re
from collections.abc import Iterator

import pytest
from nbformat import v4
from playwright.sync_api import Page, expect

from helpers import plan
from helpers.slides import route
from helpers.slides.planned import path_of, planned
from helpers.tools.notebooks import form
from tests.browser import live_slides
from tests.browser.lab import ERROR, Lab, drawn, put, run_all, wait_for_notebook

BOOK = plan.course().notebook("05").path
SLIDES = planned(path_of(BOOK).read_text(encoding="utf-8"))
FILM = next(number for number, slide in enumerate(SLIDES) if slide.kind == "film")
ASKED = next(number for number, slide in enumerate(SLIDES) if slide.kind == "ask")


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """Notebook 05 after all its cells have run, beside the one in which a workshop goes on."""
    after = v4.new_notebook(cells=[v4.new_markdown_cell("# What comes next")])
    put(lab.folder, plan.course().notebook("06").file, after)
    put(lab.folder, BOOK.name, form.read(BOOK.read_text(encoding="utf-8")))
    with lab.opened(BOOK.name) as shown:
        run_all(shown)
        shown.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for()
        shown.locator(".widget-radio").first.wait_for()
        yield shown


def begin(page: Page, number: int = 0) -> None:
    live_slides.show(page)
    for _ in range(number):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".course-slide h1")).to_have_text(SLIDES[number].title)


@pytest.mark.browser
def test_slides_fill_the_screen_and_hide_their_notes(page):
    begin(page)
    assert page.locator(".jp-CourseShow").bounding_box() == {"x": 0, "y": 0, "width": 1280, "height": 900}
    title, stage = page.locator(".course-slide h1"), page.locator(".course-slide").bounding_box()
    assert (stage["width"], stage["height"]) == (1280, 720)
    assert float(title.evaluate("one => parseFloat(getComputedStyle(one).fontSize)")) >= 40
    picture = page.locator(".jp-CourseShow img.jp-CoursePicture")
    expect(picture).to_be_visible()
    assert drawn(picture).bounding_box()["width"] > 1000
    assert page.locator(".jp-CourseShow").get_by_text("the idle cycles are the whole motive").count() == 0
    with page.context.expect_page() as speaker:
        page.keyboard.press("s")
    expect(speaker.value.locator("body")).to_contain_text("Say")
    expect(speaker.value.locator("h1")).to_contain_text(SLIDES[0].title)
    speaker.value.close()
    page.keyboard.press("Escape")


@pytest.mark.browser
def test_explorer_on_a_slide_moves_and_its_keys_turn_no_page(page):
    begin(page, FILM)
    shown = page.locator(".jp-CourseShow")
    picture = shown.locator("img.widget-image")
    expect(picture).to_be_visible()
    before = picture.get_attribute("src")
    shown.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    expect(picture).not_to_have_attribute("src", before)
    expect(shown.locator("h1")).to_have_text(SLIDES[FILM].title)
    drawn(picture)
    box = shown.locator(".jp-CourseShow-live").bounding_box()
    assert box["x"] + box["width"] <= 1281 and box["y"] + box["height"] <= 811
    page.keyboard.press("PageDown")
    expect(shown.locator("h1")).to_have_text(SLIDES[FILM + 1].title)
    page.keyboard.press("Escape")


@pytest.mark.browser
def test_a_prediction_on_a_slide_can_be_committed_to(page):
    begin(page, ASKED)
    shown = page.locator(".jp-CourseShow")
    shown.get_by_role("radio").first.check()
    shown.get_by_role("button", name="Commit").click()
    expect(shown.locator(".jp-CourseShow-live")).to_contain_text(re.compile("The answer is|✔"))
    page.keyboard.press("PageUp")
    page.keyboard.press("Escape")


@pytest.mark.browser
def test_live_slides_can_be_read_from_the_last_row(page):
    assert [str(problem) for problem in live_slides.problems(page, BOOK.name, None)] == []
    page.keyboard.press("Escape")


@pytest.mark.browser
def test_the_check_of_live_slides_finds_what_is_planted(page):
    planted = ".course-slide .words { font-size: 13px !important; width: 90px; word-break: break-all }"
    style = page.add_style_tag(content=planted)
    problems = " ".join(map(str, live_slides.problems(page, BOOK.name, None)))
    style.evaluate("one => one.remove()")
    page.keyboard.press("Escape")
    assert "has letters of 19.5 pixels, less than 24" in problems and "breaks a line inside of" in problems


@pytest.mark.browser
def test_show_leaves_the_notebook_as_it_was_and_is_off_next_time(page):
    begin(page, FILM)
    page.keyboard.press("Escape")
    expect(page.locator(".jp-CourseShow")).to_have_count(0)
    explorer = page.locator(".jp-CodeCell .jp-OutputArea-output", has=page.locator("img.widget-image")).first
    expect(explorer).to_be_attached()
    assert page.locator(ERROR).count() == 0
    begin(page)
    page.on("dialog", lambda asked: asked.accept())
    page.reload()
    wait_for_notebook(page)
    page.get_by_role("button", name="Slides", exact=True).wait_for()
    expect(page.locator(".jp-CourseShow")).to_have_count(0)
    expect(page.get_by_role("menubar")).to_be_visible()


@pytest.mark.browser
def test_workshop_shows_its_part_and_continues_in_next_notebook(page):
    (share,) = route.shares(plan.course().routes[-1], "05", plan.course(), plan.FOLDER)
    live_slides.show(page, "The workshop of half a day")
    shown = page.locator(".jp-CourseShow")
    expect(shown.locator("h1")).to_have_text(share.parts[0].title)
    expect(shown.get_by_text("Notebook 05", exact=True)).to_be_visible()
    page.keyboard.press("End")
    expect(shown.locator("h1")).to_have_text(share.parts[-1].slides[-1].title)
    expect(shown.locator(".jp-CourseShow-page")).to_contain_text(f"→ notebook {share.then.number}")
    page.keyboard.press("ArrowRight")
    expect(shown.locator("h1")).to_have_text(share.then.title)
    page.keyboard.press("Escape")
    expect(page.locator(".jp-Notebook h1:visible")).to_have_text(re.compile("^What comes next"))
