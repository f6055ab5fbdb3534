"""Machine code of Blackwell (sm_100, sm_103): no GPU of it was at hand, so that it is held against Hopper's and PTX."""

import numpy as np
import pytest

from gemm_kernels import ladder
from helpers import run, simulator
from helpers.simulator.frontends.sass import opcodes
from tests.simulator import random_programs

# One for each kind of load, of copy and of meeting; all others agreed, too, when this was written.
KERNELS = ("naive", "block_tile_2d", "vectorized_ptx", "sliced_k", "matrix_vector", "clustered", "rank_k")
# What the compiler cannot change: bytes and products; where it moves a load out of a branch, not the instructions.
COUNTERS = (
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "smsp__sass_inst_executed_op_global_st.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "smsp__sass_inst_executed_op_ldgsts.sum",
)
OF_TILES = ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")


def multiplied(kernel, arch, level="sass"):
    """(C, the recording, the compiled kernel); nothing is contracted that the source does not."""
    M, N, K = {"vector_matrix": (1, 66, 37), "matrix_vector": (70, 1, 37)}.get(kernel.name, (70, 66, 37))
    A, B, C = run.operands(M, N, K)
    launch = kernel.launch(M, N, K)
    module = simulator.RawModule(
        code=launch.source, options=(*launch.options, "-fmad=false"), name_expressions=[launch.entry], arch=arch
    )
    compiled = module.get_function(launch.entry)
    with simulator.record(level=level, checks="raise" if arch != "sm_90" else "off") as recording:
        run.start(compiled, launch, A, B, C, 1.5, 0.5)
    return C, recording, compiled


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_the_course_give_the_bits_and_the_counts_of_hopper(name):
    kernel = ladder.get(name)
    hopper, expected, _ = multiplied(kernel, "sm_90")
    blackwell, recording, compiled = multiplied(kernel, "sm_100")
    assert blackwell.tobytes() == hopper.tobytes()
    counters = COUNTERS if name == "matrix_vector" else (*COUNTERS, *OF_TILES)
    counted, expected = ({each: one.counters.get(each) for each in counters} for one in (recording, expected))
    assert counted == expected
    assert any(counted.values())
    assert compiled.forms.at("sass")[0].machine is not None, "only the engine in NumPy can execute it"


def test_the_levels_agree_and_so_does_the_other_architecture():
    kernel = ladder.get("vectorized")
    results = [multiplied(kernel, *how)[0].tobytes() for how in (("sm_100", "sass"), ("sm_100", "ptx"), ("sm_103",))]
    assert len(set(results)) == 1


@pytest.mark.parametrize("seed", range(7000000, 7000003))
def test_random_programs_give_the_same_bits_at_both_levels(seed, monkeypatch):
    monkeypatch.setattr(random_programs, "architecture", lambda seed: "sm_100")
    assert random_programs.disagreement(seed) == ""


BANK = """
#include <cooperative_groups.h>
extern "C" __global__ void __cluster_dims__(2, 1, 1) kernel(int *y, int n) {
    auto cluster = cooperative_groups::this_cluster();
    __shared__ int s[4];
    int own[4];
    for (int i = 0; i < 4; ++i) own[i] = y[i] + i, s[i] = y[i] + 2 * i;
    __syncthreads();
    int *place = n > 5 ? s : own;
    int *out = y + 4 + 16 * blockIdx.x;
    if (threadIdx.x || threadIdx.y || threadIdx.z) return;
    out[0] = blockDim.x, out[1] = blockDim.y, out[2] = blockDim.z;
    out[3] = gridDim.x, out[4] = gridDim.y, out[5] = gridDim.z;
    out[6] = cluster.dim_blocks().x, out[7] = cluster.num_blocks(), out[8] = cluster.block_rank();
    out[9] = cluster.block_index().x, out[10] = place[n % 4];
}"""


@pytest.mark.parametrize("n", (2, 7))
def test_constant_bank_zero_says_of_the_launch_what_hopper_s_says(n):
    found = []
    for arch in ("sm_90", "sm_100"):
        y = np.zeros(4 + 16 * 24, np.int32)
        with simulator.record(level="sass", checks="off"):
            kernel = simulator.RawModule(code=BANK, arch=arch).get_function("kernel")
            kernel((4, 3, 2), (8, 4, 2), (y, np.int32(n)))
        found.append(y)
    assert found[0].tolist() == found[1].tolist()
    block = found[1][4:15].tolist()
    assert (block[:8], block[10]) == ([8, 4, 2, 4, 3, 2, 2, 2], n % 4 if n < 5 else 2 * (n % 4))


def test_a_recording_says_that_no_such_gpu_has_confirmed_it():
    _, recording, _ = multiplied(ladder.get("naive"), "sm_100")
    assert (recording.level, "not held against such a GPU" in recording.note) == ("sass", True)
    assert [family.name for family in opcodes.FAMILIES if not family.seen] == ["Blackwell"]
    assert multiplied(ladder.get("naive"), "sm_90")[1].note is None
