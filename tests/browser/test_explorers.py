"""Explorers in JupyterLab in a real browser, opened as `make lab` opens it.

They are moved by keyboard alone, on a light and on a dark page, and interrupted; a slider of a learner's own redraws.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import v4
from playwright.sync_api import Locator, Page, expect

from helpers.tools import setup_environment
from tests.browser.axe import OF_THE_COURSE, serious
from tests.browser.lab import ERROR, STDERR, Lab, bring_into_view, drawn, put, run_all

SLOW = """
import time
from helpers.pictures import live
from helpers.pictures.controls import range_slider

class Slow(live.LiveExplorer):
    def __init__(self):
        self.seconds = range_slider("seconds", 0, 600, 0, step=600)
        super().__init__("slow", [[self.seconds]], 100)

    def needs(self):
        return [f"{self.seconds.value} seconds"]

    def draw(self):
        time.sleep(self.seconds.value)
        raise live.CannotShow("rested")

Slow()
"""
OWN = """
from ipywidgets import interact

@interact(size=(1, 64))
def show(size=32):
    print('size', size * 1000)
"""
CELLS = (
    'from helpers.pictures.bank_board import explorer as bank_board\nbank_board.explore(kernel="transposed")',
    "from helpers.pictures.scheduler import explorer as scheduler\nscheduler.explore()",
    "from helpers.pictures.ladder import explorer as ladder\nladder.explore()",
    "from helpers.exercises import n01\nn01.predict_flops()",
    SLOW.strip(),
    OWN.strip(),
    "from helpers.pictures.coalescing import explorer as coalescing\ncoalescing.explore_steps('naive')",
    "from helpers.pictures.thread_map import explorer as thread_map\nthread_map.explore()",
    "from helpers.pictures.heat_source import explorer as heat_source\nheat_source.explore('naive')",
    "print('reached', 'the end')",
)


@pytest.fixture(scope="module")
def page(lab: Lab) -> Iterator[Page]:
    """The notebook after Run All."""
    cells = [v4.new_markdown_cell("# Explorers"), *map(v4.new_code_cell, CELLS)]
    put(lab.folder, "explorers.ipynb", v4.new_notebook(cells=cells))
    with lab.opened("explorers.ipynb") as shown:
        run_all(shown)
        shown.get_by_text("reached the end", exact=True).or_(shown.locator(ERROR)).first.wait_for(state="attached")
        assert shown.locator(ERROR).count() == 0, shown.locator(ERROR).first.inner_text()
        yield shown


def cell_of(page: Page, text: str) -> Locator:
    bring_into_view(page, text)
    return page.locator(".jp-CodeCell", has_text=text)


def frame_height(cell: Locator) -> float:
    """CSS pixels of the frame in which an explorer's pictures and sentences follow each other."""
    box = cell.locator(".widget-vbox:has(> .widget-image)").bounding_box()
    assert box is not None
    return box["height"]


def press(page: Page, cell: Locator, control: Locator, *keys: str) -> None:
    """Press keys on a control, and wait until the picture is another one; nothing else may have moved."""
    picture = cell.locator("img.widget-image")
    before, height = picture.get_attribute("src"), frame_height(cell)
    control.focus()
    for key in keys:
        page.keyboard.press(key)
    expect(picture).not_to_have_attribute("src", before or "")
    drawn(picture)
    assert frame_height(cell) == height


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_controls_redraw_by_keyboard_on_both_pages(page, scheme):
    page.emulate_media(color_scheme=scheme)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true" if scheme == "light" else "false")
    cell = cell_of(page, "scheduler.explore")
    press(page, cell, cell.get_by_role("slider").nth(0), "ArrowRight")
    press(page, cell, cell.get_by_role("slider").nth(1), "ArrowUp")

    cell = cell_of(page, "bank_board.explore")
    access, request = cell.get_by_label("access"), cell.locator(".widget-hslider", has_text="request")
    chosen = access.input_value()
    press(page, cell, access, "Tab", "Tab", "Space")  # from the list to its button ›
    assert access.input_value() != chosen
    press(page, cell, request.get_by_role("slider"), "End" if scheme == "light" else "Home")

    cell = cell_of(page, "ladder.explore")
    scale = "logarithmic" if scheme == "light" else "linear"
    press(page, cell, cell.get_by_role("button", name=scale, exact=True), "Space")
    assert page.locator(STDERR).count() == page.locator(ERROR).count() == 0


@pytest.mark.browser
def test_sliders_redraw_and_no_news_covers_the_notebook(page):
    cell = cell_of(page, "@interact")
    expect(cell.get_by_text("size 32000", exact=True)).to_be_visible()
    cell.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(cell.get_by_text("size 33000", exact=True)).to_be_visible()
    # JupyterLab would ask where set-up did not make the environment.
    greeting = page.get_by_text("Would you like to get notified about official Jupyter news?")
    assert greeting.count() == 0 or not (Path(sys.prefix) / setup_environment.STAMP).exists()


