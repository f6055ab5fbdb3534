"""Controls whose kernel has gone: what to do stands in their place, with what is stored of the output."""

from collections.abc import Iterator

import pytest
from nbformat import v4
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, put, run_all

NAME = "next_day.ipynb"
CELLS = (
    "from helpers.pictures.scheduler import explorer as scheduler\nscheduler.explore()",
    "from helpers.exercises import n01\nn01.predict_flops()",
)
IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
BACK = "Run this cell (Shift+Enter) to bring it back."


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """A notebook that was run and saved, and whose kernel ended, as it is opened again."""
    cells = [v4.new_markdown_cell("# The next day"), *map(v4.new_code_cell, CELLS)]
    put(lab.folder, NAME, v4.new_notebook(cells=cells))
    with lab.opened(NAME) as before:
        run_all(before)
        before.get_by_role("slider").first.wait_for()
        before.get_by_role("radio").first.wait_for()
        with before.expect_response(lambda answer: answer.request.method == "PUT" and NAME in answer.url):
            before.keyboard.press("Control+s")
    with lab.opened(NAME) as shown:
        yield shown


def broken(page: Page) -> int:
    """What can be seen of widgets that are dead: ipywidgets' error, icons of a broken chain."""
    error = page.get_by_text("Error displaying widget").locator("visible=true")
    return error.count() + page.locator(".jupyter-widgets-disconnected").locator("visible=true").count()


@pytest.mark.browser
def test_the_next_day_a_notebook_says_how_to_go_on(page):
    expect(page.get_by_text(BACK)).to_have_count(2)
    assert broken(page) == 0
    explorer, question = (page.locator(".jp-CodeCell", has_text=source.split("\n")[1]) for source in CELLS)
    expect(explorer.locator(".jp-RenderedImage img")).to_be_visible()
    expect(question.get_by_text("The answer, after you have chosen")).to_be_visible()
    page.locator(IDLE).first.wait_for(state="attached")
    for cell in (explorer, question):
        cell.locator(".cm-content").click()
        page.keyboard.press("Control+Enter")
    expect(explorer.get_by_role("slider").first).to_be_visible()
    expect(question.get_by_role("radio").first).to_be_visible()
    expect(page.get_by_text(BACK)).to_have_count(0)


@pytest.mark.browser
def test_after_a_restart_of_the_kernel_it_says_so_too(page):
    expect(page.get_by_role("slider").first).to_be_visible()
    page.get_by_title("Restart the kernel", exact=True).first.click()
    page.locator(".jp-Dialog").get_by_text("Restart", exact=True).click()
    expect(page.get_by_text(BACK)).to_have_count(2)
    assert broken(page) == 0
    expect(page.locator(".jp-RenderedImage img").first).to_be_visible()
    # A kernel that still restarts cannot be ended.
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.info")
    page.locator(IDLE).first.wait_for(state="attached")
