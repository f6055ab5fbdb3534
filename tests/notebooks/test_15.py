"""Notebook 15: what its prose says of formats, sums, counters and recorded speeds."""

import re
from itertools import pairwise

import numpy as np
import pytest

import gpusim
from gemm_kernels import UPPER, tensor
from gpusim import devices
from helpers import gpu, peaks, recordings
from helpers.exercises import n15
from helpers.pictures import precisions
from helpers.pictures.fragments import facts as fragments
from tests.notebooks.support import H200, prose, said, sources


@pytest.mark.parametrize(("name", "kept"), [("FP32", 23), ("TF32", 10), ("FP16", 10), ("BF16", 7), ("E4M3", 3)])
def test_format_keeps_the_fraction_bits_that_the_prose_says(name, kept):
    formats = {name: (bits, value) for name, bits, value in precisions.formats_of(1 / 3)}
    bits, value = formats[name]
    assert len(bits.split()[2]) == kept
    assert 0 < abs(value * 3 - 1) < 2.0 ** -(kept + 1) * 1.01


def product(element) -> np.ndarray:
    a, b = precisions.registers_of(element)
    d = gpu.zeros((32, 4), np.float32)
    gpu.RawModule(code=precisions.ONE_PRODUCT).get_function("product")((1,), (32,), (gpu.asarray(a), gpu.asarray(b), d))
    return precisions.matrix_of(gpu.asnumpy(d))


def test_instruction_agrees_with_the_solutions_map_alone():
    whole = np.arange(128).reshape(16, 8)
    assert np.array_equal(product(n15.WRITTEN), whole)
    assert not any(np.array_equal(product(wrong), whole) for wrong, _ in n15.MISTAKES)


def test_fp8_mma_is_one_instruction_on_ada_and_18_on_hopper():
    """Which the text says: conversions to float16, two products, and four sums."""
    assert precisions.machine_code_of_fp8("sm_89") == {"QMMA": 1}
    assert precisions.machine_code_of_fp8("sm_90") == {"F2FP": 12, "HMMA": 2, "FADD": 4}


