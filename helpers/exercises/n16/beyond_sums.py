"""What is no sum, by the same means: a scan, votes, a histogram, and the place of the smallest element."""

from __future__ import annotations

from helpers.exercises.framework import goals, texts
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import Wrong
from helpers.exercises.framework.pictures import Drawn
from helpers.exercises.framework.problems import Case
from helpers.exercises.n16 import pictures
from helpers.exercises.n16.arrays import (
    BINS,
    OverArray,
    bins,
    counts,
    few_values,
    of_lengths,
    place_of_smallest,
    positive_first,
    running_sums,
    with_zeros,
)

PREFIX = Blank(
    **texts.of("16", "prefix"),
    difficulty=3,
    problem=OverArray("scan", "y", 128, running_sums, of_lengths(128, 300, 256, 33, 1, 129), blocks=1),
    picture=Drawn(pictures.shuffles),
    wrong=(
        Wrong("no_guard", "Where no lane lies so far below, the shuffle returns the lane's own v, which then counts "
              "twice: add only if lane >= offset.", (("if (lane >= offset) v += left", "v += left"),)),
        Wrong("one_lane_too_few", "Lane number offset has a lane so far below it, lane 0: compare by >=, not by >.",
              (("lane >= offset", "lane > offset"),)),
        Wrong("in_a_branch", "Lanes below offset do not come to the shuffle, and the mask names all 32: shuffle first, "
              "ask afterwards.", (("const float left = __shfl_up_sync(FULL, v, offset);\n            if (lane >= "
              "offset) "
                                   "v += left;", "if (lane >= offset) v += __shfl_up_sync(FULL, v, offset);"),)),
        Wrong("one_step_short", "The last step, with offset 16, is missing: no lane adds up more than 16 elements.",
              (("offset < 32", "offset < 16"),)),
        Wrong("by_one", "offset grows by one, so that the same elements come again and again: it doubles.",
              (("offset *= 2", "offset += 1"),)),
        Wrong("down", "__shfl_down_sync takes from the lanes above, and a running sum needs those below.",
              (("__shfl_up_sync", "__shfl_down_sync"),)),
        Wrong("first_lane", "Lane 0 has only its own element; the sum of the warp is in lane 31.",
              (("if (lane == 31)", "if (lane == 0)"),)),
        Wrong("no_barrier", "Warps may read the sums of others before these have stored them: a barrier belongs "
              "behind the store.", (("of_warp[warp] = v;\n        __syncthreads();\n", "of_warp[warp] = v;\n"),)),
        Wrong("no_second_barrier", "In the next round a fast warp may overwrite its sum while others still read it.",
              (("before += of_warp[w];\n        __syncthreads();\n", "before += of_warp[w];\n"),)),
        Wrong("barrier_in_branch", "The barrier stands where only lane 31 of each warp comes by: it is for all threads "
              "of the block.", (("        if (lane == 31) of_warp[warp] = v;\n        __syncthreads();\n",
                                 "        if (lane == 31) {\n            of_warp[warp] = v;\n"
                                 "            __syncthreads();\n        }\n"),)),
        Wrong("own_warp_too", "v has what it needs of the lane's own warp already: add the warps below it, w < warp.",
              (("w < warp;", "w <= warp;"),)),
        Wrong("no_carry", "Each round begins at 0 again: the sum of the earlier rounds is missing.",
              (("sum = before + v", "sum = v"),)),
        Wrong("carry_of_mine", "sum is that of the thread's own element, and before must be the same in all threads: "
              "it grows by the sums of all warps.",
              (("for (int w = 0; w < WARPS; ++w) before += of_warp[w]", "before = sum"),)),
        Wrong("carry_replaced", "before is replaced (=) by the sum of a warp, and must grow by that of each (+=).",
              (("before += of_warp[w]", "before = of_warp[w]"),)),
        Wrong("carry_first", "before grows ahead of its use, so that the sum of the whole round is added to each "
              "of its elements.",
              (("        float sum = before + v;\n", "        for (int w = 0; w < WARPS; ++w) before += of_warp[w];\n"
                "        float sum = before + v;\n"),
               ("        if (i < n) y[i] = sum;\n        for (int w = 0; w < WARPS; ++w) before += of_warp[w];\n",
                "        if (i < n) y[i] = sum;\n"))),
        Wrong("exclusive", "y[i] lacks x[i] itself: that is an exclusive scan, which is another task.",
              (("y[i] = sum", "y[i] = sum - x[i]"),)),
        Wrong("no_edge", "Where n is no multiple of the block, a thread stores behind the end of y.",
              (("if (i < n) y[i]", "y[i]"),)),
    ),
)  # fmt: skip

