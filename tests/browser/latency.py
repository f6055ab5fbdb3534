"""From a learner's input to the new picture on the screen, in a real browser: `python -m tests.browser.latency`.

The explorers stand in a notebook in JupyterLab. A key is pressed on a control; the clock starts with the
browser's event and stops in the frame after the picture has been decoded. Twice: each press directly after the picture
of the one before (nothing can have been drawn ahead), and each after a pause. The third column is a drag by the mouse:
the longest time in it during which the picture stood still while the control moved.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nbformat import v4
from playwright.sync_api import Locator, Page

from tests.browser.lab import ERROR, opened, put, run_all, running_lab

# Explorer → the call that shows it, and the label of the control that is moved.
EXPLORERS = {
    "first_launch": ("first_launch.explore(SOURCE)", "elements N"),
    "thread_map": ("thread_map.explore()", "show thread"),
    "coalescing steps": ("coalescing.explore_steps(get('naive'))", "k"),
    "coalescing": ("coalescing.explore()", "threads along y"),
    "tile_phases": ("tile_phases.explore()", "phase"),
    "scheduler": ("scheduler.explore()", "warps"),
    "occupancy": ("occupancy.explore()", "registers"),
    "register_tile": ("register_tile.explore()", "k"),
    "bank_board": ("bank_board.explore()", "padding"),
    "vector_width": ("vector_width.explore()", "row"),
    "pipeline": ("pipeline.explore()", "latency"),
    "hierarchy": ("hierarchy.explore()", "lane"),
    "roofline": ("roofline.explore()", "M"),
}
SOURCE = """
from gemm_kernels import get
from helpers.explore import (bank_board, coalescing, first_launch, hierarchy, occupancy, pipeline, register_tile,
                             roofline, scheduler, thread_map, tile_phases, vector_width)
SOURCE = r'''extern "C" __global__ void add(float *A, int N, float c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) A[i] += c;
}'''
"""
PRESSES = 8
PAUSE = 1500  # milliseconds in which neighbours may be drawn ahead
WATCH = """
cell => {
  window.pictures = []; window.inputs = []; window.signs = [];
  const seen = () => { window.pictures.push(performance.now()); };
  const image = cell.querySelector('img.widget-image');
  image.addEventListener('load', () => image.decode().then(() => requestAnimationFrame(seen)));
  for (const kind of ['keydown', 'pointerdown', 'pointermove']) {
    cell.addEventListener(kind, event => window.inputs.push(performance.now()), true);
  }
  new MutationObserver(() => {
    if (cell.querySelector('svg animateTransform')) { window.signs.push(performance.now()); }
  }).observe(cell, {subtree: true, childList: true, attributes: true});
}
"""


@dataclass(frozen=True)
class Latency:
    """Milliseconds from input to picture of one explorer. at_once: of presses without a pause.  ahead: after a pause.
    longest: of all.  standing: the longest time without a new picture in a drag."""

    name: str
    control: str
    at_once: tuple[float, ...]
    ahead: tuple[float, ...]
    pictures: int
    standing: float

    def row(self) -> str:
        """A row of the table."""
        numbers = (statistics.median(self.at_once), max(self.at_once), statistics.median(self.ahead), max(self.ahead))
        timed = " | ".join(f"{number:.0f}" for number in numbers)
        return f"| {self.name} | {self.control} | {timed} | {self.pictures} | {self.standing:.0f} |"


HEADER = (
    "| explorer | control | at once, median | longest | drawn ahead, median | longest | pictures in a drag "
    "| standing |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|"
)


def press(page: Page, key: str) -> float:
    """Press a key, and wait for the picture that it leads to: milliseconds."""
    page.evaluate("window.pictures.length = window.inputs.length = 0")
    page.keyboard.press(key)
    page.wait_for_function("window.pictures.some(time => time > window.inputs[0])", polling=20)
    return page.evaluate("window.pictures.find(time => time > window.inputs[0]) - window.inputs[0]")


def drag(page: Page, slider: Locator) -> tuple[int, float]:
    """Drag a slider over half of its track in one second: (pictures that were seen, longest time without one)."""
    handle = slider.bounding_box()
    track = slider.locator("xpath=ancestor::*[contains(@class,'noUi-target')]").bounding_box()
    assert handle and track
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    page.evaluate("window.pictures.length = window.inputs.length = 0")
    page.mouse.down()
    for step in range(1, 31):
        page.mouse.move(track["x"] + track["width"] * step / 60, track["y"] + track["height"] / 2)
        page.wait_for_timeout(33)
    page.mouse.up()
    page.wait_for_timeout(1000)
    pictures, begun, ended = page.evaluate("[window.pictures, window.inputs[0], window.inputs.at(-1)]")
    times = [begun, *pictures] if pictures else [begun, ended + 1000]
    return len(pictures), max(after - before for before, after in zip(times, times[1:], strict=False))


def measured(page: Page, name: str) -> Latency:
    """One explorer's latencies, on a page on which its notebook has run."""
    call, label = EXPLORERS[name]
    cell = page.locator(".jp-CodeCell", has_text=call).last
    cell.scroll_into_view_if_needed()
    cell.evaluate(WATCH)
    exact = page.get_by_text(label, exact=True)
    slider = cell.locator(".widget-hslider", has=exact).first.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(PAUSE)
    keys = ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"] * (PRESSES // 4)
    keys = keys if label not in ("phase", "row") else ["ArrowRight", "ArrowLeft"] * (PRESSES // 2)
    ahead = []
    for key in keys:
        ahead.append(press(page, key))
        page.wait_for_timeout(PAUSE)
    press(page, "End")
    page.keyboard.press("ArrowLeft")  # from here on every setting is a new one
    at_once = [press(page, "ArrowLeft") for _ in range(PRESSES if label not in ("phase", "row") else 1)]
    page.keyboard.press("Home")
    page.wait_for_timeout(PAUSE)
    return Latency(name, label, tuple(at_once), tuple(ahead), *drag(page, slider))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("explorers", nargs="*", help=", ".join(EXPLORERS))
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    chosen = parser.parse_args()
    unknown = set(chosen.explorers) - set(EXPLORERS)
    if unknown:
        sys.exit(f"There is no explorer {' or '.join(sorted(unknown))}; there are {', '.join(EXPLORERS)}.")
    sys.stdout.write(f"{HEADER}\n")
    cells = [v4.new_markdown_cell("# Latency"), v4.new_code_cell(SOURCE.strip())]
    cells += [v4.new_code_cell(EXPLORERS[name][0]) for name in chosen.explorers or EXPLORERS]
    cells.append(v4.new_code_cell("print('reached', 'the end')"))
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder), "latency.ipynb", v4.new_notebook(cells=cells))
        with running_lab(Path(folder)) as address, opened(address("latency.ipynb"), chosen.chromium) as page:
            run_all(page)
            ended = page.get_by_text("reached the end", exact=True).or_(page.locator(ERROR)).first
            ended.wait_for(state="attached")  # it may be below the window
            if page.locator(ERROR).count():
                sys.exit(page.locator(ERROR).first.inner_text())
            for name in chosen.explorers or EXPLORERS:
                sys.stdout.write(f"{measured(page, name).row()}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
