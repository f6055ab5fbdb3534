"""Notebook 03 in JupyterLab in a real browser: it runs to its end, and its sliders redraw when keys are pressed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab import ERROR, STDERR, opened, put, run_all, running_lab
from playwright.sync_api import Page, expect

from helpers import notebook_form

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "03_coalescing.ipynb"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, chromium: str) -> Iterator[Page]:
    """The notebook after Run All."""
    folder = tmp_path_factory.mktemp("course")
    put(folder, NOTEBOOK.name, notebook_form.read(NOTEBOOK.read_text(encoding="utf-8")))
    with running_lab(folder) as address, opened(address(NOTEBOOK.name), chromium) as shown:
        run_all(shown)
        last = shown.get_by_text(re.compile(r"At N = \d+ each float"))  # printed by the last cell
        failed = shown.locator(ERROR)
        last.or_(failed).first.wait_for()
        assert failed.count() == 0, failed.first.inner_text()
        yield shown


def bring_into_view(page: Page, text: str) -> None:
    """Scroll the notebook, which keeps only the cells near the window, until the cell with this code is there."""
    cell = page.locator(".jp-CodeCell", has_text=text)
    page.locator(".jp-WindowedPanel-outer").evaluate("panel => panel.scrollTo(0, 0)")
    for _ in range(80):
        if cell.count():
            cell.first.scroll_into_view_if_needed()
            return
        page.locator(".jp-WindowedPanel-outer").evaluate("panel => panel.scrollBy(0, 500)")
        page.wait_for_timeout(60)
    pytest.fail(f"no cell with {text!r} in the notebook")


def press_and_expect_a_new_picture(page: Page, cell, slider, key: str) -> None:
    picture = cell.locator("img.widget-image")
    before = picture.get_attribute("src")
    slider.focus()
    page.keyboard.press(key)
    expect(picture).not_to_have_attribute("src", before)


@pytest.mark.browser
def test_run_all_leaves_no_error_and_nothing_on_stderr(page):
    assert page.locator(STDERR).count() == 0
    assert page.locator(ERROR).count() == 0


@pytest.mark.browser
def test_the_explorers_picture_follows_its_sliders_by_keyboard(page):
    bring_into_view(page, "coalescing.explore()")
    cell = page.locator(".jp-CodeCell", has_text="coalescing.explore()")
    slider = cell.locator(".widget-hslider", has_text="threads along y").get_by_role("slider")
    press_and_expect_a_new_picture(page, cell, slider, "ArrowRight")
    expect(cell.get_by_text("naive with block (32, 2)")).to_be_visible()


@pytest.mark.browser
def test_the_step_slider_moves_k_by_keyboard(page):
    bring_into_view(page, "coalescing.explore_steps")
    cell = page.locator(".jp-CodeCell", has_text="coalescing.explore_steps")
    press_and_expect_a_new_picture(page, cell, cell.get_by_role("slider"), "ArrowRight")


@pytest.mark.browser
def test_a_prediction_is_answered_after_commit_by_keyboard(page):
    bring_into_view(page, "predict_naive_load")
    cell = page.locator(".jp-CodeCell", has_text="predict_naive_load")
    cell.get_by_role("radio").nth(1).focus()
    page.keyboard.press("Space")
    commit = cell.get_by_role("button", name="Commit")
    expect(commit).to_be_enabled()
    commit.focus()
    page.keyboard.press("Enter")
    expect(cell.get_by_text("The answer is 32")).to_be_visible()
