"""Notebooks 07 to 09: their terms are in the glossary, and what their prose says of the recordings is so."""

import re
from pathlib import Path

import numpy as np
import pytest

from gemm_kernels import get
from helpers import devices, exercises
from helpers.analysis import landscape
from helpers.authoring.notebooks import form
from helpers.exercises import n09
from helpers.explore import bank_board, vector_width
from helpers.explore.bank_board import Tile
from helpers.measure import profiles, recordings
from helpers.simulator import Misaligned

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
H200 = devices.get("NVIDIA H200")
SIZES = (256, 512, 1024, 2048, 4096, 8192)


def prose(number: str) -> str:
    """The Markdown of a notebook, on one line."""
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    cells = form.read(path.read_text(encoding="utf-8")).cells
    return " ".join(" ".join(cell.source for cell in cells if cell.cell_type == "markdown").split())


def gain(new: str, old: str, *shape: int) -> float:
    """How much faster one kernel was than the other when recorded; one number stands for a cube."""
    M, N, K = shape * (4 - len(shape)) if len(shape) == 1 else shape
    return recordings.gflops(get(new), M, N, K).gflops / recordings.gflops(get(old), M, N, K).gflops - 1


@pytest.mark.parametrize(
    ("number", "terms"),
    [
        ("07", {"wavefronts", "banks", "bank conflict", "broadcast", "padding", "swizzle", "exclusive or"}),
        ("08", {"vector load", "aligned"}),
        ("09", {"latency", "double buffering", "stages", "asynchronous copy", "spills"}),
    ],
)
def test_the_terms_that_a_notebook_explains_are_linked_to_the_glossary(number, terms):
    assert terms <= set(re.findall(r"\[\*\*([^\]*]+)\*\*\]\(glossary\.md\)", prose(number)))


GUARDED_LOOP = '''my_loop = """    if (K % 4 == 0)
        for (; k < K; k += 4) {
            const float4 v = *reinterpret_cast<const float4 *>(&a[k]);
            acc += v.x * B[k * N + col] + v.y * B[(k + 1) * N + col];
            acc += v.z * B[(k + 2) * N + col] + v.w * B[(k + 3) * N + col];
        }
    for (; k < K; ++k) acc += a[k] * B[k * N + col];'''
VECTOR_STORE = """    if (N % 4 == 0) {
        float4 old = {};
        if (beta != 0.0f) old = *reinterpret_cast<float4 *>(c);
        *reinterpret_cast<float4 *>(c) = {alpha * acc[0] + beta * old.x, alpha * acc[1] + beta * old.y,
                                          alpha * acc[2] + beta * old.z, alpha * acc[3] + beta * old.w};
    } else
    for (int x = 0;"""


@pytest.mark.parametrize(
    ("number", "name", "before", "after"),
    [
        ("07", "padding", "PAD = 0", "PAD = 4"),
        ("07", "transpose_tile", 'declaration = "tile[T][T]"', 'declaration = "tile[T][T + 1]"'),
        ("07", "swizzle", 'place_of_row = "row"', 'place_of_row = "row ^ (4 * k)"'),
        ("08", "aligned_rows", r'my_loop = """.*?\n    }', GUARDED_LOOP),
        ("08", "vector_store", r"    for \(int x = 0;", VECTOR_STORE),
        ("09", "two_buffers", "load(buffer, k0 + T);", "load(1 - buffer, k0 + T);"),
        ("09", "async_wait", "wait<2>();", "wait<1>();"),
    ],
)
def test_what_a_learner_writes_in_the_cell_of_an_exercise_reaches_its_check(number, name, before, after):
    (path,) = FOLDER.glob(f"{number}_*.ipynb")
    cells = form.read(path.read_text(encoding="utf-8")).cells
    (source,) = [cell.source for cell in cells if f"{name}.check(" in cell.source]
    pattern = before if "\\" in before or ".*" in before else re.escape(before)
    solved, changes = re.subn(pattern, lambda _: after, source, count=1, flags=re.DOTALL)
    exercise, shown = exercises.get(name), []
    exec(solved, {name: exercise, "display": lambda *what: shown.extend(what)})
    assert changes == 1 and shown[-1].passed is True, shown[-1]


