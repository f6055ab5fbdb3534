"""Every arithmetic PTX instruction that the simulator knows, at both levels, whatever its operands depend on.

What an instruction answers where all operands differ by thread stands in `test_instruction_goldens`. Here it stands in
a kernel four times: all operands differ by thread; the first alone does; none does; and one depends on the thread, one
on the block. That is how the simulator's registers come in their four shapes.
"""

import itertools
import re

import numpy as np
import pytest

import gpusim
from tests.gpusim import instruction_forms
from tests.gpusim.instruction_forms import LANES, THREADS, UNSIGNED, size
from tests.gpusim.instructions import computed
from tests.gpusim.ptx_cases import C_TYPES, CASES, Case, constraint
from tests.gpusim.test_instruction_goldens import REFUSED_AS_PTX

CASES_A_KERNEL = 30
SLOT_BYTES = 8 * LANES  # room for one operand or one result of all threads, whatever its type
FORMS = {form.name: form for form in instruction_forms.all_forms()}
# For each shape: which element of its operands' columns an instruction takes, of operand 0, 1, 2, …
SHAPES = (
    ["i"] * 4, ["i", *["uniform"] * 3], ["uniform"] * 4, ["threadIdx.x", "blockIdx.x", "i", "threadIdx.x"],
)  # fmt: skip


def columns_of(case: Case) -> list[np.ndarray]:
    """Operands of every kind; one that becomes a predicate is 0 or 1."""
    columns = instruction_forms.operands(FORMS[case.name])
    predicates = [int(number) - 1 for number in re.findall(r"setp\.ne\.u32 \w, %(\d), 0", case.asm)]
    return [column & 1 if number in predicates else column for number, column in enumerate(columns)]


def kernel_of(cases: list[Case]):
    """Operand k of all threads is in slot k of `data`, the results of the four shapes in slots of `out`."""
    body, slot = "", 0
    for number, case in enumerate(cases):
        out = C_TYPES[case.output]
        for shape, index in enumerate(SHAPES):
            given = ", ".join(
                f'"{constraint(type_)}"((({C_TYPES[type_]} *)(data + {(slot + k) * SLOT_BYTES}))[{index[k]}])'
                for k, type_ in enumerate(case.types)
            )
            body += (
                f'    {{ {out} value; asm volatile("{case.asm}" : "={constraint(case.output)}"(value) : {given});\n'
                f"      (({out} *)(out + {(4 * number + shape) * SLOT_BYTES}))[i] = value; }}\n"
            )
        slot += len(case.types)
    source = (
        'extern "C" __global__ void cases(const char *data, char *out, int uniform) {\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n{body}}}\n"
    )
    return gpusim.RawModule(code=source).get_function("cases")


