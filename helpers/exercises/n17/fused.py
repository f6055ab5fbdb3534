"""The two smallest elements of A · B in four steps that the learner writes: of a thread, a warp, a block, of all."""

from __future__ import annotations

from functools import cache

import numpy as np

import gpusim
from gpusim.errors import SimulatorError
from gpusim.native import NoLibrary
from helpers import cycles, run
from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import SOURCES, Wrong
from helpers.exercises.framework.judge import Goal, Judged
from helpers.exercises.framework.pictures import Drawn
from helpers.exercises.framework.problems import Case, blocks
from helpers.exercises.n17 import pictures
from helpers.exercises.n17.matrices import (
    ALL,
    BLOCK,
    BM,
    BN,
    EQUAL,
    NEIGHBOURS,
    PAIR_WORDS,
    THREAD,
    THREADS,
    WARP,
    TwoSmallest,
    shapes,
)

RULES = "Of equal elements the smaller place comes first. A NaN is no number. What is not there has the place -1."
JUDGED = Case({"M": 96, "N": 128, "K": 8})  # C has 1536 sectors
PARTS = 5  # the parameter of step 4
JUDGED_ALL = Case({"M": 160, "N": 512, "K": 4})  # of 40 blocks; C has 10 240
SIDE = 1024  # M = N = K of the predicted time
SLOWER = 1.05  # times the product alone, at most
NOTHING = "two = {{INFINITY, INFINITY}, {NOWHERE, NOWHERE}};"

BOTH = """        take(two, v, at);
        take(two, w, from);
"""
SHUFFLES = """        const float v = __shfl_down_sync(FULL, two.value[0], offset);
        const float w = __shfl_down_sync(FULL, two.value[1], offset);
        const int at = __shfl_down_sync(FULL, two.place[0], offset);
        const int from = __shfl_down_sync(FULL, two.place[1], offset);
"""
LATE = """        const float v = __shfl_down_sync(FULL, two.value[0], offset);
        const int at = __shfl_down_sync(FULL, two.place[0], offset);
        take(two, v, at);
        const float w = __shfl_down_sync(FULL, two.value[1], offset);
        const int from = __shfl_down_sync(FULL, two.place[1], offset);
        take(two, w, from);
"""
SHIFT = """        two.value[1] = two.value[0];
        two.place[1] = two.place[0];
"""
FIRST = """        two.value[0] = w;
        two.place[0] = from;
"""
SECOND = """ else if (before(w, from, two.value[1], two.place[1])) {
        two.value[1] = w;
        two.place[1] = from;
    }"""

# One sentence for mistakes that leave the same.
BOTH_NEW = (
    "A new first one ends in both places: the old one must be moved before it is overwritten, and only what is not "
    "the first is compared with the second."
)
BEYOND_WARPS = "A lane reads behind the end of of_warp: it has WARPS pairs, those of lanes 0 to WARPS - 1."
UNFENCED = (
    "Another block may see the count before the pair: store the pair, then __threadfence(), then atomicAdd, and behind "
    "it another __threadfence()."
)

