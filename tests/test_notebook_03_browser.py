"""Notebook 03 in JupyterLab in a real browser: it runs to its end, and its sliders redraw when keys are pressed."""

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from test_project_browser import wait_for_server

from helpers import notebook_form

NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "03_coalescing.ipynb"
TOKEN = "browser-test"
ERROR = "[data-mime-type='application/vnd.jupyter.error']"
PATIENCE = 90_000  # milliseconds


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running JupyterLab with the notebook, in the simulator, without the user's settings.

    The copy has no outputs, so that what the page shows was computed there.
    """
    folder = tmp_path_factory.mktemp("course")
    notebook = notebook_form.read(NOTEBOOK.read_text(encoding="utf-8"))
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    (folder / NOTEBOOK.name).write_text(notebook_form.written(notebook), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", "--ServerApp.port_retries=0"]
    command += ["--allow-root", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_SETTINGS_DIR")
    environment = {**os.environ, "GEMM_COURSE_BACKEND": "simulator", **{name: str(folder / ".home") for name in names}}
    with open(folder / "lab.log", "w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_for_server(f"http://127.0.0.1:{port}/api", server, folder / "lab.log")
        yield f"http://127.0.0.1:{port}/lab/tree/{NOTEBOOK.name}?token={TOKEN}"
    finally:
        server.terminate()
        server.wait(timeout=20)


@pytest.fixture(scope="module")
def page(lab: str, chromium: str) -> Iterator[Page]:
    """The notebook after Run All."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        opened.goto(lab)
        opened.locator(".jp-Notebook h1").wait_for()
        opened.get_by_role("menuitem", name="Run", exact=True).click()
        opened.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        last = opened.get_by_text(re.compile(r"At N = \d+ each float"))  # printed by the last cell
        failed = opened.locator(ERROR)
        last.or_(failed).first.wait_for()
        assert failed.count() == 0, failed.first.inner_text()
        yield opened
        browser.close()


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
    assert page.locator("[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
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
