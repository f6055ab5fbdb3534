"""A sum in five steps that the learner writes: by atomics, in a block, in a warp, on two levels, over the grid."""

from __future__ import annotations

import numpy as np

from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.pictures import LEARNERS, Drawn, OrderOf
from helpers.exercises.framework.problems import Case
from helpers.exercises.n16 import pictures
from helpers.exercises.n16.arrays import OverArray, block_sums, of_lengths, the_sum, twice_the_sum

BEYOND = "Where n is no multiple of the block, a thread reads past the end of x. The last element has the index n - 1."

ONE_ATOMIC = Blank(
    **texts.of("16", "one_atomic"),
    difficulty=1,
    problem=OverArray("sum", "total", 128, the_sum, of_lengths(256, 300, 128, 129, 31, 1, 1000), before=0.0),
    picture=Drawn(pictures.who_reads),
    goals=(
        goals.places_loaded(1, "Every thread has one element of x, and adds that one.", 1, "x"),
    ),
    judged=Case({"n": 1000}),
    wrong=(
        Wrong("no_atomic", "Loading, adding and storing are three steps, and another thread may store in between, so "
              "that its element is lost. atomicAdd does all three as one.",
              (("atomicAdd(total, x[i])", "*total += x[i]"),)),
        Wrong("no_guard", BEYOND, (("if (i < n) ", ""),)),
        Wrong("one_too_many", BEYOND, (("i < n", "i <= n"),)),
        Wrong("one_short", "The last element, x[n - 1], is missing.", (("i < n", "i < n - 1"),)),
        Wrong("own_block", "Every block adds the first elements again: where a block begins, blockIdx.x * blockDim.x, "
              "is missing.", (("blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x"),)),
        Wrong("grid_for_block", "A block begins at blockIdx.x * blockDim.x: gridDim counts blocks, not threads.",
              (("blockDim.x", "gridDim.x"),)),
        Wrong("overlapping", "Neighbouring blocks begin one element apart, so that elements are added several "
              "times: a block begins blockDim.x further than the one before.",
              (("blockIdx.x * blockDim.x", "blockIdx.x"),)),
        Wrong("exchanged", "atomicExch replaces what is there, and returns it: only one element stays.",
              (("atomicAdd", "atomicExch"),)),
        Wrong("counted", "1 is added for every element: that counts them.", (("x[i])", "1.0f)"),)),
        Wrong("the_index", "The index is added, not the element at this index.", (("x[i])", "i)"),)),
        Wrong("first_threads", "Only the first thread of each block adds its element.",
              (("if (i < n)", "if (threadIdx.x == 0)"),)),
        Wrong("each_its_own", "total has only one element, and a thread adds behind it.",
              (("atomicAdd(total,", "atomicAdd(total + i,"),)),
    ),
)  # fmt: skip

NEIGHBOURS_FIRST = """    for (int step = 1; step < THREADS; step *= 2) {
        const int at = 2 * step * t;
        if (at < THREADS) s[at] += s[at + step];
        __syncthreads();
    }
"""
LOOP = """    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
"""
MOST_OF_TREE = 16  # addresses of thread 0, at most: its element of x, two floats in each of seven steps, the result

