"""Notebook 03 in JupyterLab in a real browser, as a learner goes through it.

It runs to its end; sliders redraw when keys are pressed; a wrong answer is diagnosed and a right one accepted; and
after a restart of the kernel it is remembered what was solved. The tests share one page and build on each other, in
their order. Slides have tests of their own, in test_live_slides.py.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from helpers import exercises
from helpers.tools.notebooks import form
from tests.browser.lab import ERROR, PATIENCE, STDERR, Lab, bring_into_view, put, run_all

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "03_coalescing.ipynb"


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """The notebook after Run All."""
    shutil.copy(NOTEBOOK.with_name("glossary.md"), lab.folder)
    put(lab.folder, NOTEBOOK.name, form.read(NOTEBOOK.read_text(encoding="utf-8")))
    with lab.opened(NOTEBOOK.name) as shown:
        run_all(shown)
        last = shown.locator(".jp-OutputArea-output", has_text=re.compile(r"At N = \d+ each float"))  # of the last cell
        failed = shown.locator(ERROR)
        wait_at_the_end(shown, last.or_(failed))
        assert failed.count() == 0, failed.first.inner_text()
        yield shown


def wait_at_the_end(page: Page, shown: Locator) -> None:
    """Wait until this is there; pictures that come in above push the end out of the window again and again."""
    for _ in range(400):
        page.locator(".jp-WindowedPanel-outer").evaluate("panel => panel.scrollTo(0, panel.scrollHeight)")
        if shown.count():
            return
        page.wait_for_timeout(250)
    pytest.fail("the notebook did not come to its end")


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
    commit, picture = cell.get_by_role("button", name="Commit"), cell.locator(".widget-html img")
    expect(commit).to_be_enabled()
    expect(picture).to_be_hidden()
    commit.focus()
    page.keyboard.press("Enter")
    expect(cell.get_by_text("The answer is 32")).to_be_visible()
    expect(picture).to_be_visible()
    again = cell.get_by_role("button", name="Try again")
    again.focus()
    page.keyboard.press("Enter")
    expect(picture).to_be_hidden()
    expect(cell.get_by_text("The answer is 32")).to_have_count(0)
    expect(commit).to_be_disabled()


def answer(page: Page, check: str, source: str, *said: str) -> None:
    """Put source, which holds `check`, in the cell that does, and run it by keyboard: its output says all this.

    A kernel that restarts drops what it is told to run, so that it is told again.
    """
    bring_into_view(page, check)
    cell = page.locator(".jp-CodeCell", has_text=check)
    editor, output = cell.locator(".cm-content"), cell.locator(".jp-OutputArea")
    for last in (False, True):
        editor.focus()
        expect(editor).to_be_focused()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(source)
        page.keyboard.press("Shift+Enter")
        try:
            expect(output).to_contain_text(said[0], timeout=PATIENCE if last else PATIENCE / 3)
            break
        except AssertionError:
            if last:
                raise
    for words in said[1:]:
        expect(output).to_contain_text(words)


@pytest.mark.browser
def test_a_wrong_number_is_diagnosed_in_the_notebook(page):
    wrong = exercises.get("strided_sectors").wrong[0]
    source = f"my_answer = {wrong.answer}\nstrided_sectors.check(my_answer)"
    answer(page, "strided_sectors.check", source, wrong.because, "✘")


@pytest.mark.browser
def test_a_wrong_kernel_is_diagnosed_and_a_right_one_accepted(page):
    exercise = exercises.get("column_major")
    slip = exercise.wrong[1]
    wrong = f"%%cuda column_major{exercise.marked.version(slip.version)}"
    answer(page, "%%cuda column_major", wrong, f"Why: {slip.because}")
    answer(page, "%%cuda column_major", f"%%cuda column_major{exercise.solved}", "✔")
    assert page.locator(STDERR).count() == page.locator(ERROR).count() == 0


@pytest.mark.browser
def test_solved_exercises_survive_a_restart_of_the_kernel(page):
    page.get_by_title("Restart the kernel", exact=True).first.click()
    page.locator(".jp-Dialog").get_by_text("Restart", exact=True).click()
    remembered = "from helpers import exercises\nexercises.progress_map()  # in place of n03.predict_gain()"
    states = "● Write it: column-major matrices", "◐ Sectors by hand", "○ A block that helps"
    answer(page, "n03.predict_gain()", remembered, *states)


@pytest.mark.browser
def test_a_term_opens_the_glossary_at_its_entry(page):
    page.locator(".jp-WindowedPanel-outer").evaluate("panel => panel.scrollTo(0, 0)")
    page.get_by_role("link", name="sectors", exact=True).first.click()
    entry = page.locator(".jp-MarkdownViewer").get_by_role("heading", name="sector", exact=False)
    expect(entry.first).to_be_in_viewport()
    assert page.locator(".jp-MarkdownViewer h1").first.bounding_box()["y"] < 0, "the glossary is open at its top"
