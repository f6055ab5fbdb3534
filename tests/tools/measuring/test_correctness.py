"""What was tried to find the kernels wrong on a GPU: that it covers each of them as it is now, and how it is tried."""

import math

import pytest

from gemm_kernels import LADDER, SPECIALISTS, by_shape, choices, get
from gpusim import devices
from helpers import gpu, recordings
from helpers.measure import NoGpu
from helpers.measure.provenance import code_sha256
from helpers.tools.measuring import correctness

GPU, H100 = devices.DEFAULT.name, "NVIDIA H100 80GB HBM3"
CONTENT = recordings.raw(GPU, "correctness")
ROWS = {row["kernel"]: row for row in CONTENT["rows"]}
LATER = {  # on other GPUs that run the same machine code, kernels that have changed or come since
    row["kernel"]: (recording["provenance"]["gpu"], row)
    for recording in recordings.of_architecture("correctness", devices.DEFAULT)
    if recording is not CONTENT and recording["tolerance_over_sqrt_k"] == CONTENT["tolerance_over_sqrt_k"]
    for row in recording["rows"]
}


@pytest.mark.parametrize("kernel", LADDER, ids=lambda kernel: kernel.name)
def test_shown_kernel_was_tried_at_every_shape_and_tool(kernel):
    row = ROWS.get(kernel.name, {"code_sha256": "none"})
    assert row["code_sha256"] == code_sha256(kernel), (
        "run `python -m helpers.tools.measuring record --suite correctness`"
    )
    assert row["params"] == dict(kernel.params)
    assert row["checks"] >= len(correctness.LISTED) + correctness.RANDOM_COUNT
    assert 0 < row["worst_error_over_sqrt_k"] <= CONTENT["tolerance_over_sqrt_k"] <= 1e-5
    assert row["findings"] == {"memcheck": 0, "racecheck": 0, "initcheck": 0, "synccheck": 0}


@pytest.mark.parametrize("kernel", SPECIALISTS, ids=lambda kernel: kernel.name)
def test_special_kernels_were_tried_at_size_and_on_two_streams(kernel):
    on, row = LATER.get(kernel.name, (GPU, ROWS.get(kernel.name, {"code_sha256": "none"})))
    assert row["code_sha256"] == code_sha256(kernel), (
        "run `python -m helpers.tools.measuring record --suite correctness`"
    )
    theirs = [shape for shape in correctness.LISTED if math.prod(shape) <= CONTENT["specialists_largest"]]
    streamed = len(correctness.STREAMED) * 2 * correctness.TOGETHER if kernel.workspace_bytes is not None else 0
    assert (1, 4096, 4096) in theirs and CONTENT["specialists_largest"] == correctness.SPECIALISTS_LARGEST
    assert row["parameter_sets"] == len(by_shape.variants(kernel, on))
    assert row["checks"] >= len(theirs) + correctness.RANDOM_COUNT * row["parameter_sets"]
    assert 0 < row["worst_error_over_sqrt_k"] <= CONTENT["tolerance_over_sqrt_k"]
    assert row["launches_on_two_streams"] == streamed  # only what leaves parts in a workspace
    assert row["findings"] == {"memcheck": 0, "racecheck": 0, "initcheck": 0, "synccheck": 0}


@pytest.mark.parametrize("name", sorted({candidate.kernel for candidate in choices.of(H100).candidates}))
def test_every_h100_parameter_set_of_fastest_was_tried_there(name):
    on, row = LATER[name]
    assert (on, row["code_sha256"]) == (H100, code_sha256(get(name))), "record --suite correctness"
    assert row["parameter_sets"] == len(by_shape.variants(get(name), H100))
    assert row["checks"] >= correctness.RANDOM_COUNT * row["parameter_sets"]
    assert row["findings"] == dict.fromkeys(correctness.TOOLS, 0)


def test_tried_shapes_are_the_suites_and_a_hundred_random_ones():
    assert [tuple(shape) for shape in CONTENT["shapes"]] == list(correctness.LISTED)
    assert CONTENT["random_shapes"] == {"seed": 11, "count": 100, "largest": 700}
    assert [tuple(shape) for shape in CONTENT["sanitizer_shapes"]] == [
        *correctness.SANITIZED,
        *correctness.SANITIZED_ALIGNED,
    ]
    assert "compute_sanitizer" in CONTENT["provenance"]


def test_the_random_shapes_are_always_the_same_and_of_every_kind():
    shapes = correctness.random_shapes()
    assert shapes == correctness.random_shapes() and len(set(shapes)) == 100
    assert all(1 <= size <= 700 for shape in shapes for size in shape)
    assert any(N % 4 == 0 for _, N, _ in shapes) and sum(N % 4 != 0 for _, N, _ in shapes) > 50


def test_autotuned_was_tried_with_every_chosen_parameters():
    assert ROWS["autotuned"]["parameter_sets"] == len(by_shape.variants(get("autotuned")))


def test_the_worst_error_is_kept_with_its_shape():
    row = correctness._Row(get("naive"), 1)
    row.add((5, 6, 100), 1e-5)
    row.add((7, 8, 4), 4e-6)
    row.add((9, 9, 9), 3e-6)
    content = row.content()
    assert (content["checks"], content["at"]) == (3, [7, 8, 4])
    assert content["worst_error_over_sqrt_k"] == pytest.approx(4e-6 / math.sqrt(4))


@pytest.mark.parametrize(
    ("said", "errors"),
    [
        ("========= ERROR SUMMARY: 0 errors", 0),
        ("========= ERROR SUMMARY: 17 errors", 17),
        ("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", 0),
        ("========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)", 1),
    ],
)
def test_the_sanitizers_last_words_are_understood(said, errors):
    assert correctness.findings_in(f"240 launches\n{said}\n") == errors
    assert correctness.findings_in("Device not supported") is None


def test_without_a_gpu_nothing_is_checked(monkeypatch):
    monkeypatch.setenv(gpu.BACKEND_VARIABLE, "simulator")
    with pytest.raises(NoGpu, match="Correctness on a GPU is checked on one"):
        correctness.check((get("naive"),))