TWO_OF_THREAD = Blank(
    **texts.of("17", "two_of_thread", rules=RULES),
    difficulty=2,
    problem=TwoSmallest("two_of_threads", THREAD, shapes()),
    picture=Drawn(pictures.of_threads),
    wrong=(
        Wrong("values_alone", "An infinity of C must come before what is not there, which is infinity at NOWHERE: "
              "of equal values the smaller place comes first.",
              (("w < v || (w == v && from < at)", "w < v"),)),
        Wrong("later_of_equals", "Of two equal elements the later one wins: from < at, not from > at.",
              (("from < at", "from > at"),)),
        Wrong("or_equal", "An equal element replaces the one before it, whose place is smaller.",
              (("w < v || (w == v && from < at)", "w <= v"),)),
        Wrong("not_larger", "A NaN is taken: with it < and >= are both false. Ask what is smaller, and of equal "
              "elements for the smaller place.",
              (("w < v || (w == v && from < at)", "!(w >= v)"),)),
        Wrong("both_smaller", "An element that is smaller and stands later comes first, too: the place decides only "
              "where the values are equal.",
              (("w < v || (w == v && from < at)", "w <= v && from < at"),)),
        Wrong("nan_passes", "A NaN is taken: with it < and >= are both false. Ask what is smaller.",
              (("w < v || (w == v", "!(w >= v) || (w == v"),)),
        Wrong("largest", "No finite element comes before the INFINITY at which the pair begins, and all must: w < v.",
              (("w < v ||", "w > v ||"),)),
        Wrong("first_is_lost", "A new first one overwrites the old one, which is the second smallest now: move it.",
              ((SHIFT, ""),)),
        Wrong("place_stays", "The value moves to the second place in two, and its place in C does not.",
              (("        two.place[1] = two.place[0];\n", ""),)),
        Wrong("moved_too_late", BOTH_NEW,
              ((SHIFT + FIRST, FIRST + SHIFT),)),
        Wrong("no_second", "What is smaller than the second only is dropped: it must become the second.",
              ((SECOND, ""),)),
        Wrong("twice", BOTH_NEW,
              ((" else if (before(w, from, two.value[1]", "\n    if (before(w, from, two.value[1]"),)),
        Wrong("no_edge", "Patches at the edge have elements that C does not have: ask for row + y < M and col + x "
              "< N.", (("if (row + y < M && col + x < N) ", ""),)),
        Wrong("no_edge_below", "Below the last row of C a patch has elements that C does not have: ask for row + y < "
              "M, too.", (("row + y < M && ", ""),)),
        Wrong("no_edge_right", "Right of the last column of C a patch has elements that C does not have: ask for col + "
              "x < N, too.", ((" && col + x < N", ""),)),
        Wrong("edge_of_patch", "The edge is asked for the first element of the patch only: a patch may lie across it.",
              (("row + y < M && col + x < N", "row < M && col < N"),)),
        Wrong("rows_of_m", "A row of C has N elements: the place is (row + y) * N + col + x.",
              (("(row + y) * N", "(row + y) * M"),)),
        Wrong("rows_of_k", "A row of C has N elements: the place is (row + y) * N + col + x.",
              (("(row + y) * N", "(row + y) * K"),)),
        Wrong("place_of_patch", "All elements of the patch get the place of its first one: y and x belong to it.",
              (("(row + y) * N + col + x", "row * N + col"),)),
        Wrong("place_in_patch", "That is the place in the patch. The place in C has row, N and col in it.",
              (("(row + y) * N + col + x", "y * TN + x"),)),
        Wrong("transposed", "acc[y][x] has the row first: C[row + y, col + x].",
              (("acc[y][x], (row", "acc[x][y], (row"),)),
    ),
)  # fmt: skip

TWO_OF_WARP = Blank(
    **texts.of("17", "two_of_warp", rules=RULES),
    difficulty=2,
    problem=TwoSmallest("two_of_warps", WARP, shapes()),
    picture=Drawn(pictures.of_lanes),
    goals=(goals.store_sectors(128),),
    judged=JUDGED,
    wrong=(
        Wrong("one_of_two", "Only the first of the other lane is taken. Both smallest may be there: take its second, "
              "too.",
              (("        take(two, w, from);\n", ""),)),
        Wrong("too_late", "The second is fetched after the first take, which may have changed the other lane's "
              "pair: all shuffles come before.", ((SHUFFLES + BOTH, LATE),)),
        Wrong("own_places", "Values come from the other lane, and the places are those of the lane itself: shuffle "
              "them, too.",
              (("__shfl_down_sync(FULL, two.place[0], offset)", "two.place[0]"),
               ("__shfl_down_sync(FULL, two.place[1], offset)", "two.place[1]"))),
        Wrong("places_crossed", "The places of the first and the second have changed sides.",
              (("take(two, v, at)", "take(two, v, from)"), ("take(two, w, from)", "take(two, w, at)"))),
        Wrong("first_twice", "The other lane's first is taken twice, and its second never.",
              (("take(two, w, from)", "take(two, v, at)"),)),
        Wrong("starts_at_eight", "The lanes from 16 on are never taken: the first offset is 16.",
              (("offset = 16", "offset = 8"),)),
        Wrong("starts_at_32", "No lane lies 32 above another: the shuffle returns the lane's own pair, whose "
              "elements are taken a second time.", (("offset = 16", "offset = 32"),)),
        Wrong("one_step_short", "The last step, with offset 1, is missing.", (("offset > 0", "offset > 1"),)),
        Wrong("by_one", "offset goes down by one, so that the same elements come again and again: it halves.",
              (("offset /= 2", "offset -= 1"),)),
        Wrong("up", "__shfl_up_sync takes from the lanes below, and lane 0 has none: it gets its own pair again.",
              (("__shfl_down_sync", "__shfl_up_sync"),)),
        Wrong("one_lane", "__shfl_sync reads the lane of that number, the same one for all: the lane that lies offset "
              "above mine is meant.", (("__shfl_down_sync", "__shfl_sync"),)),
        Wrong("in_a_branch", "Only the lower lanes come to the shuffles, and the mask names all 32: shuffle in all "
              "lanes.",
              (("offset /= 2) {", "offset /= 2) if (threadIdx.x % 32 < offset) {"),)),
        Wrong("half_a_mask", "The mask names lanes 0 to 15, and all 32 call: it is FULL.",
              (("__shfl_down_sync(FULL,", "__shfl_down_sync(0xffffu,"),)),
        Wrong("last_lane", "Lane 31 has only its own elements: what comes down arrives in lane 0.",
              (("threadIdx.x % 32 == 0", "threadIdx.x % 32 == 31"),)),
        Wrong("one_warp", "Only the first warp of the block leaves its pair: each warp has a lane 0.",
              (("threadIdx.x % 32 == 0", "threadIdx.x == 0"),)),
        Wrong("all_lanes", "All 32 lanes leave their pair at the same number: lane 0 alone has the warp's.",
              (("if (threadIdx.x % 32 == 0) leave", "leave"),)),
        Wrong("own_block", "Every block leaves its pairs at the numbers of the first: block * WARPS is missing.",
              (("block * WARPS + threadIdx.x / 32", "threadIdx.x / 32"),)),
        Wrong("warps_of_32", "A block has WARPS warps, not 32: its first number is block * WARPS.",
              (("block * WARPS +", "block * 32 +"),)),
    ),
)  # fmt: skip

