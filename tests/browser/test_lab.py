"""JupyterLab in a real browser, opened as `make lab` opens it: a notebook runs to its end and a slider redraws."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import v4

from helpers.authoring import setup_environment
from tests.browser.lab import STDERR, opened, put, run_all, running_lab

CELLS = [
    v4.new_markdown_cell("# A browser's test"),
    v4.new_code_cell(
        "from ipywidgets import interact\n\n@interact(size=(1, 64))\ndef show(size=32):\n    print('size', size * 1000)"
    ),
    v4.new_code_cell("import helpers, gemm_kernels\nprint('reached', 'the end')"),
]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a notebook in a running JupyterLab."""
    folder = tmp_path_factory.mktemp("course")
    put(folder, "00-x.ipynb", v4.new_notebook(cells=CELLS))
    with running_lab(folder) as address:
        yield address("00-x.ipynb")


@pytest.mark.browser
def test_a_notebook_runs_to_its_end_and_its_slider_redraws(notebook, chromium):
    with opened(notebook, chromium) as page:
        greeting = page.get_by_text("Would you like to get notified about official Jupyter news?")
        run_all(page)
        page.get_by_text("reached the end", exact=True).wait_for()
        page.get_by_text("size 32000", exact=True).wait_for()
        page.get_by_role("slider").first.focus()
        page.keyboard.press("ArrowRight")
        page.get_by_text("size 33000", exact=True).wait_for()
        assert page.locator(STDERR).count() == 0
        # Where set-up made the environment, JupyterLab does not lay a question about news over the notebook.
        assert greeting.count() == 0 or not (Path(sys.prefix) / setup_environment.STAMP).exists()
