"""Tensor cores and narrow formats, bit for bit as an NVIDIA H200: goldens/tensor_core.py has the operands."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import gpusim
from gpusim.arithmetic import float8, tensor_core
from gpusim.engine import compiled
from gpusim.errors import BarrierError, Unknown, UnsupportedInstruction
from tests.gpusim.goldens import tensor_core as golden
from tests.gpusim.kernel_launches import ORDERS, WMMA, operands_of_wmma, source_of, tile_of_wmma

# Far from 1, fused multiply-adds of float64 are worked out with fractions, which takes long.
SLOW_FOR_DOUBLES = ("any bits", "small", "large")


@cache
def recording():
    return np.load(golden.RECORDING)


def function(form, entry):
    return gpusim.RawModule(code=form.source, arch=golden.ARCH).get_function(entry)


def groups(product):
    """The first groups of every kind, with their numbers: as many as a million sums take.

    Of the kinds that take long for float64, one form has the first group, and the others none.
    """
    rounds = {kind: -(-1_000_000 // (len(golden.EXPONENTS) * sums_of_a_group(product))) for kind in golden.EXPONENTS}
    if product.result == "f64":
        first = int(product.shape == "m8n8k4")
        rounds = {kind: first if kind in SLOW_FOR_DOUBLES else golden.ROUNDS for kind in rounds}
    return [
        (number, kind, seed)
        for number, (kind, seed) in enumerate(golden.groups())
        if number % golden.ROUNDS < rounds[kind]
    ]


def sums_of_a_group(product):
    m, n, _ = product.sizes
    return golden.GROUP * m * n


def expect(form, number, results, kind):
    """The results have the digest that was recorded; if not, say what the first of them are."""
    wanted = recording()[f"{form.name}|digests"][number]
    if np.frombuffer(golden.digest(results), np.uint64)[0] != wanted:
        kept = recording()[f"{form.name}|kept"][number]
        wrong = np.argwhere(results[: len(kept)] != kept)
        where = tuple(wrong[0]) if len(wrong) else None
        shown = f"{results[where]:#x}, not {kept[where]:#x}, at {where}" if where else "beyond those that are kept"
        pytest.fail(f"{form.name}, {kind}: the simulator's results are not the H200's: {shown}")


@pytest.mark.parametrize("product", golden.PRODUCTS, ids=lambda product: product.name)
def test_every_tensor_core_product_has_the_bits_of_an_h200(product):
    kernel = function(product, "product")
    for number, kind, seed in groups(product):
        a, b, c = golden.operands(product, kind, seed)
        d = np.full_like(c, 0xDEADBEEF)
        with gpusim.record(level="sass", checks="off"):
            kernel((golden.GROUP // 4,), (32, 4), (a, b, c, d))
        expect(product, number, d, kind)


@pytest.mark.parametrize("product", golden.PRODUCTS, ids=lambda product: product.name)
def test_each_form_has_a_million_recorded_random_sums(product):
    digests = recording()[f"{product.name}|digests"]
    assert len(set(digests)) == len(digests) == len(golden.groups())
    assert len(digests) * sums_of_a_group(product) > 1_000_000
    slow = product.name == "m8n8k4 f64 f64 f64"
    assert len(groups(product)) * sums_of_a_group(product) > (850_000 if slow else 1_000_000)


@pytest.mark.parametrize("name", ["m16n8k16 f32 f16 f16", "m16n8k16 f16 f16 f16", "m16n8k8 f32 tf32 tf32",
                                  "m16n8k32 s32 s8 u8 satfinite", "m16n8k256 s32 b1 b1 and popc",
                                  "m8n8k4 f64 f64 f64", "m16n8k4 f64 f64 f64", "m16n8k64 s32 s4 u4",
                                  "m16n8k32 f32 e4m3 e5m2", "m16n8k32 f16 e4m3 e5m2"])  # fmt: skip
def test_ptx_multiplies_matrices_as_the_machine_code_does(name):
    product = next(product for product in golden.PRODUCTS if product.name == name)
    kernel = function(product, "product")
    for number, kind, seed in groups(product)[::3]:
        a, b, c = golden.operands(product, kind, seed)
        d = np.full_like(c, 0xDEADBEEF)
        with gpusim.record(level="ptx", checks="off"):
            kernel((golden.GROUP // 4,), (32, 4), (a, b, c, d))
        expect(product, number, d, kind)


@cache
def tiles_of_wmma():
    """All of them, compiled at once."""
    entries = [tile_of_wmma(*form, by_row) for form in WMMA for by_row in ORDERS]
    return gpusim.RawModule(code=source_of("wmma_tiles"), name_expressions=entries, arch="sm_90")


@pytest.mark.parametrize("by_row", ORDERS, ids=str)
@pytest.mark.parametrize(("shape", "type_", "element", "total"), WMMA, ids=lambda value: str(value).replace(" ", ""))
def test_ptx_wmma_gives_the_tiles_of_the_machine_code(shape, type_, element, total, by_row):
    kernel = tiles_of_wmma().get_function(tile_of_wmma(shape, type_, element, total, by_row))
    products = {}
    for level in ("sass", "ptx"):
        A, B, C, held, *others = operands_of_wmma(shape, element, total, by_row)(np.random.default_rng(shape[0]))
        result = C.copy()
        with gpusim.record(level=level):
            kernel((1,), (32,), (A, B, result, held, *others))
        products[level] = result.tobytes(), held.tobytes()
        assert result.tobytes() != C.tobytes()
    assert products["ptx"] == products["sass"]


# ---- integers of a few bits: what lies in memory, eight of 4 bits or 32 of 1 in a word, is multiplied exactly

TILES_OF_BITS = """#include <mma.h>
using namespace nvcuda::wmma;
namespace ex = nvcuda::wmma::experimental;
extern "C" __global__ void kernel(const unsigned *A, const unsigned *B, int *C, int *held) {
    fragment<matrix_a, 8, 8, K, ex::precision::TYPE, row_major> a;
    fragment<matrix_b, 8, 8, K, ex::precision::TYPE, col_major> b;
    fragment<accumulator, 8, 8, K, int> c;
    load_matrix_sync(a, A, 2 * K);
    load_matrix_sync(b, B, 3 * K);
    load_matrix_sync(c, C, 24, ORDER);
    held[threadIdx.x] = a.x[0];
    held[32 + threadIdx.x] = b.x[0];
    held[64 + threadIdx.x] = c.x[0] ^ 3 * c.x[1];
    PRODUCT;
    store_matrix_sync(C, c, 24, ORDER);
}"""
PRODUCTS_OF_BITS = {
    "s4": ("s4", "mma_sync(c, a, b, c)"),
    "u4": ("u4", "mma_sync(c, a, b, c)"),
    "s4 limited": ("s4", "mma_sync(c, a, b, c, true)"),
    "u4 limited": ("u4", "mma_sync(c, a, b, c, true)"),
    "b1 and": ("b1", "bmma_sync(c, a, b, c, ex::bmmaBitOpAND)"),
    "b1 xor": ("b1", "bmma_sync(c, a, b, c, ex::bmmaBitOpXOR)"),
}


def elements_of(words, type_):
    """The numbers that lie in words, as int64 with a last axis for them."""
    bits = 1 if type_ == "b1" else 4
    parts = words[..., None] >> np.arange(0, 32, bits, dtype=np.uint32) & np.uint32((1 << bits) - 1)
    parts = parts.reshape(*words.shape[:-1], -1).astype(np.int64)
    return np.where(parts > 7, parts - 16, parts) if type_ == "s4" else parts


# One whose tensor cores multiply numbers of 4 bits and count where bits differ, and one for which ptxas makes these
# products of others.
OF_FEW_BITS = ("sm_86", "sm_90")


@pytest.mark.parametrize("arch", OF_FEW_BITS)
@pytest.mark.parametrize("by_row", ORDERS, ids=str)
@pytest.mark.parametrize(("type_", "product"), PRODUCTS_OF_BITS.values(), ids=PRODUCTS_OF_BITS)
def test_wmma_multiplies_few_bit_integers_exactly(type_, product, by_row, arch):
    order = "mem_row_major" if by_row else "mem_col_major"
    depth = 128 if type_ == "b1" else 32
    options = (f"-DK={depth}", f"-DTYPE={type_}", f"-DORDER={order}", f"-DPRODUCT={product}")
    kernel = gpusim.RawModule(code=TILES_OF_BITS, options=options, arch=arch).get_function("kernel")
    rng = np.random.default_rng(4)
    A, B = (rng.integers(0, 1 << 32, (8, 4 * strides), np.uint32) for strides in (2, 3))
    C = rng.integers(-(2**31), 2**31, (8, 24)).astype(np.int32)
    C[:, ::3], C[:, 1::3] = 2**31 - 1 - C[:, ::3] % 99, -(2**31) + C[:, 1::3] % 99
    products = {}
    for level in ("sass", "ptx"):
        result, held = C.copy(), np.zeros(96, np.int32)
        with gpusim.record(level=level):
            kernel((1,), (32,), (A, B, result, held))
        products[level] = result, held
    np.testing.assert_array_equal(products["ptx"][1], products["sass"][1])
    a, b = (elements_of(words[:, :4], type_) for words in (A, B))
    sums = (a[:, None] != b[None]).sum(axis=2) if "XOR" in product else (a[:, None] * b[None]).sum(axis=2)
    sums = (sums if by_row else sums.T) + C[:, :8].astype(np.int64)
    if "true" in product:
        assert ((sums > 2**31 - 1) | (sums < -(2**31))).any()
        sums = np.clip(sums, -(2**31), 2**31 - 1)
    expected = C.copy()
    expected[:, :8] = sums.astype(np.uint64).astype(np.uint32).view(np.int32)
    for result, _ in products.values():
        np.testing.assert_array_equal(result, expected)


# By the words of mma.sync: the registers of A, B and C.
FRAGMENTS_OF_BITS = {
    "m16n8k256 s32 b1 b1 xor": (4, 2, 4), "m16n8k128 s32 b1 b1 xor": (2, 1, 4), "m16n8k128 s32 b1 b1 and": (2, 1, 4),
    "m8n8k128 s32 b1 b1 and": (1, 1, 2), "m8n8k128 s32 b1 b1 xor": (1, 1, 2), "m16n8k64 s32 s4 u4 satfinite": (4, 2, 4),
    "m16n8k32 s32 u4 s4 satfinite": (2, 1, 4), "m16n8k32 s32 s4 s4": (2, 1, 4),
    "m8n8k32 s32 u4 u4 satfinite": (1, 1, 2),
}  # fmt: skip


@pytest.mark.parametrize(("words", "counts"), FRAGMENTS_OF_BITS.items(), ids=FRAGMENTS_OF_BITS)
def test_few_bit_fragments_multiply_alike_at_both_levels(words, counts):
    shape, result, a, b, *more = words.split()
    limit, bits = (".satfinite" if "satfinite" in more else "", f".{more[0]}.popc" if a == "b1" else "")
    opcode = f"mma.sync.aligned.{shape}.row.col{limit}.{result}.{a}.{b}.{result}{bits}"
    places = iter(range(99))
    d, *factors = ("{" + ",".join(f"%{next(places)}" for _ in range(n)) + "}" for n in (counts[2], *counts))
    first = np.cumsum([0, *counts]).tolist()
    inputs = ",".join(f'"r"(x[32 * {n} + i])' for n in range(first[-1]))
    outputs = ",".join(f'"=r"(d[{n}])' for n in range(counts[2]))
    source = f"""extern "C" __global__ void kernel(const unsigned *x, unsigned *o) {{
        int i = threadIdx.x;
        unsigned d[4] = {{}};
        asm volatile("{opcode} {d}, {", ".join(factors)};" : {outputs} : {inputs});
        for (int j = 0; j < 4; ++j) o[32 * j + i] = d[j];
    }}"""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 1 << 32, (first[-1], 32), np.uint32)
    x[first[2] :, ::2] = np.where(x[first[2] :, ::2] & 1, 2**31 - 5, 2**31 + 5)  # sums that must be limited
    results = []
    for arch, level in itertools.product(OF_FEW_BITS, ("sass", "ptx")):
        results.append(np.zeros((4, 32), np.uint32))
        with gpusim.record(level=level):
            gpusim.RawModule(code=source, arch=arch).get_function("kernel")((1,), (32,), (x, results[-1]))
    assert results[0].any() and all(np.array_equal(result, results[0]) for result in results)


def test_unmeasured_limited_product_names_the_one_that_runs():
    source = """extern "C" __global__ void kernel(unsigned *x) {
        asm volatile("mma.sync.aligned.m8n8k32.row.col.satfinite.s32.s4.s4.s32 {%0, %1}, {%2}, {%2}, {%0, %1};"
                     : "+r"(x[0]), "+r"(x[1]) : "r"(x[2]));
    }"""
    kernel = gpusim.RawModule(code=source, arch="sm_100").get_function("kernel")
    with (
        pytest.raises(UnsupportedInstruction, match=r"sm_100 multiply \.s4 and \.s4; without \.satfinite it runs"),
        gpusim.record(level="ptx"),
    ):
        kernel((1,), (32,), (np.zeros(8, np.uint32),))


# .relu of PTX's conversions to 16 bits and TF32 is not modelled; the machine code's is.
LEVELS = [
    (conversion, level)
    for conversion in golden.CONVERSIONS
    for level in ("sass", "ptx")
    if level == "sass" or "relu" not in conversion.name or "satfinite" in conversion.name
]


@pytest.mark.parametrize(("conversion", "level"), LEVELS, ids=lambda value: getattr(value, "name", value))
def test_every_narrowing_conversion_has_the_bits_of_an_h200(conversion, level):
    kernel = function(conversion, "convert")
    for number in golden.CONVERSION_SEEDS if level == "sass" else (0, 1, 5):
        x = golden.conversion_operands(conversion, number)
        y = np.zeros(x.shape[1], np.uint32)
        with gpusim.record(level=level, checks="off"):
            kernel((x.shape[1] // 256,), (256,), (x, y, np.int32(x.shape[1])))
        expect(conversion, number, y, number)


def product_of(a, b, c, arch="sm_90"):
    """One row of A times one column of B plus c, as the first element of an m16n8k16 product of float16."""
    form = tensor_core.form(16, 16, "f16", "f16", "f32")
    left, right = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
    left[0, : len(a)], right[: len(b), 0] = a, b
    lane = np.arange(32)
    row, pair = lane // 4, 2 * (lane % 4)
    word = lambda matrix, y, x: np.stack([matrix[y, x], matrix[y, x + 1]], -1).view(np.uint32)[:, 0]  # noqa: E731
    registers = [word(left, row + 8 * (r % 2), pair + 8 * (r // 2)) for r in range(4)]
    columns = [word(np.ascontiguousarray(right.T), row, pair + 8 * r) for r in range(2)]
    total = [np.full(32, np.float32(c)).view(np.uint32)] + [np.zeros(32, np.uint32)] * 3
    return float(tensor_core.multiply(form, registers, columns, total, tensor_core.terms_at_once(arch, form))[0][0])


def test_terms_are_cut_2_bits_below_float32_on_hopper_1_on_a100():
    # 2^24 + 1/2 + 1/2 + 1/2 + 1/2: a quarter of 2^24's last bit each, and two units in the place of it together.
    small = [2.0**-1] * 4
    assert product_of([1.0] * 4, small, 2.0**24, "sm_90") == 2.0**24 + 2
    assert product_of([1.0] * 4, small, 2.0**24, "sm_80") == 2.0**24
    assert product_of([1.0] * 4, [1.0] * 4, 2.0**24, "sm_80") == 2.0**24 + 4


def test_the_sum_is_cut_toward_zero_and_not_rounded():
    assert product_of([1.0], [1.0 + 2.0**-1], 2.0**24) == 2.0**24  # 2^24 + 1.5 lies nearer to 2^24 + 2
    assert product_of([1.0], [-1.0 - 2.0**-1], -(2.0**24)) == -(2.0**24)


def test_truncated_product_does_not_return_after_cancellation():
    assert product_of([2.0**15, 2.0**15, 2.0**-4], [2.0**12, -(2.0**12), 2.0**-4], 0.0) == 0.0


@pytest.mark.parametrize(
    ("m", "k", "a", "b", "result"),
    [(16, 16, "tf32", "tf32", "f32"), (8, 8, "f16", "f16", "f32"), (16, 16, "bf16", "bf16", "f16"),
     (16, 16, "f16", "bf16", "f32"), (16, 32, "s8", "s8", "f32")],
)  # fmt: skip
def test_a_form_that_no_tensor_core_has_is_unknown(m, k, a, b, result):
    with pytest.raises(Unknown, match="a product of matrices"):
        tensor_core.form(m, k, a, b, result)


def test_sums_of_unknown_tensor_cores_are_not_guessed():
    product = tensor_core.form(16, 16, "f16", "f16", "f32")
    assert tensor_core.terms_at_once("sm_90a", product) == tensor_core.terms_at_once("sm_90", product)
    assert tensor_core.terms_at_once("sm_120", product) == tensor_core.terms_at_once("sm_90", product)
    with pytest.raises(Unknown, match="how the tensor cores of sm_70 add"):
        tensor_core.terms_at_once("sm_70", product)


def test_eight_bits_hold_what_their_formats_say():
    largest = {name: float(float8.to_float32(np.uint8(form.largest), name)) for name, form in float8.FORMATS.items()}
    assert largest == {"e4m3": 448.0, "e5m2": 57344.0}
    assert float8.to_float32(np.uint8(1), "e4m3") == 2.0**-9
    assert np.isnan(float8.to_float32(np.uint8(0x7F), "e4m3"))
    assert np.isinf(float8.to_float32(np.uint8(0x7C), "e5m2"))
    assert float8.from_float(np.float32([17.0, 19.0, 1e9, -np.inf]), "e4m3").tolist() == [0x58, 0x5A, 0x7E, 0xFE]


# By architecture: the products that are added at once, the place where terms are cut, and the bits that a sum keeps.
OF_EIGHT_BITS = {"sm_89": (16, 13, 13), "sm_120": (32, 25, 23), "sm_121": (32, 25, 23)}
PRODUCT = """extern "C" __global__ void product(const unsigned *a, const unsigned *b, const float *c, float *d) {{
    const int t = threadIdx.x;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.{a}.{b}.f32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, "
                 "{{%8, %9}}, {{%10, %11, %12, %13}};"
                 : "=f"(d[4 * t]), "=f"(d[4 * t + 1]), "=f"(d[4 * t + 2]), "=f"(d[4 * t + 3])
                 : "r"(a[4 * t]), "r"(a[4 * t + 1]), "r"(a[4 * t + 2]), "r"(a[4 * t + 3]), "r"(b[2 * t]),
                   "r"(b[2 * t + 1]), "f"(c[4 * t]), "f"(c[4 * t + 1]), "f"(c[4 * t + 2]), "f"(c[4 * t + 3]));
}}"""


def parts_of(number: float, smallest: int) -> tuple[Fraction, int]:
    """(significand, exponent) of a number, which is no smaller than the smallest of its format."""
    exponent = max(math.frexp(number)[1] - 1, smallest) if number else -1000
    return Fraction(number) / Fraction(2) ** exponent, exponent


def sum_by_fractions(a, b, c: float, smallest: tuple[int, int], arch: str) -> float:
    """c and the products of a and b as a tensor core of 8-bit numbers adds them."""
    at_once, lowest_bit, kept = OF_EIGHT_BITS[arch]
    for first in range(0, len(a), at_once):
        terms = [parts_of(c, -126)]
        for x, y in zip(a[first : first + at_once], b[first : first + at_once], strict=True):
            (left_part, p), (other, q) = parts_of(float(x), smallest[0]), parts_of(float(y), smallest[1])
            terms.append((left_part * other, p + q))
        largest = max(-126, *(exponent for significand, exponent in terms if significand))
        unit = Fraction(2) ** (largest - lowest_bit)
        total = unit * sum(int(significand * Fraction(2) ** exponent / unit) for significand, exponent in terms)
        last = Fraction(2) ** (max(math.frexp(float(total))[1] - 1, -126) - kept)
        c = float(int(total / last) * last)
    return c


@pytest.mark.parametrize("arch", OF_EIGHT_BITS)
@pytest.mark.parametrize(("left", "right"), [("e4m3", "e4m3"), ("e5m2", "e4m3")])
def test_fp8_tensor_cores_add_as_their_architecture_was_recorded(arch, left, right, monkeypatch):
    random = np.random.default_rng(8)
    smallest = tuple({"e4m3": -6, "e5m2": -14}[name] for name in (left, right))
    kernel = gpusim.RawModule(code=PRODUCT.format(a=left, b=right), arch=arch).get_function("product")
    g, p = np.arange(32) // 4, np.arange(32) % 4
    for finite in (True, False):
        A, B = random.integers(0, 256, (16, 32), np.uint8), random.integers(0, 256, (32, 8), np.uint8)
        if finite:
            A, B = A & 0xBB, B & 0xBB  # of both formats no infinity and no NaN
        C = (random.standard_normal((16, 8)) * 2.0 ** random.integers(-20, 20, (16, 8))).astype(np.float32)
        C[0, :2] = 0
        a = np.stack(
            [A[g[:, None] + 8 * (r % 2), 16 * (r // 2) + 4 * p[:, None] + np.arange(4)] for r in range(4)], axis=1
        )
        b = np.stack([B[16 * r + 4 * p[:, None] + np.arange(4), g[:, None]] for r in range(2)], axis=1)
        c = np.stack([C[g + 8 * (r // 2), 2 * p + r % 2] for r in range(4)], axis=1)
        results = []
        for way in ("compiled", "ptx", "machine code in NumPy"):
            with monkeypatch.context() as patch:
                if way == "machine code in NumPy":
                    patch.setattr(compiled, "library", lambda: None)
                d = np.zeros((32, 4), np.float32)
                with gpusim.record(level="ptx" if way == "ptx" else "sass", checks="off"):
                    kernel(
                        (1,),
                        (32,),
                        (*(np.ascontiguousarray(operand).view(np.uint32).ravel() for operand in (a, b)), c, d),
                    )
            results.append(d)
        assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()
        D = np.zeros_like(C)
        for r in range(4):
            D[g + 8 * (r // 2), 2 * p + r % 2] = results[0][:, r]
        x, y = float8.to_float32(A, left), float8.to_float32(B, right)
        if finite:
            sums = [
                [sum_by_fractions(x[m], y[:, n], float(C[m, n]), smallest, arch) for n in range(8)] for m in range(16)
            ]
            np.testing.assert_array_equal(D, np.float32(sums))
            continue
        with np.errstate(invalid="ignore"):
            plain = x.astype(np.float64) @ y.astype(np.float64)
        assert np.isnan(plain).any()
        np.testing.assert_array_equal(np.isnan(D), np.isnan(plain))
        np.testing.assert_array_equal(np.isposinf(D), np.isposinf(plain))


@pytest.mark.parametrize("transposed", [False, True])
def test_matrices_are_stored_loaded_and_transposed_as_ptx_says(level, transposed):
    words = np.arange(256, dtype=np.uint16).view(np.uint32)
    out = np.zeros(384, np.uint32)
    name = f"matrices<{int(transposed)}>"
    module = gpusim.RawModule(code=source_of("matrices"), name_expressions=[name], arch="sm_90")
    kernel = module.get_function(name)
    with gpusim.record(level=level, checks="off"):
        kernel((1,), (32,), (words, out))
    held = words.view(np.uint16).reshape(4, 8, 8)  # lane i holds row i / 4, elements 2 · (i % 4) and the next one
    turned = held.transpose(0, 2, 1)
    stored, loaded, moved = (part.view(np.uint16).reshape(4, 8, 8) for part in out.reshape(3, 128))
    np.testing.assert_array_equal(stored, turned if transposed else held)
    np.testing.assert_array_equal(loaded, held)
    np.testing.assert_array_equal(moved, turned)


DOUBLES = """
extern "C" __global__ void k(int K, const double *A, double *C) {
    double c0 = 0, c1 = 0;
    for (int k = threadIdx.x % 4; k < K + threadIdx.x % 4; k += 4) {
        const double a = k < K ? A[threadIdx.x] : 0;
        if (k < K) asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, {%0, %1};"
            : "+d"(c0), "+d"(c1) : "d"(a));
    }
    C[2 * threadIdx.x] = c0;
    C[2 * threadIdx.x + 1] = c1;
}
"""


def test_lanes_that_stay_away_from_an_mma_are_named():
    kernel = gpusim.RawModule(code=DOUBLES).get_function("k")
    A, C = np.ones(32), np.zeros(64)
    kernel((1,), (32,), (np.int32(4), A, C))
    assert (C == 4).all()
    with pytest.raises(BarrierError, match=r"for lanes 2, 3, 6, .* of its warp, (.|\n)*is the whole warp's"):
        kernel((1,), (32,), (np.int32(2), A, C))
