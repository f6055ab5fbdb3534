"""Samples by source line, and the predicted shares of the lines."""

import pytest

from gemm_kernels import get
from helpers import cycles
from helpers.measure import lines, recordings


@pytest.mark.parametrize("kernel", ["shared_memory", "block_tile_2d", "double_buffered"])
def test_the_hottest_line_of_a_kernel_is_the_predicted_one_with_a_share_like_the_recorded(kernel):
    recorded = lines.by_line(kernel)
    whole = sum(sum(samples.values()) for samples in recorded.values())
    hottest = max(recorded, key=lambda line: sum(recorded[line].values()))
    predicted = cycles.predict(get(kernel).launch(*(lines.SIZE,) * 3)).by_line()
    assert max(predicted, key=lambda line: sum(predicted[line].values())) == hottest
    share = sum(recorded[hottest].values()) / whole
    assert sum(predicted[hottest].values()) == pytest.approx(share, abs=0.2)  # samples count hidden waits, too


def test_a_report_of_other_machine_code_is_left_out():
    assert lines.kept(line for _ in range(22) for line in ('"Kernel Name","sgemm"', '"Address","Source"')) == []


def test_a_kernel_without_samples_gets_a_sentence():
    with pytest.raises(recordings.NoRecording, match="shared_memory"):
        lines.by_line("persistent")
