"""Notebook 14: what its prose says of wins, losses and steps is so in the recordings and the counters."""

import re
from collections import Counter

import numpy as np
import pytest

from gemm_kernels import LADDER, autotuned, get
from helpers import pictures, recordings, run
from helpers.exercises import n14
from helpers.measure.states import states
from helpers.pictures.ladder.facts import UPPER_RUNGS, ladder_of
from helpers.pictures.raster import facts as raster
from helpers.pictures.strassen import facts as strassen
from helpers.pictures.tuning.search_space import busy
from helpers.recordings.suites import FASTEST
from tests.notebooks.support import (
    H200,
    answered,
    cells,
    counters,
    gain,
    prose,
    sources,
    speeds,
    suite,
)

SQUARES, OTHERS = suite("ladder"), suite("shapes")
MOVED = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"


@pytest.mark.parametrize(
    ("call", "before", "after"),
    [
        ("exercises.n14.check_share", "my_answer = None", "my_answer = 51.4"),
        ("exercises.n14.check_full", "my_answer = None", "my_answer = 2304"),
        ("exercises.n14.check_group", "rows_together = None", "rows_together = 16"),
    ],
)
def test_what_a_learner_writes_in_an_exercise_reaches_its_check(call, before, after):
    assert answered("14", call, before, after).passed


def shares() -> dict[tuple[int, int, int], float]:
    """Shape -> the ladder's best over cuBLAS, with the squares that the ladder's run lacks."""
    return n14.shares() | n14.further_squares()


def test_lost_shapes_are_the_four_that_the_notebook_explains():
    lost = {shape for shape, share in shares().items() if share < 1}
    assert lost == {(1, 4096, 4096), (1536,) * 3, (2049,) * 3, (128, 4096, 4096)}
    assert not {shape for shape in lost if shape in SQUARES.shapes}


def test_ladders_wins_are_not_printed_before_the_question():
    printed = [str(output) for cell in cells("13") for output in cell.get("outputs", ())]
    assert any("of rasterized's" in text for text in printed) and not any("of cuBLAS" in text for text in printed)


def test_persistent_is_what_fastest_chooses_most_often():
    for gpu in recordings.gpus(suites=(FASTEST,)):
        ((most, _),) = Counter(row.kernel for row in recordings.fastest(gpu)).most_common(1)
        assert most == "persistent", gpu


def test_lost_squares_fill_waves_unevenly_the_flat_one_evenly():
    for size in (1536, 2049):
        kernel = autotuned(size, size, size)
        blocks = np.prod(kernel.grid(size, size))
        assert busy(*kernel.tile, size, size, H200.sms) < 0.8 and 0 < blocks % H200.sms < H200.sms / 3
    flat = autotuned(128, 4096, 4096)
    assert busy(*flat.tile, 128, 4096, H200.sms) > 0.95 and np.prod(flat.tile) < np.prod(get("serpentine").tile) / 4
    assert autotuned(1, 4096, 4096).tile[0] > 8, "nearly all of the tile is not there"


def test_no_single_kernel_is_as_good_as_cublas_everywhere():
    for kernel in LADDER:
        numbers = [
            data.at(shape)[kernel.name].of_cublas
            for data in (SQUARES, OTHERS)
            for shape in data.shapes
            if kernel.name in data.at(shape)
        ]
        assert numbers, f"{kernel.name} was not recorded. {recordings.how_to('ladder')}"
        assert min(numbers) < 1, kernel.name
        if not kernel.chosen_by_shape:
            assert np.exp(np.mean(np.log(numbers))) < 1, kernel.name


def test_coalesced_is_the_step_that_bought_most_at_4096():
    here = speeds(4096)
    order = ["naive", "coalesced", "shared_memory", "block_tile_1d", "block_tile_2d", "padded", "interleaved"]
    steps = {new: here[new] / here[old] for old, new in zip(order, order[1:], strict=False)}
    assert max(steps, key=steps.get) == "coalesced"


