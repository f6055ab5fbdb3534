"""From a learner's input to the new picture on the screen, in a real browser: `python -m tests.browser.latency`.

Every explorer of the course stands in a notebook in JupyterLab. A key is pressed on a control; the clock starts with
the browser's event and stops in the frame after the picture has been decoded, or after a sentence has taken its place.
Twice: each press directly after the picture of the one before (nothing can have been drawn ahead), and each after a
pause. "without a sign" is the longest time in which neither a picture nor a sign of work was to be seen after a press.
The last columns are a drag of a slider by the mouse: how many pictures were seen in it, and the longest time in which
the picture stood still while the control moved.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nbformat import v4
from playwright.sync_api import Error, Locator, Page

from tests.browser.lab import ERROR, put, run_all, running_lab

# Explorer → the call that shows it, and the label of the control that is moved: a slider, or a list and its buttons.
EXPLORERS = {
    "first_launch": ("first_launch.explore(SOURCE)", "elements N"),
    "thread_map": ("thread_map.explore()", "show thread"),
    "coalescing steps": ("coalescing.explore_steps(get('naive'))", "k"),
    "coalescing": ("coalescing.explore()", "matrix width"),
    "tile_phases": ("tile_phases.explore()", "phase"),
    "barriers": ("barriers.explore()", "phase"),
    "scheduler": ("scheduler.explore()", "warps"),
    "occupancy": ("occupancy.explore()", "registers"),
    "register_tile": ("register_tile.explore()", "thread"),
    "bank_board": ("bank_board.explore()", "padding, floats"),
    "vector_width": ("vector_width.explore()", "row"),
    "pipeline": ("pipeline.explore()", "latency, cycles"),
    "hierarchy": ("hierarchy.explore()", "lane"),
    "roofline": ("roofline.explore()", "M"),
    "heat_source": ("heat_source.explore()", "kernel"),
    "diff": ("diff.explore()", "to"),
    "tuning": ("tuning.explore()", "across"),
    "ladder": ("ladder.explore()", "shape"),
    "bits": ("bits.explore()", "flip"),
    "fragments": ("fragments.explore()", "lane"),
}
SOURCE = """
from gemm_kernels import get
from helpers.pictures import (barriers, bank_board, bits, coalescing, diff, first_launch, fragments, heat_source,
                             hierarchy, ladder, occupancy, pipeline, register_tile, roofline, scheduler, thread_map,
                             tile_phases, tuning, vector_width)