BLOCK_TREE = Blank(
    **texts.of("16", "block_tree", most=MOST_OF_TREE),
    difficulty=1,
    problem=OverArray("block_sums", "parts", 128, block_sums, of_lengths(256, 300, 128, 1, 129, 640)),
    picture=Drawn(pictures.tree),
    goals=(
        goals.places_loaded(MOST_OF_TREE, "In a tree half of the threads add one float each, then a quarter of them, "
                            "and so on: a thread loads two floats in each of its steps, seven at most."),
        goals.no_atomics("Threads that add to the same float by atomics wait for each other: in each step of a tree "
                         "they add to different floats."),
        goals.conflicts(),
    ),
    judged=Case({"n": 256}),
    wrong=(
        Wrong("no_first_barrier", "The first step reads floats that other warps may not have stored yet: a barrier "
              "belongs before the loop.", (("0.0f;\n    __syncthreads();\n", "0.0f;\n"),)),
        Wrong("no_barrier", "From one step to the next no thread waits: a warp reads partial sums that another warp "
              "has not stored yet.", (("+ half];\n        __syncthreads();\n", "+ half];\n"),)),
        Wrong("no_identity", "Beyond n a thread stores nothing, and the others add what happens to be in s: it must "
              "store 0, which changes no sum.", (("s[t] = i < n ? x[i] : 0.0f;", "if (i < n) s[t] = x[i];"),)),
        Wrong("no_guard", "Where n is no multiple of the block, a thread reads past the end of x.",
              (("i < n ? x[i] : 0.0f", "x[i]"),)),
        Wrong("returns", "Threads beyond n return, and then they store no 0 in s, which the others read.",
              (("s[t] = i < n ? x[i] : 0.0f;", "if (i >= n) return;\n    s[t] = x[i];"),)),
        Wrong("one_step_short", "The last step is missing: it adds s[1] to s[0], with half equal to 1.",
              (("half > 0", "half > 1"),)),
        Wrong("first_half_twice", "The loop begins with half = THREADS, and s has no second half then.",
              (("THREADS / 2", "THREADS"),)),
        Wrong("quarter", "The loop begins with a quarter of the block: the upper half of s is never added.",
              (("THREADS / 2", "THREADS / 4"),)),
        Wrong("all_add", "A thread of the upper half adds, too, and reads behind the end of s: only threads with t "
              "< half add.", (("if (t < half) ", ""),)),
        Wrong("replaced", "Each step replaces the partial sum (=) instead of adding to it (+=).",
              (("s[t] += s[t + half]", "s[t] = s[t + half]"),)),
        Wrong("neighbours", "Each step adds the right neighbour, and the float to add lies half further.",
              (("s[t + half]", "s[t + 1]"),)),
        Wrong("every_block_first", "All blocks store in parts[0]: each has its own element, parts[blockIdx.x].",
              (("parts[blockIdx.x]", "parts[0]"),)),
        Wrong("conflicts", "Right, but the lanes of a warp use floats 2 · step apart, which lie in few banks. Let "
              "neighbouring threads use neighbouring floats: the lower half adds what lies half further.",
              ((LOOP, NEIGHBOURS_FIRST),)),
    ),
)  # fmt: skip

