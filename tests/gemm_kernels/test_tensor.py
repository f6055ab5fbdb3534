"""The ladder of tensor cores: right at every shape, with every parameter that its rules allow, in every format."""

import json
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gemm_kernels.tensor import INTEGER, KERNELS, SINGLE, TENSOR, get
from gpusim import compiler
from helpers import recordings

SMALL = {"BM": 64, "BN": 64, "WM": 32, "WN": 32}
SMALL_BYTES = {"BM": 64, "BN": 128, "BK": 64, "WM": 32, "WN": 32}
SHAPES = ((1, 1, 1), (37, 53, 41), (130, 66, 50), (64, 72, 96), (17, 8, 200))
RECORDING = Path(__file__).parents[2] / "helpers/recordings/nvidia-h200/tensor.json"
# What rounding of float32 explains of a sum of up to 200 products, and what TF32's cutting and the bits beyond two
# bfloat16 numbers add: relative to a typical element of C.
TOLERANCE = {"tf32": 6e-3, "bf16x3": 3e-5}
EXACT = 4e-6


def small(kernel, **params):
    """The kernel with small tiles, if it has tiles."""
    tile = SMALL_BYTES if kernel in INTEGER else SMALL if "BM" in kernel.params else {}
    return kernel.replace(**tile, **params)


def operands(kernel, rng, *shape):
    """Random bits of a matrix, and the numbers that they stand for."""
    numbers = rng.uniform(-1, 1, shape).astype(np.float32)
    if kernel.operands == "f16":
        return numbers.astype(np.float16).view(np.uint16), numbers.astype(np.float16).astype(np.float64)
    if kernel.operands == "bf16":
        bits = (numbers.view(np.uint32) >> 16).astype(np.uint16)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return numbers, numbers.astype(np.float64)


def launched(kernel, A, B, C, alpha, beta, checks="raise"):
    (M, K), N = A.shape, B.shape[1]
    module = gpusim.RawModule(code=kernel.source, options=("-std=c++17",), name_expressions=[kernel.entry])
    function = module.get_function(kernel.entry)
    function.max_dynamic_shared_size_bytes = max(function.max_dynamic_shared_size_bytes, kernel.shared_bytes)
    scalar = C.dtype.type
    arguments = (np.int32(M), np.int32(N), np.int32(K), scalar(alpha), A, B, scalar(beta), C)
    with gpusim.record(checks=checks) as recording:
        function(kernel.grid(M, N), kernel.block, arguments, shared_mem=kernel.shared_bytes)
    return recording


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kernel", TENSOR + SINGLE, ids=lambda kernel: kernel.name)
def test_c_is_right_at_every_shape_with_alpha_beta_and_no_hazard(kernel, shape):
    M, N, K = shape
    formats = (0, 1) if "BF16" in kernel.params else (None,)
    chosen = small(kernel, **({} if formats[0] is None else {"BF16": formats[M % len(formats)]}))
    rng = np.random.default_rng(M + K)
    (A, left), (B, right) = operands(chosen, rng, M, K), operands(chosen, rng, K, N)
    C = rng.uniform(-1, 1, (M, N)).astype(np.float32)
    exact = 1.25 * (left @ right)
    typical = max(np.sqrt((exact**2).mean()), 1e-6)
    fresh, updated = np.full((M, N), np.nan, np.float32), C.copy()
    launched(chosen, A, B, fresh, 1.25, 0.0)  # raises if the sanitizer finds something
    launched(chosen, A, B, updated, 1.25, -0.5, "off")
    tolerance = TOLERANCE.get(kernel.name, EXACT)
    assert np.abs(fresh - exact).max() < tolerance * typical
    assert np.abs(updated - (exact - 0.5 * C)).max() < tolerance * typical + 1e-6


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_integers_are_exact_modulo_2_to_the_32_without_a_hazard(shape):
    M, N, K = shape
    rng = np.random.default_rng(M + K)
    A, B = (rng.integers(-128, 128, sizes, dtype=np.int8) for sizes in ((M, K), (K, N)))
    C = rng.integers(-(2**31), 2**31, (M, N), dtype=np.int32)
    exact = A.astype(np.int64) @ B
    kernel = small(get("int8"))
    fresh, updated = np.full((M, N), -(2**31), np.int32), C.copy()
    launched(kernel, A, B, fresh, 3, 0)  # raises if the sanitizer finds something
    launched(kernel, A, B, updated, -70_001, 5, "off")
    assert np.array_equal(fresh, 3 * exact)
    assert np.array_equal(updated, (-70_001 * exact + 5 * C.astype(np.int64)).astype(np.int32))


