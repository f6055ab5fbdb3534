"""The upper rungs one after another: their sizes, their speeds, and where they were recorded."""

import pytest

from gemm_kernels import LADDER, UPPER
from gemm_kernels.kernel import CUDA_FOLDER
from helpers import recordings
from helpers.pictures.ladder import steps
from helpers.pictures.ladder.explorer import kinds
from helpers.pictures.ladder.facts import UPPER_RUNGS, ladder_of

GPU = "NVIDIA H200"


def test_the_table_has_a_line_for_each_rung_between_two_others():
    rows = steps.table().rows
    assert [row[0] for row in rows] == ["stream_k", *(kernel.name for kernel in UPPER), "cuBLAS"]
    tall = next(row for row in rows if row[0] == "tall_patches")
    rows = (row for row in recordings.load(GPU, "shapes") if row.kernel == "tall_patches")
    row = next(row for row in rows if row.M == row.N == row.K == 8192)
    assert tall[-2] == f"{row.gflops / 1e3:.1f}"


def test_the_ladder_ends_at_58_tflops_from_4096_on():
    last = {point.shape[0]: point.gflops for point in ladder_of(GPU, UPPER_RUNGS).lines["persistent"]}
    assert last[4096] > 58e3 and last[8192] > 59e3


def test_each_rung_but_the_last_is_a_small_change():
    marks = [[line.mark for line in steps.diff_of(kernel).lines] for kernel in UPPER[:-1]]
    assert max(mark.count("+") for mark in marks) < 80


def test_no_file_of_the_ladder_is_longer_than_400_lines():
    lengths = {file.name: len(file.read_text(encoding="utf-8").splitlines()) for file in CUDA_FOLDER.glob("*.cu*")}
    assert {f"{kernel.file}.cu" for kernel in LADDER + UPPER} <= {*lengths} and max(lengths.values()) <= 400


def test_a_gpu_without_the_upper_rungs_has_no_button_for_them(monkeypatch):
    labels = [label for label, _ in kinds(GPU)]
    assert labels[-1] == "square, upper rungs"
    assert "square, upper rungs" not in [label for label, _ in kinds("NVIDIA H100 80GB HBM3")]
    monkeypatch.setattr(steps, "has_upper_rungs", lambda gpu: False)
    with pytest.raises(recordings.NoRecording, match="upper rungs of the ladder were not recorded"):
        steps.table()
