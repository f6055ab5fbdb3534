"""The questions of notebook 01 beyond what every exercise promises: answers are counted, rounding is allowed."""

import pytest

from gpusim.devices import DEFAULT
from helpers.exercises import n01
from helpers.exercises.framework.functions import answers_of

NOT_THE_OPERATIONS = "On a GPU whose bandwidth has no limit, your function's time is not that of the operations."


def test_predictions_are_answered_by_counting():
    flops, lines = n01.predict_flops(), n01.predict_lines()
    assert flops.answer == "33\u202f554\u202f432" and len(flops.reasons) == 4
    assert lines.answer == 16 and list(lines.reasons) == [1, 4, 16, 1024]


@pytest.mark.parametrize("outer", [("row", "k"), ("k", "row")])
def test_any_order_with_col_innermost_is_right(outer):
    assert n01.ORDER_OF_LOOPS.check((*outer, "col")).passed is True


def test_mistakes_are_distinguished_by_their_results():
    results = {answers_of(wrong, n01.FUNCTION_CASES) for wrong, _ in n01.MISTAKES}
    assert len(results) == len(n01.MISTAKES) >= 6


def test_wrong_least_time_is_named_with_shape_and_both_numbers():
    wrong = n01.LEAST_TIME.solved.replace("floats", ("4 * (", "("))
    sentence = n01.LEAST_TIME.check(wrong).sentence
    assert sentence.startswith("M, N, K = 4096, 1, 4096 on the H200: the least time is 0.0139")
    assert sentence.endswith("returns 0.00349696.\nWhy: That is the number of floats. Each has 4 bytes.")
    assert "The operations take 0.0005015 ms, the bytes 0.01399 ms." in n01.LEAST_TIME.check(lambda *_: 1.0).sentence


def test_the_ridge_is_crossed_between_83_and_84():
    assert 83 / 6 < n01.RIDGE <= 84 / 6 and n01.SMALLEST == 84
    for ridge in (13.9, 13.94, 14):
        assert "the intensity at which the roof bends" in n01.SMALLEST_SQUARE.check(ridge).sentence


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("peak_fp32_gflops / 1e6", "peak_fp32_gflops")], ["The time of the operations: that is 10⁶ times too large"]),
        ([("per_s / 1e6", "per_s")], ["The time of the bytes: that is 10⁶ times too large"]),
        ([("per_s / 1e6", "per_s / 1e9")], ["The time of the bytes: that is in seconds"]),
        ([("4 * (M * K", "(4 * M * K")], ["The 4 multiplies the floats of A alone"]),
        ([("2 * M * N", "2 * M")], ["The operations lack the factor N"]),
        (
            [("4 * (", "("), ("gflops / 1e6", "gflops / 1e9")],
            ["The time of the operations: that is in seconds", n01.FLOATS],
        ),
        ([("N * K /", "N * (K + 1) /")], [NOT_THE_OPERATIONS]),
        ([("gflops / 1e6", "gflops * 1e3")], [NOT_THE_OPERATIONS]),
        ([("memory)", "memory, 4 * K / gpu.clock_mhz / 1e3)")], [NOT_THE_OPERATIONS]),
        ([("2 * M", "3 * M"), ("gpu.memory_gb_per_s", repr(DEFAULT.memory_gb_per_s))], []),
        ([("4 * (", "32 * (")], ["a float has 4. 32 are its bits."]),
        ([("2 * M * N * K", "M * N * (2 * K - 1)")], ["The first product is added, too"]),
        ([("gflops / 1e6", "gflops / 10 ^ 6"), ("per_s / 1e6", "per_s / 10 ^ 6")], ["^ is no power in Python"]),
        (
            [("return max(arithmetic, memory)", "return round(max(arithmetic, memory), 2)")],
            ["the right ones rounded to 2 digits behind the point"],
        ),
        ([("/ gpu.mem", "* gpu.mem")], ["With a bandwidth without end your time has no end"]),
        ([("gpu.peak_fp32_gflops", "66900"), ("gpu.memory_gb_per_s", "4800")], [n01.ONE_GPU]),
        ([("gpu.peak_fp32_gflops", repr(DEFAULT.peak_fp32_gflops))], ["With a peak without end the time is the same"]),
        (
            [("gpu.memory_gb_per_s", repr(DEFAULT.memory_gb_per_s))],
            ["With a bandwidth without end the time is the same"],
        ),
        ([(" / gpu.peak_fp32_gflops", ""), (" / gpu.memory_gb_per_s", "")], ["The time is the same for every GPU"]),
        (
            [("M * K + K * N + M * N", "K * N + 2 * M * N")],
            ["That is 4 · (2 · M · N + K · N) bytes: A has M · K floats"],
        ),
        ([("/ gpu.peak_fp32_gflops", "* gpu.memory_gb_per_s")], ["With a bandwidth without end your time has no end"]),
        ([("max(arithmetic, memory)", "(arithmetic + memory) / 2")], []),
    ],
)
def test_what_is_wrong_with_each_time_is_named(changes, said):
    sentence = n01.LEAST_TIME.check(n01.WRITTEN.replace("wrong", *changes)).sentence
    assert sentence.count("Why: ") == len(said) and all(words in sentence for words in said), sentence


def test_a_body_without_return_is_no_empty_one():
    def least_ms(gpu, M, N, K):
        max(2 * M * N * K / gpu.peak_fp32_gflops / 1e6, 0)

    verdict = n01.LEAST_TIME.check(least_ms)
    assert verdict.passed is False and "end it with return and the answer" in verdict.sentence