WARP_TREE = Blank(
    **texts.of("16", "warp_tree"),
    difficulty=1,
    problem=OverArray("warp_sums", "parts", 32, block_sums, of_lengths(64, 50, 32, 1, 33, 320)),
    picture=Drawn(pictures.shuffles),
    goals=(
        goals.places_loaded(1, "A lane loads one element, and gets what the others have by shuffles."),
        goals.shared_bytes(0),
        goals.no_atomics("Lanes that add to the same float by atomics wait for each other: by shuffles they add up in "
                         "registers."),
        goals.barriers(0),
    ),
    judged=Case({"n": 64}),
    wrong=(
        Wrong("half_a_mask", "The mask names lanes 0 to 15, and the lanes from 16 on call as well: every lane that "
              "calls must be named, so the mask is FULL.",
              (("(FULL, v, offset)", "(0xffffu, v, offset)"),)),
        Wrong("returns", "The lanes beyond n have returned, and the others take values from them. They must stay, and "
              "bring 0.", (("float v = i < n ? x[i] : 0.0f;", "if (i >= n) return;\n    float v = x[i];"),)),
        Wrong("in_a_branch", "Only lanes with an element come to the shuffle, and the mask names all 32.",
              (("v += __shfl_down", "if (i < n) v += __shfl_down"),)),
        Wrong("no_guard", "A lane beyond the last element reads past the end of x.",
              (("i < n ? x[i] : 0.0f", "x[i]"),)),
        Wrong("identity_one", "A lane without an element brings 1, which changes the sum: it must be 0.",
              (("x[i] : 0.0f", "x[i] : 1.0f"),)),
        Wrong("starts_at_eight", "The lanes from 16 on are never added: the first offset is 16.",
              (("offset = 16", "offset = 8"),)),
        Wrong("starts_at_32", "The first offset is 32, and no lane lies 32 above another: where there is none, the "
              "shuffle returns the lane's own v, which then counts twice.", (("offset = 16", "offset = 32"),)),
        Wrong("one_step_short", "The last step is missing, with offset 1.", (("offset > 0", "offset > 1"),)),
        Wrong("up", "__shfl_up_sync takes from the lanes below, so the sum of all arrives at lane 31, and lane 0 "
              "takes its own v again and again.", (("__shfl_down_sync", "__shfl_up_sync"),)),
        Wrong("replaced", "Each step replaces v (=) by the other lane's instead of adding it (+=).",
              (("v += __shfl", "v = __shfl"),)),
        Wrong("halves", "Lane 0 gets nothing of lanes 16 to 31: the step with offset 16 must reach them, without a "
              "width of 16.", (("v, offset)", "v, offset, 16)"),)),
        Wrong("from_place", "offset counts from the lane itself: the lane lane + offset above it is too far.",
              (("v, offset)", "v, lane + offset)"),)),
        Wrong("from_lane", "__shfl_sync takes from lane number offset, which is the same for all lanes. "
              "__shfl_down_sync takes from lane + offset.", (("__shfl_down_sync", "__shfl_sync"),)),
        Wrong("last_lane", "Lane 31 has no lane above it, so its sum is its own v many times over. The sum of all "
                "is in "
              "lane 0.", (("lane == 0", "lane == 31"),)),
        Wrong("all_store", "All lanes store in the same element, and only lane 0 has the sum.",
              (("if (lane == 0) ", ""),)),
    ),
)  # fmt: skip

ONE_WARP = "What is stored is the sum of warp 0 alone: on the second level the lanes read of_warp, and add by warp_sum."
LOOP_OF_GRID = "i += gridDim.x * THREADS"
TO_SHARED = "    if (lane == 0) of_warp[warp] = v;\n    __syncthreads();\n"

TWO_LEVELS = Blank(
    **texts.of("16", "two_levels"),
    difficulty=2,
    problem=OverArray(
        "block_sums", "parts", 256, block_sums, of_lengths(768, 1000, 2304, 255, 33, 1, 1601), blocks=3
    ),
    picture=Drawn(pictures.who_reads),
    goals=(goals.barriers(3),),
    judged=Case({"n": 1000}),
    wrong=(
        Wrong("no_barrier", "The first warp reads the sums of warps that may not have stored them yet: a barrier "
              "belongs in between.", (("= v;\n    __syncthreads();\n", "= v;\n"),)),
        Wrong("barrier_in_branch", "The barrier stands where only lane 0 of each warp comes by: it is for all threads "
              "of the block.", ((TO_SHARED, "    if (lane == 0) {\n        of_warp[warp] = v;\n"
                                 "        __syncthreads();\n    }\n"),)),
        Wrong("no_identity", "of_warp has a float for each warp, and a lane from WARPS on reads behind its end: "
              "these lanes bring 0.", (("lane < WARPS ? of_warp[lane] : 0.0f", "of_warp[lane]"),)),
        Wrong("only_some_lanes", "Only the lanes with a sum come to warp_sum, whose mask names all 32: the others take "
              "part, too, and bring 0.",
              (("    if (warp == 0) {\n", "    if (threadIdx.x < WARPS) {\n"),)),
        Wrong("own_value", "Lanes from WARPS on still hold their own part of v, which the first warp has counted "
              "already: they bring 0.", (("of_warp[lane] : 0.0f", "of_warp[lane] : v"),)),
        Wrong("one_element", "Each thread adds one element, and those behind the launch's last thread are "
              "missing.", (("for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)",
                                 "const int i = blockIdx.x * THREADS + threadIdx.x;\n    if (i < n)"),)),
        Wrong("step_of_block", "From one element to the next it is as far as the whole launch has threads, gridDim.x * "
              "THREADS: with less, blocks add the same elements.", ((LOOP_OF_GRID, "i += THREADS"),)),
        Wrong("step_of_grid", "From one element to the next it is as far as the launch has threads: gridDim.x counts "
              "blocks.", ((LOOP_OF_GRID, "i += gridDim.x"),)),
        Wrong("own_block", "Every block begins with the same elements: block b begins at b * THREADS.",
              (("i = blockIdx.x * THREADS + threadIdx.x", "i = threadIdx.x"),)),
        Wrong("first_warp_only", ONE_WARP, (("v = lane < WARPS ? of_warp[lane] : 0.0f;\n        v = warp_sum(v);\n  "
                "      ", ""),)),
        Wrong("no_second_level", ONE_WARP, (("        v = warp_sum(v);\n", ""),)),
        Wrong("no_first_level", "of_warp gets the elements of lane 0 alone: add up the warp by warp_sum before.",
              (("    v = warp_sum(v);\n    if (lane", "    if (lane"),)),
        Wrong("last_lane", "warp_sum leaves the sum in lane 0, and that of lane 31 is stored.",
              (("if (lane == 0) of_warp", "if (lane == 31) of_warp"),)),
        Wrong("one_place", "All warps store in of_warp[0]: each has its own float, of_warp[warp].",
              (("of_warp[warp] = v", "of_warp[0] = v"),)),
        Wrong("two_barriers", "Right, but one of the two barriers is not needed: behind the first warp's sum no thread "
              "reads what others store.", (("        if (lane == 0) parts[blockIdx.x] = v;\n    }\n",
                                            "        if (lane == 0) parts[blockIdx.x] = v;\n    }\n"
                                            "    __syncthreads();\n"),)),
    ),
)  # fmt: skip


