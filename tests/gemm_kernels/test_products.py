"""`gemm` and `conv2d`: right in every combination, deterministic, and sentences for what cannot be multiplied.

On a GPU, without the project's tools: `GEMM_COURSE_BACKEND=gpu python -m pytest -c /dev/null --noconftest THIS_FILE`.
"""

import itertools
import math
import re

import numpy as np
import pytest

from gemm_kernels import conv2d, epilogue, fastest, gemm
from gemm_kernels.products import plan, planning, tiles
from gemm_kernels.products.formats import FORMATS
from gemm_kernels.refused import Refused
from helpers import gpu

FACTORS = {
    "operands": ("f32", "f64", "f16", "bf16", "s8", "e4m3"),
    "ops": ("NN", "NT", "TN", "TT"),
    "batch": ("one", "broadcast", "two axes", "pointers", "grouped", "ragged"),
    "steps": ("none", "bias gelu", "silu gate", "dropout relu"),
    "memory": ("whole", "slices", "steps"),
    "beta": (0, 2),
    "shape": ((37, 53, 41), (1, 1, 1), (64, 40, 96), (19, 33, 0), (5, 1, 70)),
    "tensor_cores": (True, False),
}


def possible(case):
    """Whether a combination, of which some factors may be missing, is one that exists."""
    operands, batch, steps = case.get("operands"), case.get("batch"), case.get("steps")
    if operands == "e4m3" and case.get("tensor_cores") is False:
        return False
    return not (batch in ("pointers", "grouped") and steps in ("bias gelu", "silu gate"))


def pairwise():
    """Combinations such that each pair of values of two factors is in one, chosen greedily, always the same."""
    names = list(FACTORS)
    wanted = [
        {a: x, b: y}
        for a, b in itertools.combinations(names, 2)
        for x, y in itertools.product(FACTORS[a], FACTORS[b])
        if possible({a: x, b: y})
    ]
    chosen = []
    while wanted:
        case = dict(wanted[0])
        for name in names:
            if name in case:
                continue
            fitting = [value for value in FACTORS[name] if possible(case | {name: value})]
            case[name] = max(
                fitting, key=lambda value: sum(pair.items() <= (case | {name: value}).items() for pair in wanted)
            )
        wanted = [pair for pair in wanted if not pair.items() <= case.items()]
        chosen.append(case)
    return chosen


# --- arrays, and what they stand for ----------------------------------------------------------------------------------


def e4m3(bits):
    """The numbers of 8-bit floats with four bits of exponent."""
    exponent, fraction = (bits >> 3 & 15).astype(int), (bits & 7) / 8
    size = np.where(exponent == 0, fraction * 2.0**-6, (1 + fraction) * 2.0 ** (exponent - 7.0))
    return np.where(bits & 0x80, -size, size)


def drawn(rng, operands, shape):
    """Random elements of a format, as an array that holds them and as float64."""
    if operands == "s8":
        made = rng.integers(-128, 128, shape, dtype=np.int8)
        return made, made.astype(np.float64)
    if operands == "e4m3":
        bits = rng.integers(0, 256, shape, dtype=np.uint8) & 0xBF  # below 2
        return bits, e4m3(bits)
    numbers = rng.uniform(-1, 1, shape).astype(np.float32)
    if operands == "bf16":
        bits = (numbers.view(np.uint32) >> 16).astype(np.uint16)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    made = numbers.astype({"f32": np.float32, "f64": np.float64, "f16": np.float16}[operands])
    return made, made.astype(np.float64)


def placed(host, memory):
    """The array on the device: whole, as a slice of wider rows, or with steps along both axes."""
    if memory == "whole":
        return gpu.asarray(host)
    *outer, rows, cols = host.shape
    if memory == "slices":
        wide = np.zeros((*outer, rows + 1, cols + 3), host.dtype)
        view = np.s_[..., 1:, 2 : 2 + cols]
    else:
        wide = np.zeros((*outer, 2 * rows, 3 * cols + 1), host.dtype)
        view = np.s_[..., ::2, 1::3]
    wide[view] = host
    return gpu.asarray(wide)[view]


def matrices(rng, case, operands, batch, rows, cols, op):
    """op(X) of the shape (rows, cols): the array, and its numbers with op already done."""
    shape = (*batch, rows, cols) if op == "N" else (*batch, cols, rows)
    host, numbers = drawn(rng, operands, shape)
    return placed(host, case["memory"]), numbers if op == "N" else np.swapaxes(numbers, -1, -2)