STORE_BARRIER = """    if (lane == 0) of_warp[warp] = two;
    __syncthreads();
"""

TWO_OF_BLOCK = Blank(
    **texts.of("17", "two_of_block", rules=RULES, nothing=NOTHING),
    difficulty=2,
    problem=TwoSmallest("two_of_blocks", BLOCK, shapes()),
    picture=Drawn(pictures.of_warps),
    goals=(goals.store_sectors(48),),
    judged=JUDGED,
    wrong=(
        Wrong("no_barrier", "The first warp reads pairs that other warps may not have stored yet: a barrier belongs "
              "between.", ((STORE_BARRIER, "    if (lane == 0) of_warp[warp] = two;\n"),)),
        Wrong("barrier_in_branch", "The barrier stands where only lane 0 of each warp comes by: it is for all threads "
              "of the block.", ((STORE_BARRIER, "    if (lane == 0) {\n        of_warp[warp] = two;\n        "
                              "__syncthreads();\n    }\n"),)),
        Wrong("old_pairs", "The lanes that find nothing in of_warp still hold pairs of their own warp, whose elements "
              "are taken a second time: give them infinity and NOWHERE.", ((f"    {NOTHING}\n", ""),)),
        Wrong("beyond_the_end", BEYOND_WARPS,
              (("    if (lane < WARPS) two = of_warp[lane];\n", "    two = of_warp[lane];\n"),)),
        Wrong("no_first_level", "The lanes of each warp have not been taken: lane 0 stores only its own pair.",
              (("    take_lanes(two);\n    if (lane == 0)", "    if (lane == 0)"),)),
        Wrong("no_second_level", "Lane 0 has the pair of the first warp only: the lanes must be taken once more.",
              (("of_warp[lane];\n    take_lanes(two);\n", "of_warp[lane];\n"),)),
        Wrong("by_lane", "Lane 0 of every warp stores in of_warp[0]: each warp has its own element, of_warp[warp].",
              (("of_warp[warp] = two", "of_warp[lane] = two"),)),
        Wrong("all_lanes", "All lanes store in the element of their warp, each its own pair: only lane 0 has the "
              "warp's.",
              (("if (lane == 0) of_warp[warp] = two", "of_warp[warp] = two"),)),
        Wrong("wrong_lane", "Lane 31 has not taken the others: the pair of the warp is in lane 0.",
              (("if (lane == 0) of_warp", "if (lane == 31) of_warp"),)),
        Wrong("one_warp_short", "The last warp is missing: lanes 0 to WARPS - 1 read.",
              (("lane < WARPS)", "lane < WARPS - 1)"),)),
        Wrong("one_warp_too_many", BEYOND_WARPS,
              (("lane < WARPS)", "lane <= WARPS)"),)),
        Wrong("same_warp", "Every lane reads the pair of its own warp: lane l takes that of warp l.",
              (("two = of_warp[lane]", "two = of_warp[warp]"),)),
        Wrong("all_threads", "All threads leave a pair at the same number: thread 0 alone has the block's.",
              (("if (threadIdx.x == 0) leave", "leave"),)),
        Wrong("warp_leaves", "All lanes of the first warp leave a pair at the same number: thread 0 alone has the "
              "block's.", (("if (threadIdx.x == 0) leave", "if (threadIdx.x < 32) leave"),)),
        Wrong("each_warp", "Lane 0 of every warp leaves a pair at the same number: thread 0 alone has the block's.",
              (("if (threadIdx.x == 0) leave", "if (threadIdx.x % 32 == 0) leave"),)),
        Wrong("column_of_blocks", "Blocks of different rows of tiles leave their pairs at the same number: a row of "
              "tiles has gridDim.x blocks.", (("blockIdx.y * gridDim.x + blockIdx.x, value", "blockIdx.x, value"),)),
        Wrong("height_for_width", "A row of tiles has gridDim.x blocks, not gridDim.y.",
              (("blockIdx.y * gridDim.x + blockIdx.x, value", "blockIdx.y * gridDim.y + blockIdx.x, value"),)),
    ),
)  # fmt: skip