# --- notebook 07


def test_transposing_loses_at_most_sizes_and_the_swizzle_is_ahead_of_padding_at_all():
    assert "Transposing alone *loses* at most sizes" in prose("07")
    assert sum(gain("transposed", "block_tile_2d", size) < 0 for size in SIZES) > len(SIZES) / 2
    assert "Swizzling is ahead of padding at every one of these sizes" in prose("07")
    assert all(gain("swizzled", "padded", size) > 0 for size in SIZES)
    assert "a few more instructions" in prose("07")
    instructions = {
        name: profiles.profile(get(name), 1024, 1024, 1024).counters["smsp__inst_executed.sum"]
        for name in ("padded", "swizzled")
    }
    assert 1 < instructions["swizzled"] / instructions["padded"] < 1.1


def test_padding_wins_most_where_matrices_are_large():
    assert "Padding wins most where the matrices are large." in prose("07")
    gains = [gain("padded", "transposed", size) for size in SIZES]
    assert min(gains[3:]) > max(gains[:3])


def test_the_answers_of_the_bank_board_s_questions_are_right():
    free = [pad for pad in range(9) if bank_board.tile_access(Tile(32, pad, down=32)).wavefronts == 1]
    assert free == [1, 3, 5, 7] and "The odd ones: 1, 3, 5 and 7." in prose("07")
    free = [pad for pad in range(9) if bank_board.tile_access(Tile(32, pad, down=8)).wavefronts == 1]
    assert free == [4]
    fewest, refused = [], []
    for pad in range(9):
        try:
            fewest.append(bank_board.tile_access(Tile(32, pad, down=8, bits=128)).wavefronts)
        except Misaligned:
            refused.append(pad)
    assert min(fewest) == 4 and refused == [pad for pad in range(9) if pad % 4]


def test_the_recall_question_s_padding_is_the_smallest_without_conflicts():
    assert "2: the two columns" in prose("07")
    found = [bank_board.tile_access(Tile(64, pad, down=16)).wavefronts for pad in range(3)]
    assert found[2] == 1 and min(found[:2]) > 1


# --- notebook 08


def test_float4_pays_at_every_aligned_size_and_less_or_not_beside_it():
    assert "Where rows are aligned, float4 pays at every size." in prose("08")
    for aligned, beside in ((1024, 1023), (2048, 2049), (4096, 4095)):
        assert gain("vectorized", "interleaved", aligned) > max(0, gain("vectorized", "interleaved", beside))


def test_only_sectors_of_c_fall():
    before, after = (profiles.profile(get(name), 1024, 1024, 1024).counters for name in ("interleaved", "vectorized"))
    requests, sectors = (f"l1tex__t_{what}_pipe_lsu_mem_global_op_st.sum" for what in ("requests", "sectors"))
    assert before[requests] == 4 * after[requests] and before[sectors] == 4 * after[sectors]
    assert "its sectors fall as well!" in prose("08")


def test_float4_and_float2_are_refused_where_the_answers_say():
    four, two = vector_width.WIDTHS[3], vector_width.WIDTHS[2]
    for stride in (128, 129, 130, 132):
        refused = {row: bool(vector_width.way_of(four, vector_width.Copy(stride, row)).refused) for row in (1, 2)}
        assert refused == {1: stride % 4 != 0, 2: stride % 2 != 0}
        assert bool(vector_width.way_of(two, vector_width.Copy(stride, 1)).refused) == (stride % 2 != 0)


# --- notebook 09