def test_lanes_of_the_small_example_hold_the_tables_values():
    a, b = np.zeros((4, 2), int), np.zeros((2, 4), int)
    element = r"\[(\d)\]\[(\d)\]"
    lanes = re.findall(rf"\| (\d) \| (\d), (\d) \| A{element} = (\d) \| B{element} = (\d) \| C{element}, C{element} \|",
                       prose("15"))  # fmt: skip
    for number, row in enumerate(lanes):
        lane, group, position, row_a, k_a, value_a, k_b, col_b, value_b, *of_c = map(int, row)
        assert (lane, group, position) == (number, number // 2, number % 2)
        assert (row_a, k_a, k_b, col_b) == (group, position, position, group)
        assert of_c == [group, 2 * position, group, 2 * position + 1]
        a[row_a, k_a], b[k_b, col_b] = value_a, value_b
    assert len(lanes) == 8
    assert [*(a @ b)[1, 2:]] == [10, 12]
    assert [*a[1], *b[:, 2], *b[:, 3]] == [3, 4, 2, 1, 0, 3]


def test_the_three_sums_come_out_as_the_prose_says():
    assert precisions.sums_of_four(2.0**24, 0.5) == (2.0, 0.0, 2.0)
    assert precisions.sums_of_four(2.0**24, 1.75) == (7.0, 8.0, 6.0)


def test_last_kernel_is_at_two_thirds_of_cublas_swizzle_counts():
    rows = precisions.recorded().ladder(tensor.TENSOR, (4096, 8192))
    shares = [int(row[column].rstrip("%")) for row in rows[-1:] for column in (3, 5)]
    assert all(63 <= share <= 72 for share in shares)
    speed = {row[0]: float(row[2]) for row in rows}
    assert speed["ldmatrix"] < speed["mma_tiled"] < speed["ldmatrix_swizzled"]


def test_last_kernels_reach_half_to_two_thirds_of_cublas():
    shares = {row[:2]: int(row[-1].rstrip("%")) for row in precisions.recorded().duels((4096, 8192))}
    assert len(shares) == 8
    assert all(53 <= share <= 70 for share in shares.values())
    assert shares["BF16", "8192"] < shares["BF16", "4096"]


def test_without_the_old_c_the_share_of_bf16_is_smaller():
    (_, *_, share), _ = precisions.beside_triton(H200.name)
    said = "At 4096 and with `beta` = 0 cuBLAS gains more than ours, and our BF16 is at {} of it."
    assert said.format(share.replace("%", " %")) in prose("15")
    with_old_c = precisions.recorded().duels((4096,))[0]
    assert with_old_c[0] == "BF16" and int(share.rstrip("%")) < int(with_old_c[-1].rstrip("%"))


def test_all_but_fp32_draw_700_watts_and_cublas_is_thriftier():
    rows = precisions.recorded().alone()
    assert [row[:2] for row in rows[:2]] == [("BF16", "last kernel"), ("BF16", "cuBLAS")] and len(rows) == 8
    for mine, cublas in zip(rows[0::2], rows[1::2], strict=True):
        assert all(640 < int(row[4]) < 730 for row in (mine, cublas))
        assert int(cublas[3]) < int(mine[3]) < 1980  # MHz
        assert int(cublas[5]) > 1.3 * int(mine[5]) and int(cublas[6]) > 1.3 * int(mine[6])


def test_cublas_is_ten_times_slower_on_row_major_integers():
    for size in (4096, 8192):
        gflops = {row["kernel"]: row["gflops"] for row in precisions.recorded().rows
                 if (row["operands"], row["size"]) == ("s8", size)}  # fmt: skip
        assert gflops["cublas B turned"] > 10 * gflops["cublas"]


def test_cublas_alone_is_faster_than_mma_sync_could_be():
    speeds_at = {(name, library): gflops for name, library, gflops in precisions.at(H200.name, 8192)}
    for name, most in precisions.reached(H200.name).items():
        assert speeds_at[name, "our last kernel"] < most < speeds_at[name, "cuBLAS"]


def test_both_dots_of_fp32_are_from_the_ladders_run():
    speeds_at = {library: gflops for name, library, gflops in precisions.at(H200.name, 8192) if name == "FP32"}
    last = recordings.gflops(UPPER[-1], 8192, 8192, 8192)
    assert speeds_at == {"cuBLAS": last.cublas_gflops, "our last kernel": last.gflops}


def test_memory_limits_the_square_of_1024_where_the_answer_says():
    need = {}
    for device in devices.DEVICES.values():
        roofs = peaks.of(device).tflops.items()
        need[device.short] = {name: tflops * 1e3 / device.memory_gb_per_s for name, tflops in roofs}
    half, tf32 = (peaks.intensity(name, 1024, 1024, 1024) for name in ("FP16", "TF32"))
    gpus = [name for name, most in need.items() if most["FP16"] > half and most.get("TF32", np.inf) < tf32]
    of_half, of_tf32 = ([round(need[name][format]) for name in gpus] for format in ("FP16", "TF32"))
    numbers = r"It has (\d+) FLOP .* they need (\d+) and (\d+), and (\d+) in TF32, where (\d+) and (\d+) are enough"
    assert said("15", numbers) == (round(half), *of_half, round(tf32), *of_tf32)
    assert f"{' and '.join(re.split('[ -]', name)[0] for name in gpus)}. It has" in prose("15")


def test_our_kernels_stay_lower_than_their_clock_explains():
    alone = {row[0]: row for row in precisions.recorded().alone() if row[1] == "last kernel"}
    rates = recordings.raw(H200.name, "products")["mma_sync"]
    for name, operands in (("TF32", "tf32"), ("BF16", "bf16"), ("INT8", "s8")):
        _, _, tflops, mhz, *_ = alone[name]
        assert 1e12 * float(tflops) / int(mhz) < 0.95 * rates[operands]["rate"] / rates[operands]["mhz"]


@pytest.mark.parametrize("size", [4096, 8192])
def test_cublas_is_much_faster_in_fp8_than_in_float16(size):
    by_format = precisions.by_format(H200.name, size)
    assert by_format["FP8"] > 1.6 * by_format["FP16"]


def test_errors_of_split_floats_are_where_the_prose_puts_them():
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in precisions.recorded().errors(2048)}
    fp32, split = rows["FP32, cuBLAS"], rows["BF16x3"]
    for name in ("3xTF32", "BF16x6"):
        assert all(mine < theirs for mine, theirs in zip(rows[name], fp32, strict=True))
    assert all(low < mine < high for low, mine, high in zip(fp32, split, rows["TF32, cuBLAS"], strict=True))
    assert split[-1] > 10 * split[0]


