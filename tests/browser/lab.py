"""JupyterLab for tests in a real browser: a server on a folder of its own, and pages that run notebooks there."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect, sync_playwright

from helpers.exercises.framework import progress
from helpers.tools import labextension
from helpers.tools.notebooks import form

TOKEN = "browser-test"
START = 60  # seconds that a server may take to answer
PATIENCE = 90_000  # milliseconds that a page may take for what it is waited for: other workers compile meanwhile
TAKEN_UP = 10_000  # milliseconds within which a kernel that is there takes up a cell
ERROR = "[data-mime-type='application/vnd.jupyter.error']"
STDERR = "[data-mime-type='application/vnd.jupyter.stderr']"


def put(folder: Path, name: str, notebook: NotebookNode) -> None:
    """Write a notebook without outputs, so that what a page shows of it was computed there."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    (folder / name).write_text(form.written(form.mended(notebook)), encoding="utf-8")


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its browser, the folder that it shows, and where it answers."""

    browser: Browser
    folder: Path
    address: str

    @contextmanager
    def opened(self, name: str) -> Iterator[Page]:
        """A page of a laptop's size with a notebook that begins with a heading.

        It has a workspace of its own: others would open what an earlier page had open, too.
        """
        page = self.browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.goto(f"{self.address}/lab/workspaces/{Path(name).stem}/tree/{name}?token={TOKEN}")
        wait_for_notebook(page)
        yield page
        page.close()
        for kernel in self._asked("GET", "kernels"):
            self._asked("DELETE", f"kernels/{kernel['id']}")

    def _asked(self, method: str, path: str) -> Any:
        """What JupyterLab's server answers to a request."""
        headers = {"Authorization": f"token {TOKEN}"}
        request = urllib.request.Request(f"{self.address}/api/{path}", method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=START) as answer:
            return json.loads(answer.read() or "null")


@contextmanager
def running_lab(folder: Path, chromium: str, **variables: str) -> Iterator[Lab]:
    """A JupyterLab on a folder, in the simulator, without the user's settings, and with these variables in its
    environment, and a browser beside it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", "--ServerApp.port_retries=0"]
    command += ["--LabApp.expose_app_in_browser=True"]  # as window.jupyterapp
    _follow_the_systems_theme(folder / ".home")
    command += ["--allow-root", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    homes = {name: str(folder / ".home") for name in names}
    environment = {**os.environ, "GEMM_COURSE_BACKEND": "simulator", **homes, **variables}
    log, address = folder / "lab.log", f"http://127.0.0.1:{port}"
    with log.open("w") as out:
        server = subprocess.Popen(command, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    try:
        _wait_for_server(f"{address}/api", server, log)
        with sync_playwright() as playwright:
            expect.set_options(timeout=PATIENCE)
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            yield Lab(browser, folder, address)
            browser.close()
    finally:
        server.terminate()
        server.wait(timeout=20)


@contextmanager
def course_lab(folder: Path, chromium: str, **variables: str) -> Iterator[Lab]:
    """A `running_lab` with the extension as it lies in the project, and without any learner's progress."""
    shutil.copytree(labextension.BUILT, folder / "jupyter" / "labextensions" / "gemm-course-cuda-cells")
    own = {"JUPYTER_PATH": str(folder / "jupyter"), progress.ENVIRONMENT_VARIABLE: str(folder / "progress.json")}
    with running_lab(folder, chromium, **own, **variables) as running:
        yield running


def _follow_the_systems_theme(settings: Path) -> None:
    """Light or dark as the browser says, so that a test can change it: `page.emulate_media(color_scheme="dark")`."""
    themes = settings / "@jupyterlab" / "apputils-extension" / "themes.jupyterlab-settings"
    themes.parent.mkdir(parents=True)
    themes.write_text(json.dumps({"adaptive-theme": True}))


def _wait_for_server(address: str, server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + START
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                assert "version" in json.load(answer)
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


def wait_for_notebook(page: Page) -> None:
    """Wait until a notebook that begins with a heading is there, and JupyterLab has come to rest.

    After a reload it shows the notebook as soon as the workspace says so, and opens what the page's address names a
    while later: what a test has opened in between would be hidden by that.
    """
    page.locator(".jp-Notebook h1").first.wait_for()
    page.locator(".jp-FileBrowser:not(.jp-mod-restoring)").wait_for(state="attached")


def choose(page: Page, menu: str, *entries: str) -> None:
    """Choose an entry of a menu, through its submenus."""
    page.get_by_role("menuitem", name=menu, exact=True).click()
    for entry in entries:
        page.get_by_role("menuitem", name=entry, exact=True).click()


def run_all(page: Page) -> None:
    """Run every cell; what the last one shows has to be waited for.

    JupyterLab shows a kernel as idle a moment before it hands cells to it, and drops without a word what it was told to
    run in between. So it is told again until the kernel is at work, or a cell has its number.
    """
    status = ".jp-Notebook-ExecutionIndicator[data-status='{}']"
    page.locator(status.format("idle")).first.wait_for(state="attached")
    numbered = page.locator(".jp-InputPrompt").filter(has_text=re.compile(r"\[\d+\]"))
    begun = page.locator(status.format("busy")).or_(numbered).first
    deadline = time.monotonic() + PATIENCE / 1000
    while True:
        choose(page, "Run", "Run All Cells")
        try:
            return begun.wait_for(state="attached", timeout=TAKEN_UP)
        except TimeoutError:
            if time.monotonic() > deadline:
                raise


def bring_into_view(page: Page, text: str) -> None:
    """Scroll the notebook, which keeps only the cells near the window, until the cell with this code is there.

    What it shows is opened, if it waits for a prediction.
    """
    cell, panel = page.locator(".jp-CodeCell", has_text=text), page.locator(".jp-WindowedPanel-outer")
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        panel.evaluate("panel => panel.scrollTo(0, 0)")
        for _ in range(80):
            if cell.count():
                cell.first.scroll_into_view_if_needed()
                closed = cell.first.locator(".jp-CourseAnswer-line")
                if closed.is_visible():
                    closed.click()
                return
            panel.evaluate("panel => panel.scrollBy(0, 500)")
            page.wait_for_timeout(60)
    pytest.fail(f"no cell with {text!r} in the notebook")


def drawn(picture: Locator) -> Locator:
    """A picture that has its size: one that was only just put in its place has that of its words."""
    picture.evaluate("image => image.decode()")
    return picture