def test_largest_integer_products_wrap_around_only_in_32_bits():
    kernel = small(get("int8"))
    A, B = np.full((16, 256), -128, np.int8), np.full((256, 16), -128, np.int8)
    C = np.zeros((16, 16), np.int32)
    launched(kernel, A, B, C, 1, 0, "off")
    assert (C == 256 * 2**14).all()
    launched(kernel, A, B, C, 2**10, 0, "off")  # 2^32
    assert (C == 0).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_kernel_has_rules_and_the_threads_that_it_promises(kernel):
    chosen = small(kernel)
    assert compiler.compile(chosen.source, chosen.entry).max_threads_per_block == chosen.threads
    assert kernel.rules
    with pytest.raises(ValueError, match="has no parameter"):
        kernel.replace(TM=8)


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("mma_rasterized", {"WM": 24}, "BM must be a multiple of WM"),
        ("mma_rasterized", {"STAGES": 1}, "STAGES must be at least 2"),
        ("mma_rasterized", {"STAGES": 12}, "As and Bs must fit in 232448 bytes"),
        ("ldmatrix", {"BK": 24}, "BK must be 16, 32 or 64"),
        ("ldmatrix_swizzled", {"BN": 32, "WN": 32}, "at least 16, and BN 64"),
        ("tf32", {"BK": 64}, "BK must be 16 or 32"),
        ("bf16x3", {"WM": 16}, "WM and WN must be multiples of 32: two products down"),
        ("bf16x6", {"PARTS": 4}, "PARTS must be 2 for BF16x3 or 3 for BF16x6"),
        ("int8", {"BK": 32}, "BK must be 64 or 128: two or four steps of 32"),
        ("wmma", {"BF16": 2}, "BF16 must be 0 for float16 or 1 for bfloat16"),
    ],
)
def test_parameter_breaking_a_rule_gets_the_sources_sentence(name, params, sentence):
    with pytest.raises(ValueError, match=sentence):
        get(name, **params)


@pytest.mark.parametrize("name", ["tf32", "tf32x3", "bf16x3", "bf16x6"])
def test_infinity_and_nan_pass_infinity_times_zero_is_nan(name):
    kernel = small(get(name, **({"ROUND": 1} if name == "tf32" else {})))
    A, B = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32)
    A[0, 3], A[1, 5], A[2, 0] = np.inf, np.nan, -np.inf
    C = np.zeros((16, 16), np.float32)
    launched(kernel, A, B, C, 1.0, 0.0, "off")
    assert np.isnan(C[1]).all()
    if name == "tf32":
        assert np.isposinf(C[0]).all() and np.isneginf(C[2]).all()
    else:
        assert np.isnan(C[[0, 2]]).all()
    assert (C[3:] == 16).all()


def test_bf16x6_and_3xtf32_have_float32s_error_bf16x3_16_bits():
    rng = np.random.default_rng(4)
    A, B = rng.uniform(-1, 1, (64, 512)).astype(np.float32), rng.uniform(-1, 1, (512, 64)).astype(np.float32)
    exact = A.astype(np.float64) @ B.astype(np.float64)
    error = {}
    for kernel in (get("tf32"), get("tf32", ROUND=1), get("bf16x3"), get("tf32x3"), get("bf16x6")):
        C = np.zeros((64, 64), np.float32)
        launched(small(kernel), A, B, C, 1.0, 0.0, "off")
        error[kernel.entry] = np.sqrt(((C - exact) ** 2).mean() / (exact**2).mean())
    cut, rounded, bfloats, three, six = error.values()
    assert cut > 2 * rounded > 1000 * three
    assert 2**-19 < bfloats < 2**-17
    assert six <= three
    float32 = np.zeros((64, 64), np.float32)
    for k in range(512):
        float32 += A[:, k : k + 1] * B[k]
    assert three < np.sqrt(((float32 - exact) ** 2).mean() / (exact**2).mean())