def _parts_and_count(blocks: int) -> tuple[np.ndarray, ...]:
    return np.full(blocks, np.nan, np.float32), np.zeros(1, np.uint32)


OF_700 = Case({"n": 700}, launches=2)
OF_68_BLOCKS = Case({"n": 4300, "blocks": 68}, launches=2)
NO_FENCE = (
    "Without __threadfence() before it the count may be seen before the part, and the last block may then read "
    "what was in parts before."
)
ONLY_ONCE = "After two launches *total has the sum once"
WHO_IS_LAST = (
    "atomicAdd returns how many blocks had arrived *before*: the last one gets gridDim.x - 1, and it alone may add."
)
COUNT_IN = "last = atomicAdd(arrived, 1) == gridDim.x - 1;"

ALL_COUNT = (
    "All threads of a block count, and the number of blocks is reached before all blocks are there: one thread counts "
    "its block in."
)

_OF_BLOCKS = OverArray(
    "sum", "total", 64, twice_the_sum,
    (*of_lengths(256, 300, 65, 1, 700, launches=2), OF_68_BLOCKS),
    blocks=5, before=0.0, workspace=_parts_and_count,
)  # fmt: skip

LAST_BLOCK = Blank(
    **texts.of("16", "last_block"),
    difficulty=2,
    problem=_OF_BLOCKS,
    picture=Drawn(pictures.who_reads),
    goals=(
        goals.ordered_by_count(2, 3, "parts"),
        goals.no_atomics("The task is to do without an atomic on a float: where blocks add by atomics, the order is "
                         "that in which they come.", 4, "total"),
        goals.waiting_blocks(_OF_BLOCKS, OF_700),
        goals.in_any_order(_OF_BLOCKS, OF_68_BLOCKS, 1),
    ),
    judged=OF_700,
    wrong=(
        Wrong("no_fence", NO_FENCE, (("        __threadfence();\n", ""),)),
        Wrong("fence_behind", NO_FENCE, (("= v;\n        __threadfence();\n", "= v;\n"),)),
        Wrong("replaced", f"{ONLY_ONCE}: it was replaced (=) and not added to (+=).", (("*total += v", "*total = v"),),
              text=r"\*\s*total\s*=(?!=)|\btotal\[0\]\s*=(?!=)"),
        Wrong("no_reset", f"{ONLY_ONCE}: *arrived was not set back to 0, so that no block of the second launch was the "
              "last.", (("        *arrived = 0;\n", ""),), text=r"\btotal(?:\[0\])?\s*\+="),
        Wrong("never_last", WHO_IS_LAST, (("== gridDim.x - 1", "== gridDim.x"),)),
        Wrong("first_block", WHO_IS_LAST, (("== gridDim.x - 1", "== 0"),)),
        Wrong("plain_count", "Two blocks may read the same *arrived and store the same number: counting needs "
              "atomicAdd.", ((COUNT_IN, "last = *arrived == gridDim.x - 1;\n        *arrived += 1;"),)),
        Wrong("all_store", ALL_COUNT, (("    if (threadIdx.x == 0) {\n        parts", "    {\n        parts"),)),
        Wrong("all_count", ALL_COUNT,
              ((f"        {COUNT_IN}\n        __threadfence();\n    }}\n", f"    }}\n    {COUNT_IN}\n    "
               f"__threadfence();\n"),)),
        Wrong("no_barrier", "The other threads may read last before thread 0 has stored it: a barrier belongs in "
              "between.",
              (("    }\n    __syncthreads();\n    if (!last)", "    }\n    if (!last)"),)),
        Wrong("own_v_kept", "v still holds what block_sum has left in it, and the block's own sum is in parts, "
              "too: begin at 0.",
              (("    v = 0.0f;\n    for (int b", "    for (int b"),)),
        Wrong("one_part_each", "There may be more parts than threads in a block, and each thread takes one.",
              (("for (int b = threadIdx.x; b < gridDim.x; b += THREADS) v += parts[b]",
                "if (threadIdx.x < gridDim.x) v += parts[threadIdx.x]"),)),
        Wrong("without_first", "The loop begins at 1, and the part of block 0 is missing.",
              (("b = threadIdx.x;", "b = threadIdx.x + 1;"),)),
        Wrong("every_block", "Every block adds up the parts, also before all of them are there: only the last may.",
              (("    if (!last) return;\n", ""),)),
        Wrong("no_block_sum", "Thread 0 stores its own sum of parts: those of the other threads are missing.",
              (("    v = block_sum(v);\n    if (threadIdx.x == 0) {\n        *total",
                "    if (threadIdx.x == 0) {\n        *total"),)),
    ),
)  # fmt: skip

