"""Rows of numbers of 16 and 8 bits, and of tensor cores."""

import math

import numpy as np

from tests.gpusim import exact
from tests.gpusim.foreign.rows import held, right

I32, F16, F32, F64 = np.int32, np.float16, np.float32, np.float64

PRODUCTS = "test_tensor_core.py::test_every_tensor_core_product_has_the_bits_of_an_h200"
PTX_PRODUCTS = "test_tensor_core.py::test_ptx_multiplies_matrices_as_the_machine_code_does"
TILES = "test_tensor_core.py::test_ptx_wmma_gives_the_tiles_of_the_machine_code"
held(
    "mma_e4m3 mma_m16n8k16_f16_f32 mma_m16n8k16_f16_f16 mma_m16n8k8_f16 mma_m16n8k16_bf16 mma_m16n8k8_tf32 "
    "mma_m16n8k4_tf32 mma_m16n8k32_s8 mma_m16n8k64_s4 mma_m16n8k256_b1 mma_m8n8k4_f64 mma_m8n8k16_s8 mma_m16n8k8_f64",
    PRODUCTS, PTX_PRODUCTS,
)  # fmt: skip
held(
    "wmma_f16 wmma_bf16_tf32_s8", "test_tensor_golden.py::test_counters_and_results_of_tensor_cores_are_the_gpus", TILES
)
held(
    "ldmatrix_stmatrix stmatrix movmatrix",
    "test_tensor_core.py::test_matrices_are_stored_loaded_and_transposed_as_ptx_says",
)