@pytest.mark.parametrize("name", ["int8", "tf32x3", "bf16x3"])
def test_fragments_of_other_formats_load_without_bank_conflicts(name):
    kernel = get(name, **({"BM": 64, "BN": 128, "BK": 64, "WM": 32, "WN": 64} if name == "int8" else SMALL))
    type_ = np.int8 if name == "int8" else np.float32
    ones, C = np.ones((64, 64), type_), np.zeros((64, 64), np.int32 if name == "int8" else type_)
    counters = launched(kernel, ones, ones, C, 1, 0, "off").counters
    wavefronts = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
    assert counters["smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"] == 0
    assert counters[wavefronts.format("ldsm")] == 4 * counters["smsp__sass_inst_executed_op_ldsm.sum"] > 0
    quads = counters["smsp__sass_inst_executed_op_shared_ld.sum"]  # of 16 bytes a lane: four wavefronts
    assert counters[wavefronts.format("ld")] == 4 * quads
    assert (quads == 0) == (name == "int8")


def test_the_swizzle_leaves_no_bank_conflict_of_ldmatrix():
    conflicts = {}
    for name in ("ldmatrix", "ldmatrix_swizzled"):
        kernel = small(get(name))
        rng = np.random.default_rng(0)
        (A, _), (B, _) = operands(kernel, rng, 64, 64), operands(kernel, rng, 64, 64)
        counters = launched(kernel, A, B, np.zeros((64, 64), np.float32), 1.0, 0.0, "off").counters
        conflicts[name] = counters["smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"]
    assert conflicts["ldmatrix"] > 0
    assert conflicts["ldmatrix_swizzled"] == 0


def test_3xtf32_restarts_every_256_k_and_keeps_its_error():
    kernel = small(get("tf32x3"))
    for K in (256, 257, 512, 513, 700):  # A's last column alone is not zero: whatever run it falls in, it is added once
        A, B, C = np.zeros((40, K), np.float32), np.ones((K, 36), np.float32), np.full((40, 36), np.nan, np.float32)
        A[:, 0] = A[:, K - 1] = np.arange(40)
        launched(kernel, A, B, C, 1.0, 0.0)
        assert np.array_equal(C, np.repeat(2 * np.arange(40, dtype=np.float32)[:, None], 36, axis=1))
    assert simulated_error(get("tf32x3"), 4096) < 1.3 * simulated_error(get("tf32x3"), 64)


