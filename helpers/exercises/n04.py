"""Exercises of notebook 04, shared memory: what a tile saves and gains, barriers, edges, more reuse."""

from __future__ import annotations

from gemm_kernels import get
from gpusim.devices import DEFAULT, FLOAT_BYTES
from helpers import recordings, run
from helpers.exercises.framework import goals, slips, texts
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.blank import Blank
from helpers.exercises.framework.exercise import KernelExercise, Wrong
from helpers.exercises.framework.gemm import Gemm, shapes_that_tell
from helpers.exercises.framework.pictures import TilePhasesOf
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.problems import Case
from helpers.exercises.framework.questions import question
from helpers.exercises.framework.slips import Tiles
from helpers.pictures import bars, theme, traffic
from helpers.pictures.block_shapes import facts as block_shapes
from helpers.pictures.tile_phases import explorer as tile_phases
from helpers.pictures.tile_phases.facts import phases_of

SIZE, TILE = 1024, 16  # of `check_bytes`: M = N = K, and T
MEASURED_AT = 2048  # of `predict_gain`
BEST_BLOCK = (32, 8)  # the fastest one of the coalesced kernel, and the one that learners write theirs for


def predict_uses() -> Prediction:
    """How often is a float read after it was fetched once, with 32 × 32 tiles? The answer comes from a recording."""
    launch = tile_phases.shown(get("shared_memory", T=32))
    phase = phases_of(launch).phases[0]
    return predict(
        "A float that was fetched into shared memory once is read from there this many times:",
        reasons={
            1: "That would save nothing; each float would still be fetched for one thread alone.",
            2: "One for A and one for B? A float belongs to one of the two tiles only.",
            32: "A float of A's tile serves one row of C's tile, and a row is 32 threads. For B it is a column.",
            1024: "All 1024 threads of the block can read it, but only those of one row (or column) of C need it.",
        },
        answer=phase.floats_read // phase.floats_loaded,
        picture=lambda: tile_phases.picture_of(tile_phases.Choice(launch)),
    )


def predict_gain() -> Prediction:
    """How much faster is the kernel that asks for 32 times fewer floats? The answer comes from recordings."""
    before = block_shapes.recorded(get("coalesced"), BEST_BLOCK, MEASURED_AT)
    after = recordings.gflops(get("shared_memory"), MEASURED_AT, MEASURED_AT, MEASURED_AT)
    if before is None:
        raise RuntimeError("The block shapes of the coalesced kernel are not recorded: run `make record`.")
    gain = after.gflops / before.gflops
    reasons = {
        1.3: "Most of the floats that are no longer asked for had come from a cache, and what is left to do is to read "
        "two floats from shared memory per multiply-add. That is fast, but not free.",
        4: "That would be a kernel limited by something that fell by 4. Floats, requests and sectors all fell more.",
        16: "Half of the way to 32? The time would have to follow what is asked of global memory.",
        32: "Only if the time had been that of global memory alone, and if nothing else took time afterwards.",
    }
    rows = [bars.Bar("coalesced", before.gflops), bars.Bar("shared_memory", after.gflops)]
    title = f"T = 32 beside blocks of {BEST_BLOCK[0]} × {BEST_BLOCK[1]}, M = N = K = {theme.thousands(MEASURED_AT)}"
    return predict(
        f"M = N = K = {theme.thousands(MEASURED_AT)}, on an H200. With T = 32 the tiled kernel is faster than the "
        f"coalesced one in blocks of {BEST_BLOCK[0]} × {BEST_BLOCK[1]} by a factor of about:",
        reasons=reasons,
        answer=min(reasons, key=lambda factor: abs(factor - gain)),
        picture=lambda: bars.gflops_figure(rows, title, after.label),
    )


def recorded_bytes(n: int, T: int) -> str:
    """The bytes of A and B that a launch at M = N = K = n with tiles of T loads, as recorded; without tiles, T = 1, by
    the kernel of notebook 03. In words where no block can have such a tile."""
    if DEFAULT.max_threads_per_block < T * T:
        return f"no launch: a block of {T} · {T} = {T * T} threads"
    kernel = get("coalesced") if T == 1 else get("shared_memory", T=T)
    return f"{FLOAT_BYTES * run.record_whole(kernel.launch(n, n, n)).total('lanes', 'global', 'ld')} recorded"


