"""The table of all kinds of products in notebooks/cublas.md: as the recording says."""

import pytest

from helpers.tools.pages import products


def row(shape, ours, rival, **others):
    return {
        "member": "single", "kind": "f32 NN", "shape": shape, "work": 2e9, "bytes": 4e6, "launches": {"gemm": "…"},
        "ms": {"gemm": ours, "cublas": rival},
    } | others  # fmt: skip


def test_the_page_on_cublas_has_what_the_recording_says():
    assert products.main([]) == 0, "run `make picture`"


def test_line_has_the_mean_the_lowest_and_the_share_of_the_roof():
    recording = {
        "provenance": {"gpu": "NVIDIA H200"},
        "rows": [row((1, 2, 3), 0.1, 0.4), row((4, 5, 6), 0.2, 0.2), row((7, 8, 9), 1.0, 2.0, kind="f64 NN")],
    }
    single, double = products.table(recording).splitlines()[2:]
    assert single.split(" | ")[3:7] == ["2", "2.00", "1.00 at 4 × 5 × 6", "20.0"]
    assert single.endswith(" 30% |")  # 2 GFLOP at 66.9 TFLOPS are 0.03 ms of 0.1
    assert "| f64 NN | cublas | 1 | 2.00 |" in double


def test_line_is_beside_the_faster_rival_and_no_control():
    both = row((1, 2, 3), 0.2, 0.4, controls=["half"]) | {"ms": {"gemm": 0.2, "cublas": 0.4, "Lt": 0.3, "half": 0.1}}
    recording = {"provenance": {"gpu": "NVIDIA H200"}, "rows": [both, row((4, 5, 6), 0.2, 0.2)]}
    (line,) = products.table(recording).splitlines()[2:]
    assert line.split(" | ")[2] == "cublas or Lt"
    assert line.split(" | ")[4:6] == ["1.22", "1.00 at 4 × 5 × 6"]  # the root of 1.5


def test_a_row_without_a_rival_is_answered_with_a_sentence():
    recording = {"provenance": {"gpu": "NVIDIA H200"}, "rows": [row((1, 2, 3), 1, 1) | {"ms": {"gemm": 1.0}}]}
    with pytest.raises(ValueError, match="single f32 NN was recorded without a rival"):
        products.table(recording)