def test_staged_warp_reads_and_writes_whole_lines_of_c():
    sectors = {}
    for name in ("mma_rasterized", "mma_staged_epilogue"):
        kernel = get(name, BM=64, BN=128, WM=32, WN=32)
        A, B = np.zeros((128, 64), np.uint16), np.zeros((64, 256), np.uint16)
        recording = launched(kernel, A, B, np.zeros((128, 256), np.float32), 1.0, 1.0, "off")
        counters = recording.counters
        stores = counters["smsp__sass_inst_executed_op_global_st.sum"]
        sectors[name] = counters["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] / stores
    assert sectors == {"mma_rasterized": 8, "mma_staged_epilogue": 16}  # of 32 bytes: eight rows, and one of 512


def rows(size, **wanted):
    rows_of_file = json.loads(RECORDING.read_text())["rows"]
    return [
        row for row in rows_of_file if row["size"] == size and all(row[key] == value for key, value in wanted.items())
    ]


def test_recorded_steps_get_faster_but_that_with_conflicts():
    speed = [next(row["gflops"] for row in rows(4096, operands="bf16", kernel=kernel.name)) for kernel in TENSOR[:-1]]
    slower = [
        kernel.name for kernel, before, after in zip(TENSOR[1:], speed, speed[1:], strict=False) if after < before
    ]
    assert slower == ["ldmatrix"]


def test_autotuned_parameters_are_the_fastest_recorded():
    for size in (4096, 8192):
        best = max(rows(size, operands="bf16", kernel="mma_staged_epilogue"), key=lambda row: row["gflops"])
        assert best["params"] == dict(get("mma_autotuned").params)


def test_the_recorded_errors_are_small():
    limits = {"tf32": 1e-3, "cublas TF32": 1e-3, "bf16x3": 4e-5}
    recorded = json.loads(RECORDING.read_text())
    assert all(row["error"] < limits.get(row["kernel"], 2e-5) for row in recorded["rows"])


def simulated_error(kernel, K):
    """The root of the mean squared error of a (128, K) · (K, 128), relative to a typical element of C."""
    rng = np.random.default_rng(K)
    A, B = rng.uniform(-1, 1, (128, K)).astype(np.float32), rng.uniform(-1, 1, (K, 128)).astype(np.float32)
    exact = A.astype(np.float64) @ B.astype(np.float64)
    C = np.full((128, 128), np.nan, np.float32)
    launched(kernel, A, B, C, 1.0, 0.0, "off")
    return np.sqrt(((C - exact) ** 2).mean() / (exact**2).mean())


@pytest.mark.parametrize(
    ("name", "way", "faster", "sizes"), [("tf32x3", "3xTF32", 1.3, (256, 2048)), ("bf16x6", "BF16x6", 1.2, (2048,))]
)
def test_split_floats_are_as_exact_as_cublas_fp32_and_faster(name, way, faster, sizes):
    recorded = json.loads(RECORDING.read_text())
    for size in sizes:  # of a small C cuBLAS splits the sums, and its error is smaller
        by_depth = {
            name: {row["K"]: row["error"] for row in recorded["errors"] if (row["way"], row["rows"]) == (name, size)}
            for name in ("FP32, cuBLAS", way)
        }
        assert [*by_depth[way]] == [64, 256, 1024, 4096, 16384]
        assert all(error < by_depth["FP32, cuBLAS"][K] for K, error in by_depth[way].items())
    assert simulated_error(get(name), 64) < by_depth["FP32, cuBLAS"][64]  # whose every bit is the GPU's
    for size in (2048, 4096, 8192):
        (mine,) = rows(size, kernel=name, params=dict(get(name).params))
        (cublas,) = rows(size, kernel="cublas", operands="f32")
        assert mine["error"] < cublas["error"]
        assert mine["gflops"] > faster * cublas["gflops"]


def test_bf16x2_is_twice_as_fast_as_fp32_with_an_error_between():
    for size in (2048, 4096, 8192):
        (mine,) = rows(size, kernel="bf16x3", params=dict(get("bf16x3").params))
        fp32, tf32 = (rows(size, kernel=name, operands="f32")[0] for name in ("cublas", "cublas TF32"))
        assert mine["gflops"] > 2.3 * fp32["gflops"]
        assert 5 * fp32["error"] < mine["error"] < tf32["error"] / 5


def test_recorded_integers_are_exact_and_the_choice_is_fastest():
    for size in (4096, 8192):
        recorded = rows(size, operands="s8")
        assert all(row["error"] == 0 for row in recorded)
        best = max((row for row in recorded if row["kernel"] == "int8"), key=lambda row: row["gflops"])
        assert best["params"] == dict(get("int8").params)


def test_tf32_is_at_60_percent_of_cublas_with_best_parameters():
    for size in (4096, 8192):
        recorded = [row for row in rows(size, kernel="tf32") if not row["params"]["ROUND"]]
        best = max(recorded, key=lambda row: row["gflops"])
        assert best["params"] == dict(get("tf32").params)
        assert best["gflops"] > 0.6 * rows(size, kernel="cublas TF32")[0]["gflops"]


def test_mma_sync_is_at_two_thirds_of_cublas_60_percent_at_8192():
    recorded = json.loads(RECORDING.read_text())
    ceilings = recordings.raw("NVIDIA H200", "products")["mma_sync"]
    duels = {(row["kernel"], row["operands"], row["size"]): row["gflops"] for row in recorded["duels"]}
    for operands in ("bf16", "f16"):
        share = {
            size: duels["mma_autotuned", operands, size] / duels["cublas", operands, size] for size in (4096, 8192)
        }
        assert share[4096] > 0.65
        assert 0.6 < share[8192] < 0.65
        assert duels["mma_autotuned", operands, 4096] > 0.6e-9 * ceilings[operands]["rate"]
    shares = [duels["tf32", "f32", size] / duels["cublas TF32", "f32", size] for size in (4096, 8192)]
    assert shares[0] > 0.62 and 0.6 < shares[1] < 0.65