def test_small_c_3xtf32s_error_is_below_float32s_at_every_k():
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in precisions.recorded().errors(256)}
    single = rows["FP32, cuBLAS"]
    assert all(mine <= theirs for mine, theirs in zip(rows["3xTF32"], single, strict=True))
    assert rows["BF16x6"][0] < single[0] and rows["BF16x6"][-1] > single[-1]
    assert rows["3xTF32"][-1] < 2 * rows["3xTF32"][0] and rows["BF16x6"][-1] > 8 * rows["BF16x6"][0]


def test_the_error_of_short_formats_is_flat():
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in precisions.recorded().errors(2048)}
    for name in ("BF16", "FP16", "TF32, cuBLAS"):
        assert max(rows[name]) < 1.05 * min(rows[name])


def test_error_of_16_k_chains_is_below_float32s_and_of_32_above():
    (_, by_16, fp32), (_, by_32, _) = precisions.errors_by_chain(64, (16, 32))
    assert float(by_16) <= float(fp32) < float(by_32)


@pytest.mark.parametrize("number", [3.14159265, -0.1, 65504.0])
def test_a_flipped_bit_is_worth_what_its_place_says(number):
    for bit_group in precisions.bits_of(number)[:4]:
        assert bit_group.flipped("sign", 0).value == -bit_group.value
        assert bit_group.flipped("fraction", bit_group.fraction + 1) is None
        exponent = int(bit_group.text.split()[1], 2)
        changed = bit_group.flipped("exponent", 0)
        assert changed.value == bit_group.value * (0.5 if exponent & 1 else 2.0) or not np.isfinite(changed.value)


def test_maps_of_the_picture_come_from_lanes_and_match_ptx():
    a, b, c = fragments.held()
    assert a.of(5) == [(1, 1), (9, 1), (1, 5), (9, 5)]
    assert b.of(5) == [(1, 1), (5, 1)]
    assert c.of(5) == [(1, 2), (1, 3), (9, 2), (9, 3)]
    mine = fragments.of_function(n15.WRITTEN, 4, (16, 8))
    assert np.array_equal(mine.lane, a.lane) and np.array_equal(mine.register, a.register)
    wrong = fragments.of_function(n15.MISTAKES[0][0], 4, (16, 8))
    assert (wrong.register != a.register).sum() == 64


def test_the_prediction_is_what_the_rule_of_wavefronts_gives():
    assert n15.ONE_MATRIX.wavefronts == 4


def test_matrices_of_bs_tile_add_up_to_counted_wavefronts():
    (row,) = precisions.counted(("ldmatrix",))
    _, instructions, counted, _, products = (int(cell.replace(" ", "")) for cell in row[1:])
    params = tensor.get("ldmatrix").params
    assert 2 * params["BK"] == n15.ROW_BYTES and 2 * params["BN"] % 128 == 0  # all rows of B's tile begin in one bank
    of_b = 8  # wavefronts of a matrix whose rows all begin in one bank
    loads_of_a = products // (params["WN"] // 8)  # one for all products of a warp that stand in a row
    assert 4 * (n15.ONE_MATRIX.wavefronts * loads_of_a + of_b * (instructions - loads_of_a)) == counted


