"""cuBLAS at every precision as recorded: all formats and sizes, with errors that their digits explain."""

import numpy as np
import pytest

from gpusim import devices
from helpers import peaks, recordings
from helpers.measure.bench import NoGpu
from helpers.tools.measuring import formats

GPUS = recordings.gpus(suites=(recordings.FORMATS,))


def test_the_h200_is_among_the_recorded():
    assert "NVIDIA H200" in GPUS


@pytest.mark.parametrize("gpu", GPUS)
def test_every_format_was_recorded_at_every_size(gpu):
    rows = recordings.raw(gpu, recordings.FORMATS)["rows"]
    assert {(row["format"], row["size"]) for row in rows} == {
        (name, size) for name in formats.FORMATS for size in formats.SIZES
    }
    assert formats.FORMATS == peaks.FORMATS


@pytest.mark.parametrize("gpu", GPUS)
def test_every_result_that_was_compared_was_right(gpu):
    """Errors against float64 of the very numbers that were multiplied; Hopper adds FP8 products with few bits."""
    most = {"FP64": 1e-15, "FP32": 3e-6, "TF32": 5e-4, "FP16": 1e-5, "BF16": 1e-5, "INT8": 0.0, "FP8": 3e-4}
    for row in recordings.raw(gpu, recordings.FORMATS)["rows"]:
        assert (row["error"] is None) == (row["size"] > formats.VERIFIED_UP_TO)
        assert row["error"] is None or row["error"] <= most[row["format"]]


@pytest.mark.parametrize("gpu", GPUS)
def test_no_speed_is_above_its_roof(gpu):
    roofs = peaks.of(devices.get(gpu)).tflops
    assert all(row["tflops"] < roofs[row["format"]] for row in recordings.raw(gpu, recordings.FORMATS)["rows"])


def test_the_bytes_of_e4m3_are_in_the_order_of_their_values():
    positive = formats._table()[:127]
    assert np.all(np.diff(positive) > 0) and positive[0] == 0 and positive[-1] == 448
    assert np.isnan(formats._table()[127]) and np.array_equal(formats._table()[128:255], -positive)


def test_a_row_has_the_median_turn_between_its_quartiles():
    times = np.array([[5.0, 50.0], [1.0, 10.0], [2.0, 20.0], [4.0, 40.0], [3.0, 30.0]])
    first, second = formats.rows("format", {"FP32": 1e-6, "FP8": None}, times, 1000)
    assert first == {"format": "FP32", "size": 1000, "tflops": 0.67, "ms": [3, 2, 4], "repeats": 5, "error": 1e-6}
    assert second["ms"] == [30, 20, 40] and second["error"] is None


def test_without_a_gpu_it_is_not_measured(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMM_COURSE_BACKEND", "simulator")
    with pytest.raises(NoGpu, match="The suite formats is measured on a GPU"):
        formats.record(tmp_path)
