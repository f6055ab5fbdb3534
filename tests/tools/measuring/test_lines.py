"""Samples by source line, and the predicted shares of the lines."""

import pytest

from gemm_kernels import get
from helpers import cycles, recordings
from helpers.tools.measuring import lines


def waits(samples):
    """By line, without the cycles that something is issued in: of those the sampler sees one warp of all that there
    are, of idle ones any.  Nor Dispatch Stall, which `ncu` counts but hardly ever samples."""
    return {line: sum(of.values()) - sum(of.get(name, 0) for name in NO_WAIT) for line, of in samples.items()}


NO_WAIT = (lines.ISSUED, "selected", "dispatch_stall")


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("kernel", ["shared_memory", "block_tile_2d", "double_buffered"])
def test_the_hottest_line_of_a_kernel_is_the_predicted_one_with_as_large_a_share_of_the_waits(kernel):
    recorded = lines.by_line(kernel)
    predicted = cycles.predict(get(kernel).launch(*(lines.SIZE,) * 3)).by_line()
    hottest = max(recorded, key=lambda line: sum(recorded[line].values()))
    assert max(predicted, key=lambda line: sum(predicted[line].values())) == hottest
    theirs, ours = (waits(samples) for samples in (recorded, predicted))
    assert ours[hottest] / sum(ours.values()) == pytest.approx(theirs[hottest] / sum(theirs.values()), abs=0.11)


def test_a_report_of_other_machine_code_is_left_out():
    assert lines.kept(line for _ in range(22) for line in ('"Kernel Name","sgemm"', '"Address","Source"')) == []


def test_a_kernel_without_samples_gets_a_sentence():
    with pytest.raises(recordings.NoRecording, match="shared_memory"):
        lines.by_line("persistent")