def test_sliced_k_wins_where_rasterized_leaves_most_sms_idle():
    assert all(gain("sliced_k", "rasterized", size) > 1 for size in (128, 256, 512, 1024))
    assert all(gain("sliced_k", "rasterized", size) < 0 for size in (2048, 4096))
    assert 0.9 < np.prod(get("sliced_k").grid(512, 512)) / H200.sms <= 1


def test_busy_sms_reach_about_as_much_at_512_as_at_4096():
    shares = {size: SQUARES.at((size,) * 3)["serpentine"].gflops / H200.peak_fp32_gflops for size in (128, 512, 4096)}
    blocks = {size: int(np.prod(get("serpentine").grid(size, size))) for size in shares}
    of_busy = {size: shares[size] * -(-blocks[size] // H200.sms) * H200.sms / blocks[size] for size in shares}
    assert 18 < shares[4096] / shares[512] < 20 and of_busy[4096] / of_busy[512] < 1.3
    assert of_busy[128] < 0.4 * of_busy[512]


def test_large_tiles_with_shared_k_win_the_flat_shape():
    (row,) = (row for row in recordings.fastest(H200.name) if row.shape == (128, 4096, 4096))
    assert row.median_ms < row.cublas_median_ms
    assert [row.params[name] for name in ("BM", "BN", "WORKERS")] == [128, 256, 132]


def test_short_sums_turn_the_order_of_the_kernels_around():
    short, long = speeds(4096, 4096, 128), speeds(4096)
    assert short["ping_pong"] > short["serpentine"] and long["ping_pong"] < long["serpentine"]
    assert gain("staged_epilogue", "wide_copies", 4096, 4096, 128) > 5 * abs(
        gain("staged_epilogue", "wide_copies", 4096)
    )


def test_counters_of_the_last_kernels_match_the_prose():
    before, wide, staged = (counters(name) for name in ("serpentine", "wide_copies", "staged_epilogue"))
    assert 0.45 < wide[MOVED.format("requests")] / before[MOVED.format("requests")] < 0.55
    assert wide["smsp__inst_executed.sum"] < before["smsp__inst_executed.sum"]
    p = get("staged_epilogue").params
    assert staged["launch__shared_mem_per_block_dynamic"] == 4 * p["BM"] * p["BN"], "for a whole tile of C"
    sectors = MOVED.format("sectors")
    assert counters("rasterized")[sectors] == staged[sectors] == wide[sectors] == before[sectors]
    assert counters("sliced_k")[sectors] > 3 * before[sectors], "several times the sectors"


def test_rasterization_buys_about_a_per_cent():
    shapes = ((4096,), (8192, 1024, 4096), (8192,))
    gains = [gain("rasterized", "staged_epilogue", *shape) for shape in shapes]
    assert all(0 < gain < 0.02 for gain in gains)
    assert gain("rasterized", "staged_epilogue", 2048) == pytest.approx(gains[0], abs=0.003), "all blocks at once"


def test_good_kernel_at_4096_is_below_half_of_cublas_at_512():
    for name in ("serpentine", "rasterized"):
        assert SQUARES.at((4096,) * 3)[name].of_cublas > 0.95 and SQUARES.at((512,) * 3)[name].of_cublas < 0.5


def test_what_the_explorer_s_questions_should_have_found():
    small = [size for size in (128, 256, 512, 1024, 2048) if gain("shared_memory", "serpentine", size) > 0]
    assert small == [128, 256, 512]
    every = [data.at(shape)["autotuned"] for data in (SQUARES, OTHERS) for shape in data.shapes]
    fastest = [max(every, key=lambda point: point.gflops), max(every, key=lambda point: point.cublas)]
    assert all(len({*point.shape}) == 1 and point.shape[0] >= 4096 for point in fastest)


def test_larger_tile_wins_from_2048_odd_rows_cost_stream_k_less():
    first = 2048
    assert all(gain("serpentine", "ping_pong", size) < 0 for size in (256, 512, 1024))
    assert all(gain("serpentine", "ping_pong", size) > 0 for size in (first, 2 * first))
    assert np.prod(get("serpentine").grid(first, first)) > 0.9 * H200.sms
    for odd, even in ((4095, 4096), (2049, 2048)):
        last, searched = (speeds(odd)[name] / speeds(even)[name] for name in ("stream_k", "autotuned"))
        cublas = [data.cublas((size,) * 3) for data, size in ((OTHERS, odd), (SQUARES, even))]
        assert searched < cublas[0] / cublas[1] < last < 1


def test_the_tiles_by_hand_are_numbered_as_the_blank_does_it():
    order = list(raster.in_groups(2, 4, 4))
    assert (order[11], order[6]) == ((3, 1), (0, 3))


def test_the_shares_by_hand_are_those_of_the_blank():
    rows = re.findall(r"\| (\d) \| iterations (\d+) to (\d+) \| (.*?) \|", prose("14"))
    assert len(rows) == 3
    for block, first, last, pieces in rows:
        share = n14._share(2, 6, 3, int(block))
        assert sum(piece.steps for piece in share) == int(last) - int(first) + 1 == 4
        pieces_said = [tuple(map(int, re.findall(r"\d+", piece))) for piece in pieces.split(";")]
        assert pieces_said == [(piece.tile, piece.first, piece.last - 1) for piece in share]


def test_answer_about_rows_is_not_printed_above_its_question():
    counted = [n14.floats_a_step(rows) for rows in (1, 2, 4, 8)]
    assert min(counted) > n14.CLOSE * n14.floats_a_step(16)


def test_stream_k_loses_to_autotuned_at_256_for_single_launches():
    assert gain("stream_k", "autotuned", 256) < 0


def test_staged_epilogues_block_fits_no_gpu_of_8_9():
    assert get("staged_epilogue").shared_bytes > 100 * 1024


def test_dram_reads_each_matrix_once_at_2048_in_either_order():
    matrices = 3 * 4 * 2048**2
    for name in ("staged_epilogue", "rasterized"):
        assert states(name, 2048).metrics["dram__bytes_read.sum"] == pytest.approx(matrices, rel=0.01)


def test_cublas_reads_a_row_s_matrix_nearly_as_fast_as_it_can():
    shape = (1, 4096, 4096)
    roof = recordings.raw(H200.name, "conditions")["roofs"][0]  # the L2 filled by reading, as it was for the ladder
    rate = 4 * (4096 * 4096 + 3 * 4096) / (2 * np.prod(shape) / OTHERS.cublas(shape))
    assert 0.88 < rate / (roof["bytes"] / roof["median_ms"] / 1e6) < 1, "near what can be read"


def test_blocks_that_stay_cost_two_per_cent_at_large_squares():
    points = ladder_of(H200.name, UPPER_RUNGS).lines
    before, after = ({point.shape[0]: point.gflops for point in points[name]} for name in ("strips", "resident"))
    losses = [1 - after[size] / before[size] for size in (2048, 4095, 4096, 8192)]
    assert all(0.015 < loss < 0.03 for loss in losses) and 0.02 < np.mean(losses) < 0.025
    assert "*resident* costs about two per cent" in prose("14")


def test_main_memory_is_not_what_rasterization_could_relieve():
    blocks, at_once = np.prod(get("staged_epilogue").grid(8192, 8192)), H200.sms
    seconds = 2 * 8192**3 / OTHERS.at((8192,) * 3)["staged_epilogue"].gflops / 1e9
    rate = 4 * n14.floats_a_step(1) * 8192 * -(-blocks // at_once) / seconds
    assert rate < 0.05 * H200.memory_gb_per_s * 1e9
    assert np.prod(get("staged_epilogue").grid(2048, 2048)) <= at_once


def test_profiled_fp32_cublas_kernels_are_named_as_in_the_text():
    names = {row["kernel"] for row in recordings.raw(H200.name, "lost")["rows"] if row["who"] == "cublas"}
    assert {name.split("_")[1] for name in names if name.startswith("cutlass_")} == {"80"}
    assert any(name.endswith("align1") for name in names)


def test_autotuned_by_hand_is_ahead_on_an_h100_at_large_squares():
    data = ladder_of("NVIDIA H100 80GB HBM3", "fastest")
    ahead = {shape[0] for shape in data.shapes if data.at(shape)["autotuned"].of_cublas > 1}
    assert ahead == {2048, 4096, 6144, 8192}


def defined(name: str):
    """A function as the cell that begins with it defines it."""
    (source,) = (source for source in sources("14", "code") if source.startswith(f"def {name}("))
    known = {"np": np, "pictures": pictures}
    exec(source.partition("\n\n\n")[0], known)
    return known[name]


def test_a_cluster_adds_its_parts_without_global_memory():
    tile = get("clustered").params
    tile = {name: tile[name] for name in ("BM", "BN", "BK", "WM", "WN", "TM", "TN", "SLICES", "STAGES")}
    pair = get("stream_k").replace(**tile, WORKERS=32), get("clustered")
    apart, together = (run.record_whole(kernel.launch(64, 64, 512)).counters for kernel in pair)
    copies = "smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum"
    assert apart[copies] == together[copies] > 0
    loads, parts = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", 8 * 64 * 64 // 8
    assert (apart[loads], together[loads]) == (parts, 0)
    atomics = "smsp__sass_inst_executed_op_global_atom.sum"
    assert (apart[atomics] > 0, together[atomics]) == (True, 0)


def test_strassens_seven_products_make_the_product():
    multiply, random = defined("strassen"), np.random.default_rng(3)
    A, B = random.integers(-9, 9, (2, 16, 16))
    assert all(np.array_equal(multiply(A, B, levels), A @ B) for levels in range(5))
    by_hand = dict(re.findall(r"\| ([p-v]) \| [^|]+ \| (−?\d+) \|", prose("14")))
    p, q, r, s, t, u, v = (int(by_hand[name].replace("−", "-")) for name in "pqrstuv")
    assert [[p + s - t + v, r + t], [q + s, p - q + r + u]] == [[19, 22], [43, 50]]


def test_strassen_counts_what_a_hand_counts():
    assert strassen.counted(2, 1) == (7, 18, 18) and strassen.counted(4, 0) == (64, 48, 0)


def test_one_level_of_strassen_could_save_three_lose():
    rows = strassen.rows(defined("strassen"))
    fp32, bf16, cost, error, eight = (np.array([float(row[column]) for row in rows]) for column in range(3, 8))
    assert fp32[1] > cost[1] and fp32[3] < cost[3] and bf16[1] < cost[1] / 2
    assert all(np.diff(error / eight) > 0)


def test_a_layout_gives_the_offset_that_numpy_uses():
    offset, buffer = defined("offset"), np.arange(8 * 36).reshape(8, 36)
    tile = buffer[:, :32].T
    stride = [step // tile.itemsize for step in tile.strides]
    assert all(offset((row, k), stride) == tile[row, k] for row in range(32) for k in range(8))


def test_the_last_step_is_faster_than_stream_k_at_each_size():
    rows = {row[0]: list(map(float, row[2:-1])) for row in pictures.ladder.steps.table().rows if row[0] != "cuBLAS"}
    last = [*rows][-1]
    assert f"*{last}*, the last one, joins several; it is faster than *stream_k* at each of these sizes" in prose("14")
    assert all(own > other for own, other in zip(rows[last], rows["stream_k"], strict=True))
    assert not all(own > other for own, other in zip(rows["tall_patches"], rows["stream_k"], strict=True))