# --- the time of a product, predicted


def alone() -> str:
    """The same multiplication, which stores C: what the two smallest are compared with."""
    return (SOURCES / "product_alone.cu").read_text(encoding="utf-8")


def caught(source: str, entry: str, tile: tuple[int, int], threads: int) -> gpusim.Captured:
    """A launch of one of the two at M = N = K = SIDE, not executed. tile: rows and columns of C of a block."""
    A, grid = np.zeros((SIDE, SIDE), np.float32), (blocks(SIDE, tile[1]), blocks(SIDE, tile[0]))
    if entry == "product":
        output: tuple[np.ndarray, ...] = (np.zeros((SIDE, SIDE), np.float32),)
    else:
        parts, arrived = np.zeros(PAIR_WORDS * grid[0] * grid[1], np.float32), np.zeros(1, np.uint32)
        output = parts, arrived, np.zeros(2, np.float32), np.zeros(2, np.int32)
    sizes = (np.int32(SIDE),) * 3
    with gpusim.capture() as captured:
        run.call(run.simulated(source, entry), grid, (threads,), (*sizes, A, A, *output), 0)
    return captured[0]


@cache
def predicted_ms(
    source: str, entry: str = "two_smallest", tile: tuple[int, int] = (BM, BN), threads: int = THREADS
) -> float:
    """What it is predicted to take on the course's GPU. Raises SimulatorError."""
    try:
        return cycles.predict(caught(source, entry, tile, threads)).ms
    except NoLibrary as missing:
        raise SimulatorError(str(missing)) from None


def of_alone() -> Goal:
    """The predicted time as a multiple of that of the product alone."""

    def measure(j: Judged) -> float:
        return predicted_ms(j.kernel.compiled.source) / predicted_ms(alone(), "product")

    return Goal(f"times the product alone, predicted at M = N = K = {SIDE}", measure, SLOWER, digits=2, predicted=True)


STORED = """        parts[block] = two;
        __threadfence();
        last = atomicAdd(arrived, 1) == blocks - 1;
        __threadfence();
"""
SHARE_OUT = """    for (int b = threadIdx.x; b < blocks; b += THREADS)
        for (int e = 0; e < 2; ++e) take(two, parts[b].value[e], parts[b].place[e]);
    take_warps(two);
"""
ONE_BY_ONE = """    if (threadIdx.x == 0)
        for (int b = 0; b < blocks; ++b)
            for (int e = 0; e < 2; ++e) take(two, parts[b].value[e], parts[b].place[e]);
"""

_OF_ALL = TwoSmallest(
    "two_smallest", ALL,
    shapes(Case({"M": 100, "N": 200, "K": 4, EQUAL: 4}), Case({"M": 300, "N": 1100, "K": 1, NEIGHBOURS: 1}),
           Case({"M": 70, "N": 150, "K": 3}, launches=2)),
)  # fmt: skip