BY_ROUNDS = "In each round y goes on 32 elements further, so that gaps stay: store behind those that are kept."

_KEPT = OverArray(
    "keep_positive", "y", 32, positive_first, of_lengths(32, 50, 96, 7, 1, 200), blocks=1, inputs=with_zeros
)

KEEP_POSITIVE = Blank(
    **texts.of("16", "keep_positive"),
    difficulty=2,
    problem=_KEPT,
    picture=Drawn(pictures.who_reads),
    goals=(goals.in_any_order(_KEPT, Case({"n": 200}), 1),),
    wrong=(
        Wrong("zeros_vote", "Lanes with a 0 vote, too, and store nothing, so that gaps stay: ask for v > 0 in the "
              "vote, as before the store.", (("__ballot_sync(FULL, v > 0.0f)", "__ballot_sync(FULL, v >= 0.0f)"),)),
        Wrong("place_in_x", BY_ROUNDS, (("y[kept + below]", "y[first + below]"),)),
        Wrong("own_place", "Elements keep the places that they had in x, so that gaps stay: count the votes below.",
              (("y[kept + below]", "y[first + lane]"),)),
        Wrong("all_votes", "All who keep something store at the same place: count only the votes of lanes below mine.",
              (("votes & ((1u << lane) - 1)", "votes"),)),
        Wrong("own_vote_too", "My own vote is counted, too, so that everything lies one place further.",
              (("(1u << lane) - 1)", "(2u << lane) - 1)"),)),
        Wrong("votes_above", "The bits above mine are counted, so that the order within each round is turned round.",
              (("votes & ((1u << lane) - 1)", "votes & ~((2u << lane) - 1)"),)),
        Wrong("the_lane", "(1u << lane) is the lane's own bit: the bits below it are (1u << lane) - 1.",
              (("((1u << lane) - 1)", "(1u << lane)"),)),
        Wrong("not_counted", "votes is a pattern of bits, not a number of lanes: __popc counts its ones.",
              (("const int below = __popc(votes & ((1u << lane) - 1))", "const int below = votes & ((1u << lane) - "
               "1)"),)),
        Wrong("stands_still", "Each round stores over the one before: kept must grow by all that are kept.",
              (("        kept += __popc(votes);\n", ""),)),
        Wrong("grows_by_32", BY_ROUNDS, (("kept += __popc(votes)", "kept += 32"),)),
        Wrong("grows_by_below", "kept grows by another number in each lane: count all votes, not those below.",
              (("kept += __popc(votes)", "kept += below"),)),
        Wrong("zero_too", "0 is not greater than 0, and lanes beyond n bring a 0: vote by > 0.",
              (("v > 0.0f", "v >= 0.0f"),)),
        Wrong("negative", "What is below 0 is kept.", (("v > 0.0f", "v < 0.0f"),)),
        Wrong("in_a_branch", "Only lanes with something to keep come to the ballot, and its mask names all 32.",
              (("        const unsigned votes = __ballot_sync(FULL, v > 0.0f);\n        const int below = "
               "__popc(votes & "
                "((1u << lane) - 1));\n        if (v > 0.0f) y[kept + below] = v;\n        kept += __popc(votes);\n",
                "        if (v > 0.0f) {\n            const unsigned votes = __ballot_sync(FULL, v > 0.0f);\n"
                "            y[kept + __popc(votes & ((1u << lane) - 1))] = v;\n            kept += __popc(votes);\n"
                "        }\n"),)),
        Wrong("who_is_here", "__activemask() says which lanes happen to be here, and asks no condition: "
              "__ballot_sync(FULL, v > 0) does.", (("__ballot_sync(FULL, v > 0.0f)", "__activemask()"),),
              text="__activemask"),
        Wrong("not_zero", "The condition is v itself, which becomes an int: it holds for -1, and not for 0.5. Vote "
              "by v > 0.",
              (("(FULL, v > 0.0f)", "(FULL, v)"),)),
        Wrong("mine_and_above", "The bits of my own lane and of those above are counted: those below are (1u << lane) "
              "- 1.", (("votes & ((1u << lane) - 1)", "votes & ~((1u << lane) - 1)"),)),
        Wrong("grows_in_some", "kept grows only in the lanes that keep something: it must be the same in all 32.",
              (("        kept += __popc", "        if (v > 0.0f) kept += __popc"),)),
        Wrong("all_store", "Lanes with nothing to keep store, too, over what others keep: ask for v > 0.",
              (("if (v > 0.0f) y", "y"),)),
        Wrong("half_a_mask", "The mask names lanes 0 to 15, and all 32 vote: the mask is FULL.",
              (("__ballot_sync(FULL", "__ballot_sync(0xffffu"),)),
    ),
)  # fmt: skip

