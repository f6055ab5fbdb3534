"""Exercises of notebook 10, double buffering: what a second buffer hides, and copies that no thread waits for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from gemm_kernels import Kernel, OwnKernel, get
from gpusim import devices
from helpers import recordings, run
from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm
from helpers.exercises.framework.judge import Judged
from helpers.exercises.framework.pictures import OrderOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.slips import Tiles
from helpers.measure import profiles
from helpers.pictures import CannotTell, theme
from helpers.pictures.by_size.facts import ways
from helpers.pictures.by_size.figure import by_size_figure
from helpers.pictures.copies.facts import stage_copies
from helpers.pictures.copies.figure import copies_figure
from helpers.pictures.order.facts import events_of, reads_before_stores
from helpers.pictures.pipeline.explorer import DEFAULT, picture_of
from helpers.pictures.pipeline.model import steady_state
from helpers.recordings.suites import DEEPER, SWEEP_KERNELS


def cycles_per_iteration(kernel: Kernel, size: int, on_an_sm: int = 2) -> float:
    """Cycles of an iteration at M = N = K = size, at the boost clock of the GPU that the recordings are of."""
    gpu, speed = devices.DEFAULT, recordings.gflops(kernel, size, size, size)
    waves = -(-np.prod(kernel.grid(size, size)) // (gpu.sms * on_an_sm))  # how often the SMs are filled with blocks
    return float(speed.median_ms * gpu.clock_mhz * 1e3 / (size / kernel.params["BK"]) / waves)


def issued_per_iteration(kernel: Kernel, size: int = 1024) -> float:
    """Instructions of a block's warps in an iteration, for each of the SM's schedulers."""
    iterations = np.prod(kernel.grid(size, size)) * size / kernel.params["BK"]
    counters = profiles.profile(kernel, size, size, size).counters
    return float(counters["smsp__inst_executed.sum"] / iterations / devices.SCHEDULERS)


def predict_idle() -> Prediction:
    """Cycles in which a double-buffered warp waits at each tile. The answer comes from the pipeline model."""
    work, latency = DEFAULT.work, DEFAULT.latency
    return predict(
        f"Issuing the loads takes {work.copy} cycles, and then they are on their way for {latency}. Storing takes "
        f"{work.store}, reading from shared memory and multiplying {work.multiply} cycles. With two buffers the warp "
        "still waits at each tile for so many cycles:",
        reasons={
            0: f"That needs {latency} cycles of work while the copy is on its way. How long does it multiply?",
            work.multiply: "That is how long it multiplies: these cycles are hidden. Which are left?",
            latency - work.multiply: "The copy is on its way while the warp multiplies; then the warp waits for the "
            "rest.",
            latency: "That is the single buffer, where nothing happens while the copy is on its way.",
        },
        answer=round(steady_state(replace(DEFAULT, stages=2)).idle),
        picture=lambda: picture_of(replace(DEFAULT, stages=2)),
    )


T = 16
TILE_BYTES = 4 * T * T
WHOLE_TILES = Case({"M": 2 * T, "N": 2 * T, "K": 3 * T})
TILES = Tiles(BM=T, BN=T, BK=T)


def hides_nothing(j: Judged) -> str:
    """What an accepted kernel of `two_buffers` still lacks: a thread's next floats are not under way meanwhile."""
    between = reads_before_stores(events_of(j.recording, TILE_BYTES))
    if not between or any(between):  # none: asynchronous copies
        return ""
    return (
        "Right, with one barrier for each tile. But in the machine code no read of shared memory lies between a load "
        "and its store yet. The kernel next_tile mends that."
    )


TWO_BUFFERS = KernelExercise(
    **texts.of("10", "two_buffers"),
    difficulty=1,
    problem=Gemm("sgemm_two_buffers", (T, T), (T, T), TILES),
    picture=OrderOf(WHOLE_TILES, "your kernel", TILE_BYTES),
    goals=(goals.barriers(16),),
    judged=WHOLE_TILES,
    remark=hides_nothing,
    wrong=(
        Wrong("starter", "The next tiles are loaded over the ones that are multiplied in this round: they belong in "
              "the other buffer."),
        Wrong("first_not_loaded", "The first pair of tiles is never loaded: the first iteration multiplies what "
              "happens to be in the buffer."),
        Wrong("first_not_awaited", "No thread waits for the first pair of tiles: the first iteration may read what "
              "other threads have not stored yet."),
        Wrong("same_tile_again", "Each iteration loads the tiles that begin at its own k0, one iteration too late: the "
              "next ones begin at k0 + T."),
        Wrong("never_changed", "The buffers never change places: every iteration multiplies the first pair of tiles."),
        Wrong("nobody_waits", "Without the barrier a fast warp may change buffers and load over tiles that others "
              "still multiply."),
        Wrong("two_barriers", "Right, but one of the two barriers in each iteration is not needed: with two buffers "
              "no warp loads where others still read."),
    ),
)  # fmt: skip


