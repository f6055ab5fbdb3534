"""The shared inputs and the reference that results are held against."""

import hashlib

import numpy as np
import pytest

from helpers.measure import ALPHA, BETA, Reference, WrongResult, problem, tolerance, verify


@pytest.fixture(scope="module")
def small():
    A, B, C = problem(100, 90, 77, 1)
    exact = ALPHA * (A.astype(np.float64) @ B.astype(np.float64)) + BETA * C
    return A, B, C, exact.astype(np.float32)


def test_the_inputs_are_the_same_bytes_on_every_machine():
    digest = hashlib.sha256(b"".join(matrix.tobytes() for matrix in problem(33, 65, 129, seed=20))).hexdigest()
    assert digest == "3dba441d3ea3eaee406934d5d1096ac5ad815b3692837b2ffb555d85748f3f0f"


def test_the_inputs_fill_minus_one_to_one_without_a_repeated_row():
    for matrix, shape in zip(problem(100, 90, 77), ((100, 77), (77, 90), (100, 90)), strict=True):
        assert matrix.shape == shape and matrix.dtype == np.float32 and matrix.flags.c_contiguous
        assert -1 <= matrix.min() < -0.99 and 0.99 < matrix.max() < 1
        assert len(np.unique(matrix, axis=0)) == shape[0]


def test_a_size_of_zero_is_refused():
    with pytest.raises(ValueError, match="K is 0, expected at least 1"):
        problem(4, 4, 0)


def test_the_exact_result_passes_with_an_error_of_rounding_size(small):
    A, B, C, result = small
    assert 0 < verify(result, A, B, C, ALPHA, BETA) < 1e-6


def test_float32_sums_in_order_stay_a_third_under_the_tolerance():
    A, B, C = problem(64, 64, 1024, 5)
    total = np.zeros((64, 64), np.float32)
    for k in range(1024):
        total += A[:, k : k + 1] * B[k]
    error = verify(total, A, B)
    assert tolerance(1024) / 100 < error < tolerance(1024) / 3


@pytest.mark.parametrize("mantissa_bits", [10, 7], ids=["tf32", "bf16"])
def test_inputs_rounded_to_a_short_format_are_found_out(mantissa_bits):
    A, B, _ = problem(64, 64, 1024, 5)
    mask = np.uint32(0xFFFFFFFF << (23 - mantissa_bits) & 0xFFFFFFFF)
    short_A, short_B = ((matrix.view(np.uint32) & mask).view(np.float32) for matrix in (A, B))
    with pytest.raises(WrongResult):
        verify(short_A @ short_B, A, B)


def test_one_forgotten_product_is_found_out():
    A, B, _ = problem(16, 16, 4096, 5)
    without = A.copy()
    row, k = 3, np.abs(A[3]).argmax()
    without[row, k] = 0
    with pytest.raises(WrongResult, match=rf"C\[{row}, \d+\] is "):
        verify((without.astype(np.float64) @ B).astype(np.float32), A, B)


def test_a_nan_is_named_with_its_place(small):
    A, B, C, result = small
    unwritten = result.copy()
    unwritten[5, 6] = unwritten[7, 8] = np.nan
    with pytest.raises(WrongResult, match=r"C\[5, 6\] is NaN, as are 2 of 9000 elements: no thread wrote them"):
        verify(unwritten, A, B, C, ALPHA, BETA)
    assert np.isnan(Reference.of(A, B).error(unwritten, ALPHA, BETA, C))


def test_a_wrong_element_is_named_with_what_was_expected(small):
    A, B, C, result = small
    wrong = result.copy()
    wrong[5, 6] += 0.25
    with pytest.raises(WrongResult) as error:
        verify(wrong, A, B, C, ALPHA, BETA)
    assert str(error.value).startswith(f"C[5, 6] is {wrong[5, 6]:.7g}, expected {result[5, 6]:.5g}")
    assert "1 of 9000 elements are off" in str(error.value)


def test_forgetting_beta_and_forgetting_alpha_are_found_out(small):
    A, B, C, _ = small
    product = A.astype(np.float64) @ B
    for slip in (ALPHA * product, product + BETA * C, ALPHA * (product + BETA * C)):
        with pytest.raises(WrongResult):
            verify(slip.astype(np.float32), A, B, C, ALPHA, BETA)


def test_with_beta_zero_the_old_c_is_not_looked_at(small):
    A, B, C, _ = small
    result = (A.astype(np.float64) @ B).astype(np.float32)
    assert verify(result, A, B, np.full_like(C, np.nan)) < 1e-6


def test_a_transposed_result_is_refused_by_its_shape(small):
    A, B, C, result = small
    with pytest.raises(WrongResult, match=r"C has shape \(90, 100\), expected \(M, N\) = \(100, 90\)"):
        verify(result.T, A, B, C, ALPHA, BETA)


def test_elements_that_cancel_to_almost_nothing_are_no_errors():
    A = np.array([[1.0, -1.0]], np.float32)
    B = np.array([[1.0], [np.float32(1 - 2**-24)]], np.float32)
    result = np.array([[2**-24 * 1.01]], np.float32)  # the exact difference is 2⁻²⁴
    assert verify(result, A, B) < tolerance(2)