SYNC_IN_LOOP = "        __syncwarp();\n"

OF_A_WARP = "Right, but __syncthreads() is the barrier of a block: that of a warp, __syncwarp(), is enough here."

LOCKSTEP = KernelExercise(
    **texts.of("16", "lockstep"),
    difficulty=1,
    problem=OverArray("warp_sums", "parts", 32, block_sums, of_lengths(64, 50, 1, 33)),
    picture=OrderOf(Case({"n": 64}), LEARNERS, 4 * 32),
    remark=lambda judged: OF_A_WARP if judged.barriers else "",
    wrong=(
        Wrong("starter", "Lanes read what other lanes of the warp have stored, and nothing says that they have stored "
              "it yet: __syncwarp() belongs before the loop and behind each step."),
        Wrong("only_in_the_loop", "The first step reads what other lanes have stored before the loop: they must meet "
              "there, too."),
        Wrong("only_before", "Behind a step no thread waits: the next one reads partial sums that other lanes may not "
                "have "
              "stored yet.", ((SYNC_IN_LOOP, ""),)),
        Wrong("half_a_mask", "The mask names lanes 0 to 15, and all 32 come to it: without a mask __syncwarp() names "
              "all.", ((SYNC_IN_LOOP, "        __syncwarp(0xffffu);\n"),)),
        Wrong("all_add", "A lane of the upper half of the step adds, too, and reads behind the end of s: only "
              "lanes below half add.",
              (("if (lane < half) ", ""),)),
        Wrong("one_step_short", "The last step is missing, with half equal to 1.", (("half > 0", "half > 1"),)),
    ),
)  # fmt: skip
