"""Every picture of the course at three settings and its static twin, on one page, to look at them side by side.

    python -m helpers.explore.gallery FOLDER [picture …]

Writes FOLDER/index.html with the PNG files beside it. `make gallery` shows what the notebooks store; this page shows
what the pictures can be, stored or not. To add a picture, add a row to PICTURES.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gemm_kernels import get
from helpers import devices
from helpers.draw import theme
from helpers.explore import (
    bank_board,
    barriers,
    coalescing,
    diff,
    heat_source,
    hierarchy,
    ladder,
    occupancy,
    pipeline,
    register_tile,
    roofline,
    thread_map,
    tile_phases,
    tuning,
    vector_width,
)
from helpers.explore.launches import Program

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The pictures of the course</title>
<style>
body {{ font-family: sans-serif; margin: 2rem auto; max-width: 60rem; }}
figure {{ margin: 1rem 0 2rem; }}
figcaption {{ color: #5f5f5f; }}
img {{ max-width: 100%; border: 1px solid #d9d9d9; }}
</style>
<h1>{count} pictures</h1>
{sections}
</html>
"""
H200 = devices.get("H200")
CUBE = (4096, 4096, 4096)

Setting = tuple[str, Callable[[], Any]]


@dataclass(frozen=True)
class Picture:
    """One picture: its file's name, the question that it answers, and its settings with what draws each."""

    name: str
    question: str
    settings: tuple[Setting, ...]


def _threads(name: str, block: tuple[int, int], shape: tuple[int, int], thread: int) -> Callable[[], theme.Figure]:
    program, dims = Program.of(get(name)), (*block, 1)
    grid = thread_map.covering_grid(program, dims, shape)
    return lambda: thread_map.picture_of(thread_map.Choice(program, shape, dims, grid, 1, thread))


def _sectors(name: str, block: tuple[int, int], width: int) -> Callable[[], theme.Figure]:
    return lambda: coalescing.picture_of(coalescing.Choice(Program.of(get(name)), block, width))


def _phases(tile: int, phase: int, thread: int) -> Callable[[], theme.Figure]:
    tiled = tile_phases.Tiled.of(get("shared_memory").replace(T=tile))
    return lambda: tile_phases.picture_of(tile_phases.Choice(tiled, phase, thread))


def _barriers(removed: int, phase: int) -> Callable[[], theme.Figure]:
    return lambda: barriers.picture_of(barriers.Choice(removed, 16, phase))


def _filled(device: str, kernel: str) -> Callable[[], theme.Figure]:
    def draw() -> theme.Figure:
        found, launch = devices.get(device), occupancy.Launch.of(get(kernel))
        return occupancy.picture_of(occupancy.Choice(found, kernel, occupancy.resources_of(launch, found.arch)))

    return draw


def _registers(name: str, thread: int, k: int, move: int | None) -> Callable[[], theme.Figure]:
    tiled = register_tile.Tiled.of(get(name))
    return lambda: register_tile.picture_of(register_tile.Choice(tiled, thread, k, move))


def _roof(
    shape: tuple[int, int, int], selected: str | None, device: devices.Device = H200
) -> Callable[[], theme.Figure]:
    kernels = tuple(get(name) for name in roofline.FIRST) if selected else ()
    return lambda: roofline.picture_of(roofline.Choice(device, shape, kernels, selected))


def _ladder(suite: ladder.Suite, shape: tuple[int, int, int], kernel: str, scale: Any) -> Callable[[], theme.Figure]:
    return lambda: ladder.picture_of(ladder.Choice(H200.name, suite, shape, kernel, scale))


def _diff(old: str, new: str) -> Callable[[], Any]:
    return lambda: diff.step_between(get(old), get(new))


def _board(name: str, op: str, tile: str) -> Callable[[], theme.Figure]:
    def draw() -> theme.Figure:
        staged = bank_board.Staged.of(get(name))
        place = next(one for one in bank_board.places(staged) if one.op == op and one.name.endswith(tile))
        return bank_board.picture_of(staged, place)

    return draw


def _tile(**tile: Any) -> Callable[[], theme.Figure]:
    return lambda: bank_board.picture_of_tile(bank_board.Tile(**tile))


