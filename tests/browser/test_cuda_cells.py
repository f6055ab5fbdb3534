"""Cells that begin with %%cuda in JupyterLab in a real browser: C++ colours, line numbers, marks on named lines."""

import re
from collections.abc import Iterator

import pytest
from nbformat import v4
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import Lab, put, run_all

WRONG = """%%cuda wrong
// a comment of C++, where int is a word
extern "C" __global__ void wrong(const float *A, float *B) {
    int i = threadIdx.x
    B[i] = 2.0f * A[i];
}"""
CELLS = (
    "from helpers import course\nassert int(3) // 1 == 3  # a comment of Python",
    WRONG,
    "print('reached', 'the end')",
)
ASKED = (
    v4.new_markdown_cell("## 1 · Predict"),
    v4.new_code_cell("from helpers.exercises import n01\nn01.predict_flops()"),
    v4.new_markdown_cell("## 2 · See"),
    v4.new_code_cell("print('a look at', 'what happens')", metadata={"tags": ["answer", "hide-input"]}),
    v4.new_markdown_cell("So it is 16 777 216.", metadata={"tags": ["answer"]}),
)
BEFORE = v4.new_code_cell("print('asked', 'by nothing')", metadata={"tags": ["answer"]})
NUMBERS = ".cm-lineNumbers .cm-gutterElement:visible"
MARKED = ".cm-line.jp-CudaCell-error"


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """The notebook as it is opened."""
    cells = [v4.new_markdown_cell("# Cells"), BEFORE, *ASKED, *map(v4.new_code_cell, CELLS)]
    put(lab.folder, "cells.ipynb", v4.new_notebook(cells=cells))
    with lab.opened("cells.ipynb") as shown:
        yield shown


def cell_with(page: Page, text: str) -> Locator:
    return page.locator(".jp-CodeCell", has_text=text)


def coloured(cell: Locator, text: str) -> Locator:
    """The pieces of a cell's code that have a colour of their own and are exactly this text."""
    return cell.locator(".cm-line span").filter(has_text=re.compile(f"^{re.escape(text)}$"))


def colour(piece: Locator) -> str:
    return piece.first.evaluate("piece => getComputedStyle(piece).color")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cuda_cells_have_cpp_colours_python_cells_their_own(page, scheme):
    page.emulate_media(color_scheme=scheme)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true" if scheme == "light" else "false")
    cuda, python = cell_with(page, "%%cuda wrong"), cell_with(page, "# a comment of Python")
    expect(coloured(cuda, "const")).to_have_count(1)
    assert colour(coloured(cuda, "const")) == colour(coloured(python, "assert"))
    assert colour(coloured(cuda, "__global__")) == colour(coloured(python, "assert"))
    for word in ("int", "float", "void", "threadIdx"):
        assert colour(coloured(cuda, word)) == colour(coloured(python, "int"))
    comment = coloured(cuda, "// a comment of C++, where int is a word")
    assert colour(comment) == colour(coloured(python, "# a comment of Python"))
    assert cuda.locator(NUMBERS).all_inner_texts() == list("123456")

    expect(coloured(python, "//")).to_have_count(1)
    expect(python.locator(NUMBERS)).to_have_count(0)
    expect(python.locator(".jp-CudaCell-builtin, .jp-CudaCell-keyword, .jp-CudaCell-magic")).to_have_count(0)


@pytest.mark.browser
def test_message_marks_its_line_until_the_cell_is_edited(page):
    cuda = cell_with(page, "%%cuda wrong")
    expect(cuda.locator(MARKED)).to_have_count(0)
    run_all(page)
    expect(cuda.locator(".jp-OutputArea")).to_contain_text("kernel.cu:5: error")
    # The compiler names the line behind; the message names the one that lacks its ;, too.
    expect(cuda.locator(MARKED)).to_have_text(["    int i = threadIdx.x", "    B[i] = 2.0f * A[i];"])
    # What is shown above may still push the cell down, and a click would meet another line.
    expect(cell_with(page, "predict_flops").get_by_role("radio").first).to_be_visible()
    cuda.locator(".cm-line").nth(3).click()
    page.keyboard.press("End")
    page.keyboard.type(";")
    expect(cuda.locator(MARKED)).to_have_count(0)
    page.keyboard.press("Control+Enter")
    expect(cuda.locator(".jp-OutputArea")).to_contain_text("Compiled: wrong")
    expect(cuda.locator(MARKED)).to_have_count(0)
    assert page.locator(MARKED).count() == 0


@pytest.mark.browser
def test_new_cell_turns_into_cpp_with_the_magic_and_back(page):
    cell_with(page, "print('reached'").locator(".cm-content").click()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.press("Enter")
    cell = page.locator(".jp-CodeCell.jp-mod-active")
    expect(cell.locator(".cm-content")).to_be_focused()
    page.keyboard.insert_text("%%cud\nint x = 7 // 2")
    expect(coloured(cell, "//")).to_have_count(1)
    page.keyboard.press("Control+Home")
    page.keyboard.press("End")
    page.keyboard.type("a")
    expect(coloured(cell, "// 2")).to_have_count(1)
    expect(cell.locator(NUMBERS)).to_have_text(["1", "2"])
    page.keyboard.press("Backspace")
    expect(coloured(cell, "//")).to_have_count(1)
    expect(cell.locator(NUMBERS)).to_have_count(0)


@pytest.mark.browser
def test_answers_stay_closed_until_the_prediction_is_committed(page):
    drawn = page.locator(".jp-OutputArea-output", has_text="a look at what happens")
    said = page.get_by_role("paragraph").filter(has_text="So it is 16 777 216.")
    lines = page.get_by_role("button", name="Closed until you have committed to the prediction above. Show it now")
    question = cell_with(page, "predict_flops")
    expect(page.get_by_text("asked by nothing", exact=True)).to_be_visible()
    expect(lines).to_have_count(2)  # of hidden code, too
    expect(drawn.or_(said).locator("visible=true")).to_have_count(0)
    question.get_by_role("radio").first.check()
    question.get_by_role("button", name="Commit").click()
    expect(drawn).to_be_visible()
    expect(said).to_be_visible()
    expect(lines).to_have_count(0)
    question.get_by_role("button", name="Try again").click()
    expect(drawn.or_(said).locator("visible=true")).to_have_count(0)
    lines.first.click()
    expect(drawn).to_be_visible()
    expect(lines).to_have_count(1)


@pytest.mark.browser
def test_tab_completes_the_names_of_cuda(page):
    cuda = cell_with(page, "%%cuda wrong")
    cuda.locator(".cm-line").nth(3).click()
    page.keyboard.press("End")
    page.keyboard.type(" int y = blockD")
    page.keyboard.press("Tab")
    expect(page.locator(".jp-Completer-item")).to_contain_text("blockDim")
    page.keyboard.press("Enter")
    expect(cuda.locator(".cm-line").nth(3)).to_contain_text("int y = blockDim")