# Of the 20 loads of a round's products (16 of Bs, 4 of four neighbours of As each), which the compiler orders anew.
READS = 10


CHANGED_FIRST = "The pairs change places before the stores: 1 - now is then the pair that others still multiply."
BEYOND_THE_END = "In the last iteration there is no next tile: its loads leave the rows of A, and all of B. Ask whether"
NOT_AWAITED = "The first pair of tiles may be read before it is whole: no thread waits for it."

NEXT_TILE = Blank(
    **texts.of("10", "next_tile", reads=READS),
    difficulty=2,
    problem=Gemm("sgemm", (T, T), (T, T), TILES, scaled=False,
                 shapes=((T, 2 * T, 3 * T), (2 * T, T, 2 * T), (T, T, T), (3 * T, 2 * T, 5 * T))),
    picture=OrderOf(WHOLE_TILES, "your kernel", TILE_BYTES),
    goals=(goals.barriers(16), goals.reads_before_store(READS, TILE_BYTES)),
    judged=WHOLE_TILES,
    before="tiled",
    wrong=(
        Wrong("first_not_awaited", NOT_AWAITED),
        Wrong("first_not_loaded", "The first pair of tiles is never loaded: the first iteration multiplies what "
              "happens to be in it."),
        Wrong("same_buffer", "The next tile is stored over the one that other warps still multiply: it belongs in "
              "the other pair."),
        Wrong("never_changes", "The pairs never change places: every iteration multiplies the first tile."),
        Wrong("this_tile_again", "Each iteration loads the tile that begins at its own k0, one iteration too late: the "
              "next one begins at k0 + T."),
        Wrong("beyond_the_end", f"{BEYOND_THE_END} k0 + T < K."),
        Wrong("nobody_waits", "No thread waits at the end of an iteration: a warp may read a tile that others are "
              "still storing."),
        Wrong("changed_first", CHANGED_FIRST,
              (("        now = 1 - now;\n", ""),
               ("        if (more) {\n            As", "        now = 1 - now;\n        if (more) {\n            As"))),
        Wrong("awaited_before", "The barrier is in front of the stores, and none is behind them: a warp may read a "
              "tile that others are still storing. Behind them it serves for both.",
              (("        __syncthreads();\n        now", "        now"),
               ("        if (more) {\n            A", "        __syncthreads();\n        if (more) {\n            A"))),
        Wrong("stored_at_once", "Right, but each float is stored where it is loaded, so the thread waits for it before "
              "the products: store it after them."),
        Wrong("two_barriers", "Right, but one of the two barriers per tile is not needed: no thread reads the pair "
              "that is stored to."),
    ),
)  # fmt: skip

BEFORE_THE_BARRIER = r"for \(int tile[\s\S]*\bstart\([\s\S]*__syncthreads"
TOO_EARLY = "The new copies begin before the barrier: a slow warp may still read that stage."
ARRIVED = "wait<N>() lets the N newest groups be under way: of two groups the older one must have arrived, so N is 1."