SOURCE = r'''extern "C" __global__ void add(float *A, int N, float c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) A[i] += c;
}'''
"""
PRESSES = 8
PAUSE = 1500  # milliseconds in which neighbours may be drawn ahead
LONGEST = 10_000  # milliseconds that are waited for a picture
WATCH = """
cell => {
  window.pictures = []; window.inputs = []; window.signs = [];
  const stage = cell.querySelector('.gemm-explorer .widget-vbox:has(> .widget-image, > .widget-html + .widget-html)');
  const seen = () => requestAnimationFrame(() => window.pictures.push(performance.now()));
  new MutationObserver(() => {
    const image = stage.querySelector('img.widget-image');
    image && image.offsetParent ? image.decode().then(seen, () => null) : seen();
  }).observe(stage, {subtree: true, childList: true, attributes: true, attributeFilter: ['src']});
  for (const kind of ['keydown', 'pointerdown', 'pointermove']) {
    cell.addEventListener(kind, event => window.inputs.push(performance.now()), true);
  }
  const sign = () => window.signs.push(performance.now());
  cell.addEventListener('animationend', event => event.animationName === 'gemm-sign' && sign());
  new MutationObserver(changes => changes.some(({addedNodes}) => [...addedNodes].some(node =>
    node.querySelector?.('animateTransform') && !node.querySelector('[style*=gemm-sign]') &&
    !node.matches('[style*=gemm-sign]'))) && sign()).observe(cell, {subtree: true, childList: true});
}
"""


@dataclass(frozen=True)
class Press:
    """Milliseconds from a press to its picture, and to what was seen first: the picture, or a sign of work."""

    picture: float
    sign: float


@dataclass(frozen=True)
class Latency:
    """One explorer. at_once: presses without a pause.  ahead: presses after a pause.  pictures: those in a drag.
    standing: milliseconds, the longest time without a new picture in it; None where the control is no slider."""

    name: str
    control: str
    at_once: tuple[Press, ...]
    ahead: tuple[Press, ...]
    pictures: int | None
    standing: float | None

    def row(self) -> str:
        """A row of the table."""
        cells = [self.name, self.control]
        for presses in (self.at_once, self.ahead):
            times = [press.picture for press in presses]
            cells += [f"{statistics.median(times):.0f}", f"{max(times):.0f}"] if times else ["–", "–"]
        cells.append(f"{max(press.sign for press in (*self.at_once, *self.ahead)):.0f}")
        cells += ["–", "–"] if self.standing is None else [str(self.pictures), f"{self.standing:.0f}"]
        return f"| {' | '.join(cells)} |"


HEADER = (
    "| explorer | control | at once, median | longest | drawn ahead, median | longest | without a sign "
    "| pictures in a drag | standing |\n"
    "|---|---|--:|--:|--:|--:|--:|--:|--:|"
)


def press(page: Page, control: Locator, key: str) -> Press | None:
    """Press a key, and wait for the picture that it leads to; None where it leads to none."""
    page.evaluate("window.pictures.length = window.inputs.length = window.signs.length = 0")
    before = control.get_attribute("aria-valuenow")
    page.keyboard.press(key)
    if before is not None and control.get_attribute("aria-valuenow") == before:  # the end of a slider
        return None
    try:
        page.wait_for_function("window.pictures.some(time => time > window.inputs[0])", polling=20, timeout=LONGEST)
    except Error:
        return None
    picture, sign = page.evaluate(
        "[window.pictures, window.signs].map(all => all.find(time => time > window.inputs[0]) - window.inputs[0])"
    )
    return Press(picture, picture if sign is None or sign != sign else min(sign, picture))


def presses(page: Page, control: Locator, keys: list[str], pause: int) -> list[Press]:
    """Press keys one after the other: those that led to a picture."""
    latencies = []
    for key in keys:
        timed = press(page, control, key)
        if timed is not None:
            latencies.append(timed)
            page.wait_for_timeout(pause)
    return latencies


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
    sliders = cell.locator(".widget-hslider", has=page.get_by_text(label, exact=True))
    if not sliders.count():  # a list, and the buttons that step through it
        after, before = (cell.get_by_title(f"{way}: {label}", exact=True) for way in ("next", "previous"))
        after.focus()
        ahead = presses(page, after, ["Space"] * PRESSES, PAUSE)
        before.focus()
        page.keyboard.press("Space")
        return Latency(name, label, tuple(presses(page, before, ["Space"] * PRESSES, 0)), tuple(ahead), None, None)
    slider = sliders.first.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(PAUSE)
    ahead = presses(page, slider, ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"] * (PRESSES // 4), PAUSE)
    press(page, slider, "End")
    page.keyboard.press("ArrowLeft")  # from here on every setting is a new one, where the slider has so many
    at_once = presses(page, slider, ["ArrowLeft"] * PRESSES, 0)
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
    sys.stdout.flush()
    names = chosen.explorers or list(EXPLORERS)
    cells = [v4.new_markdown_cell("# Latency"), v4.new_code_cell(SOURCE.strip())]
    cells += [v4.new_code_cell(EXPLORERS[name][0]) for name in names]
    cells.append(v4.new_code_cell("print('reached', 'the end')"))
    unseen = []
    with tempfile.TemporaryDirectory() as folder:
        put(Path(folder), "latency.ipynb", v4.new_notebook(cells=cells))
        with running_lab(Path(folder), chosen.chromium) as lab, lab.opened("latency.ipynb") as page:
            run_all(page)
            ended = page.get_by_text("reached the end", exact=True).or_(page.locator(ERROR)).first
            ended.wait_for(state="attached")  # it may be below the window
            if page.locator(ERROR).count():
                sys.exit(page.locator(ERROR).first.inner_text())
            for name in names:
                try:
                    latencies = measured(page, name)
                except Error as error:
                    latencies = None
                    sys.stderr.write(f"{name}: {str(error).splitlines()[0]}\n")
                if latencies is None or not latencies.ahead:
                    unseen.append(name)
                else:
                    sys.stdout.write(f"{latencies.row()}\n")
                sys.stdout.flush()
    if unseen:
        sys.exit(f"No picture was seen of {', '.join(unseen)}.")


if __name__ == "__main__":
    main()