def launched(kernel, level: str, cases: list[Case], columns: list[list[np.ndarray]], uniform: int) -> list[np.ndarray]:
    """By case and shape, the bits of the results."""
    data = b"".join(column.tobytes().ljust(SLOT_BYTES) for of_case in columns for column in of_case)
    out = np.zeros((len(cases), 4, SLOT_BYTES), np.uint8)
    with gpusim.record(level=level, checks="off"):
        kernel((LANES // THREADS,), (THREADS,), (np.frombuffer(data, np.int8), out, np.int32(uniform)))
    widths = [size(case.output) for case in cases]
    return [rows[:, : LANES * width].copy().view(UNSIGNED[width]) for rows, width in zip(out, widths, strict=True)]


@pytest.mark.parametrize("first", range(0, len(CASES), CASES_A_KERNEL))
def test_shape_of_its_operands_does_not_change_a_result(first, level):
    cases = [*CASES.values()][first : first + CASES_A_KERNEL]
    cases = [case for case in cases if level == "sass" or case.name not in REFUSED_AS_PTX]
    columns, kernel, lanes = [*map(columns_of, cases)], kernel_of(cases), np.arange(LANES)
    for uniform in np.random.default_rng(first).integers(0, LANES, 4).tolist():
        elements = {
            "i": lanes,
            "uniform": np.full(LANES, uniform),
            "threadIdx.x": lanes % THREADS,
            "blockIdx.x": lanes // THREADS,
        }
        results = launched(kernel, level, cases, columns, uniform)
        for shape in (1, 2, 3):
            arranged = [
                [column[elements[at]] for column, at in zip(of_case, SHAPES[shape], strict=False)]
                for of_case in columns
            ]
            expected = launched(kernel, level, cases, arranged, uniform)
            wrong = [
                case.name for case, got, by_thread in zip(cases, results, expected, strict=True)
                if not np.array_equal(got[shape], by_thread[0])
            ]  # fmt: skip
            assert wrong == [], f"operands by {SHAPES[shape]}"
        assert all((got[2] == got[2, 0]).all() for got in results)


@pytest.mark.parametrize("name", ["div.approx", "div.full", "div.approx.ftz", "div.full.ftz"])
def test_approximate_quotients_err_by_two_units_at_most(name):
    dividends, divisors = np.float32([1, -2, 1 / 3, 1e5, 0]), np.float32([1, 3, -7, 0.1, 1e30, 1e-30])
    a, b = np.float32([*itertools.product(dividends, divisors)]).T
    quotient, exact = computed(f"{name}.f32", np.float32, a, b), (a.astype(float) / b).astype(np.float32)
    assert np.abs(quotient.view(np.int32).astype(int) - exact.view(np.int32)).max() <= 2


@pytest.mark.parametrize(("name", "function"), [("ex2", np.exp2), ("tanh", np.tanh)])
def test_approximations_of_halves_are_the_nearest_halves(name, function):
    a = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    a = a[np.abs(a) < 200]
    with np.errstate(over="ignore"):
        expected = function(a.astype(float)).astype(np.float16)
    np.testing.assert_array_equal(computed(f"{name}.approx.f16", np.float16, a), expected)
    both = computed(f"{name}.approx.f16x2", np.uint32, np.stack([a, a[::-1]], axis=1).view(np.uint32))
    np.testing.assert_array_equal(both.view(np.float16).reshape(-1, 2), np.stack([expected, expected[::-1]], axis=1))


# ---- the carry, which additions and subtractions share

CARRIES = """extern "C" __global__ void kernel(const unsigned *x, const unsigned *y, int *z) {
    const unsigned t = threadIdx.x;
    unsigned low, high;
    asm("sub.cc.u32 %0, %2, %3; addc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(x[t]), "r"(y[t]));
    z[3 * t] = high;
    asm("add.cc.u32 %0, %2, %3; subc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(x[t]), "r"(y[t]));
    z[3 * t + 1] = high;
    asm("sub.cc.u32 %0, %2, %3; subc.u32 %1, 0, 0;" : "=r"(low), "=r"(high) : "r"(x[t]), "r"(y[t]));
    z[3 * t + 2] = high;
}"""


def test_a_subtraction_leaves_the_carry_of_its_adder(level):
    x, y = np.uint32([5, 7, 9, 0xFFFFFFFF]), np.uint32([5, 9, 7, 1])
    z = np.zeros((4, 3), np.int32)
    with gpusim.record(level=level):
        gpusim.RawModule(code=CARRIES).get_function("kernel")((1,), (4,), (x, y, z))
    # x - y carries where x >= y, which the adder of a difference takes for "no borrow"
    assert z.tolist() == [[1, -1, 0], [0, -1, -1], [1, -1, 0], [1, 0, 0]]


def test_numbers_of_128_bits_are_divided(level):
    source = """typedef unsigned __int128 u128;
    extern "C" __global__ void kernel(const unsigned long long *x, unsigned long long *y) {
        const unsigned t = threadIdx.x;
        const u128 a = static_cast<u128>(x[4 * t]) << 64 | x[4 * t + 1];
        const u128 b = static_cast<u128>(x[4 * t + 2]) << 64 | x[4 * t + 3];
        y[4 * t] = static_cast<unsigned long long>(a / b >> 64);
        y[4 * t + 1] = static_cast<unsigned long long>(a / b);
        y[4 * t + 2] = static_cast<unsigned long long>(a % b >> 64);
        y[4 * t + 3] = static_cast<unsigned long long>(a % b);
    }"""
    x = np.random.default_rng(1).integers(1, 2**64, (32, 4), dtype=np.uint64)
    x[::2, 2] = 0
    x[1::4, 2] >>= np.uint64(50)
    x[3, :] = 0, 5, 0, 7
    y = np.zeros_like(x)
    with gpusim.record(level=level):
        kernel = gpusim.RawModule(code=source, options=("--device-int128",)).get_function("kernel")
        kernel((1,), (32,), (x, y))
    for row, result in zip(x.tolist(), y.tolist(), strict=True):
        quotient, rest = divmod(row[0] << 64 | row[1], row[2] << 64 | row[3])
        assert result == [quotient >> 64, quotient % 2**64, rest >> 64, rest % 2**64]


def test_reciprocal_root_of_a_double_has_the_bits_of_sass():
    source = """extern "C" __global__ void k(double *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        asm("rsqrt.approx.f64 %0, %1;" : "=d"(x[i]) : "d"(x[i]));
    }"""
    rng = np.random.default_rng(15)
    x = rng.integers(0, 1 << 64, 4096, np.uint64).view(np.float64)
    x[1024:3072] = np.abs(x[1024:3072])
    x[:512] = rng.integers(0, 1 << 53, 512, np.uint64).view(np.float64)  # subnormal, and the smallest normal numbers
    bits = (0x7FF0000000000001, 0xFFF8000000000123, 0x7FEFFFFFFFFFFFFF, 0x0010000000000000, 0x000FFFFFFFFFFFFF, 1)
    x[-14:] = [0.0, -0.0, np.inf, -np.inf, -1e-310, 1.0, 4.0, 0.5, *np.array(bits, np.uint64).view(np.float64)]
    kernel, results = gpusim.RawModule(code=source).get_function("k"), {}
    for level in ("ptx", "sass"):
        results[level] = x.copy()
        with gpusim.record(level=level):
            kernel((32,), (128,), (results[level],))
    np.testing.assert_array_equal(results["ptx"].view(np.uint64), results["sass"].view(np.uint64))
    positive = (x > 0) & np.isfinite(x)
    assert positive.sum() > 2000
    np.testing.assert_allclose(results["ptx"][positive], 1 / np.sqrt(x[positive]), rtol=2.0**-52)
