"""Notebook 15: what its prose says of formats, sums, counters and recorded speeds."""

import numpy as np
import pytest

from gemm_kernels import tensor
from helpers.analysis import precisions
from helpers.exercises import n15


@pytest.mark.parametrize(("name", "kept"), [("FP32", 23), ("TF32", 10), ("FP16", 10), ("BF16", 7), ("E4M3", 3)])
def test_a_format_keeps_as_many_bits_of_the_fraction_as_the_prose_says(name, kept):
    found = {one: (bits, value) for one, bits, value in precisions.formats_of(1 / 3)}
    bits, value = found[name]
    assert len(bits.split()[2]) == kept
    assert 0 < abs(value * 3 - 1) < 2.0 ** -(kept + 1) * 1.01


def test_the_map_of_the_solution_is_the_one_of_the_instruction_and_every_mistake_shows():
    whole = np.arange(128).reshape(16, 8)
    assert np.array_equal(precisions.product_with_identity(n15.WRITTEN), whole)
    assert not any(np.array_equal(precisions.product_with_identity(wrong), whole) for wrong, _ in n15.MISTAKES)


def test_the_three_sums_come_out_as_the_prose_says():
    assert precisions.sums_of_four(2.0**24, 0.5) == (2.0, 0.0, 2.0)
    assert precisions.sums_of_four(2.0**24, 1.75) == (7.0, 8.0, 6.0)


def test_the_last_kernel_is_at_about_half_of_cublas_and_ldmatrix_without_the_swizzle_is_slower():
    rows = precisions.recorded().ladder(tensor.TENSOR, (4096, 8192))
    shares = [int(row[column].rstrip("%")) for row in rows[-1:] for column in (3, 5)]
    assert all(45 < share < 60 for share in shares)
    speed = {row[0]: float(row[2]) for row in rows}
    assert speed["ldmatrix"] < speed["mma_tiled"] < speed["ldmatrix_swizzled"]


def test_the_error_of_3xtf32_is_below_that_of_float32_and_that_of_short_formats_is_flat():
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in precisions.recorded().errors(2048)}
    assert all(three < single for three, single in zip(rows["3xTF32"], rows["FP32, cuBLAS"], strict=True))
    for name in ("BF16", "FP16", "TF32, cuBLAS"):
        assert max(rows[name]) < 1.05 * min(rows[name])


def test_the_prediction_is_what_the_rule_of_wavefronts_gives():
    assert n15.ONE_MATRIX.wavefronts == 4