MOST_REQUESTS = 21  # 200 bins are 7 warps' requests, of each of three blocks
MOST_OF_THREAD = 3  # of 1000 elements, shared by three blocks of 128 threads

COUNT = "atomicAdd(&mine[x[i]], 1)"

HISTOGRAM = Blank(
    **texts.of("16", "histogram", bins=BINS, most_requests=MOST_REQUESTS, most=MOST_OF_THREAD),
    difficulty=2,
    problem=OverArray(
        "histogram", "bins", 128, counts, of_lengths(384, 500, 100, 1, 1000), blocks=3, before=0, inputs=bins
    ),
    picture=Drawn(pictures.who_reads),
    goals=(
        goals.global_atomics(MOST_REQUESTS),
        goals.places_loaded(MOST_OF_THREAD, "Three blocks of 128 threads share out 1000 elements: three at most for a "
                            "thread.", 1, "x"),
    ),
    judged=Case({"n": 1000}),
    wrong=(
        Wrong("not_zeroed", "No thread sets mine to 0, and shared memory begins with anything.",
              (("    for (int b = t; b < BINS; b += THREADS) mine[b] = 0;\n", ""),)),
        Wrong("half_zeroed", "A block has 128 threads and mine has 200 bins: each thread sets its bins to 0 in a loop.",
              (("for (int b = t; b < BINS; b += THREADS) mine[b] = 0", "mine[t] = 0"),)),
        Wrong("half_added", "A block has 128 threads and mine has 200 bins: the last 72 are never added to bins.",
              (("for (int b = t; b < BINS; b += THREADS) atomicAdd(&bins[b], mine[b])",
                "atomicAdd(&bins[t], mine[t])"),)),
        Wrong("no_first_barrier", "A thread may count in bins that another one has not set to 0 yet.",
              (("mine[b] = 0;\n    __syncthreads();\n", "mine[b] = 0;\n"),)),
        Wrong("no_second_barrier", "Bins may be added before all threads have counted.",
              (("1);\n    __syncthreads();\n", "1);\n"),)),
        Wrong("no_barriers", "No thread waits: neither for the zeros nor for the counts of others.",
              (("    __syncthreads();\n", ""),)),
        Wrong("plain_count", "Two threads may load the same bin and store the same number: counting needs "
                "atomicAdd, in "
              "shared memory, too.", ((COUNT, "++mine[x[i]]"),)),
        Wrong("plain_add", "Two blocks may load the same bin and store their own sum: adding to bins needs atomicAdd.",
              (("atomicAdd(&bins[b], mine[b])", "bins[b] += mine[b]"),)),
        Wrong("replaced", "The blocks store over each other: each must add to bins what it has counted.",
              (("atomicAdd(&bins[b], mine[b])", "bins[b] = mine[b]"),)),
        Wrong("one_element", "Each thread counts one element, and those behind the launch's last thread are missing.",
              (("for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)",
                "const int i = blockIdx.x * THREADS + t;\n    if (i < n)"),)),
        Wrong("own_block", "Every block counts the elements of block 0, too: it begins at blockIdx.x * THREADS.",
              (("i = blockIdx.x * THREADS + t", "i = t"),)),
        Wrong("step_of_block", "From one element to the next it is as far as the launch has threads.",
              (("i += gridDim.x * THREADS", "i += THREADS"),)),
        Wrong("the_value", "x[i] says which bin: it grows by 1, not by x[i].", ((COUNT, "atomicAdd(&mine[x[i]], "
                "x[i])"),)),
        Wrong("the_place", "i says where a number stands. Its bin is the number itself, x[i].",
              ((COUNT, "atomicAdd(&mine[i], 1)"),)),
        Wrong("every_element", "Right, but every element updates bins in global memory: count in mine first.",
              ((COUNT, "atomicAdd(&bins[x[i]], 1)"),)),
    ),
)  # fmt: skip