THREE_STAGES = Blank(
    **texts.of("10", "three_stages"),
    difficulty=2,
    problem=Gemm("sgemm", (T, T), (T, T), TILES, scaled=False,
                 shapes=((T, 2 * T, 3 * T), (2 * T, T, 2 * T), (T, T, T), (3 * T, 2 * T, 5 * T))),
    picture=OrderOf(WHOLE_TILES, "your kernel", TILE_BYTES),
    goals=(goals.barriers(16), goals.copies_under_way(2)),
    judged=WHOLE_TILES,
    before="next_tile",
    wrong=(
        Wrong("waits_for_all", "Right, but wait<0>() waits for both tiles that are under way, also for the one that "
              "is needed an iteration later: only one is under way during the products. wait<1>() waits for the older "
              "one alone.", (("wait<1>();", "wait<0>();"),), text=r"wait\s*<\s*0\s*>"),
        Wrong("two_commits", "Right, but start closes its group by itself: commit() behind it makes an empty one, and "
              "wait<1>() then waits for the newest tile, too.",
              (("start(tile + 2);\n", "start(tile + 2);\n        commit();\n"),)),
        Wrong("started_late", "Right, but the new copies are started after the products: only one group is under way "
              "during them. start(tile + 2) belongs between the barrier and the products.",
              (("        start(tile + 2);\n", ""),
               ("Bs[tile % STAGES][k][x];\n", "Bs[tile % STAGES][k][x];\n        start(tile + 2);\n"))),
        Wrong("one_started", "Only one tile is started before the loop: tile 1 is never copied."),
        Wrong("waits_too_little", ARRIVED),
        Wrong("never_waits", "No thread waits for the copies: a barrier makes threads meet, it does not make copies "
              "arrive."),
        Wrong("no_barrier", "wait<1>() is about a thread's own copies; those of the other threads need a barrier."),
        Wrong("starts_too_early", TOO_EARLY, text=BEFORE_THE_BARRIER),
        Wrong("starts_first", TOO_EARLY,
              (("        start(tile + 2);\n", ""), ("        wait<1>", "        start(tile + 2);\n        wait<1>")),
              text=BEFORE_THE_BARRIER),
        Wrong("three_ahead_after", "start(tile + 3) copies into the stage that is multiplied in this iteration, and "
              "no barrier lies between: slower warps may still read it. The stage of tile + 2 was read before the "
              "barrier.",
              (("    start(1);\n", "    start(1);\n    start(2);\n"), ("wait<1>();", "wait<2>();"),
               ("        start(tile + 2);\n", ""),
               ("Bs[tile % STAGES][k][x];\n", "Bs[tile % STAGES][k][x];\n        start(tile + 3);\n")),
              text=r"start\(tile \+ (?:3|STAGES)\)"),
        Wrong("three_started", "Three tiles are started before the loop, where STAGES - 1 are two: the first "
              "start(tile + 2) copies tile 2 once more, while its first copy may be under way.",
              (("    start(1);\n", "    start(1);\n    start(2);\n"),)),
        Wrong("two_stages", "One group is started ahead, and wait<1>() lets the newest group be under way: that is the "
              "tile which is needed. Start two tiles before the loop, and tile + 2 in it.",
              (("    start(1);\n", ""), ("start(tile + 2)", "start(tile + 1)")), text=r"\+ 1\) ?;"),
        Wrong("three_ahead", "The copies of tile + 3 go into the stage of the tile that is multiplied in this "
              "iteration: with three stages tile + 2 is the last that has room.",
              (("    start(1);\n", "    start(1);\n    start(2);\n"), ("start(tile + 2)", "start(tile + 3)")),
              text=r"start\(tile \+ (?:3|STAGES)\)"),
        Wrong("no_empty_group", "At the end no group is started, so that the tile which is needed is the newest group, "
              "and wait<1>() lets it be under way. Call start without a condition: it asks by itself, and makes an "
              "empty group.",
              (("start(tile + 2);", "if (tile + 2 < tiles) start(tile + 2);"),)),
        Wrong("barrier_last", "The barrier stands behind the products: between wait<1>(), which is about a thread's "
              "own copies, and the products there is none.",
              (("        __syncthreads();\n", ""),
               ("Bs[tile % STAGES][k][x];\n", "Bs[tile % STAGES][k][x];\n        __syncthreads();\n")),
              text=r"\bwait<[\s\S]*\bsum \+=[\s\S]*__syncthreads"),
        Wrong("barrier_first", "The barrier comes before the wait: then no thread knows of the copies of the others.",
              text=r"__syncthreads[\s\S]*\bwait<"),
        Wrong("one_ahead", "The next tile is started again instead of the one after it: two tiles ahead is tile + 2."),
        Wrong("two_barriers", "Right, but with three stages one barrier per tile is enough, if tile + 2 is started "
              "between it and the products."),
    ),
)  # fmt: skip


MOST_US = 650

FEW = Gemm("sgemm", (8, 8), (64, 64), Tiles(BM=64, BN=64, BK=8, TM=8, TN=8), scaled=False,
           shapes=((64, 128, 24), (128, 192, 8), (64, 64, 16)))  # fmt: skip

