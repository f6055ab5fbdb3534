"""Small launches counted in the machine code, which is what the hardware runs; in PTX only where that cannot be had."""

from __future__ import annotations

from typing import Any

from gemm_kernels import Kernel
from helpers import simulator
from helpers.compiler import DisassemblyError, NvdisasmMissing
from helpers.explore.launches import Program, record_launch
from helpers.simulator import UnsupportedInstruction

NOTES = {
    "sass": "Counted in the machine code (SASS) for sm_90.",
    "ptx": "An estimate: counted in PTX, because the machine code could not be executed here.",
}


def record_as_run(program: Program | Kernel, *launch: Any, **options: Any) -> simulator.Recording:
    """`launches.record_launch` at the level of the machine code; at PTX's where nvdisasm is missing or the simulator
    does not know an instruction. `NOTES[recording.level]` tells the learner which."""
    try:
        return record_launch(program, *launch, level="sass", **options)
    except (NvdisasmMissing, DisassemblyError, UnsupportedInstruction):
        return record_launch(program, *launch, level="ptx", **options)