def _of_values(*rows: tuple[int, int]) -> tuple[Case, ...]:
    return tuple(Case({"n": n, "values": count}) for n, count in rows)


BETTER = "w < v || (w == v && from < place)"

ARGMIN = Blank(
    **texts.of("16", "argmin"),
    difficulty=2,
    problem=OverArray(
        "argmin", "at", 128, place_of_smallest,
        (*_of_values((128, 100), (300, 5), (982, 900), (33, 2), (1, 1)),
         Case({"n": 200, "values": 9, "numbers": 6}), Case({"n": 40, "values": 3, "numbers": 0}),
         Case({"n": 100, "from": 96})),
        blocks=1, before=-7, inputs=few_values,
    ),
    picture=Drawn(pictures.shuffles),
    wrong=(
        Wrong("from_zero", "A number above the one at which v begins is never taken: begin with infinity.",
              (("float v = INFINITY", "float v = 0.0f"),)),
        Wrong("any_of_them", "Of equal values the one that was taken first stays, wherever it stands: when they are "
              "equal, the smaller place decides.", ((BETTER, "w < v"),)),
        Wrong("last_of_them", "Of equal values the one that was taken last stays, wherever it stands: when they are "
              "equal, the smaller place decides.",
              ((BETTER, "w <= v"),)),
        Wrong("larger_place", "Of equal values the one with the larger index stays.", (("from < place", "from > "
                "place"),)),
        Wrong("largest", "That is the place of the largest.", (("w < v ||", "w > v ||"), ("v = INFINITY", "v = "
                "-INFINITY"))),
        Wrong("not_larger", "!(w >= v) is true for a NaN, and where values are equal it asks for no place: w < v || "
              "(w == v && from < place).", ((BETTER, "!(w >= v)"),)),
        Wrong("place_not_shuffled", "The value comes from another lane, and the place is one's own: shuffle both.",
              (("__shfl_down_sync(FULL, place, offset)", "place"),)),
        Wrong("not_smaller", "A NaN is taken: !(w >= v) is true for it. Ask for w < v, which is false.",
              ((BETTER, "!(w >= v) || (w == v && from < place)"),)),
        Wrong("value_only", "The place stays behind when the value is replaced.", (("            place = from;\n",
                ""),)),
        Wrong("place_only", "The value stays behind when the place is replaced.", (("            v = w;\n", ""),)),
        Wrong("own_place", "The value comes from another lane, and the place is one's own: shuffle both.",
              (("take(w, from);", "take(w, place);"),)),
        Wrong("one_lane_place", "from is the other lane's number, not the index that it found: shuffle place.",
              (("__shfl_down_sync(FULL, place, offset)", "lane + offset"),)),
        Wrong("starts_at_eight", "The lanes from 16 on are never asked: the first offset is 16.",
              (("offset = 16", "offset = 8"),)),
        Wrong("one_step_short", "The last step, with offset 1, is missing.", (("offset > 0", "offset > 1"),)),
        Wrong("in_a_branch", "Only lanes with an element come to the shuffle, and the mask names all 32.",
              (("    for (int offset = 16;", "    if (threadIdx.x < n) for (int offset = 16;"),)),
        Wrong("no_barrier", "Thread 0 reads what other warps may not have stored yet: a barrier belongs in between.",
              (("    __syncthreads();\n", ""),)),
        Wrong("one_warp", "Only warp 0 is asked: thread 0 must take what the other warps have stored.",
              (("        for (int w = 1; w < WARPS; ++w) take(value_of[w], place_of[w]);\n", ""),)),
        Wrong("last_lane", "Lane 0 has the smallest of its warp, and what lane 31 has is stored.",
              (("if (lane == 0)", "if (lane == 31)"),)),
        Wrong("one_element", "Each thread takes one element, and those from 128 on are missing.",
              (("for (int i = threadIdx.x; i < n; i += THREADS)", "const int i = threadIdx.x;\n    if (i < n)"),)),
        Wrong("nowhere", "Without any number the place is still NOWHERE: store -1 then.",
              (("place == NOWHERE ? -1 : place", "place"),)),
    ),
)  # fmt: skip