def test_double_buffering_helps_most_where_a_block_is_alone_and_never_loses():
    assert "**double_buffered never loses** here." in prose("09")
    shapes = [*SIZES, 128, 2049, 4095, (4096, 4096, 128), (128, 4096, 4096), (8192, 1024, 4096)]
    gains = {shape: gain("double_buffered", "vectorized", *np.atleast_1d(shape).tolist()) for shape in shapes}
    assert min(gains.values()) > 0 and min(gains, key=gains.get) == (4096, 4096, 128)
    grids = {size: np.prod(get("vectorized").grid(size, size)) for size in SIZES}
    alone = [size for size in SIZES if grids[size] < H200.sms]
    assert alone == [256, 512, 1024] and "up to 1024 there are fewer blocks than SMs" in prose("09")
    assert min(gains[size] for size in alone) > 2 * max(gains[size] for size in SIZES if size not in alone)


def test_at_2049_a_few_blocks_are_left_over_and_double_buffering_gains_three_quarters_of_what_it_gains_at_1024():
    assert "At 2049 it gains about three quarters of what it gains at 1024." in prose("09")
    left = np.prod(get("vectorized").grid(2049, 2049)) - 2 * H200.sms
    assert 0 < left < H200.sms / 4
    here, there = (gain("double_buffered", "vectorized", size) for size in (2049, 1024))
    assert 0.7 < here / there < 0.8


def test_asynchronous_copies_lose_to_ping_pong_where_the_prose_says_so_and_win_where_rows_are_not_aligned():
    assert "**async_copy loses to ping_pong** at most of the large sizes with aligned rows" in prose("09")
    large = [(2048,), (4096,), (8192,), (8192, 1024, 4096), (4096, 4096, 128)]
    assert sum(gain("async_copy", "ping_pong", *shape) < 0 for shape in large) > len(large) / 2
    assert all(gain("async_copy", "ping_pong", size) > 0 for size in (2049, 4095))


def test_the_sizes_in_the_question_are_those_of_the_kernel():
    assert "BM = BN = 128, BK = 8, and four unused floats" in prose("09")
    assert [n09.TILE.params[name] for name in ("BM", "BN", "BK")] == [128, 128, 8]
    assert n09.PADDING == 4


def test_the_block_that_is_lost_for_want_of_registers_costs_at_4096_and_not_at_1024():
    double = get("double_buffered")
    one, two = (
        {size: recordings.gflops(double.replace(BLOCKS=blocks), size, size, size).gflops for size in (1024, 4096)}
        for blocks in (1, 2)
    )
    assert double.params["BLOCKS"] == 2 and one[4096] < 0.98 * two[4096] and one[1024] > 1.02 * two[1024]
    assert np.prod(double.grid(1024, 1024)) == 64 < H200.sms == 132


def test_the_registers_for_two_three_and_four_blocks_are_what_the_prose_says():
    assert "is 128 for two blocks, 85 for three and 64 for four" in prose("09")
    assert [H200.registers_per_sm // (256 * blocks) for blocks in (2, 3, 4)] == [128, 85, 64]
    assert 85 // 8 * 8 == 80 and H200.register_allocation_unit == 256


def test_asynchronous_copies_move_the_same_bytes_by_more_instructions_and_several_times_the_requests():
    assert "The bytes are the same" in prose("09") and "several times the requests" in prose("09")
    before, after = (profiles.profile(get(name), 1024, 1024, 1024).counters for name in ("ping_pong", "async_copy"))
    moved = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
    assert after[moved.format("sectors")] == before[moved.format("sectors")]
    assert after[moved.format("requests")] > 2 * before[moved.format("requests")]
    assert after["smsp__sass_inst_executed_op_shared_st.sum"] == 0  # "although the stores … are gone"
    more = after["smsp__inst_executed.sum"] / before["smsp__inst_executed.sum"] - 1
    assert 0 < more < 1 / (1 + gain("async_copy", "ping_pong", 4096)) - 1, "They explain a part of the lost cycles."


def test_a_third_buffer_loses_in_more_than_half_of_the_searched_pairs_and_in_the_fastest_of_them():
    assert "In more than half of the pairs it does not." in prose("09")
    pairs = landscape.pairs(H200.name, 4096, "STAGES", 2, 3)
    assert sum(three < two for _, two, three in pairs) > len(pairs) / 2 > 50
    _, two, three = max(pairs, key=lambda pair: pair[1])
    assert three / two - 1 < -0.04, "It loses more than these instructions can cost"
