"""What answers a prediction is closed in every notebook until the prediction is committed to.

The notebooks are opened without a kernel, with their stored outputs open, as JupyterLab has them after Run All; a
commitment is the mark that a prediction's widget carries then. What is neither a heading, nor a prediction, nor an
answer is left out, and pictures are: a notebook is there at once.
"""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from helpers import plan
from helpers.tools.notebooks import form
from tests.browser.axe import OF_THE_COURSE, serious
from tests.browser.lab import TOKEN, Lab

FOLDER = "every"
OPEN = """async (path) => {
  const app = window.jupyterapp;
  const preference = { shouldStart: false, autoStartDefault: false };
  const panel = await app.commands.execute("docmanager:open", { path, kernelPreference: preference });
  await panel.context.ready;
  window.opened?.close();
  window.opened = panel;
}"""
# The cells whose output or text can be seen, of those with the tag; and those that say that they are closed.
SEEN = """() => {
  const cells = window.opened.content.widgets;
  const answers = cells.filter(cell => cell.model.getMetadata("tags")?.includes("answer"));
  const shown = (cell, part) => {
    const node = cell.node.querySelector(part);
    return Boolean(node?.childNodes.length && node.checkVisibility()); // also where it is scrolled away
  };
  const number = cell => cells.indexOf(cell);
  return {
    all: answers.map(number),
    seen: answers.filter(cell => shown(cell, ".jp-OutputArea-output, .jp-MarkdownOutput")).map(number),
    lines: answers.filter(cell => shown(cell, ".jp-CourseAnswer-line")).map(number),
  };
}"""
COMMIT = """(number) => {
  const question = document.createElement("div");
  question.className = "gemm-prediction gemm-committed";
  window.opened.content.widgets[number].outputArea.node.append(question);
}"""


def asks(cell: dict) -> bool:
    outputs = cell.get("outputs", [])
    return any("".join(out.get("data", {}).get("text/plain", "")).startswith("Predict.") for out in outputs)


def belongs(cells: list[dict]) -> dict[int, list[int]]:
    """The cells with an answer, and the predictions that each of them waits for, as a reader of the notebook sees them.

    Those are the questions since the last answer, or the last heading of a step before the question.
    """
    seen: dict[int, list[int]] = {}
    questions: list[int] = []
    fresh = True
    for number, cell in enumerate(cells):
        if asks(cell):
            questions, fresh = ([number] if fresh else [*questions, number]), False
        elif is_answer(cell):
            seen[number], fresh = questions, True
        elif heads(cell):
            fresh = True
    shows = {number for number, cell in enumerate(cells) if cell.get("outputs", True)}  # a stored explorer is nothing
    return {number: waits for number, waits in seen.items() if waits and number in shows}


def heads(cell: dict) -> bool:
    """Whether a step begins with this cell."""
    return cell["cell_type"] == "markdown" and "".join(cell["source"]).startswith(("# ", "## "))


def is_answer(cell: dict) -> bool:
    return "answer" in cell["metadata"].get("tags", [])


def read(file: str) -> list[dict]:
    """The cells of a notebook that matter here, with their outputs open."""
    cells = json.loads((plan.FOLDER / file).read_text("utf-8"))["cells"]
    kept = [cell for cell in cells if heads(cell) or asks(cell) or is_answer(cell)]
    for cell in kept:
        cell["metadata"].get("jupyter", {}).pop("outputs_hidden", None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/png", None)
    return kept


NOTEBOOKS = {book.file: read(book.file) for book in plan.course().notebooks}
WITH_ANSWERS = [file for file, cells in NOTEBOOKS.items() if belongs(cells)]


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """JupyterLab, with all notebooks in a folder, their outputs open."""
    (lab.folder / FOLDER).mkdir()
    for file in WITH_ANSWERS:
        notebook = {"cells": NOTEBOOKS[file], "metadata": form.METADATA, "nbformat": 4, "nbformat_minor": 5}
        (lab.folder / FOLDER / file).write_text(json.dumps(notebook), "utf-8")
    page = lab.browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{lab.address}/lab/workspaces/answers?token={TOKEN}")
    page.locator(".jp-FileBrowser:not(.jp-mod-restoring)").wait_for(state="attached")
    yield page
    page.close()


@pytest.mark.browser
@pytest.mark.parametrize("file", WITH_ANSWERS)
def test_no_answer_is_seen_before_its_prediction_is_committed(page, file):
    waits = belongs(NOTEBOOKS[file])
    page.evaluate(OPEN, f"{FOLDER}/{file}")
    page.wait_for_function("() => window.opened.content.widgets.every(cell => !cell.placeholder)")
    before = page.evaluate(SEEN)
    assert serious(page, *OF_THE_COURSE) == []
    assert set(waits) <= set(before["all"])
    assert not set(waits) & set(before["seen"])
    assert set(waits) <= set(before["lines"])
    committed: set[int] = set()
    for prediction in sorted({step for some in waits.values() for step in some}):
        page.evaluate(COMMIT, prediction)
        committed.add(prediction)
        after = page.evaluate(SEEN)
        opened = {number for number, some in waits.items() if committed.issuperset(some)}
        assert set(waits) & set(after["seen"]) == opened
        assert set(waits) & set(after["lines"]) == set(waits) - opened