@question("bytes_of_tiles", "Bytes with tiles")
def check_bytes(answer: float | None) -> Verdict:
    """Bytes of A and B that the kernel's threads ask global memory for, at M = N = K = SIZE with tiles of TILE."""
    loads = traffic.tiled(SIZE, SIZE, SIZE, TILE, TILE).loads
    alone = traffic.tiled(SIZE, SIZE, SIZE, 1, 1).loads
    return check_number(
        answer,
        loads,
        unit="bytes",
        because=f"Without tiles every element of C asks for {2 * SIZE} floats, {theme.thousands(alone)} bytes in all; "
        f"each float of a tile serves {TILE} threads.",
        slips=(
            Slip(alone, "That is what the threads ask for without tiles."),
            Slip(loads // 2, "That is one of the two matrices."),
            Slip(loads // 4, "That is the number of floats. How many bytes has a float?"),
            Slip(alone // TILE**2, "A float does not serve all threads of the block, only a row or a column of them."),
            Slip(traffic.compulsory(SIZE, SIZE, SIZE).loads, "That would be each float once in the whole launch: the "
                 "blocks share nothing with each other."),
        ),
    )  # fmt: skip


LEAVES_EARLY = "Threads outside C must not leave before the loop is over: they load elements that others need."

T = 16
WHOLE_TILES = Case({"M": 2 * T, "N": 2 * T, "K": 3 * T})

NO_BARRIER_AFTER_READS = (
    "In each iteration of the loop, no thread waits between the last read of a tile and the next load over it."
)

_BARRIER, _READ_ALONE = "        __syncthreads();\n", "\n        // 2. Multiply\n"

BARRIERS = KernelExercise(
    **texts.of("04", "barriers"),
    difficulty=1,
    problem=Gemm("sgemm_barriers", (T, T), (T, T), Tiles(BM=T, BN=T, BK=T)),
    picture=TilePhasesOf(WHOLE_TILES, "your kernel"),
    wrong=(
        Wrong(
            "only_second",
            "The barrier between loading and multiplying is missing: a thread reads elements that others have not "
            "stored yet.",
        ),
        Wrong(
            "after_loop",
            f"{NO_BARRIER_AFTER_READS} A barrier after the loop comes too late.",
            text=r"\}\s*__syncthreads\(\)\s*;\s*if\b",
        ),
        Wrong("starter", NO_BARRIER_AFTER_READS),
        Wrong(
            "both_before",
            NO_BARRIER_AFTER_READS,
            ((_READ_ALONE, f"{_BARRIER}{_READ_ALONE}"), (f"Bs[k][x];\n{_BARRIER}", "Bs[k][x];\n")),
        ),
        Wrong(
            "inside_branch",
            "Every thread of the block must reach the barrier, also those whose element lies outside C: keep the "
            "barrier out of the if.",
        ),
        Wrong("returns_early", LEAVES_EARLY),
        Wrong(
            "only_warps",
            "__syncwarp() holds the 32 threads of a warp together, but a tile is loaded by 8 warps: "
            "__syncthreads() waits for them all.",
        ),
    ),
)

_SUM, _LOOP, _WAIT = "    float sum = 0.0f;\n", "        As[y][x] = 0.0f;\n", "Bs[k][x];\n        __syncthreads();\n"
_LEAVE = "if (row >= M || col >= N) return;\n"

TILE_EDGES = KernelExercise(
    **texts.of("04", "tile_edges"),
    difficulty=2,
    problem=Gemm("sgemm_edges", (T, T), (T, T), Tiles(BM=T, BN=T, BK=T)),
    picture=TilePhasesOf(WHOLE_TILES, "your kernel"),
    wrong=(
        Wrong("unguarded", "Nothing asks whether row, col or k is still inside the matrices when the tiles are loaded: "
              "tiles at the edges stick out."),
        Wrong("store_unguarded", "The loads are guarded, the store is not: threads whose element lies outside C must "
              "not write it."),
        Wrong("k_unguarded", "Rows of A and columns of B are guarded, but not k: the last tile may stick out of A to "
              "the right and out of B at the bottom."),
        Wrong("only_k_guarded", "k is guarded, but not the rows of A and the columns of B."),
        Wrong("nothing_instead", "What lies outside must become 0. Not storing anything leaves in the tile what was "
              "there before: anything in the first phase, the tile before in the others."),
        Wrong("zeros_once", "The zeros are stored once, in front of the loop: in later phases the tile before "
              "stands where nothing is loaded. Store them in each phase.",
              (("        As[y][x] = 0.0f;\n", ""), ("        Bs[y][x] = 0.0f;\n", ""),
               (_SUM, f"    As[y][x] = 0.0f;\n    Bs[y][x] = 0.0f;\n{_SUM}"))),
        Wrong("one_condition_for_both", "Both loads stand under all four conditions: a thread whose element of B does "
              "not exist leaves out one of A that may exist, and the other way round. Each load has two of its own.",
              (("if (row < M && k0 + x < K)", "if (row < M && k0 + x < K && k0 + y < K && col < N)"),
               ("if (k0 + y < K && col < N)", "if (row < M && k0 + x < K && k0 + y < K && col < N)"))),
        Wrong("traded_k", "x and y trade places in the guards of k: As has k along x, Bs has k along y."),
        Wrong("ones", "What lies outside must add nothing to the sum: 1 · 1 adds 1, 0 · 0 adds nothing."),
        Wrong("whole_tiles_only", slips.sentence("tail_of_k_missing")),
        Wrong("returns_early", LEAVES_EARLY),
        Wrong("rows_leave_early", LEAVES_EARLY, ((_SUM, f"    if (row >= M) return;\n{_SUM}"),)),
        Wrong("columns_leave_early", LEAVES_EARLY, ((_SUM, f"    if (col >= N) return;\n{_SUM}"),)),
        Wrong("returns_in_the_loop", LEAVES_EARLY, ((_LOOP, f"        {_LEAVE}{_LOOP}"),)),
        Wrong("returns_after_a_tile", "Threads outside C leave after the first tile: they have nothing to add up, but "
              "they must go on loading elements that others need.",
              ((_WAIT, f"Bs[k][x];\n        {_LEAVE}        __syncthreads();\n"),)),
        Wrong("loop_inside_branch", "Only threads inside C load and come to the barriers. All threads of the block "
              "must: a tile needs what those outside C load, too.",
              ((_LOOP, f"        if (row < M && col < N) {{\n{_LOOP}"), (_WAIT, f"{_WAIT}        }}\n"))),
        Wrong("B_columns_unguarded", "Where the tile of B sticks out to the right there is no column: ask whether col "
              "is below N, too.", (("k0 + y < K && col < N", "k0 + y < K"),)),
        Wrong("rows_below_N", "The rows of A are compared with N: A has M rows.", (("row < M &&", "row < N &&"),)),
        Wrong("one_short", slips.sentence("last_row_and_column_unwritten")),
        Wrong("reads_always", slips.OLD_C_READ),
    ),
)  # fmt: skip

TWO_TILES = KernelExercise(
    **texts.of("04", "two_tiles"),
    difficulty=3,
    problem=Gemm("sgemm_two_tiles", (T, T), (T, 2 * T), Tiles(BM=T, BN=2 * T, BK=T),
                 shapes=(*shapes_that_tell(T, 2 * T, T), (T // 2, T + T // 2, 300))),  # 300: no tile holds all k
    picture=TilePhasesOf(Case({"M": 2 * T, "N": 4 * T, "K": 2 * T}), "your kernel", phase=0),
    goals=(goals.floats_loaded(12288),),
    judged=Case({"M": 64, "N": 64, "K": 32}),
    wrong=(
        Wrong("starter", "The loop over the halves runs around the loop over k, so that every tile of A is loaded "
              "twice.", text=r"(?s)\A(?:(?!k0 <).)*half < 2"),
        Wrong("same_tile_twice", "Both sums are made from the first tile of B: the second half needs its own, T "
              "columns further."),
        Wrong("second_half_unloaded", "The second half of Bs is read, but no thread stores it."),
        Wrong("one_guard_for_both", "Both loads of B ask whether col is inside: the second one is at col + T."),
        Wrong("one_barrier", "No thread waits between the last read of the tiles and the next load over them."),
        Wrong("first_acc_twice", "Both halves are added to the same sum, acc[0]."),
        Wrong("no_first_barrier", "No thread waits between loading and multiplying: a thread reads elements that "
              "others have not stored yet.", (("        __syncthreads();\n        // 2. Multiply\n", ""),)),
        Wrong("half_by_one", "The second half is taken one column further, in B and in C; it lies T columns further: "
              "col + half * T.",
              (("col + half * T", "col + half"),)),
        Wrong("stored_over", "Both halves of B are stored in the same place of Bs, the second over the first: it "
              "belongs T columns further, Bs[y][x + half * T].", (("Bs[y][x + half * T] =", "Bs[y][x] ="),)),
        Wrong("stored_and_read_over", "Both halves of B are stored in the same place of Bs, the second over the first: "
              "it belongs T columns further, Bs[y][x + half * T], and must be read there.",
              (("[x + half * T]", "[x]"),)),
        Wrong("interleaved", "The halves are stored in turns, Bs[y][2 * x + half], and read one behind the other, "
              "Bs[k][x + half * T]: both must be the same place.",
              (("Bs[y][x + half * T] =", "Bs[y][2 * x + half] ="),)),
        Wrong("replaced", "Each k replaces the sum (=) instead of adding to it (+=).",
              (("acc[half] += ", "acc[half] = "),)),
        Wrong("column_of_As", "The sum reads column y of As, and it needs row y: As[y][k].",
              (("As[y][k]", "As[k][y]"),)),
        Wrong("B_unguarded", "Where the tile of B sticks out to the right there is no column: keep the question "
              "whether c is below N.", (("k0 + y < K && c < N", "k0 + y < K"),)),
        Wrong("k_unguarded", "The last tile of A may stick out to the right: keep the question whether k0 + x is below "
              "K.", (("row < M && k0 + x < K", "row < M"),)),
    ),
)  # fmt: skip


TILED = Blank(
    **texts.of("04", "tiled"),
    difficulty=2,
    problem=Gemm("sgemm", (T, T), (T, T), Tiles(BM=T, BN=T, BK=T), scaled=False,
                 shapes=((T, 2 * T, 3 * T), (2 * T, T, 2 * T), (T, T, T), (3 * T, 2 * T, 4 * T))),
    picture=TilePhasesOf(WHOLE_TILES, "your kernel"),
    goals=(goals.floats_loaded(4096),),
    judged=Case({"M": 2 * T, "N": 2 * T, "K": 2 * T}),
    before="coalesced",
    wrong=(
        Wrong("no_first_barrier", "No thread waits between loading and multiplying: a thread reads elements that "
              "others have not stored yet."),
        Wrong("no_second_barrier", "No thread waits between the last read of a tile and the next load over it."),
        Wrong("no_barriers", "There is no barrier at all: a tile must be whole before it is read, and read before it "
              "is overwritten."),
        Wrong("first_tile_only", slips.sentence("only_first_tile_of_k")),
        Wrong("same_tile_again", slips.sentence("tiles_stand_still")),
        Wrong("transposed_A", "As is stored as (row, k) and read as (k, row), or the other way round: store As[y][x], "
              "and read As[y][k]."),
        Wrong("whole_k", "The loop over k inside a tile runs to K; a tile has only T of them.",
              text=r"\bk < K\b"),
        Wrong("sum_restarts", slips.sentence("only_last_tile_of_k")),
        Wrong("k_moves_by_1", "From tile to tile k0 moves on by 1: it must move on by T, the depth of a tile.",
              (("k0 += T", "++k0"),)),
        Wrong("x_is_the_row", "row comes from x and col from y; x is the column index and y the row index: "
              "row = blockIdx.y * T + y.",
              (("blockIdx.y * T + y", "blockIdx.x * T + x"), ("col = blockIdx.x * T + x", "col = blockIdx.y * T + y"))),
        Wrong("block_x_for_row", "The row takes the block's x, but grid and block have the rows along y: "
              "row = blockIdx.y * T + y.", (("blockIdx.y * T", "blockIdx.x * T"),)),
        Wrong("from_memory", "The tiles are loaded, but the products still read A and B: read As and Bs instead."),
    ),
)  # fmt: skip


PREDICTIONS = (predict_uses, predict_gain)
QUESTIONS = (check_bytes,)
EXERCISES = (TILED, BARRIERS, TILE_EDGES, TWO_TILES)