def test_mma_tiled_buys_most_and_unswizzled_ldmatrix_is_slower():
    tflops = {row[0]: float(row[2]) for row in precisions.recorded().ladder(tensor.TENSOR, (4096,))}
    names = list(tflops)
    factors = {new: tflops[new] / tflops[old] for old, new in pairwise(names)}
    assert max(factors, key=factors.__getitem__) == "mma_tiled" and factors["ldmatrix"] < 1


NAMES_ITS_LANE = """
extern "C" __global__ void named(unsigned *out) {
    __shared__ __align__(16) unsigned rows[32][4];   // for each lane one row of eight numbers, which say whose it is
    const int lane = threadIdx.x;
    for (int i = 0; i < 4; ++i) rows[lane][i] = lane << 20 | (2 * i + 1) << 16 | lane << 4 | 2 * i;
    __syncthreads();
    unsigned r[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(unsigned(__cvta_generic_to_shared(rows[lane]))) : "memory");
    for (int n = 0; n < 4; ++n) out[lane * 4 + n] = r[n];
}
"""


def test_lane_13_names_and_receives_what_the_table_says():
    out = np.zeros((32, 4), np.uint32)
    gpusim.RawModule(code=NAMES_ITS_LANE).get_function("named")((1,), (32,), (out,))
    named, column = out >> 4 & 31, out & 15  # by lane and register: who named the row, and its first column
    (matrix, row), *received = (
        tuple(map(int, pair))
        for pair in re.findall(r"\| (?:it names|(?:it receives )?in a\d) \| (\d) \| (\d) \|", prose("15"))
    )
    assert 8 * matrix + row == 13
    assert [8 * matrix + row for matrix, row in received] == named[13].tolist()
    assert {*column[13]} == {2} and named[13, 1] == 11
    assert np.flatnonzero((named == 13).any(axis=1)).tolist() == [20, 21, 22, 23]


@pytest.mark.parametrize("tile", [7, 32, 512])
def test_attention_by_tiles_is_the_direct_one(tile):
    (source,) = (source for source in sources("15", "code") if source.startswith("def attention("))
    known = {"np": np}
    exec(source.partition("\n\n\n")[0], known)
    Q, K, V = np.random.default_rng(4).standard_normal((3, 96, 16))
    Q *= 400  # exp of these sums would be infinite
    S = Q @ K.T
    P = np.exp(S - S.max(axis=1, keepdims=True))
    assert np.allclose(known["attention"](Q, K, V, tile), P @ V / P.sum(axis=1, keepdims=True))


def test_rasterized_changes_four_things():
    before, after = (tensor.get(name) for name in ("mma_ping_pong", "mma_rasterized"))
    changed = {name for name in after.params if before.params[name] != after.params[name]}
    assert changed == {"BN", "WN"}  # the tile of a block, and that of a warp
    orders = ("GROUP", "NI - 1 - n")  # of blocks, and of products
    assert [order in kernel.source for kernel in (before, after) for order in orders] == [False, False, True, True]
    assert "*mma_rasterized* changes four things" in prose("15")


def test_bf16s_in_turns_and_alone_are_as_the_prose_has_them():
    alone = {row[1]: float(row[2]) for row in precisions.recorded().alone() if row[0] == "BF16"}
    ours, rival = (float(cell) for cell in precisions.beside_triton(H200.name)[-1][2:4])
    assert rival > 1.1 * alone["cuBLAS"] and abs(ours / alone["last kernel"] - 1) < 0.01
    tables = [source for source in sources("15", "code") if "tables.Table(" in source]
    (at,) = (number for number, source in enumerate(tables) if "speeds.alone()" in source)
    assert "beside_triton" in tables[at + 1] and "In the table with Triton, below," in prose("15")
