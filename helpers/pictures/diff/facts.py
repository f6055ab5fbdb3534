"""The counters of a whole launch, by names in words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gemm_kernels import Launch
from helpers import run
from helpers.run import Level

# What a row is called, and Nsight Compute's name of the counter.
COUNTERS = {
    "instructions of warps": "smsp__inst_executed.sum",
    "global loads: requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global loads: sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global stores: requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global stores: sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared loads: requests": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared loads: wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared stores: requests": "smsp__sass_inst_executed_op_shared_st.sum",
    "shared stores: wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "registers a thread": "launch__registers_per_thread",
}


@lru_cache(maxsize=32)
def counted(launch: Launch) -> tuple[Mapping[str, float], Level]:
    """(counters of a whole launch by their names in COUNTERS and how many threads it has, the level that was counted).

    Raises the simulator's and the compiler's errors.
    """
    recording = run.record_whole(launch)
    x, y, z = launch.grid
    counters = {name: recording.counters[counter] for name, counter in COUNTERS.items()}
    return {**counters, "threads of the launch": launch.threads * x * y * z}, recording.level
