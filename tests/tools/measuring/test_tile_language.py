"""A Triton kernel beside ours and cuBLAS, and emulated FP32, as recorded: what notebook 15 says of them."""

import pytest

from helpers import recordings
from helpers.measure.bench import NoGpu
from helpers.tools.measuring import tile_language

DOCUMENT = recordings.raw("NVIDIA H200", recordings.TILE_LANGUAGE)
PROGRAMS = ("Triton", tile_language.OURS, "cuBLAS")


def test_every_product_was_right_before_it_was_timed():
    assert [(row["who"], row["size"]) for row in DOCUMENT["rows"]] == [
        (program, size) for size in tile_language.SIZES for program in PROGRAMS
    ]
    assert all(row["error"] < 1e-5 and row["repeats"] > 50 for row in DOCUMENT["rows"])


def test_recorded_triton_kernel_is_the_one_of_the_source():
    kernel = DOCUMENT["kernel"]
    assert kernel["tile"] == [tile_language.BM, tile_language.BN, tile_language.BK]
    assert kernel["lines"] == len(tile_language._body()) == 12, "notebook 15 says 12 lines"


def test_triton_multiplies_by_warp_groups_and_passes_ours():
    assert set(DOCUMENT["kernel"]["instructions"]) == {"HGMMA"}
    for size in tile_language.SIZES:
        triton, ours, cublas = (
            next(row["tflops"] for row in DOCUMENT["rows"] if (row["who"], row["size"]) == (program, size))
            for program in PROGRAMS
        )
        assert ours < triton < cublas


def test_h200_answers_emulated_fp32_with_plain_fp32():
    emulated = DOCUMENT["emulated"]
    assert emulated["same_bits"] and emulated["compute"] == tile_language.COMPUTE_EMULATED
    plain, asked_for = emulated["rows"]
    assert asked_for["error"] == plain["error"] and 0.98 < asked_for["tflops"] / plain["tflops"] < 1.02


def test_without_a_gpu_it_is_not_measured(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMM_COURSE_BACKEND", "simulator")
    with pytest.raises(NoGpu, match="The suite tile_language is measured on a GPU"):
        tile_language.record(tmp_path)
