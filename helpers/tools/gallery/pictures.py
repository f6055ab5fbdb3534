"""The pictures of the course, each at three settings that differ and with its static twin: `make gallery` draws them.

To add a picture, add a row to PICTURES.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gemm_kernels import LADDER, get
from gpusim import devices
from helpers.exercises import n07, n16, n18, one_fma, settings
from helpers.exercises.n17 import explorer
from helpers.pictures import theme
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.bank_board.facts import places
from helpers.pictures.bank_board.tile_store import Tile
from helpers.pictures.barriers import explorer as barriers
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.diff import explorer as diff
from helpers.pictures.heat_source import explorer as heat_source
from helpers.pictures.hierarchy import explorer as hierarchy
from helpers.pictures.host_timeline import facts as host_timeline
from helpers.pictures.ladder import explorer as ladder
from helpers.pictures.machine import facts as memories
from helpers.pictures.machine.figure import machine_figure
from helpers.pictures.occupancy import explorer as occupancy
from helpers.pictures.occupancy.facts import resources_of
from helpers.pictures.operands import explorer as operands
from helpers.pictures.pipeline import explorer as pipeline
from helpers.pictures.raster import explorer as raster
from helpers.pictures.register_tile import explorer as register_tile
from helpers.pictures.roofline import explorer as roofline
from helpers.pictures.roofs import explorer as roofs
from helpers.pictures.scheduler import explorer as scheduler
from helpers.pictures.shuffle import explorer as shuffle
from helpers.pictures.thread_map import explorer as thread_map
from helpers.pictures.tile_phases import explorer as tile_phases
from helpers.pictures.tree import explorer as tree
from helpers.pictures.tuning import explorer as tuning
from helpers.pictures.vector_width import explorer as vector_width
from helpers.pictures.vector_width.facts import WIDTHS, Copy, lines_of
from helpers.pictures.warp_states.figure import warp_states_figure
from helpers.tools.gallery import small_pictures

H200 = devices.DEFAULT
CUBE = (4096, 4096, 4096)

Setting = tuple[str, Callable[[], Any]]


@dataclass(frozen=True)
class Picture:
    """One picture: its file's name, the question that it answers, and its settings with what draws each.

    The name of a picture that one notebook is about begins with that notebook's number.
    """

    name: str
    question: str
    settings: tuple[Setting, ...]


def _threads(name: str, block: tuple[int, int], shape: tuple[int, int], thread: int) -> Callable[[], theme.Figure]:
    launch = get(name).launch(*shape, thread_map.DEPTH).in_blocks(*block)
    return lambda: thread_map.picture_of(thread_map.Choice(launch, 1, thread))


def _sectors(name: str, block: tuple[int, int], width: int) -> Callable[[], theme.Figure]:
    launch = get(name).launch(coalescing.ROWS, width, coalescing.SHORT_K).in_blocks(*block)
    return lambda: coalescing.picture_of(coalescing.Choice(launch))


def _phases(tile: int, phase: int, thread: int) -> Callable[[], theme.Figure]:
    launch = tile_phases.shown(get("shared_memory", T=tile))
    return lambda: tile_phases.picture_of(tile_phases.Choice(launch, phase, thread))


def _barriers(removed: int, phase: int) -> Callable[[], theme.Figure]:
    return lambda: barriers.picture_of(barriers.Choice(removed, 16, phase))


def _filled(device: str, kernel: str) -> Callable[[], theme.Figure]:
    def draw() -> theme.Figure:
        gpu = devices.get(device)
        return occupancy.picture_of(occupancy.Choice(gpu, kernel, resources_of(get(kernel), gpu.arch)))

    return draw


def _registers(name: str, thread: int, k: int, move: int | None) -> Callable[[], theme.Figure]:
    launch = register_tile.shown(get(name))
    return lambda: register_tile.picture_of(register_tile.Choice(launch, thread, k, move))


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
        launch = bank_board.shown(get(name))
        access = next(candidate for candidate in places(launch) if candidate.op == op and candidate.name.endswith(tile))
        return bank_board.picture_of(launch, access)

    return draw


def _tile(**tile: Any) -> Callable[[], theme.Figure]:
    return lambda: bank_board.picture_of_tile(Tile(**tile))


def _copy(width: int, stride: int, row: int) -> Callable[[], theme.Figure]:
    return lambda: vector_width.picture_of(WIDTHS[width], Copy(stride, row))


def _line(name: str, text: str) -> Callable[[], theme.Figure]:
    def draw() -> theme.Figure:
        launch = bank_board.shown(get(name))
        line = next(candidate for candidate in lines_of(launch) if text in candidate.text)
        return vector_width.picture_of_line(launch, line)

    return draw


def _member(**asked: Any) -> Callable[[], theme.Figure]:
    return lambda: operands.picture_of(operands.Member(**asked))


def _fma(lanes: str, order: str, number: int) -> Callable[[], theme.Figure]:
    return lambda: one_fma.picture_of(one_fma.Choice(lanes, order, number, lane=13))


def _setting(*setting: int) -> Callable[[], theme.Figure]:
    return lambda: settings.picture_of(setting, lane=5)


def _grid(size: int, tile: tuple[int, int], rows: int) -> Callable[[], theme.Figure]:
    return lambda: raster.picture_of(raster.Choice(size, tile, rows))


def _precisions(device: str, size: int) -> Callable[[], theme.Figure]:
    return lambda: roofs.picture_of(roofs.Choice(devices.get(device), size))


def _pipeline(stages: int, warps: int = 1) -> Callable[[], theme.Figure]:
    return lambda: pipeline.picture_of(replace(pipeline.DEFAULT, stages=stages, warps=warps))


def _levels(shape: int, lane_map: str, warp: int, lane: int) -> Callable[[], theme.Figure]:
    launch = hierarchy.shown(hierarchy.warptiled(hierarchy.SHAPES[shape]))
    return lambda: hierarchy.picture_of(launch, lane_map, warp, lane)


def _landscape(across: str, down: str, measure: str) -> Callable[[], theme.Figure]:
    return lambda: tuning.picture_of(tuning.Choice(H200, across, down, measure))


def _heat(name: str, level: str) -> Callable[[], Any]:
    return lambda: heat_source.source_of(heat_source.shown(get(name)), level)


TWIN = "static twin"
PICTURES: tuple[Picture, ...] = (
    Picture("00-first-launch", "Which thread writes which element?", (
        ("too few blocks", small_pictures.strip(2, 16, 40)),
        ("enough", small_pictures.strip(3, 16, 40)),
        ("a block size that fits", small_pictures.strip(5, 8, 40)),
        (TWIN, small_pictures.strips),
    )),
    Picture("00-bars", "How far apart are these kernels?", (
        ("two kernels", small_pictures.bars(4096, "naive", "coalesced")),
        ("the last steps", small_pictures.bars(4096, "warptiled", "wide_copies", "rasterized")),
        ("the notebooks' kernels", small_pictures.bars(
            4096, "naive", "coalesced", "shared_memory", "block_tile_2d", "warptiled")),
    )),
    Picture("01-loops", "What does each order of the loops pull out of memory?", (
        ("k innermost", small_pictures.loops("k")),
        ("row innermost", small_pictures.loops("row")),
        ("col innermost", small_pictures.loops("col")),
        (TWIN, small_pictures.loops("k", "row", "col")),
    )),
    Picture("01-roofline", "Is this kernel limited by arithmetic or by memory?", (
        ("five kernels at 4096³", _roof(CUBE, "shared_memory")),
        ("a GPU without recordings", _roof(CUBE, "warptiled", devices.get("A100 80GB"))),
        ("in three steps", lambda: roofline.steps({"vector": (4096, 1, 4096), "matrix": CUBE})),
        (TWIN, roofline.small_multiples),
    )),
    Picture("02-numbering", "In which order do the threads of a block line up?", (
        ("two layers", small_pictures.numbering(8, 4, 2)),
        ("flat", small_pictures.numbering(32, 2, 1)),
        ("odd sizes", small_pictures.numbering(5, 3, 3)),
    )),
    Picture("02-layouts", "Where does each element of C lie in memory?", (
        ("wide", small_pictures.layout(3, 5)),
        ("square", small_pictures.layout(4, 4)),
        ("tall", small_pictures.layout(5, 2)),
    )),
    Picture("02-warp-fill", "How much of its warps does a block fill?", (
        ("whole warps", small_pictures.warp_fill(32, 64, 96)),
        ("parts of warps", small_pictures.warp_fill(1, 16, 33)),
        ("both", small_pictures.warp_fill(16, 32, 48, 64, 96, 100)),
    )),
    Picture("02-errors", "Where is a result wrong?", (
        ("the last columns", small_pictures.errors(19, 37, (slice(None), slice(32, 37)))),
        ("a tile that nobody wrote", small_pictures.errors(
            64, 64, (slice(0, 1), slice(0, 1)), (slice(16, 32), slice(32, 48)))),
        ("tall and thin", small_pictures.errors(128, 8, (slice(64, None), slice(None)))),
    )),
    Picture("02-thread-map", "Which thread computes C[row, col], and who is its neighbour in the warp?", (
        ("x is the column index", _threads("coalesced", (16, 16), (64, 64), 35)),
        ("x is the row index", _threads("naive", (32, 8), (64, 64), 35)),
        ("a C that blocks do not divide", _threads("coalesced", (24, 8), (40, 48), 35)),
        (TWIN, thread_map.small_multiples),
    )),
    Picture("03-sectors", "How much of what the memory sends does a warp use?", (
        ("x is the row index", _sectors("naive", (32, 1), 1024)),
        ("two rows a warp", _sectors("coalesced", (16, 16), 1024)),
        ("rows of odd width", _sectors("coalesced", (32, 1), 1023)),
        (TWIN, coalescing.small_multiples),
    )),
    Picture("03-block-shapes", "Do fewer sectors mean more GFLOPS?", (
        ("by sectors", small_pictures.block_shapes("sectors")),
        ("by lines", small_pictures.block_shapes("tags")),
        ("by lines, with what the cache allows", small_pictures.block_shapes("tags", limited=True)),
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
        ("registers", _filled(H200.name, "block_tile_2d")),
        ("warps and registers", _filled(H200.name, "shared_memory")),
        ("another GPU", _filled("RTX A6000", "shared_memory")),
    )),
    Picture("05-scheduler", "Who issues, and who waits?", (
        ("one warp", small_pictures.issue(1, 1, 30)),
        ("eight warps", small_pictures.issue(8, 1, 30)),
        ("two warps of independent instructions", small_pictures.issue(2, 8, 30)),
        (TWIN, scheduler.small_multiples),
    )),
    Picture("05-occupancy-speed", "Is a fuller SM a faster one?", (
        ("large matrices", small_pictures.occupancy_speed(
            4096, "naive", "block_tile_1d", "block_tile_2d", "ping_pong")),
        ("small ones", small_pictures.occupancy_speed(512, "naive", "block_tile_2d", "sliced_k")),
        ("every name", small_pictures.occupancy_speed(4096)),
    )),
    Picture("06-register-tile", "Why does computing many results in a thread need fewer loads?", (
        ("in the middle of a step", _registers("block_tile_2d", 37, 3, 43)),
        ("while it loads", _registers("block_tile_2d", 37, 0, 11)),
        ("one column per thread", _registers("block_tile_1d", 70, 2, None)),
        (TWIN, register_tile.small_multiples),
    )),
    Picture("06-patch-places", "What does a thread load, and what does it compute?", (
        ("the notebook's", small_pictures.patch_places(8, 6, 1)),
        ("another thread", small_pictures.patch_places(8, 13, 3)),
        ("a wide tile", small_pictures.patch_places(4, 5, 0)),
    )),
    Picture("07-warp-states", "What does a scheduler do in each cycle?", (
        ("by hand", lambda: warp_states_figure(n07.by_hand(), "Sixteen cycles", "A scheduler with three warps.")),
        ("one warp", small_pictures.by_letters("IllllFwwFbb")),
        ("never idle", small_pictures.by_letters("FnIlFn", "nFnFnF")),
    )),
    Picture("07-mix", "Of which kinds are a kernel's instructions?", (
        ("the notebook's three", small_pictures.mixes("shared_memory", "block_tile_1d", "block_tile_2d")),
        ("one sum per thread", small_pictures.mixes("naive", "coalesced")),
        ("two buffers", small_pictures.mixes("vectorized", "double_buffered", "ping_pong")),
    )),
    Picture("07-host-timeline", "What happens between the kernels?", (
        ("one stream and several", small_pictures.timelines(host_timeline.ONE_STREAM, host_timeline.SEVERAL_STREAMS)),
        ("one stream", small_pictures.timelines(host_timeline.ONE_STREAM)),
        ("several", small_pictures.timelines(host_timeline.SEVERAL_STREAMS)),
    )),
    Picture("08-bank-board", "Which lanes wait for each other?", (
        ("the store of the transposed tile", _board("transposed", "st", "As")),
        ("128 bits per lane, in the order of a zigzag", _board("warptiled", "ld", "Bs")),
        ("a tile of your own, padded by one", _tile(row_length=128, padding=1, down=8)),
        (TWIN, bank_board.small_multiples),
    )),
    Picture("09-vector-width", "What did the compiler make of my four floats?", (
        ("float4", _copy(3, 128, 0)),
        ("float4 where it may not be used", _copy(3, 130, 1)),
        ("loads that the machine code merges", _line("transposed", "b_frag[x] = Bs")),
        (TWIN, vector_width.small_multiples),
    )),
    Picture("10-pipeline", "Who waits for whom?", (
        ("a single buffer", _pipeline(1)),
        ("three stages", _pipeline(3)),
        ("a double buffer and four warps", _pipeline(2, 4)),
        (TWIN, pipeline.small_multiples),
    )),
    Picture("10-order", "In which order does a warp load, store and read?", (
        ("one buffer", small_pictures.order("shared_memory")),
        ("two buffers", small_pictures.order("double_buffered")),
        ("asynchronous copies", small_pictures.order("async_copy")),
    )),
    Picture("gpu", "What does a GPU look like, and where is a kernel limited?", (
        ("all of it", lambda: machine_figure(memories.machine())),
        ("notebook 04", small_pictures.here("04")),
        ("notebook 10", small_pictures.here("10")),
    )),
    Picture("10-time-lines", "What happens at the same time?", (
        ("one buffer and two", small_pictures.by_hand(3, 1, 2)),
        ("long products", small_pictures.by_hand(6, 1, 2)),
        ("three buffers", small_pictures.by_hand(3, 2, 3)),
    )),
    Picture("11-hierarchy", "Who owns which part of C?", (
        ("the kernel's zigzag", _levels(0, hierarchy.ZIGZAG, 0, 3)),
        ("lanes row by row", _levels(0, "row by row", 5, 9)),
        ("smaller tiles", _levels(3, hierarchy.ZIGZAG, 2, 17)),
        (TWIN, hierarchy.small_multiples),
    )),
    Picture("11-lane-maps", "Where does each lane of a warp stand?", (
        ("three maps", small_pictures.drawn_by("three_maps")),
        ("pairs below each other", small_pictures.drawn_by("three_maps", "pairs_below")),
        ("pairs by columns again", small_pictures.drawn_by("three_maps", "by_columns_again")),
    )),
    Picture("12-one-fma", "What do 32 lanes do in one FMA, and which bank falls behind?", (
        ("row by row", _fma("unmerged", "row by row", 9)),
        ("back and there", _fma("unmerged", "rows, back and there", 4)),
        ("the zigzag's lanes", _fma("zigzag", "column by column", 31)),
    )),
    Picture("13-settings", "Who computes what with five numbers?", (
        ("the fastest at 4096", _setting(64, 128, 16, 8, 4)),
        ("one warp", _setting(32, 32, 16, 4, 8)),
        ("many warps", _setting(128, 64, 8, 4, 4)),
    )),
    Picture("13-tuning", "Where are the good configurations?", (
        ("tiles of the block", _landscape("BM", "BN", "occupancy")),
        ("tiles of the thread", _landscape("TM", "TN", "floats_a_fma")),
        ("tiles of the warp", _landscape("WM", "WN", "occupancy")),
        (TWIN, tuning.small_multiples),
    )),
    Picture("14-ladder", "What did each idea buy?", (
        ("4096³", _ladder("ladder", CUBE, "warptiled", "linear")),
        ("small, logarithmic", _ladder("ladder", (256, 256, 256), "block_tile_2d", "log")),
        ("other shapes", _ladder("shapes", (64, 4096, 1024), LADDER[-1].name, "linear")),
        (TWIN, ladder.small_multiples),
    )),
    Picture("14-raster", "Which panels do the blocks share that run together?", (
        ("groups of four rows", small_pictures.drawn_by("raster")),
        ("whole columns", small_pictures.drawn_by("raster", "whole_columns")),
        ("along the rows", small_pictures.drawn_by("raster", "along_rows")),
    )),
    Picture("14-grid", "Which block takes which tile, and who runs together?", (
        ("one turn", _grid(2048, (128, 256), 8)),
        ("too few blocks", _grid(512, (128, 256), 1)),
        ("many small tiles", _grid(4096, (64, 64), 4)),
    )),
    Picture("14-schedule", "Who multiplies what, and when?", (
        ("equal shares", small_pictures.drawn_by("shares")),
        ("split-K", small_pictures.split_k(2, 8, 4)),
        ("many tiles", small_pictures.split_k(9, 4, 2)),
    )),
    Picture("15-roofs", "What can each precision give?", (
        ("the default GPU, recorded", _precisions(devices.DEFAULT.name, 8192)),
        ("an A6000", _precisions("A6000", 4096)),
        ("a small square on an H20", _precisions("H20", 256)),
        (TWIN, roofs.small_multiples),
    )),
    Picture("16-tree", "Who adds what, and at which banks?", (
        ("the first half", partial(tree.picture_of, tree.Choice(128, "the first half adds", 2))),
        ("neighbours first", partial(tree.picture_of, tree.Choice(64, "the first threads add neighbours", 4))),
        ("every second thread", partial(tree.picture_of, tree.Choice(32, "every second thread adds", 1))),
        (TWIN, tree.small_multiples),
    )),
    Picture("16-shuffle", "Which lane takes whose value?", (
        ("lanes below", partial(shuffle.picture_of, shuffle.Choice("down", 16))),
        ("eight at a time", partial(shuffle.picture_of, shuffle.Choice("xor", 4, 8))),
        ("lanes that are not there", partial(shuffle.picture_of, shuffle.Choice("down", 8, 32, "lanes 0 to 19"))),
    )),
    Picture("16-warps", "Which lane gives, which takes, and what does a branch cost?", (
        ("a sum", small_pictures.drawn_by("warp_tree")),
        ("a scan", small_pictures.drawn_by("prefix")),
        ("two paths", n16.paths_picture),
    )),
    Picture("17-pairs", "How do pairs move to the two smallest?", (
        ("a thread's two", small_pictures.drawn_by("two_of_thread")),
        ("a warp, a block, the grid", small_pictures.drawn_by("two_of_all")),
        ("neighbours in the grid", partial(explorer.picture_of, explorer.Choice("the two are neighbours"))),
    )),
    Picture("18-operands", "Where does a block's tile lie, and what does a request touch?", (
        ("B transposed, as it is read", _member(op_b="T", along_memory=False)),
        ("gaps, a batch", _member(op_b="T", gap=4, products=3)),
        ("an epilogue in a second kernel", _member(op_a="T", epilogue=3, fused=False)),
    )),
    Picture("18-members", "Whose block is it, and where are its elements?", (
        ("experts", small_pictures.drawn_by("grouped")),
        ("a convolution", small_pictures.drawn_by("implicit")),
        ("a transposed operand", small_pictures.drawn_by("transposed_operand")),
    )),
    Picture("18-scales", "Where do digits go?", (
        ("large columns", n18.digits),
        ("larger ones", partial(n18.digits, 100.0)),
        ("all alike", partial(n18.digits, 1.0)),
    )),
    Picture("heat-source", "Which line costs?", (
        ("one element a thread", _heat("naive", "sass")),
        ("bank conflicts", _heat("transposed", "sass")),
        ("counted in PTX", _heat("transposed", "ptx")),
    )),
    Picture("diff", "What is new?", (
        ("two lines", _diff("naive", "coalesced")),
        ("a tile", _diff("coalesced", "shared_memory")),
        ("padding", _diff("transposed", "padded")),
    )),
)  # fmt: skip