def _copy(width: int, stride: int, row: int) -> Callable[[], theme.Figure]:
    return lambda: vector_width.picture_of(vector_width.WIDTHS[width], vector_width.Copy(stride, row))


def _line(name: str, text: str) -> Callable[[], theme.Figure]:
    def draw() -> theme.Figure:
        staged = bank_board.Staged.of(get(name))
        return vector_width.picture_of_line(
            staged, next(one for one in vector_width.lines_of(staged) if text in one.text)
        )

    return draw


def _pipeline(stages: int, warps: int = 1) -> Callable[[], theme.Figure]:
    return lambda: pipeline.picture_of(replace(pipeline.DEFAULT, stages=stages, warps=warps))


def _levels(shape: int, lane_map: str, warp: int, lane: int) -> Callable[[], theme.Figure]:
    tiled = hierarchy.Tiled.of(hierarchy.warptiled(hierarchy.SHAPES[shape]))
    return lambda: hierarchy.picture_of(tiled, lane_map, warp, lane)


def _landscape(across: str, down: str, measure: str) -> Callable[[], theme.Figure]:
    return lambda: tuning.picture_of(tuning.Choice(H200, across, down, measure))


def _heat(name: str, level: str) -> Callable[[], Any]:
    return lambda: heat_source.source_of(bank_board.Staged.of(get(name)), level)


TWIN = "static twin"
PICTURES: tuple[Picture, ...] = (
    Picture("01-roofline", "Is this kernel limited by arithmetic or by memory?", (
        ("five kernels at 4096³", _roof(CUBE, "shared_memory")),
        ("a GPU without recordings", _roof(CUBE, "warptiled", devices.get("A100 80GB"))),
        ("the shape alone, one row", _roof((1, 4096, 4096), None)),
        (TWIN, roofline.small_multiples),
    )),
    Picture("02-thread-map", "Which thread computes C[row, col], and who is its neighbour in the warp?", (
        ("x along the columns", _threads("coalesced", (16, 16), (64, 64), 35)),
        ("x down the rows", _threads("naive", (32, 8), (64, 64), 35)),
        ("a C that blocks do not divide", _threads("coalesced", (24, 8), (40, 48), 35)),
        (TWIN, thread_map.small_multiples),
    )),
    Picture("03-sectors", "How much of what the memory sends does a warp use?", (
        ("x down the rows", _sectors("naive", (32, 1), 1024)),
        ("two rows a warp", _sectors("coalesced", (16, 16), 1024)),
        ("rows of odd width", _sectors("coalesced", (32, 1), 1023)),
        (TWIN, coalescing.small_multiples),
    )),
    Picture("04-tile-phases", "What is loaded once and read many times?", (
        ("second phase", _phases(16, 1, 53)),
        ("large tiles", _phases(32, 0, 33)),
        ("small tiles", _phases(4, 9, 7)),
        (TWIN, tile_phases.small_multiples),
    )),
    Picture("04-barriers", "What is a barrier good for?", (
        ("both in place", _barriers(0, 1)),
        ("without the first", _barriers(1, 0)),
        ("without the second", _barriers(2, 1)),
    )),
    Picture("05-occupancy", "What stops another block from moving in?", (
        ("registers", _filled("H200", "block_tile_2d")),
        ("warps and registers", _filled("H200", "shared_memory")),
        ("another GPU", _filled("RTX A6000", "shared_memory")),
        (TWIN, occupancy.small_multiples),
    )),
    Picture("06-register-tile", "Why does computing many results in a thread need fewer loads?", (
        ("in the middle of a step", _registers("block_tile_2d", 37, 3, 43)),
        ("while it loads", _registers("block_tile_2d", 37, 0, 11)),
        ("one column a thread", _registers("block_tile_1d", 70, 2, None)),
        (TWIN, register_tile.small_multiples),
    )),
    Picture("07-bank-board", "Which lanes wait for each other?", (
        ("the store of the transposed tile", _board("transposed", "st", "As")),
        ("128 bits a lane, in the order of a zigzag", _board("warptiled", "ld", "Bs")),
        ("a tile of your own, padded by one", _tile(row_length=128, padding=1, down=8)),
        (TWIN, bank_board.small_multiples),
    )),
    Picture("08-vector-width", "What did the compiler make of my four floats?", (
        ("float4", _copy(3, 128, 0)),
        ("float4 where it may not be used", _copy(3, 130, 1)),
        ("loads that the machine code merges", _line("transposed", "b_frag[x] = Bs")),
        (TWIN, vector_width.small_multiples),
    )),
    Picture("09-pipeline", "Who waits for whom?", (
        ("a single buffer", _pipeline(1)),
        ("three stages", _pipeline(3)),
        ("a double buffer and four warps", _pipeline(2, 4)),
        (TWIN, pipeline.small_multiples),
    )),
    Picture("10-hierarchy", "Who owns which part of C?", (
        ("the kernel's zigzag", _levels(0, hierarchy.ZIGZAG, 0, 3)),
        ("lanes row by row", _levels(0, "row by row", 5, 9)),
        ("smaller tiles", _levels(3, hierarchy.ZIGZAG, 2, 17)),
        (TWIN, hierarchy.small_multiples),
    )),
    Picture("11-tuning", "Where are the good configurations?", (
        ("tiles of the block", _landscape("BM", "BN", "occupancy")),
        ("tiles of the thread", _landscape("TM", "TN", "floats_a_fma")),
        ("tiles of the warp", _landscape("WM", "WN", "occupancy")),
        (TWIN, tuning.small_multiples),
    )),
    Picture("12-ladder", "What did each idea buy?", (
        ("4096³", _ladder("ladder", CUBE, "warptiled", "linear")),
        ("small, logarithmic", _ladder("ladder", (256, 256, 256), "block_tile_2d", "log")),
        ("other shapes", _ladder("shapes", (64, 4096, 1024), "autotuned", "linear")),
        (TWIN, ladder.small_multiples),
    )),
    Picture("13-heat-source", "Which line costs?", (
        ("one element a thread", _heat("naive", "sass")),
        ("bank conflicts", _heat("transposed", "sass")),
        ("counted in PTX", _heat("transposed", "ptx")),
    )),
    Picture("14-diff", "What is new?", (
        ("two lines", _diff("naive", "coalesced")),
        ("a tile", _diff("coalesced", "shared_memory")),
        ("padding", _diff("transposed", "padded")),
    )),
)  # fmt: skip