# The controls of explorers that reach out of their cell.
CUT = """() => [...document.querySelectorAll(".gemm-explorer")].flatMap(explorer => {
  const room = explorer.closest(".jp-OutputArea").getBoundingClientRect();
  const parts = "button, select, input, .noUi-target, .widget-readout, .widget-label, img";
  return [...explorer.querySelectorAll(parts)].filter(one => {
    const box = one.getBoundingClientRect();
    return box.width && (box.right > room.right + 1 || box.left < room.left - 1);
  }).map(one => one.textContent || one.className);
})"""
# Sliders whose play buttons have gone to the line below.
BELOW = """() => [...document.querySelectorAll(".gemm-explorer .widget-play")].filter(buttons =>
  buttons.getBoundingClientRect().top >= buttons.previousElementSibling.getBoundingClientRect().bottom
).map(buttons => buttons.parentElement.textContent)"""
# Texts that are wider than their frame, which would have to be scrolled to read a line.
WIDE = """() => [...document.querySelectorAll(".gemm-explorer [class*='gemm-frame-']")].filter(
  frame => frame.scrollWidth > frame.clientWidth + 1).map(frame => frame.textContent)"""
# Of the frames of their pictures, height over width in per cent.
SHAPES = """() => [...document.querySelectorAll(".gemm-explorer [class*='gemm-frame-']")].filter(
  frame => frame.offsetWidth && frame.querySelector(".widget-image")).map(
  frame => Math.round(100 * frame.offsetHeight / frame.offsetWidth))"""


@pytest.mark.browser
def test_nothing_of_an_explorer_is_cut_on_a_narrow_page(page):
    cell_of(page, "thread_map.explore")
    page.keyboard.press("Control+b")  # the list of files goes
    shapes = page.evaluate(SHAPES)
    assert len(shapes) >= 3
    for width in (1280, 768, 650, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"() => document.querySelector('.jp-Notebook').offsetWidth < {width}")
        assert page.evaluate(CUT) == []
        assert page.evaluate(BELOW) == [] or width == 390
        assert page.evaluate(WIDE) == [] or width < 768
        narrow = page.evaluate(SHAPES)
        assert len(narrow) == len(shapes) and max(map(abs, map(int.__sub__, narrow, shapes))) <= 1
    page.set_viewport_size({"width": 1280, "height": 900})
    page.keyboard.press("Control+b")


@pytest.mark.browser
def test_controls_have_names_and_states_in_words(page):
    thread_map = cell_of(page, "thread_map.explore")
    block = thread_map.get_by_role("slider", name="shape of C")
    expect(block).to_have_attribute("aria-valuetext", "64 × 64")
    block.focus()
    page.keyboard.press("ArrowRight")
    expect(block).to_have_attribute("aria-valuetext", "24 × 100")
    page.keyboard.press("ArrowLeft")
    readout = thread_map.locator(".gemm-list .widget-readout").first
    expect(readout).to_have_attribute("contenteditable", "false")
    expect(cell_of(page, "coalescing.explore").get_by_role("button", name="Play k", exact=True)).to_be_attached()
    expect(cell_of(page, "predict_flops").get_by_role("radiogroup")).to_have_attribute(
        "aria-label", re.compile("^Predict. Multiplications")
    )
    board = cell_of(page, "bank_board.explore").get_by_role("slider", name="padding, floats")
    expect(board).to_have_attribute("tabindex", "-1")  # a kernel's own padding cannot be moved


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_explorers_and_predictions(page, scheme):
    page.emulate_media(color_scheme=scheme)
    assert serious(page, *OF_THE_COURSE) == []


@pytest.mark.browser
def test_arrow_keys_move_a_choice_and_leave_it_in_focus(page):
    radios = cell_of(page, "predict_flops").get_by_role("radio")
    radios.nth(0).focus()
    page.keyboard.press("Space")
    for key, chosen in (("ArrowDown", 1), ("ArrowRight", 2), ("ArrowUp", 1)):
        page.keyboard.press(key)
        expect(radios.nth(chosen)).to_be_checked()
        expect(radios.nth(chosen)).to_be_focused()
    page.keyboard.press("Shift+Enter")  # every other key is JupyterLab's
    expect(radios.nth(chosen)).not_to_be_focused()


@pytest.mark.browser
def test_slow_setting_spins_and_two_keys_interrupt_it_each_time(page):
    cell = cell_of(page, "class Slow")
    for _ in range(2):
        expect(cell.get_by_text("rested", exact=True)).to_be_visible()
        cell.get_by_role("slider").focus()
        page.keyboard.press("ArrowRight")
        expect(cell.locator("svg animateTransform")).to_be_attached()
        expect(cell.get_by_text("Compiling and running")).to_be_visible()
        page.keyboard.press("i")
        page.keyboard.press("i")
        expect(cell.get_by_text("Interrupted. Move a control to draw again.")).to_be_visible()
        expect(cell.locator("svg animateTransform")).to_have_count(0)
        page.keyboard.press("ArrowLeft")