TWO_OF_ALL = Blank(
    **texts.of("17", "two_of_all", rules=RULES, slower=SLOWER, nothing=NOTHING),
    difficulty=3,
    problem=_OF_ALL,
    picture=Drawn(pictures.of_blocks),
    goals=(
        goals.store_sectors(200),
        goals.load_requests(24, PARTS, "parts"),
        goals.ordered_by_count(PARTS, PARTS + 1, "parts"),
        goals.waiting_blocks(_OF_ALL, JUDGED_ALL),
        of_alone(),
    ),
    judged=JUDGED_ALL,
    wrong=(
        Wrong("no_fences", UNFENCED, ((STORED, STORED.replace("        __threadfence();\n", "")),)),
        Wrong("no_first_fence", UNFENCED, (("two;\n        __threadfence();\n", "two;\n"),)),
        Wrong("counted_first", UNFENCED, ((STORED, "        __threadfence();\n        last = atomicAdd(arrived, 1) == "
              "blocks - 1;"
                                 "\n        __threadfence();\n        parts[block] = two;\n"),)),
        Wrong("no_atomic", "Two blocks may load the same count, and then none may be the last: atomicAdd is one "
              "piece.",
              (("atomicAdd(arrived, 1)", "(*arrived)++"),)),
        Wrong("load_and_store", "Two blocks may load the same count, and then none may be the last: atomicAdd is "
              "one piece.",
              (("last = atomicAdd(arrived, 1) == blocks - 1;", "const unsigned there = *arrived;\n        "
                          "*arrived = there + 1;\n        last = there == blocks - 1;"),)),
        Wrong("off_by_one", "atomicAdd returns how many were there before: the last block gets blocks - 1.",
              (("== blocks - 1", "== blocks"),)),
        Wrong("first_block", "That is the block which comes first: the others may not have stored their pairs yet.",
              (("== blocks - 1", "== 0"),)),
        Wrong("one_row", "The grid has rows, too: blocks is gridDim.x * gridDim.y.",
              (("blocks = gridDim.x * gridDim.y", "blocks = gridDim.x"),)),
        Wrong("no_barrier", "The other threads may read last before thread 0 has stored it: a barrier belongs "
              "between.",
              (("    }\n    __syncthreads();\n    if (!last)", "    }\n    if (!last)"),)),
        Wrong("own_pair_twice", "The pair of the last block is among parts, and thread 0 still holds it: its elements "
              "are taken twice. Begin with nothing.", ((f"    {NOTHING}\n    for (int b", "    for (int b"),)),
        Wrong("one_by_one", "One thread goes through all parts alone: that is the sequential pass. Let each thread "
              "take every THREADS-th part, and the tree of the block the rest.", ((SHARE_OUT, ONE_BY_ONE),)),
        Wrong("one_of_two", "Only the first of each part is taken. Both smallest may be in one block.",
              (("for (int e = 0; e < 2; ++e) take(two, parts[b].value[e], parts[b].place[e]);",
                "take(two, parts[b].value[0], parts[b].place[0]);"),)),
        Wrong("no_tree", "Thread 0 has only what it has taken itself: the block must take its warps once more.",
              ((SHARE_OUT, SHARE_OUT.replace("    take_warps(two);\n", "")),)),
        Wrong("first_threads", "There may be more parts than threads: b grows by THREADS.",
              (("for (int b = threadIdx.x; b < blocks; b += THREADS)\n",
                "if (const int b = threadIdx.x; b < blocks)\n"),)),
        Wrong("a_lane_each", "b begins at the lane, so that the warps take the same parts: begin at threadIdx.x.",
              (("int b = threadIdx.x;", "int b = threadIdx.x % 32;"),)),
        Wrong("one_part_short", "The last part is missing.", (("b < blocks;", "b < blocks - 1;"),)),
        Wrong("one_place", "All blocks store in parts[0]: each has its own, parts[block].",
              (("parts[block] = two", "parts[0] = two"),)),
        Wrong("by_column", "Blocks of different rows of tiles store in the same part: the number of a block is "
              "blockIdx.y * gridDim.x + blockIdx.x.", (("parts[block] = two", "parts[blockIdx.x] = two"),)),
        Wrong("not_reset", "The next launch finds the count of this one, and no block of it is the last: set *arrived "
              "to 0.", (("        *arrived = 0;\n", ""),)),
        Wrong("reset_by_all", "Blocks reset the count that others have added to, so that it may never reach blocks "
              "- 1: only the last one may.",
              (("    if (!last) return;\n", "    if (threadIdx.x == 0) *arrived = 0;\n    if (!last) return;\n"),)),
        Wrong("all_leave", "All threads of the last block leave a pair: thread 0 alone has that of C.",
              (("    if (threadIdx.x == 0) {\n        leave", "    {\n        leave"),)),
        Wrong("warp_leaves", "All lanes of the first warp leave a pair: thread 0 alone has that of C.",
              (("    if (threadIdx.x == 0) {\n        leave", "    if (threadIdx.x < 32) {\n        leave"),)),
        Wrong("every_block_leaves", "Every block leaves a result, also before all pairs are there: only the last "
              "block has that of C.",
              (("    if (!last) return;\n", ""),)),
    ),
)  # fmt: skip

STEPS = (TWO_OF_THREAD, TWO_OF_WARP, TWO_OF_BLOCK, TWO_OF_ALL)