def render(folder: Path, pictures: Sequence[Picture] = PICTURES) -> Path:
    """Draw every setting of the pictures into a folder, and the page that shows them."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = []
    for picture in pictures:
        shown = [
            _shown(folder, f"{picture.name}-{number}", *setting) for number, setting in enumerate(picture.settings)
        ]
        sections.append(f"<h2>{picture.name}: {html.escape(picture.question)}</h2>\n" + "\n".join(shown))
    count = sum(len(picture.settings) for picture in pictures)
    index = folder / "index.html"
    index.write_text(PAGE.format(count=count, sections="\n".join(sections)), encoding="utf-8")
    return index


def _shown(folder: Path, name: str, label: str, draw: Callable[[], Any]) -> str:
    """The HTML of one setting: an image beside the page, or what draws itself as HTML."""
    drawn = draw()
    if isinstance(drawn, theme.Figure):
        (folder / f"{name}.png").write_bytes(drawn.png())
        width, _ = drawn.css_size()
        body = f'<img src="{name}.png" width="{width}" alt="{html.escape(drawn.caption)}">'
    else:
        body = drawn.html()
    return f"<figure>{body}<figcaption>{html.escape(label)}</figcaption></figure>"


def main(arguments: Sequence[str]) -> None:
    """Render all pictures, or those whose name contains one of the words."""
    if not arguments:
        sys.exit("Say where to: python -m helpers.explore.gallery FOLDER [picture …]")
    words = arguments[1:]
    chosen = [one for one in PICTURES if not words or any(word in one.name for word in words)]
    if not chosen:
        sys.exit(
            f"No picture is called like {' or '.join(words)}; there are {', '.join(one.name for one in PICTURES)}."
        )
    print(render(Path(arguments[0]), chosen))


if __name__ == "__main__":
    main(sys.argv[1:])
