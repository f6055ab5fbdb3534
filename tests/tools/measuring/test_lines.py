"""Samples by source line, and the predicted shares of the lines."""

import json
from collections import Counter

import pytest

from gemm_kernels import get
from helpers import cycles, recordings, run
from helpers.tools.measuring import lines


def waits(samples):
    """By line, without the cycles that something is issued in: of those the sampler sees one warp of all that there
    are, of idle ones any.  Nor Dispatch Stall, which `ncu` counts but hardly ever samples."""
    return {line: sum(of.values()) - sum(of.get(name, 0) for name in NO_WAIT) for line, of in samples.items()}


NO_WAIT = (lines.ISSUED, "selected", "dispatch_stall")


@pytest.mark.table(keep=1)
@pytest.mark.parametrize("kernel", ["shared_memory", "block_tile_2d", "double_buffered"])
def test_hottest_line_is_predicted_with_its_share_of_waits(kernel):
    recorded = lines.by_line(kernel)
    predicted = cycles.predict(get(kernel).launch(*(lines.SIZE,) * 3)).by_line()
    hottest = max(recorded, key=lambda line: sum(recorded[line].values()))
    assert max(predicted, key=lambda line: sum(predicted[line].values())) == hottest
    theirs, ours = (waits(samples) for samples in (recorded, predicted))
    assert ours[hottest] / sum(ours.values()) == pytest.approx(theirs[hottest] / sum(theirs.values()), abs=0.11)


def test_a_report_of_other_machine_code_is_left_out():
    assert lines.kept(line for _ in range(22) for line in ('"Kernel Name","sgemm"', '"Address","Source"')) == []


def test_samples_of_one_kernel_are_kept_line_by_line(tmp_path):
    """The page of a kernel of which each instruction was sampled once, while it waited for a barrier."""
    kernel, file = get("naive"), tmp_path / "nvidia-h200" / "lines.json"
    program = run.simulated(kernel.source, kernel.entry).prepared("sass").program
    columns = ["stall_selected", *(f"stall_{column} (Not Issued)" for column in lines.COLUMNS.values())]
    counts = ["1" if "barrier" in column else "0" for column in columns]
    page = [["Kernel Name", "sgemm_naive"], ["Address", "Source", *columns]]
    page += [["0", instruction.opcode, *counts] for instruction in program.instructions]
    report = {"gpu": "NVIDIA H200", "provenance": {"date": "today"}, "kernels": ["naive"]}
    report |= {"page": "\n".join(",".join(f'"{field}"' for field in fields) for fields in page)}
    (tmp_path / "report.json").write_text(json.dumps(report), encoding="utf-8")
    rows = [{"kernel": "naive", "samples": {}}, {"kernel": "coalesced", "samples": {"1": {"wait": 2}}}]
    recordings.write(file, {"gpu": "NVIDIA H200", "provenance": {}, "size": 2048, "rows": rows})
    lines.keep(tmp_path / "report.json", tmp_path)
    naive, coalesced = recordings.read(file)["rows"]
    by_line = Counter(str(instruction.line) for instruction in program.instructions)
    assert coalesced == rows[1] and naive["samples"] == {line: {"barrier": count} for line, count in by_line.items()}


def test_a_kernel_without_samples_gets_a_sentence():
    with pytest.raises(recordings.NoRecording, match="shared_memory"):
        lines.by_line("persistent")