FEW_WARPS = KernelExercise(
    **texts.of("10", "few_warps", most_us=MOST_US),
    difficulty=3,
    problem=FEW,
    picture=OrderOf(Case({"M": 64, "N": 64, "K": 24}), "your kernel", 4 * 8 * (64 + 4)),
    goals=(goals.at_most_us(FEW, MOST_US),),
    judged=Case({"M": 64, "N": 64, "K": 24}),
    before="two_groups",
    wrong=(
        Wrong("starter", "Right, but as in notebook 08 each warp waits for its tiles at the head of each iteration."),
        Wrong("never_changes", "The pairs never change places: every iteration multiplies the first tile.",
              (("        now = 1 - now;\n", ""),)),
        Wrong("same_buffer", "The next tile is stored over the one that other warps still multiply: it belongs in "
              "the other pair.", (("As[1 - now]", "As[now]"), ("Bs[1 - now]", "Bs[now]")),
              text=r"\w\[[A-Za-z_]\w*\]\[[^;=]*\] ?=(?!=)"),
        Wrong("this_tile_again", "Each iteration loads the tile that begins at its own k0, one iteration too late: the "
              "next one begins at k0 + BK.",
              (("const int k1 = k0 + BK;", "const int k1 = k0;"),)),
        Wrong("changed_first", CHANGED_FIRST,
              (("        now = 1 - now;\n", ""),
               ("        }\n        if (k1 < K)\n", "        }\n        now = 1 - now;\n        if (k1 < K)\n"))),
        Wrong("first_not_awaited", NOT_AWAITED, (("    __syncthreads();\n    int now", "    int now"),)),
        Wrong("beyond_the_end", f"{BEYOND_THE_END} k0 + BK < K.", (("        if (k1 < K)\n", ""),)),
        Wrong("as_256_threads", "A block has 8 × 8 = 64 threads here: the elements of a thread are 64 apart, not 256.",
              (("64 * n", "256 * n"),), text=r"\b256\b"),
        Wrong("eight_in_a_row", "Right, but a thread takes eight neighbours, so that neighbouring threads load no "
              "neighbouring floats: take elements thread + 64 * n.",
              (("thread + 64 * n", "thread * 8 + n"),), text=r"\* 8 \+ |8 \* "),
    ),
)  # fmt: skip


def copy_map(kernel: OwnKernel, thread: tuple[int, int] = (5, 2)) -> theme.Figure:
    """Which element the threads of three_stages copy into which stage, from recorded addresses.

    kernel: the learner's; the course's solution takes its place where that one copies in another way.
    """
    written = kernel.launch(T, T, 4 * T)
    for launch in (written, written.with_source(THREE_STAGES.solved)):
        with suppress(CannotTell):
            copies = stage_copies(run.record(launch), {"A": 4 * T, "B": T}, T * T, "A")
            return copies_figure(copies, thread, "Which thread copies which element into which stage")
    raise AssertionError("the course's solution copies single floats")


def sizes_figure() -> theme.Figure:
    """How many times as fast as vectorized the other ways are, size by size."""
    return by_size_figure(ways(), "One tile, loaded in other ways, size by size")


SHARED_SMS = 4096  # M = N = K at which two blocks share an SM


def predict_deeper() -> Prediction:
    """Two buffers or one deeper tile? Both take the same shared memory; the answer was recorded."""
    kernels = (*map(get, SWEEP_KERNELS[:2]), DEEPER)
    single, double, deep = (recordings.gflops(kernel, *(SHARED_SMS,) * 3).gflops for kernel in kernels)
    gains = {name: f"{gflops / single - 1:.0%}" for name, gflops in {"two": double, "deep": deep}.items()}
    options = {
        "two buffers": f"They gain {gains['two']}: loads are under way during the products. But another block "
        "on the SM has hidden much of the latency.",
        "the deeper tile": f"It gains {gains['deep']}, two buffers {gains['two']}. It hides nothing, but there are "
        "half as many iterations, each with its two barriers and its wait.",
        "neither: both only take memory": "The memory costs nothing here: registers limit the blocks on an SM to two "
        "in any case.",
    }
    return predict(
        "The shared memory of two buffers can hold one tile that is twice as deep, BK = 16, with a single buffer. At "
        f"M = N = K = {SHARED_SMS} vectorized gains more from",
        reasons=options,
        answer="the deeper tile" if deep > double > single else "two buffers",
        picture=sizes_figure,
    )


PREDICTIONS = (predict_idle, predict_deeper)
QUESTIONS = ()
EXERCISES = (NEXT_TILE, THREE_STAGES, TWO_BUFFERS, FEW_WARPS)
