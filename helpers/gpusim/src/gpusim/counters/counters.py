"""Counters of recorded launches under Nsight Compute's names.

Each name is one that `ncu --query-metrics` knows, and counts what it counts on an NVIDIA H200: the tests hold them
against recordings, launch by launch. What is not modelled has no entry.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gpusim import devices
from gpusim.counters.recorded import QUANTITIES, LaunchFacts
from gpusim.occupancy import Occupancy, certain_shared_limit, occupancy

FEWEST_REGISTERS = 16  # what the driver gives a thread of compute capability 9.0 at least


@dataclass(frozen=True, slots=True)
class Executed:
    """How often one instruction was executed: by warps, by threads, and by threads whose guard was true."""

    opcode: str
    line: int
    warps: int
    threads: int
    predicated_on: int


def executed(launch) -> Iterator[Executed]:
    """The instructions of one recorded launch in the order of the code."""
    instructions = launch.program.instructions
    for block in launch.program.blocks:
        warps, threads = int(launch.block_warps[block.index]), int(launch.block_lanes[block.index])
        for instruction in instructions[block.start : block.stop]:
            lanes = threads if instruction.guard is None else launch.guarded_lanes.get(instruction.index, 0)
            yield Executed(instruction.opcode, instruction.line, warps, threads, lanes)


# Asynchronous copies by the end of their counters' names: all, those through the L1 cache, those that bypass it.
LDGSTS_WAYS: dict[str, bool | str] = {"": True, "_cache_access": "access", "_cache_bypass": "bypass"}


def _bits(opcode: str) -> int:
    """The width of a memory instruction in bits a thread."""
    parts = opcode.split(".")
    if parts[0] in ("LDSM", "STSM") or "128" in parts:
        return 128
    widths = {"64": 64, "U8": 8, "S8": 8, "U16": 16, "S16": 16}
    return next((widths[part] for part in parts if part in widths), 32)


def of_sass(launches: Iterable) -> dict[str, int | float]:
    """Counters of launches recorded at SASS level, summed; `launch__…` are the last launch's.

    Exact for what a kernel does by itself. Two things are not decided by the code alone: kernels whose atomics decide
    how often they loop; and groups of a diverged warp that come to a BSYNC within a few cycles, which the hardware lets
    execute it as one: then `smsp__inst_executed` here is too large by some of these BSYNCs.
    """
    from gpusim.isa.sass import opcodes  # its rules were loaded when the launch was prepared

    launches = tuple(launches)
    rows = [(row, opcodes.of(row.opcode)) for launch in launches for row in executed(launch)]
    threads, lanes = sum(row.threads for row, _ in rows), sum(row.predicated_on for row, _ in rows)
    instructions = sum(row.warps for row, _ in rows)
    counters = {
        "smsp__inst_executed.sum": instructions,
        "smsp__sass_inst_executed.sum": instructions,
        "smsp__sass_thread_inst_executed.sum": threads,
        "smsp__sass_thread_inst_executed_pred_on.sum": lanes,
    }
    for name in opcodes.COUNTED:
        total = sum(row.predicated_on for row, op in rows if name in op.counted)
        counters[f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"] = total
    for names in (("fadd", "fmul", "ffma"), ("dadd", "dmul", "dfma"), ("hadd", "hmul", "hfma")):
        total = sum(counters[f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"] for name in names)
        counters[f"smsp__sass_thread_inst_executed_ops_{'_'.join(names)}_pred_on.sum"] = total
    for name in opcodes.ISSUED:
        total = sum(row.warps for row, op in rows if name in op.issued)
        counters[f"smsp__sass_inst_executed_op_{name}.sum"] = total
    for bits in (8, 16, 32, 64, 128):
        total = sum(row.warps for row, op in rows if op.space and not op.barrier and _bits(row.opcode) == bits)
        counters[f"smsp__sass_inst_executed_op_memory_{bits}b.sum"] = total
    for name in opcodes.PIPES:
        total = sum(row.warps for row, op in rows if op.pipe_of(row.opcode) == name)
        counters[f"smsp__inst_executed_pipe_{name}.sum"] = total
    for name in opcodes.TENSOR_OPS:
        total = sum(row.warps for row, op in rows if op.tensor_op == name and op.pipe_of(row.opcode) == "tensor")
        counters[f"smsp__inst_executed_pipe_tensor_op_{name}.sum"] = total
    return counters | _memory(launches) | _in_bulk(rows, launches) | of_launch(launches[-1].facts)


# Copies in bulk by how Nsight Compute calls them: the opcode begins so.
_BULK = {"_ld": "UBLKCP.S.G", "_st": "UBLKCP.G.S", "_red": "UBLKRED"}
_TO_OTHER_BLOCKS, _ASK_AHEAD, _CLOSE = "UBLKCP.S.S", "UBLKPF", "UTMACMDFLUSH"


def _in_bulk(rows: list, launches: tuple) -> dict[str, int]:
    """Counters of copies in bulk, if there are any in the code; sectors only where they stay in the own block."""

    def warps(*beginnings: str) -> int:
        return sum(row.warps for row, _ in rows if row.opcode.startswith(beginnings))

    every = (*_BULK.values(), _TO_OTHER_BLOCKS)
    if not any(row.opcode.startswith((*every, _ASK_AHEAD)) for row, _ in rows):
        return {}
    counters = {
        "smsp__inst_executed_pipe_tma.sum": warps(*every, _ASK_AHEAD, _CLOSE),
        "smsp__inst_executed_op_tma_ld.sum": warps(_BULK["_ld"]),
        "smsp__inst_executed_op_tma_st.sum": warps(_BULK["_st"], _BULK["_red"], _TO_OTHER_BLOCKS),
        "smsp__sass_inst_executed_op_tma.sum": warps(*every),
        "smsp__sass_inst_executed_op_dshared_tma_st.sum": warps(_TO_OTHER_BLOCKS),
    }
    totals = _Totals(launches)
    for name, beginning in _BULK.items():
        counters[f"smsp__sass_inst_executed_op_tma{name}.sum"] = warps(beginning)
        if totals("uncertain", "global", f"bulk{name}"):
            continue
        sectors = totals("sectors", "global", f"bulk{name}")
        way = "xbar2l1tex_read" if name == "_ld" else "l1tex2xbar_write"
        counters[f"l1tex__m_{way}_sectors_mem_global_op_tma{name}.sum"] = sectors
        counters[f"l1tex__m_{way}_bytes_mem_global_op_tma{name}.sum"] = 32 * sectors
    return counters


def _memory(launches: tuple) -> dict[str, int]:
    totals = _Totals(launches)
    counters = {}
    for space, ops in (("global", ("ld", "st", "atom", "red")), ("local", ("ld", "st"))):
        for op in ops:
            requests = "words" if space == "local" else "requests"
            counters[f"l1tex__t_requests_pipe_lsu_mem_{space}_op_{op}.sum"] = totals(requests, space, op)
            if op in ("ld", "st"):  # of atomics the cache makes more accesses than their requests say
                counters[f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{op}.sum"] = totals("sectors", space, op)
                counters[f"l1tex__t_set_accesses_pipe_lsu_mem_{space}_op_{op}.sum"] = totals("tags", space, op)
            sass = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem"
            counters[f"{sass}_{space}_op_{op}.sum"] = totals("sectors", space, op, asynchronous=False)
            executed_ = totals("requests", space, op, asynchronous=False)
            counters[f"smsp__sass_inst_executed_op_{space}_{op}.sum"] = executed_
        of_space = sum(totals("requests", space, op, asynchronous=False) for op in ops)
        counters[f"smsp__sass_inst_executed_op_{space}.sum"] = of_space
    for suffix, way in LDGSTS_WAYS.items():
        requests = totals("requests", "global", "ld", asynchronous=way)
        counters[f"smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts{suffix}.sum"] = requests
        counters[f"smsp__sass_inst_executed_op_ldgsts{suffix}.sum"] = totals("requests", "shared", "copy", way)
        if suffix == "_cache_access" or not totals.bypass:
            sectors = totals("sectors", "global", "ld", asynchronous=way)
            counters[f"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts{suffix}.sum"] = sectors
    counters["smsp__sass_l1tex_tags_mem_global.sum"] = sum(
        totals("tags", "global", op) for op in ("ld", "st", "atom", "red")
    )
    return counters | _shared(totals) | _of_clusters(totals)


def _of_clusters(totals: "_Totals") -> dict[str, int]:
    """Counters of the shared memory of other blocks of a cluster, if a thread reaches there. It is looked up by lines,
    as global memory is."""
    counters = {}
    if not any(totals("requests", "cluster", op) for op in ("ld", "st", "atom", "red")):
        return counters
    for name, ops in (("ld", ("ld",)), ("st", ("st",)), ("atom", ("atom", "red"))):
        counters[f"smsp__sass_inst_executed_op_dshared_{name}.sum"] = sum(
            totals("requests", "cluster", op) for op in ops
        )
        for what, quantity in (("requests", "requests"), ("sectors", "sectors"), ("set_accesses", "tags")):
            if name != "atom" or what == "requests":  # of atomics the cache makes more accesses, as in global memory
                counters[f"l1tex__t_{what}_pipe_lsu_mem_dshared_op_{name}.sum"] = sum(
                    totals(quantity, "cluster", op) for op in ops
                )
    counters["smsp__sass_inst_executed_op_dshared.sum"] = sum(
        totals("requests", "cluster", op) for op in ("ld", "st", "atom", "red")
    )
    return counters


def _shared(totals: "_Totals") -> dict[str, int]:
    """Counters of shared memory; those of wavefronts are left out where the rule is not certain, and those of copies
    that bypass L1, where Nsight Compute's own are not: it counts some in kernels that execute none."""
    counters, wavefronts = {}, {}
    names = {"ld": ("ld",), "st": ("st",), "atom": ("atom", "red"), "ldsm": ("ldsm",),
             "stsm": ("stsm",)}  # fmt: skip
    for name, ops in names.items():
        requests = sum(totals("requests", "shared", op) for op in ops)
        wavefronts[name] = sum(totals("wavefronts", "shared", op) for op in ops)
        if name in ("ld", "st", "atom"):
            counters[f"smsp__sass_inst_executed_op_shared_{name}.sum"] = requests
    counters["smsp__sass_inst_executed_op_shared.sum"] = sum(
        totals("requests", "shared", op) for op in ("ld", "st", "atom", "red", "ldsm", "stsm")
    )
    served, ideal = (totals(what, "shared", "ldsm") for what in ("wavefronts", "ideal_wavefronts"))
    counters["smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm.sum"] = served - ideal
    # Unlike op_ld it leaves out those whose guard is false for the whole warp.
    counters["smsp__sass_inst_executed_op_ldsm.sum"] = totals("requests", "shared", "ldsm")
    # What atomic operations cost that reach into the own block and into others of the cluster is not modelled.
    mixed = any(totals("requests", "cluster", op) for op in names["atom"])
    certain = totals("uncertain", "shared", "ld") == 0
    for name, value in wavefronts.items():
        if (
            name != "stsm" and (name != "ld" or certain) and (name != "atom" or not mixed)
        ):  # Nsight Compute has no counter of stmatrix alone
            counters[f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{name}.sum"] = value
    for suffix, way in LDGSTS_WAYS.items():
        if suffix == "_cache_access" or not totals.bypass:
            served, ideal = (totals(what, "shared", "copy", way) for what in ("copy_wavefronts", "ideal_wavefronts"))
            name = "pipe_lsu_mem_shared_op_ldgsts"
            counters[f"smsp__sass_l1tex_data_bank_conflicts_{name}{suffix}.sum"] = served - ideal
            counters[f"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts{suffix}.sum"] = served
    if certain and not totals.bypass and not mixed:
        copies = totals("copy_wavefronts", "shared", "copy")
        counters["smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum"] = sum(wavefronts.values()) + copies
    return counters


class _Totals:
    """Sums over the accesses of launches, by space and op, LDGSTS apart from other loads: through L1 or past it."""

    def __init__(self, launches: tuple) -> None:
        from gpusim.isa.sass import opcodes

        self._sums: dict[tuple[str, str, str, str], int] = {}
        self.bypass = any(  # whether the code has copies past L1, executed or not
            instruction.opcode.startswith("LDGSTS") and ".BYPASS" in instruction.opcode
            for launch in launches
            for instruction in launch.program.instructions
        )
        for launch in launches:
            for (index, space, op, _), counts in launch.counts.items():
                opcode = launch.program.instructions[index].opcode
                if opcodes.of(opcode).barrier:
                    continue
                values = {quantity: getattr(counts, quantity) for quantity in QUANTITIES}
                values["words"] = counts.requests * max(1, _bits(opcode) // 32)  # local memory is served by words
                way = "" if not opcode.startswith("LDGSTS") else "bypass" if ".BYPASS" in opcode else "access"
                for quantity, value in values.items():
                    key = (quantity, space, op, way)
                    self._sums[key] = self._sums.get(key, 0) + value

    def __call__(self, quantity: str, space: str, op: str, asynchronous: bool | str | None = None) -> int:
        """asynchronous: None for all, or whether it is LDGSTS, or its way, "access" or "bypass"."""
        return sum(
            value
            for (what, where, how, way), value in self._sums.items()
            if (what, where, how) == (quantity, space, op) and asynchronous in (None, bool(way), way)
        )


def of_launch(facts: LaunchFacts) -> dict[str, int | float]:
    """What Nsight Compute says of a launch itself, and its theoretical occupancy on an SM of the architecture.

    Registers are the machine code's. `launch__occupancy_limit_shared_mem` depends on how much of the L1 cache the
    driver sets aside as shared memory, and is left out where the kernel does not decide it: `Recording.occupancy` has
    the limit for the largest setting.
    """
    counters: dict[str, int | float] = {
        "launch__registers_per_thread": max(facts.registers, FEWEST_REGISTERS),
        "launch__block_size": int(np.prod(facts.block)),
        "launch__grid_size": int(np.prod(facts.grid)),
        "launch__thread_count": int(np.prod(facts.block)) * int(np.prod(facts.grid)),
        "launch__shared_mem_per_block_static": facts.shared_bytes - facts.dynamic_shared_bytes,
        "launch__shared_mem_per_block_dynamic": facts.dynamic_shared_bytes,
    }
    limits, result = devices.limits_for(facts.arch), occupancy_of(facts)
    for resource in ("blocks", "warps", "registers"):
        counters[f"launch__occupancy_limit_{resource}"] = result.limits[resource]
    shared = certain_shared_limit(limits, result)
    if shared is not None:
        counters["launch__occupancy_limit_shared_mem"] = shared
    percent = 100 * result.fraction
    counters["sm__maximum_warps_per_active_cycle_pct"] = int(percent) if percent == int(percent) else percent
    return counters


def occupancy_of(facts: LaunchFacts) -> Occupancy:
    """The limits on resident blocks of a launch, with all the shared memory that an SM can have."""
    registers = max(facts.registers, FEWEST_REGISTERS)
    return occupancy(devices.limits_for(facts.arch), int(np.prod(facts.block)), registers, facts.shared_bytes)
