"""What can be asked of a recording."""

import dataclasses
import threading

import numpy as np
import pytest

import gpusim
from gpusim.compiler import NvdisasmMissing
from tests.gpusim import kernel_launches

SCALE = 'extern "C" __global__ void scale(int n, float *y) {\n  if (threadIdx.x < n) y[threadIdx.x] *= 2.0f;\n}'


def scaled(times: int = 1, **options) -> gpusim.Recording:
    kernel = gpusim.RawModule(code=SCALE, options=("-std=c++17",)).get_function("scale")
    with gpusim.record(**options) as recording:
        for _ in range(times):
            kernel((1,), (64,), (np.int32(40), np.zeros(64, np.float32)))
    return recording


@pytest.mark.parametrize("name", ["local_array", "rms_norm_vectorized", "partial_warps", "reduce_shuffle"])
def test_the_costs_of_all_requests_are_the_launch_s_totals(name):
    launch = next(case for case in kernel_launches.ordinary() if name in (case.name, case.entry))
    kernel = gpusim.RawModule(code=launch.source, name_expressions=[launch.entry]).get_function(launch.entry)
    with gpusim.record(level="sass", blocks="all", checks="off") as recording:
        kernel(launch.grid, launch.block, tuple(launch.make_arguments()))
    blocks = np.stack(np.meshgrid(*map(range, launch.grid), indexing="ij"), axis=-1).reshape(-1, 3).tolist()
    for quantity in ("sectors", "tags", "wavefronts"):
        costs = sum(int(recording.requests(block=block, warp=None)[quantity].sum()) for block in blocks)
        assert costs == recording.total(quantity)
    assert recording.total("sectors") > 0


def test_a_recording_is_described_by_its_launches():
    assert repr(gpusim.Recording("ptx")) == "<Recording at PTX level: no launch>"
    assert (
        repr(scaled())
        == "<Recording at SASS level: scale for sm_90 on a grid of 1 × 1 × 1 blocks of 64 × 1 × 1 threads>"
    )
    assert "SASS level: 3 times scale for sm_90" in repr(scaled(3, level="sass"))


def test_the_machine_code_is_executed_and_the_recording_says_so():
    with gpusim.record() as recording:
        assert recording.level == "auto"
    recording = scaled()
    assert (recording.level, recording.note) == ("sass", None)
    assert recording.counters == scaled(level="sass").counters != scaled(level="ptx").counters


def test_without_nvdisasm_ptx_runs_in_and_out_of_a_recording(no_machine_code):
    recording = scaled()
    assert recording.level == "ptx" and recording.counters == scaled(level="ptx").counters
    assert recording.note.startswith(
        "scale was executed at the level of PTX, not of its machine code. nvdisasm, which prints the machine code"
    )
    y = np.ones(64, np.float32)
    gpusim.RawModule(code=SCALE).get_function("scale")((1,), (64,), (np.int32(40), y))
    assert y.sum() == 2 * 40 + 24


def test_unmodelled_architecture_is_executed_as_ptx():
    kernel = gpusim.RawModule(code=SCALE, arch="sm_70").get_function("scale")
    with gpusim.record() as recording:
        kernel((1,), (64,), (np.int32(40), np.zeros(64, np.float32)))
    assert recording.level == "ptx" and "compiled for sm_70" in recording.note


def test_counters_of_both_levels_are_not_added_up():
    kernels = [gpusim.RawModule(code=SCALE, arch=arch).get_function("scale") for arch in ("sm_90", "sm_70")]
    with gpusim.record() as recording:
        for kernel in kernels:
            kernel((1,), (64,), (np.int32(40), np.zeros(64, np.float32)))
    assert recording.level == "mixed" and [launch.program.level for launch in recording.launches] == ["sass", "ptx"]
    with pytest.raises(gpusim.SimulatorError, match="some in PTX, which cannot be added up.*sm_70.*by itself"):
        recording.counters  # noqa: B018


def test_every_instruction_has_its_counts():
    recording = scaled(level="sass")
    rows = recording.by_instruction()
    assert [row.index for row in rows] == list(range(len(rows)))
    load = next(row for row in rows if row.opcode.startswith("LDG"))
    assert (load.line, load.warps, load.total("requests"), load.total("lanes", "global", "ld")) == (2, 2, 2, 40)
    leave = next(row for row in rows if row.opcode == "EXIT" and row.predicated_on < row.threads)
    assert (leave.threads, leave.predicated_on) == (64, 24)
    assert "EXIT" in leave.text and leave.accesses == {}
    assert sum(row.warps for row in rows) == recording.instructions()
    assert sum(row.predicated_on for row in rows) == recording.counters["smsp__sass_thread_inst_executed_pred_on.sum"]
    for line in recording.by_line():
        of_line = [row for row in rows if row.line == line.line]
        assert sum(row.warps for row in of_line) == line.instructions
        assert sum(row.total("sectors") for row in of_line) == line.total("sectors")


def test_instructions_follow_the_code_whatever_its_block_order():
    recording = scaled()
    program = recording.launches[-1].program
    before = recording.by_instruction()
    changed = dataclasses.replace(program, blocks=program.blocks[::-1])
    launch = recording.launches[-1]
    warps, lanes = launch.block_warps[::-1].copy(), launch.block_lanes[::-1].copy()
    recording.launches[-1] = dataclasses.replace(launch, program=changed, block_warps=warps, block_lanes=lanes)
    changed.blocks = [dataclasses.replace(block, index=index) for index, block in enumerate(changed.blocks)]
    assert recording.by_instruction() == before
    assert [row.text for row in before] == [instruction.text for instruction in program.instructions]


def test_both_levels_are_listed_by_line_whichever_was_recorded():
    recording = scaled(level="ptx")
    assert recording.source == SCALE
    assert any(line.startswith("ld.global") for line in recording.listing()[2])
    assert any(line.startswith("LDG") for line in recording.listing("sass")[2])
    assert recording.listings.keys() == {"ptx", "sass"}


def test_where_nvdisasm_is_missing_the_ptx_is_listed(request):
    recording = scaled()
    request.getfixturevalue("no_machine_code")
    assert recording.listings.keys() == {"ptx"}
    with pytest.raises(NvdisasmMissing, match=r"nvdisasm.* is not installed"):
        recording.listing("sass")


# ---- threads of the host, and other processes

ADD = 'extern "C" __global__ void add(float *x) { x[threadIdx.x] += 1; }'


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_launches_of_another_host_thread_are_recorded_too():
    x = np.zeros(32, np.float32)
    add = gpusim.RawModule(code=ADD).get_function("add")
    with gpusim.record() as recording:
        in_a_thread(lambda: add((1,), (32,), (x,)))
        add((1,), (32,), (x,))
    in_a_thread(lambda: add((1,), (32,), (x,)))
    assert (x == 3).all()
    assert len(recording.launches) == 2


def test_a_thread_that_records_itself_has_its_own_recording():
    x, own = np.zeros(32, np.float32), []
    add = gpusim.RawModule(code=ADD).get_function("add")

    def work():
        with gpusim.record("ptx") as recording:
            add((1,), (32,), (x,))
        own.append(recording)

    with gpusim.record("sass") as recording:
        in_a_thread(work)
    assert (own[0].level, len(own[0].launches), len(recording.launches)) == ("ptx", 1, 0)