def philox(seed, row, column, number):
    """Word column % 4 of Philox 4x32-10 with the counter (column // 4, row, number, 0)."""
    word = [column // 4, row, number, 0]
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        first, second = 0xD2511F53 * word[0], 0xCD9E8D57 * word[2]
        word = [
            second >> 32 ^ word[1] ^ key[0], second & 0xFFFFFFFF, first >> 32 ^ word[3] ^ key[1], first & 0xFFFFFFFF,
        ]  # fmt: skip
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return word[column % 4]


def dropped(seed, probability, shape):
    """Where dropout sets elements of (products, rows, columns) to zero."""
    random_words = np.array([philox(seed, m, n, b) for b, m, n in np.ndindex(shape)], np.float64).reshape(shape)
    return random_words < probability * 2**32


def epilogue_of(rng, case, batch, M, N, ragged):
    """Steps, and the same as a function of float64; of products in lists those without arrays."""
    X = np.float64 if case["operands"] == "f64" else np.float32
    experts = batch if not ragged else (ragged,)
    if case["steps"] == "bias gelu":
        bias = rng.uniform(-1, 1, (*experts, N)).astype(X)
        erf = np.vectorize(math.erf, otypes=[float])

        def of(x, rows=None):
            b = bias[rows] if ragged else bias[..., None, :]
            y = x + b
            return 0.5 * y * (1 + erf(y / math.sqrt(2))) if y.size else y

        return (epilogue.bias(gpu.asarray(bias)), epilogue.gelu()), of
    if case["steps"] == "silu gate":
        gate, rest, scale = (rng.uniform(-1, 1, s).astype(X) for s in ((*batch, M, N), (M, N), (*batch, M)))
        made = (
            epilogue.silu(), epilogue.multiply(gpu.asarray(gate)), epilogue.residual(gpu.asarray(rest), 0.5),
            epilogue.row_scale(gpu.asarray(scale)),
        )  # fmt: skip
        return made, lambda x, rows=None: (x / (1 + np.exp(-x)) * gate + 0.5 * rest) * scale[..., None]
    if case["steps"] == "dropout relu":
        return (epilogue.relu(), epilogue.dropout(0.4, 12345)), lambda x, rows=None: np.maximum(x, 0) / (1 - 0.4)
    return (), lambda x, rows=None: x


def compared(C, exact, typical, exactly=False):
    """Assert that C is what it should be, relative to the size of a typical element of A · B."""
    C = np.asarray(C, np.float64)
    assert C.shape == exact.shape
    if exactly:
        assert np.array_equal(C, exact)
    elif C.size:
        assert np.abs(C - exact).max() <= 3e-5 * max(typical, 1)


@pytest.mark.parametrize("case", pairwise(), ids=lambda case: "-".join(map(str, case.values())).replace(" ", "_"))
def test_every_pair_of_features_is_right(case):
    operands, (M, N, K), beta = case["operands"], case["shape"], case["beta"]
    rng = np.random.default_rng(sum(map(ord, str(case))))
    op_a, op_b = case["ops"]
    alpha = 3 if operands == "s8" else 1.25
    given = {
        "op_a": op_a, "op_b": op_b, "alpha": alpha, "beta": beta, "tensor_cores": case["tensor_cores"],
        "dtype": operands if operands in ("bf16", "e4m3") else None,
    }  # fmt: skip
    whole = operands == "s8" and case["steps"] == "none"
    stored = np.int32 if whole else np.float64 if operands == "f64" else np.float32

    def result(shape):
        old = rng.integers(-9, 9, shape).astype(stored)
        poison = np.full(shape, -(2**31) if whole else np.nan, stored)
        return placed(old if beta else poison, case["memory"]), old * beta

    def check(C, product, old, of, number=0, rows=None):
        exact = of(alpha * product + old, rows)
        result = np.array(C.get(), np.float64)
        if case["steps"] == "dropout relu":
            *products, rows_of_one, columns = exact.shape
            gone = dropped(12345, 0.4, (number + math.prod(products), rows_of_one, columns))[number:]
            exact = np.where(gone.reshape(exact.shape), 0, exact)
        typical = np.sqrt((product**2).mean()) if product.size and K else 1.0
        compared(result, exact, typical, exactly=whole)

    kind = case["batch"]
    if kind in ("pointers", "grouped"):
        shapes = [(M, N, K)] * 3 if kind == "pointers" else [(M, N, K), (N, 3, M), (0, N, 2), (M + 30, 40, K)]
        lists = [
            (
                *matrices(rng, case, operands, (), m, k, op_a),
                *matrices(rng, case, operands, (), k, n, op_b),
                *result((m, n)),
            )
            for m, n, k in shapes
        ]
        steps, of = epilogue_of(rng, case, (), M, N, 0)
        Cs = gemm(
            [each[0] for each in lists],
            [each[2] for each in lists],
            [each[4] for each in lists],
            epilogue=steps,
            **given,
        )
        for number, (C, (_, a, _, b, _, old)) in enumerate(zip(Cs, lists, strict=True)):
            check(C, a @ b, old, of, number)
        return
    if kind == "ragged":
        ends = [0, M // 3, M // 3, M]
        A, a = matrices(rng, case, operands, (), M, K, op_a)
        B, b = matrices(rng, case, operands, (3,), K, N, op_b)
        C, old = result((M, N))
        steps, of = epilogue_of(rng, case, (), M, N, 3)
        offsets = gpu.asarray(np.array(ends, np.int32)) if beta else ends
        gemm(A, B, C, batch=offsets, epilogue=steps, **given)
        product = np.concatenate([a[ends[e] : ends[e + 1]] @ b[e] for e in range(3)])
        expert = np.repeat(np.arange(3), np.diff(ends))
        exact = of(alpha * product + old, expert)
        if case["steps"] == "dropout relu":
            gone = dropped(12345, 0.4, (3, M, N))[expert, np.arange(M)]
            exact = np.where(gone, 0, exact)
        compared(C.get(), exact, np.sqrt((product**2).mean()) if K else 1, exactly=whole)
        return
    batch_a, batch_b = {"one": ((), ()), "broadcast": ((2, 1), (3,)), "two axes": ((2, 3), (2, 3))}[kind]
    A, a = matrices(rng, case, operands, batch_a, M, K, op_a)
    B, b = matrices(rng, case, operands, batch_b, K, N, op_b)
    batch = np.broadcast_shapes(batch_a, batch_b)
    C, old = result((*batch, M, N))
    steps, of = epilogue_of(rng, case, batch, M, N, 0)
    gemm(A, B, C, epilogue=steps, **given)
    check(C, a @ b, old, of)


# --- what pairs do not show -------------------------------------------------------------------------------------------


def floats(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def test_plain_products_take_the_ladders_fastest_kernel():
    A, B = gpu.asarray(floats(40, 30)), gpu.asarray(floats(30, 20))
    made = plan(A, B)
    assert made.launch.source == fastest(40, 20, 30).source
    compared(made().get(), A.get().astype(float) @ B.get(), 1)
    columns = gpu.asarray(np.full((20, 40), np.nan, np.float32)).T
    transposed = plan(B, A, None, op_a="T", op_b="T", beta=0)
    assert "Strided" in transposed.launch.entry
    gemm(B.T, A.T, columns.T)  # C column by column: C^T = B^T · A^T
    compared(columns.get(), A.get().astype(float) @ B.get(), 1)


@pytest.mark.parametrize("ops", ["NT", "TN", "TT"])
def test_a_copy_makes_a_transposed_product_one_of_the_ladders(ops):
    shapes = ((45, 70) if ops[0] == "T" else (70, 45)), ((33, 45) if ops[1] == "T" else (45, 33))
    A, B = (gpu.asarray(floats(*shape, seed=seed)) for seed, shape in enumerate(shapes))
    options = {"op_a": ops[0], "op_b": ops[1]}
    made = plan(A, B, several=True, **options)
    assert len(made.before) == ops.count("T") and made.launch.source == fastest(70, 33, 45).source
    exact = (A.get().T if ops[0] == "T" else A.get()).astype(float) @ (B.get().T if ops[1] == "T" else B.get())
    compared(made().get(), exact, 1)
    A *= 2  # a plan copies what is there when it is launched
    compared(made().get(), 2 * exact, 2)


def test_a_slice_of_a_wider_matrix_is_copied_with_its_steps():
    A, B = gpu.asarray(floats(40, 60))[3:33:2, 1:52:3], gpu.asarray(floats(17, 20))
    made = plan(A, B, several=True)
    compared(made().get(), A.get().astype(float) @ B.get(), 1)
    assert [step.launch.entry for step in made.before] == ["pack<false>"]


def test_large_products_are_copied_and_small_ones_are_not():
    device = planning.device_of("A", gpu.asarray(floats(1, 1)))
    request = planning.Request(FORMATS["f32"], FORMATS["f32"], 1.0, 0.0, ())
    worth = lambda shape, elements, copies: planning._worth_it(device, request, shape, copies, 8 * elements)  # noqa: E731
    assert worth((4096, 4096, 512), 4096 * 512, 1)
    assert worth((1024, 1024, 1024), 2 * 1024 * 1024, 2)
    assert not worth((64, 64, 64), 64 * 64, 2)


STEPS = ("bias gelu", "silu gate", "dropout relu")


@pytest.mark.parametrize("memory", ["whole", "steps"])
@pytest.mark.parametrize(("N", "steps"), list(zip((52, 53, 300), STEPS, strict=True)))
def test_an_epilogue_behind_a_product_is_that_within(N, steps, memory):
    rng = np.random.default_rng(N)
    A, B = gpu.asarray(floats(37, 41)), gpu.asarray(floats(41, N, seed=1))
    bias, gate, rest = (placed(rng.uniform(-1, 1, s).astype(np.float32), memory) for s in ((1, N), (37, N), (37, N)))
    made = {
        "bias gelu": (epilogue.bias(bias[0]), epilogue.gelu()),
        "silu gate": (epilogue.silu(), epilogue.multiply(gate), epilogue.residual(rest, 0.5)),
        "dropout relu": (epilogue.relu(), epilogue.dropout(0.4, 12345)),
    }[steps]
    results = []
    for several in (True, False):
        C = gpu.asarray(floats(37, N, seed=2))
        out = gpu.asarray(np.zeros(1, np.float32))
        launched = plan(A, B, C, alpha=2, beta=3, epilogue=(*made, epilogue.amax(out)), several=several)
        assert len(launched.launches) == 1 + several
        results.append((launched().get(), out.get()[0]))
        assert out.get()[0] == np.abs(C.get()).max()
    compared(results[0][0], results[1][0].astype(float), 4)


def test_an_epilogue_that_reads_c_stays_within_its_product():
    A, B, C = gpu.asarray(floats(37, 41)), gpu.asarray(floats(41, 52, seed=1)), gpu.asarray(floats(37, 52, seed=2))
    exact = A.get().astype(float) @ B.get() + C.get()
    made = plan(A, B, C, epilogue=epilogue.residual(C), several=True)
    assert len(made.launches) == 1
    compared(made().get(), exact, 1)


def test_large_products_are_followed_by_their_epilogue():
    device = planning.device_of("A", gpu.asarray(floats(1, 1)))
    request = planning.Request(FORMATS["f32"], FORMATS["f32"], 1.0, 0.0, (epilogue.gelu(),))
    behind = lambda M, N, K: planning._worth_it(device, request, (M, N, K), 1, 8 * M * N)  # noqa: E731
    assert behind(2048, 2816, 1024) and behind(4096, 4096, 4096)
    assert not behind(8192, 8192, 256) and not behind(64, 64, 64)


def number_of(operands, size):
    """Which of the candidates has this size."""
    return [tile.size for tile in tiles.candidates(FORMATS[operands], True, 0)].index(size)


@pytest.mark.table(keep=2)
@pytest.mark.parametrize(
    ("operands", "tensor_cores", "op", "tile"),
    [("f32", True, "T", 0), ("f64", True, "N", 0), ("f64", False, "T", 0), ("f16", True, "T", 0), ("s8", True, "N", 0)],
)
def test_the_largest_tile_is_right_in_its_corners(operands, tensor_cores, op, tile):
    rng = np.random.default_rng(5)
    A, a = drawn(rng, operands, (130, 72))
    B, b = drawn(rng, operands, (72, 264) if op == "N" else (264, 72))
    made = plan(gpu.asarray(A), gpu.asarray(B), op_b=op, tensor_cores=tensor_cores, tile=tile)
    exact = a @ (b if op == "N" else b.T)
    compared(made().get(), exact, np.sqrt((exact**2).mean()), exactly=operands == "s8")


def test_one_launch_gives_the_same_bits_again_and_in_any_tile():
    A, B = gpu.asarray(floats(70, 90)), gpu.asarray(floats(66, 90, seed=1))
    assert np.array_equal(gemm(A, B, op_b="T").get(), gemm(A, B, op_b="T").get())
    results = [plan(A, B, op_b="T", tile=tile)().get() for tile in (3, 4, 6)]
    assert all(np.array_equal(result, results[0]) for result in results)  # k is summed in order in each


@pytest.mark.skipif(gpu.backend() == "gpu", reason="the simulator counts")
@pytest.mark.parametrize("ops", ["NN", "TT"])
@pytest.mark.parametrize(("size", "wavefronts"), [((64, 64, 32), 2), ((128, 64, 16), 4)])  # 8 or 16 bytes a lane
def test_doubles_come_from_shared_memory_without_conflicts(ops, size, wavefronts):
    import gpusim

    counted = []
    for K in (32, 64):
        A, B = (gpu.asarray(floats(128, K).astype(np.float64)) for _ in "AB")
        made = plan(
            A if ops[0] == "N" else A.T.copy(), B.T.copy() if ops[1] == "N" else B, op_a=ops[0], op_b=ops[1],
            tile=number_of("f64", size),
        )  # fmt: skip
        assert len(re.findall("(?:true|false), 2>", made.launch.entry)) == 2  # both matrices are copied by 16 bytes
        with gpusim.record(checks="off") as recording:
            made()
        counted.append(recording.counters)
    more = lambda name: counted[1][name] - counted[0][name]  # noqa: E731
    assert more("smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts_cache_access.sum") == 0
    loads = more("smsp__sass_inst_executed_op_shared_ld.sum")
    assert more("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum") == wavefronts * loads > 0


@pytest.mark.skipif(gpu.backend() == "gpu", reason="the simulator counts")
def test_doubles_are_stored_by_whole_sectors():
    import gpusim

    A, B = gpu.asarray(floats(64, 16).astype(np.float64)), gpu.asarray(floats(16, 64, seed=1).astype(np.float64))
    made = plan(A, B, tile=number_of("f64", (64, 64, 32)))
    with gpusim.record(checks="off") as recording:
        made()
    assert recording.counters["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 64 * 64 * 8 / 32


@pytest.mark.skipif(gpu.backend() == "gpu", reason="the simulator counts")
def test_a_warp_outside_of_c_multiplies_nothing():
    import gpusim

    ffmas = {}
    for rows in (32, 33):
        A, B = gpu.asarray(floats(rows, 16)), gpu.asarray(floats(16, 32, seed=1))
        made = plan(A, B, tile=number_of("f32", (64, 64, 8)))
        with gpusim.record() as recording:
            made()
        ffmas[rows] = recording.counters["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]
    assert ffmas[33] - ffmas[32] == 32 * 64 * 16  # the second of two warps


def test_gelu_is_as_exact_as_float32():
    x = np.linspace(-8, 8, 4001, dtype=np.float32)
    x[:4] = np.inf, -np.inf, np.nan, -3e38
    result = gemm(gpu.asarray(x[:, None]), gpu.asarray(np.ones((1, 1), np.float32)), epilogue=epilogue.gelu()).get()
    exact = np.array([number / 2 * math.erfc(-number / math.sqrt(2)) for number in x[4:].astype(float)])
    assert (np.abs(result[4:, 0] - exact) <= 6e-8 + 2**-23 * np.abs(exact)).all()
    assert np.array_equal(result[:4, 0], [np.inf, 0, np.nan, 0], equal_nan=True)


def test_amax_is_the_largest_element_of_all_launches():
    out = gpu.asarray(np.zeros(1, np.float32))
    largest = 0.0
    for seed in (1, 2):
        C = gemm(gpu.asarray(floats(45, 20, seed=seed)), gpu.asarray(floats(20, 50)), epilogue=epilogue.amax(out))
        largest = max(largest, np.abs(C.get()).max())
        assert out.get()[0] == largest


def test_dropout_drops_its_share_alike_in_every_tile():
    A, B = gpu.asarray(floats(96, 16)), gpu.asarray(floats(16, 128))
    results = [plan(A, B, epilogue=epilogue.dropout(0.25, 9), tile=tile)().get() for tile in (4, 6)]
    assert all(np.array_equal(result, results[0]) for result in results)
    assert 0.22 < (results[0] == 0).mean() < 0.28
    other = gemm(A, B, epilogue=epilogue.dropout(0.25, 10)).get()
    assert ((other == 0) != (results[0] == 0)).mean() > 0.2


def test_sixteen_bit_results_are_rounded_to_nearest():
    A, B = floats(33, 50).astype(np.float16), floats(50, 41).astype(np.float16)
    C = gpu.asarray(np.zeros((33, 41), np.float16))
    exact = A.astype(float) @ B.astype(float)
    gemm(gpu.asarray(A), gpu.asarray(B), C)
    assert np.abs(C.get() - exact).max() <= np.abs(exact).max() * 2**-11 + 1e-6
    bits = gpu.asarray(np.zeros((1, 3), np.uint16))
    numbers = np.array([[1 + 2**-8, 1 + 3 * 2**-8, -3.0]], np.float32)  # two of them in the middle between neighbours
    one_bf16 = (np.ones((1, 1), np.float32).view(np.uint32) >> 16).astype(np.uint16)
    zero = np.zeros((1, 3), np.uint16)
    gemm(gpu.asarray(one_bf16), gpu.asarray(zero), bits, dtype="bf16", epilogue=epilogue.residual(gpu.asarray(numbers)))
    assert [hex(word) for word in bits.get()[0]] == ["0x3f80", "0x3f82", "0xc040"]  # to the even neighbour


@pytest.mark.table(keep=2)
@pytest.mark.parametrize(("operands", "group"), [("s8", 0), ("s8", 32), ("s8", 96), ("e4m3", 32), ("f16", 32)])
def test_scales_multiply_tensors_rows_columns_and_groups(operands, group):
    rng = np.random.default_rng(group)
    (A, a), (B, b) = drawn(rng, operands, (37, 100)), drawn(rng, operands, (100, 45))
    dtype = operands if operands == "e4m3" else None
    scales = lambda *shape: rng.uniform(0.01, 2, shape).astype(np.float32)  # noqa: E731
    if group == 0:
        s, t = scales(37), scales(45)
        exact = a * s[:, None].astype(float) @ (b * t)
        compared(gemm(gpu.asarray(A), gpu.asarray(B), scale_a=gpu.asarray(s), scale_b=gpu.asarray(t)).get(), exact, 1e5)
        compared(
            gemm(gpu.asarray(A), gpu.asarray(B), scale_a=0.5, scale_b=gpu.asarray(t)).get(), 0.5 * a @ (b * t), 1e5
        )
        return
    groups = -(-100 // group)
    s, t = scales(37, groups), scales(groups, 45)
    C = gemm(gpu.asarray(A), gpu.asarray(B), scale_a=gpu.asarray(s), scale_b=gpu.asarray(t), group=group, dtype=dtype)
    along = np.arange(100) // group
    exact = (a * s[:, along].astype(float)) @ (b * t[along])
    compared(C.get(), exact, np.sqrt((exact**2).mean()))


@pytest.mark.parametrize(
    ("operands", "channels", "options"),
    [
        ("f32", 5, {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}),
        ("f16", 8, {"padding": 1}),
        ("s8", 3, {"stride": 2}),
        ("f64", 1, {"padding": (0, 1), "dilation": 2}),
    ],
)
def test_convolutions_are_those_of_patches(operands, channels, options):
    rng = np.random.default_rng(channels)
    (X, x), (W, w) = drawn(rng, operands, (2, 9, 8, channels)), drawn(rng, operands, (6, 3, 2, channels))
    pair = {name: value if isinstance(value, tuple) else (value, value) for name, value in options.items()}
    (sh, sw), (ph, pw), (dh, dw) = pair.get("stride", (1, 1)), pair.get("padding", (0, 0)), pair.get("dilation", (1, 1))
    padded = np.pad(x, ((0, 0), (ph, ph), (pw, pw), (0, 0)))
    p, q = (9 + 2 * ph - 2 * dh - 1) // sh + 1, (8 + 2 * pw - dw - 1) // sw + 1
    exact = np.zeros((2, p, q, 6))
    for i, j in np.ndindex(p, q):
        patch = padded[:, i * sh : i * sh + 2 * dh + 1 : dh, j * sw : j * sw + dw + 1 : dw]
        exact[:, i, j] = np.einsum("nrsc,frsc->nf", patch, w)
    result = conv2d(gpu.asarray(X), gpu.asarray(W), **options)
    typical = np.sqrt((exact**2).mean())
    compared(result.get(), exact, typical, exactly=operands == "s8")
    if operands not in ("f64", "s8"):
        return
    bias = floats(6).astype(np.float64 if operands == "f64" else np.float32)
    biased = conv2d(
        gpu.asarray(X), gpu.asarray(W), epilogue=(epilogue.bias(gpu.asarray(bias)), epilogue.relu()), **options
    )
    compared(biased.get(), np.maximum(exact + bias, 0), typical)


def test_a_batch_that_no_two_steps_describe_goes_behind_pointers():
    Q, K = floats(3, 4, 5, 6, 8)[::2, ::2], floats(3, 4, 5, 7, 8, seed=1)[::2, ::2, ::2]
    Q = Q[:, :, ::2]
    made = plan(gpu.asarray(np.array(Q)), gpu.asarray(floats(3, 4, 5, 7, 8, seed=1))[::2, ::2, ::2], op_b="T")
    assert "Pointed" in made.launch.entry
    compared(made().get(), np.einsum("abctd,abcsd->abcts", Q.astype(float), K), 1)


def test_c_keeps_what_lies_between_the_elements_of_a_view():
    memory = gpu.asarray(np.full((40, 60), 7, np.float32))
    gemm(gpu.asarray(floats(19, 24)), gpu.asarray(floats(24, 25)), memory[2:21, 5:55:2])
    assert (memory.get() == 7).sum() == 40 * 60 - 19 * 25


def test_nothing_is_launched_for_a_c_without_elements():
    assert plan(gpu.asarray(floats(0, 3)), gpu.asarray(floats(3, 4))).launch is None
    assert gemm(gpu.asarray(floats(2, 5, 3)), gpu.asarray(floats(3, 0))).shape == (2, 5, 0)
    assert gemm(gpu.asarray(floats(3, 0)), gpu.asarray(floats(0, 4))).get().any() == np.False_


A35, B57 = floats(3, 5), floats(5, 7)
A8, B8 = A35.astype(np.int8), B57.astype(np.int8)


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        ((A35, gpu.asarray(B57)), {}, "A is an array of the host"),
        ((A35, A35), {}, "the k of both must be as long. Is one of them meant transposed"),
        ((A35[0], B57), {}, "a matrix has two axes. One row is A"),
        ((A35, B57), {"op_a": "C"}, "op_a is 'C'; it may be 'N', or 'T'"),
        ((A35, B57), {"beta": 1}, "beta is 1, but no C was given"),
        ((A35, B57), {"alpha": "2"}, "alpha is '2'; it must be a number"),
        ((A35, B57.astype(np.float16)), {}, "A is float32 and B is float16; both must have one format"),
        ((A35.astype(np.int64), B57), {}, "A has elements of type int64; A and B may be f32"),
        ((A35.astype(np.uint16), B57.astype(np.uint16)), {}, 'say dtype="f16" or "bf16"'),
        ((A35, B57), {"dtype": "f17"}, "dtype is 'f17'; A and B may be"),
        ((A35, B57), {"dtype": "s8"}, "A has elements of type float32, and s8 is held by int8"),
        ((A35, B57, floats(3, 8)), {}, "C has the shape .3, 8., and the product has .3, 7."),
        ((A35, B57, np.zeros((3, 7), np.int32)), {}, "whose sums are floats, and C is int32"),
        ((A35, B57, np.zeros((3, 7))), {}, "float64 goes with float64 alone"),
        ((floats(2, 3, 5), floats(4, 5, 7)), {}, "the batch of A is .2,. and that of B .4,."),
        ((A35, B57), {"epilogue": "gelu"}, "epilogue has 'g'; its steps are those of"),
        ((A35, B57), {"batch": [0, 3]}, "batch= shares out the rows of A"),
        ((A35, floats(2, 5, 7)), {"batch": [0, 2]}, "batch ends with 2, and A has 3 rows"),
        ((A35, floats(2, 5, 7)), {"batch": [0, 3]}, "batch has 2 offsets, and B has 2 matrices"),
        ((A35, B57), {"group": 32}, "group is 32 without scales"),
        ((A8, B8, np.zeros((3, 7), np.int32)), {"alpha": 0.5}, "alpha and beta are whole"),
        (([A35], [B57, B57]), {}, "A is a list of 1 matrices, and B is 2"),
        ((A8.view(np.uint8), B8.view(np.uint8)), {"dtype": "e4m3", "tensor_cores": False}, "by tensor cores alone"),
    ],
    ids=range(23),
)  # fmt: skip
def test_what_cannot_be_multiplied_gets_a_sentence(arguments, options, sentence):
    on_device = [
        list(map(gpu.asarray, argument))
        if isinstance(argument, list)
        else argument
        if position == 0 and "host" in sentence
        else gpu.asarray(argument)
        for position, argument in enumerate(arguments)
    ]
    with pytest.raises(Refused, match=sentence):
        gemm(*on_device, **options)


def test_steps_between_elements_must_be_whole_and_c_distinct():
    pairs = gpu.asarray(np.zeros(12, np.uint8).repeat(4))
    C = gpu.asarray(floats(1, 7))
    with pytest.raises(Refused, match="C has elements that share their memory"):
        gemm(gpu.asarray(A35), gpu.asarray(B57), gpu.broadcast_to(C, (3, 7)) if gpu.backend() == "gpu" else
             np.broadcast_to(C, (3, 7), subok=True))  # fmt: skip
    square = gpu.asarray(floats(4, 4))
    with pytest.raises(Refused, match="C begins where A does"):
        gemm(square, gpu.asarray(floats(4, 4)), square)
    assert pairs.size == 48


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: epilogue.bias(3), "epilogue.bias takes a vector of the device; found 3"),
        (lambda: epilogue.residual(np.zeros(3)), "epilogue.residual takes a matrix of the device"),
        (lambda: epilogue.dropout(1, 0), "a probability from 0 to below 1; found 1"),
        (lambda: epilogue.dropout(0.5, 0.5), "a whole number of 64 bits as its seed"),
        (lambda: epilogue.amax(np.zeros(2)), "a float32 array of one element"),
    ],
)
def test_a_wrong_step_gets_a_sentence(make, sentence):
    with pytest.raises(Refused, match=sentence):
        make()


@pytest.mark.parametrize(
    ("X", "W", "options", "sentence"),
    [
        ((1, 5, 5, 3), (2, 3, 3, 4), {}, "X has 3 channels and W has 4"),
        ((1, 2, 2, 3), (2, 3, 3, 3), {}, "the filter of 3 x 3, dilated to 3 x 3, does not fit into images of 2 x 2"),
        ((5, 5, 3), (2, 3, 3, 3), {}, "X is .n, h, w, c. and W is"),
        ((1, 5, 5, 3), (2, 3, 3, 3), {"stride": 0}, "stride is 0; it must be a whole number of at least 1"),
    ],
)
def test_what_is_no_convolution_gets_a_sentence(X, W, options, sentence):
    with pytest.raises(Refused, match=sentence):
        conv2d(gpu.asarray(floats(*X)), gpu.asarray(floats(*W)), **options)


def test_the_tile_is_the_one_whose_blocks_end_first():
    operand = FORMATS["f32"]
    large, *_, small = tiles.candidates(operand, True, 0)
    times = {
        large.key(operand): tiles.Times(2e-6, 4e-7, 0, 4e-7, 0, 4e-7, 2e-6, 4e-7),
        small.key(operand): tiles.Times(1e-6, 2e-7, 0, 2e-7, 0, 2e-7, 1e-6, 5e-8),
    }
    choose = lambda shape, K: tiles.chosen((large, small), operand, [shape], K, 132, 232_448, times)  # noqa: E731
    assert choose((4096, 4096), 4096) is large  # 4 blocks of 0.4 µs for each k, beside 125, 14 at a time, of 0.2
    assert choose((256, 256), 4096) is small  # one block an SM: 0.4 beside 0.05
    with pytest.raises(Refused, match="no tile for f32 fits in 1,000 bytes"):
        tiles.chosen((large, small), operand, [(256, 256)], 64, 132, 1000)


def test_partial_last_round_costs_its_timed_extra_block():
    operand, tile = FORMATS["f32"], tiles.candidates(FORMATS["f32"], True, 0)[1]
    assert tile.blocks == 2 and tile.size == (128, 128, 8)
    times = {tile.key(operand): tiles.Times(10.0, 0.0, 3.0, 0.0, 4.0, 0.0, 6.0, 0.0)}
    expected = lambda blocks: tiles.expected(tile, operand, {(128, 128): 132 * blocks}, 8, 132, times)  # noqa: E731
    assert [expected(blocks) for blocks in (1, 2, 3, 4, 5)] == [6.0, 10.0, 13.0, 14.0, 17.0]


def test_every_tile_fits_in_shared_memory_and_a_block():
    for operand, tensor_cores, group in itertools.product(FORMATS.values(), (True, False), (0, 128)):
        for tile in tiles.candidates(operand, tensor_cores, group):
            assert tile.threads <= 1024
            assert tile.blocks * tile.shared_bytes(operand) <= 233_472 - 1024 * tile.blocks
