"""Theoretical occupancy and launch facts among the counters, against Nsight Compute's."""

import numpy as np
import pytest

import gpusim
from gemm_kernels import get
from gemm_kernels.launch import OPTIONS
from gpusim import devices, occupancy
from gpusim.counters import counters
from gpusim.counters.recorded import LaunchFacts
from helpers import recordings, run

ROWS = recordings.raw(devices.DEFAULT.name, "counters")["rows"]


def facts(row: dict) -> LaunchFacts:
    """The launch of a recorded row, with the registers that its own compiler gave it."""
    kernel, counted = get(row["kernel"]).replace(**row["params"]), row["counters"]
    grid = kernel.grid(row["M"], row["N"])
    static, dynamic = (counted[f"launch__shared_mem_per_block_{kind}"] for kind in ("static", "dynamic"))
    return LaunchFacts(
        kernel.name, grid, kernel.block, static + dynamic, counted["launch__registers_per_thread"],
        int(np.prod(grid)), dynamic, "sm_90",
    )  # fmt: skip


@pytest.mark.parametrize("row", ROWS[::4], ids=lambda row: row["kernel"])
def test_what_is_said_of_a_launch_is_nsight_computes(row):
    ours = counters.of_launch(facts(row))
    names = {name for name in row["counters"] if name.startswith(("launch__", "sm__"))}
    missing = names - ours.keys()
    assert missing <= {"launch__occupancy_limit_shared_mem"}
    assert {name: ours[name] for name in names - missing} == {name: row["counters"][name] for name in names - missing}


def test_shared_limit_is_said_only_where_no_carve_out_changes_it():
    said = {row["kernel"] for row in ROWS if "launch__occupancy_limit_shared_mem" in counters.of_launch(facts(row))}
    assert {"staged_epilogue", "rasterized", "autotuned"} <= said
    assert not {"naive", "block_tile_2d", "sliced_k"} & said
    turing = occupancy.occupancy(devices.limits_for("sm_75"), 1024, 32)
    assert occupancy.certain_shared_limit(devices.limits_for("sm_75"), turing) == turing.limits["shared"]


def test_both_levels_say_the_same_of_a_launch():
    kernel = get("staged_epilogue")
    module = gpusim.RawModule(code=kernel.source, options=OPTIONS, name_expressions=[kernel.entry])
    launch = run.launcher(kernel, module.get_function(kernel.entry))
    blocks = []
    for level in ("ptx", "sass"):
        arrays = [np.zeros(shape, np.float32) for shape in ((5, 2), (2, 6), (5, 6))]
        with gpusim.record(level=level, checks="off") as recording:
            launch(5, 6, 2, 1.0, *arrays[:2], 0.0, arrays[2])
        blocks.append(
            {name: value for name, value in recording.counters.items() if name.startswith(("launch", "sm__"))}
        )
        assert recording.occupancy.limits == {"blocks": 32, "warps": 8, "registers": 1, "shared": 1}
    assert blocks[0] == blocks[1]
    assert blocks[0]["launch__shared_mem_per_block_dynamic"] == kernel.shared_bytes > 48 * 1024
    assert blocks[0]["sm__maximum_warps_per_active_cycle_pct"] == 12.5
    assert blocks[0]["launch__thread_count"] == 256
