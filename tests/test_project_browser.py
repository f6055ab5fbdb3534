"""JupyterLab in a real browser, opened as `make lab` opens it: a notebook runs to its end and a slider redraws."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import v4
from playwright.sync_api import sync_playwright

from helpers import notebook_form, setup_environment

TOKEN = "browser-test"
CELLS = [
    v4.new_markdown_cell("# A browser's test"),
    v4.new_code_cell(
        "from ipywidgets import interact\n\n@interact(size=(1, 64))\ndef show(size=32):\n    print('size', size * 1000)"
    ),
    v4.new_code_cell("import helpers, gemm_kernels\nprint('reached', 'the end')"),
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running JupyterLab whose folder holds one notebook; without the user's settings."""
    folder = tmp_path_factory.mktemp("course")
    (folder / "00-x.ipynb").write_text(notebook_form.written(notebook_form.mended(v4.new_notebook(cells=CELLS))))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", f"--port={port}", "--ServerApp.port_retries=0"]
    command += ["--allow-root", f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder}"]
    home = {
        name: str(folder / ".home") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_SETTINGS_DIR")
    }
    with open(folder / "lab.log", "w") as log:
        server = subprocess.Popen(command, env={**os.environ, **home}, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_for_server(f"http://127.0.0.1:{port}/api", server, folder / "lab.log")
        yield f"http://127.0.0.1:{port}/lab/tree/00-x.ipynb?token={TOKEN}"
    finally:
        server.terminate()
        server.wait(timeout=20)


def wait_for_server(address: str, server: subprocess.Popen, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                assert "version" in json.load(answer)
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@pytest.mark.browser
def test_a_notebook_runs_to_its_end_and_its_slider_redraws(lab, chromium):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(30_000)
        page.goto(lab)
        page.locator(".jp-Notebook h1").wait_for()
        greeting = page.get_by_text("Would you like to get notified about official Jupyter news?")
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        page.get_by_text("reached the end", exact=True).wait_for()
        page.get_by_text("size 32000", exact=True).wait_for()
        page.get_by_role("slider").first.focus()
        page.keyboard.press("ArrowRight")
        page.get_by_text("size 33000", exact=True).wait_for()
        assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.stderr']").count() == 0
        # Where set-up made the environment, JupyterLab does not lay a question about news over the notebook.
        assert greeting.count() == 0 or not (Path(sys.prefix) / setup_environment.STAMP).exists()
        browser.close()