def brain(values):
    """Numbers rounded to bfloat16, as their bits."""
    bits = np.asarray(values, F32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def wide(bits):
    """Numbers of bfloat16 from their bits."""
    return (np.asarray(bits).astype(np.uint32) << 16).view(F32).astype(F64)


def once(values, dtype=F16):
    """Exact results rounded to halves."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(dtype)


def fused(x, y, z, format_="f16"):
    """x * y + z rounded once."""
    return np.array([exact.fma(float(a), float(b), float(c), format_) for a, b, c in zip(x, y, z, strict=True)])


@right("half_scalar", "half_min_negated_minimal", "half_relu_max_const", "hmnmx2_neg")
def _(run, rng):
    n = 64
    a, b = (rng.normal(0, 4, (2, n))).astype(F16)
    out = np.zeros((21, n), F16)
    run("half_scalars", 2, 32, a, b, out, I32(n))
    x, y = a.astype(F64), b.astype(F64)
    exactly = {
        0: x + y, 1: x - y, 2: x * y, 3: fused(x, y, x), 4: -x, 5: abs(x), 6: np.minimum(x, y), 7: np.maximum(x, y),
        8: np.where(x < y, x, 7), 9: x * 3, 10: x + once(y * x).astype(F64), 15: np.floor(x), 16: np.rint(x),
        17: np.trunc(x),
        18: np.maximum(x, 0), 19: np.minimum(-x, y), 20: np.maximum(abs(x), -y),
    }  # fmt: skip
    for row, values in exactly.items():
        assert out[row].tolist() == once(values).tolist(), row
    with np.errstate(over="ignore"):
        for row, values in {11: x / y, 12: np.sqrt(abs(x)), 13: np.exp(x), 14: np.log(abs(x))}.items():
            near = once(values)
            limit = np.spacing(np.abs(near)).astype(F64) * (1.01 if row in (13, 14) else 0.51)
            finite = np.isfinite(near)
            assert (np.abs(out[row].astype(F64) - values)[finite] <= np.maximum(limit, 2.0**-24)[finite]).all(), row


@right("half2_ops", "half2_compare")
def _(run, rng):
    n = 48
    a, b = rng.normal(0, 3, (2, n, 2)).astype(F16)
    a[3] = b[3]
    out = np.zeros((15, n, 2), F16)
    run("half_pairs", 2, 32, a, b, out, I32(n))
    x, y = a.astype(F64), b.astype(F64)
    sums = fused(x.ravel(), y.ravel(), y.ravel()).reshape(n, 2)
    wanted = {
        0: x + y, 1: sums, 2: x[:, :1] * y[:, 1:] + 0 * x, 3: x[:, ::-1], 4: np.minimum(-x, y),
        5: np.maximum(abs(x), y),
        6: x > y, 7: x == x, 8: x <= y, 9: np.stack([y[:, 0], x[:, 1]], axis=1),
        10: np.stack([x[:, 0] * 2, x[:, 1] - 1], axis=1), 11: np.maximum(x, 0), 14: np.maximum(sums, 0),
    }  # fmt: skip
    for row, values in wanted.items():
        assert out[row].tolist() == once(values).tolist(), row
    for row, values in {12: np.exp(x), 13: x / y}.items():
        near = once(values)
        assert (np.abs(out[row].astype(F64) - values) <= 1.01 * np.spacing(np.abs(near)).astype(F64)).all(), row


@right("bf16_ops", "bf162_ops")
def _(run, rng):
    n = 64
    a, b = brain(rng.normal(0, 4, n)), brain(rng.normal(0, 4, n))
    out = np.zeros((10, n), np.uint16)
    run("bfloat_scalars", 2, 32, a, b, out, I32(n))
    x, y = wide(a), wide(b)
    wanted = [x + y, x * y, fused(x, y, x, "bf16"), np.minimum(x, y), np.maximum(-x, y), np.where(x < y, x, y), None,
              x - y, np.maximum(x, 0), abs(x)]  # fmt: skip
    for row, values in enumerate(wanted):
        if values is not None:
            rounded = [exact.rounded(exact.Fraction(v), "bf16") if v else v for v in values]
            assert wide(out[row]).tolist() == rounded, row
    assert (np.abs(wide(out[6]) - x / 3) <= np.abs(x / 3) * 2.0**-8 * 1.01).all()
    pairs = np.zeros((6, n // 2, 2), np.uint16)
    run("bfloat_pairs", 1, 32, a.reshape(-1, 2), b.reshape(-1, 2), pairs, I32(n // 2))
    x, y = x.reshape(-1, 2), y.reshape(-1, 2)
    wanted = [x + y, fused(x.ravel(), y.ravel(), x.ravel(), "bf16").reshape(-1, 2), np.minimum(x, -y),
              np.maximum(abs(x), y), np.stack([x[:, 1], y[:, 0]], axis=1), (x > y).astype(F64)]  # fmt: skip
    for row, values in enumerate(wanted):
        rounded = [exact.rounded(exact.Fraction(v), "bf16") if v else v for v in values.ravel()]
        assert wide(pairs[row]).ravel().tolist() == rounded, row


@right("relu_nan_f16x2")
def _(run, rng):
    x, out = np.array([[np.nan, -1], [2, np.nan], [-0.0, np.inf], [-np.inf, 3]], F16), np.zeros((4, 2), F16)
    run("relu_of_nan", 1, 4, x, out)
    assert np.array_equal(out, F16([[np.nan, 0], [2, np.nan], [0, np.inf], [0, 3]]), equal_nan=True)


@right("half_vector_float4_load")
def _(run, rng):
    x = rng.normal(0, 9, (40, 8)).astype(F16)
    y = np.zeros_like(x)
    run("half_vectors", 2, 32, x.view(F32), y.view(F32), I32(40))
    assert y.tolist() == once(x.astype(F64) * 2 + 1).tolist()


@right("half_softmax_reduce")
def _(run, rng):
    x = rng.normal(0, 3, (3, 50)).astype(F16)
    y = np.zeros_like(x)
    run("half_softmax", 3, 32, x, y, I32(50))
    powers = np.exp(x.astype(F64))
    wanted = powers / powers.sum(axis=1, keepdims=True)
    assert (
        np.abs(y - wanted) <= np.maximum(0.51 * np.spacing(once(wanted)).astype(F64) + 1e-6 * wanted, 2.0**-25)
    ).all()


def small_floats(exponent_bits, fraction_bits, without_infinity):
    """All finite numbers of a format of 8 bits that are not negative, in the order of their bits."""
    bias, values = (1 << exponent_bits - 1) - 1, []
    for bits in range(128):
        exponent, fraction = bits >> fraction_bits, bits & (1 << fraction_bits) - 1
        if without_infinity and bits == 127 or not without_infinity and exponent == (1 << exponent_bits) - 1:
            break
        scale = 2.0 ** (max(exponent, 1) - bias - fraction_bits)
        values.append((fraction + ((1 << fraction_bits) if exponent else 0)) * scale)
    return values


@right("fp8_conversions")
def _(run, rng):
    n = 96
    x = (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)).astype(F32)
    x[:6] = 0, -0.0, 1e6, -1e6, 0.0009765625, 17
    a, b, back = np.zeros(n, np.uint8), np.zeros(n, np.uint8), np.zeros((3, n), F32)
    run("to_and_from_8_bits", 3, 32, x, a, b, back, I32(n))
    for bits, values, result in ((a, small_floats(4, 3, True), back[0]), (b, small_floats(5, 2, False), back[1])):
        for i, v in enumerate(x.astype(F64)):
            size = min(abs(v), values[-1])
            nearest = min(range(len(values)), key=lambda k: (abs(values[k] - size), k & 1))
            assert bits[i] == nearest | (math.copysign(1, v) < 0) << 7, (v, bits[i])
            assert result[i] == math.copysign(values[nearest], v)
    assert (back[2] == back[0])[np.abs(x) < 6e4].mean() > 0.95  # rounded twice by way of a half


@right("flash_attention_fp16_mma")
def _(run, rng):
    q, k, v = rng.normal(size=(3, 48, 16)).astype(F16)
    out = np.zeros((48, 16), F32)
    run("attention_of_halves", 3, 32, q, k, v, out, I32(48))
    scores = q.astype(F64) @ k.T.astype(F64) / 4
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert np.abs(out - powers / powers.sum(axis=1, keepdims=True) @ v.astype(F64)).max() < 3e-3  # p is kept in halves
