"""What the register file costs, measured on a GPU with machine code whose registers and flags were changed.

Three experiments, kept in recordings/<gpu>/registers.json:

- kernels of the ladder as compiled and with changed machine code (no `.reuse`, no second factor, no fragments), timed
  in turns at 4096 cubed, with what warps waited for by Nsight Compute;
- a loop of FMAs whose operands come from the two banks of registers in patterns: cycles per FMA;
- the same loop with some FMAs replaced by 128-bit loads from shared memory: cycles that each load costs.

Changing machine code needs the compiler and nvdisasm but no GPU, measuring needs a GPU:

    python -m helpers.exercises.lane_speeds FOLDER
    python -m helpers.measure.registers record FOLDER
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import Kernel, Launch, get
from gemm_kernels.launch import OPTIONS
from gpusim import compiler, devices
from gpusim.compiler import patch
from gpusim.compiler.patch import Fma
from helpers import gpu, recordings, run
from helpers.measure.bench import NoProfiler
from helpers.measure.problem import Reference, problem
from helpers.measure.provenance import provenance
from helpers.measure.states import STALL
from helpers.measure.timing import interleave
from helpers.recordings.measurement import Timing, recorded_on

SUITE = "registers"
INDEX = "index.json"
SIZE = 4096
GPU = devices.DEFAULT.name
AS_COMPILED, NO_REUSE, NO_B, NO_FRAGMENTS = "as compiled", "no reuse", "no second factor", "no fragments"
CHANGES: Mapping[str, patch.Change] = {
    AS_COMPILED: lambda instruction: instruction,
    NO_REUSE: patch.without_reuse,
    NO_B: patch.without_b,
    NO_FRAGMENTS: patch.without_fragments,
}
WRONG = (NO_B, NO_FRAGMENTS)  # changes that make C wrong, on purpose


@dataclass(frozen=True)
class Subject:
    """A kernel whose machine code is changed.

    name: of the row.  kernel: of the ladder or beyond it, with its parameters.  lanes: another lane map than the
    kernel's own, or "".  changes: what is changed in it, in CHANGES.
    """

    name: str
    kernel: Kernel
    lanes: str = ""
    changes: tuple[str, ...] = tuple(CHANGES)

    @property
    def source(self) -> str:
        """The kernel's source, with the lane map of this subject."""
        lines = _LANE_MAP.findall(self.kernel.source)
        if not self.lanes:
            return self.kernel.source
        if len(lines) != 1:
            raise ValueError(f"{self.kernel.name} has {len(lines)} lines that say where a lane is, expected 1.")
        return self.kernel.source.replace(lines[0], self.lanes)


_LANE_MAP = re.compile(r"const unsigned lane_y = .*;")
UNMERGED = (
    "const unsigned lane_y = lane / 4 % LANES_Y ^ (lane ^ lane / 2) % 2, lane_x = lane % 4 + lane / 4 / LANES_Y * 4;"
)
SPEED = (AS_COMPILED, NO_REUSE)
SUBJECTS: tuple[Subject, ...] = (
    Subject("warptiled", get("warptiled"), changes=SPEED),
    Subject("serpentine", get("serpentine"), changes=SPEED),
    Subject("pinned", get("pinned")),
    Subject("unmerged", get("unmerged")),
    Subject("stream_k", get("stream_k")),
    Subject("stream_k, unmerged lanes", get("stream_k"), UNMERGED),
    Subject("persistent", get("persistent", BM=192, WM=48, TM=24)),  # 24 x 8 sums for each thread
)
METRICS = {
    "dispatch_stall": STALL.format("dispatch_stall"),
    "issue_active": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "not_selected": STALL.format("not_selected"),
    "short_scoreboard": STALL.format("short_scoreboard"),
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "instructions": "smsp__inst_executed.sum",
}


# --- the loop ---------------------------------------------------------------------------------------------------------

FMAS = 512  # instructions in the body of the loop
SPREAD = 470  # of them have loads among them; the end is left for the last load to come back
LOADS = 24  # of them 128-bit loads, as many per FMA as a patch of 16 x 8 sums has
ROUNDS = 256
WARPS = 8  # of a block: two for each scheduler
FACTORS, SUMS = 8, 64  # registers of each factor, and of sums


def _at_hand(*banks: tuple[int, int]) -> tuple[Fma, ...]:
    """FMAs that have their a at hand. banks: of the b and of the sum of each."""
    repeated = [banks[i % len(banks)] for i in range(SUMS // 2)]
    return tuple(
        Fma(0, FACTORS + 2 * (i % (FACTORS // 2)) + b, 2 * FACTORS + 2 * i + to, patch.REUSE_A)
        for i, (b, to) in enumerate(repeated)
    )


def _rows(turned: bool, even: bool) -> tuple[Fma, ...]:
    """Eight rows of eight sums, each row with one a. turned: every other row backwards, its first b at hand. even: the
    a of all rows lie in the even bank, and not in the two banks in turn."""
    fmas = []
    for y in range(FACTORS):
        for i in range(FACTORS):
            x = FACTORS - 1 - i if turned and y % 2 else i
            last = i == FACTORS - 1
            keep = (patch.REUSE_B if turned else 0) if last else patch.REUSE_A
            fmas.append(Fma(2 * y % FACTORS if even else y, FACTORS + x, 2 * FACTORS + FACTORS * y + (x ^ 1), keep))
    return tuple(fmas)


EVEN, ODD, BOTH = (0, 0), (1, 1), (0, 1)  # banks of b and sum
PATTERNS: Mapping[str, tuple[Fma, ...]] = {
    "b and sum in different banks": _at_hand(BOTH, BOTH[::-1]),
    "in one bank, the banks in turn": _at_hand(EVEN, ODD),
    "in one bank, two and two": _at_hand(*[EVEN] * 2, *[ODD] * 2),
    "in one bank, four and four": _at_hand(*[EVEN] * 4, *[ODD] * 4),
    "in one bank, eight and eight": _at_hand(*[EVEN] * 8, *[ODD] * 8),
    "always in the same bank": _at_hand(EVEN),
    "every 2nd in one bank": _at_hand(EVEN, BOTH),
    "every 4th in one bank": _at_hand(EVEN, *[BOTH] * 3),
    "every 8th in one bank": _at_hand(EVEN, *[BOTH] * 7),
    "every 16th in one bank": _at_hand(EVEN, *[BOTH] * 15),
    "nothing at hand, two and one": tuple(Fma(0, 8, 17 + 2 * i) for i in range(16)),
    "nothing at hand, two and one in turn": tuple(Fma(i % 2, 8 + i % 2, 17 + i) for i in range(32)),
    "nothing at hand, three from one bank": tuple(Fma(0, 8, 16 + 2 * i) for i in range(16)),
    "rows of eight": _rows(turned=False, even=True),
    "every other row backwards": _rows(turned=True, even=False),
    "every other row backwards, each a even": _rows(turned=True, even=True),
}


def _places(number_of: Callable[[int], int]) -> tuple[int, ...]:
    """Which float4 of shared memory each lane loads."""
    return tuple(number_of(lane) for lane in range(32))


LANES: Mapping[str, tuple[int, ...]] = {  # 8 rows of 4 lanes, where there are rows
    "all lanes one address": _places(lambda lane: 0),
    "i and i ^ 1 share": _places(lambda lane: lane // 2),
    "i and i ^ 2 share": _places(lambda lane: lane // 4 * 2 + lane % 2),
    "zigzag, rows": _places(lambda lane: lane // 2 % 8),
    "zigzag, columns": _places(lambda lane: lane // 16 * 2 + lane % 2),
    "unmerged, rows": _places(lambda lane: lane // 4 % 8 ^ (lane ^ lane // 2) % 2),
    "unmerged, columns": _places(lambda lane: lane % 4),
    "each lane its own": _places(lambda lane: lane),
}
BOTH_BANKS, ONE_BANK, NOWHERE = "both banks in turn", "one bank", "nowhere"
SUMS_IN: Mapping[str, tuple[Fma, ...]] = {  # where the FMAs write; what they read asks each bank for one operand
    BOTH_BANKS: PATTERNS["b and sum in different banks"],
    ONE_BANK: _at_hand(BOTH),
    NOWHERE: PATTERNS["b and sum in different banks"],
}


def _source(loads: int) -> str:
    """The loop in CUDA C++, with inline PTX that the compiler keeps as it is."""
    a, b, s = ([f"{name}{i}" for i in range(count)] for name, count in (("a", FACTORS), ("b", FACTORS), ("s", SUMS)))
    fma = 'asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"({}) : "f"({}), "f"({}));'
    lines = [fma.format(s[i % SUMS], a[i % FACTORS], b[i // 8 % FACTORS]) for i in range(FMAS - loads)]
    load = 'asm volatile("ld.volatile.shared.v4.f32 {{%0,%1,%2,%3}}, [%4];" : {} : "r"(from));'
    for i in range(loads):
        outputs = ", ".join(f'"=f"(v{i}.{part})' for part in "xyzw")
        lines.insert(i * FMAS // loads, load.format(outputs))
    names = a + b + s
    return f"""
typedef unsigned long long u64;
__device__ __forceinline__ u64 now() {{
    u64 t;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(t) :: "memory");
    return t;
}}
extern "C" __global__ void __launch_bounds__({32 * WARPS}, 1)
queues(u64 *times, float *data, const int *places, int rounds) {{
    __shared__ alignas(16) float shared[128];
    if (threadIdx.x < 128) shared[threadIdx.x] = data[threadIdx.x];
    const unsigned from = (unsigned)__cvta_generic_to_shared(shared) + 16 * places[threadIdx.x % 32];
    float {", ".join(f"{name} = data[{i}]" for i, name in enumerate(names))};
    float4 {", ".join(f"v{i}" for i in range(max(loads, 1)))};
    __syncthreads();
    u64 begin = 0;
    #pragma unroll 1
    for (int round = 0; round <= rounds; ++round) {{
        if (round == 1) begin = now();   // the first one brings the code
        {chr(10).join(lines)}
    }}
    const u64 end = now();
    float use = {" + ".join(names)};
    {" ".join(f"use += v{i}.x + v{i}.y + v{i}.z + v{i}.w;" for i in range(loads))}
    if (use == 1.2345f) data[0] = use;
    const int warp = blockIdx.x * {WARPS} + threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) times[2 * warp] = begin, times[2 * warp + 1] = end;
}}
"""


def loop(fmas: Sequence[Fma], loads: int = 0, *, writes: bool = True, returns: bool = True) -> bytes:
    """The CUBIN of the loop with these FMAs, over and over, and loads spread evenly among them.

    writes: whether FMAs write their sums.  returns: whether loads write registers.
    """
    kernel = compiler.compile(_source(loads), "queues", arch=devices.DEFAULT.arch)
    code = list(patch.instructions(kernel))
    slots = [i for i, word in enumerate(code) if patch.OPCODE.of(word) == patch.FFMA or _is_load(word)]
    every = [code[i] for i in slots if patch.OPCODE.of(code[i]) == patch.FFMA]
    loads_ = [code[i] for i in slots if _is_load(code[i])]
    assert (len(every), len(loads_)) == (FMAS - loads, loads), (len(every), len(loads_))
    used = sorted({field.of(word) for word in every for field in (patch.A, patch.B, patch.C)})
    real = {}  # the numbers of `fmas` -> registers of the same bank that the compiler has given to the loop
    for bank in (0, 1):
        real.update(
            zip(
                range(bank, 2 * FACTORS + SUMS, 2), [register for register in used if register % 2 == bank], strict=True
            )
        )
    controls = [word >> 105 for word in every]
    plain = every[controls.index(max(set(controls), key=controls.count))]  # the most frequent control bits: no hazard
    at = {3 + int(i * SPREAD / loads) for i in range(loads)}
    next_load, next_fma = iter(loads_), 0
    for index, slot in enumerate(slots):
        if index in at:
            word = next(next_load)
            code[slot] = word if returns else patch.RESULT.set(word, patch.NO_REGISTER)
            continue
        fma = fmas[next_fma % len(fmas)]
        next_fma += 1
        result = real[fma.sum] if writes else patch.NO_REGISTER
        word = patch.STALL.set(patch.NO_YIELD.set(patch.REUSE.set(plain, fma.keep), 1), 1)
        for field, register in ((patch.A, real[fma.a]), (patch.B, real[fma.b]), (patch.C, real[fma.sum])):
            word = field.set(word, register)
        code[slot] = patch.RESULT.set(word, result)
    return patch.rewritten(kernel, code)


def _is_load(instruction: int) -> bool:
    return patch.OPCODE.of(instruction) == patch.LDS and patch.WIDTH.of(instruction) == patch.WIDTH_128


# --- what was recorded ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Changed:
    """One kernel with one change of its machine code, as recorded at SIZE cubed.

    ms: the median.  sha256: of C.  error: of C against float64, None where it is wrong on purpose.  metrics: by the
    names of METRICS.
    """

    subject: str
    change: str
    ms: float
    sha256: str
    error: float | None
    metrics: Mapping[str, float]

    @property
    def tflops(self) -> float:
        """By the median."""
        return 2e-9 * SIZE**3 / self.ms


def recorded(subject: str, change: str = AS_COMPILED, kind: str = "kernel", gpu_name: str = GPU) -> Changed:
    """The row of a kernel, kind "kernel", or of a lane map of notebook 12's, kind "own". LookupError without one."""
    for row in _rows(gpu_name):
        if (row["kind"], row.get("subject"), row.get("change")) == (kind, subject, change):
            return Changed(subject, change, row["time"][0], row["sha256"], row["error"], row["metrics"])
    raise LookupError(f"There is no row of {subject!r}, {change!r}, in the recording of {gpu_name}.")


def cycles_of(pattern: str, gpu_name: str = GPU) -> float:
    """Cycles per FMA of one of PATTERNS, as measured."""
    return next(row["cycles"] for row in _rows(gpu_name) if row.get("pattern") == pattern)


def cost_of(lanes: str, sums: str, into: str = "registers", gpu_name: str = GPU) -> float:
    """Cycles that a 128-bit load costs the FMAs around it, as measured: by LANES, SUMS_IN and where it returns to."""
    wanted = ("loads", lanes, sums, into)
    return next(
        row["cost"] for row in _rows(gpu_name) if (row["kind"], *map(row.get, ("lanes", "sums", "into"))) == wanted
    )


def label(gpu_name: str = GPU) -> str:
    """Where these numbers come from."""
    return recorded_on(recordings.raw(gpu_name, SUITE)["gpu"])


def _rows(gpu_name: str) -> Sequence[Mapping[str, Any]]:
    return recordings.raw(gpu_name, SUITE)["rows"]


# --- without a GPU: the machine code ----------------------------------------------------------------------------------


def write_cubins(folder: Path, own: Mapping[str, Launch] | None = None) -> Path:
    """All changed machine code, as files, with an index. Needs no GPU. own: kernels to time as they are, at SIZE."""
    folder.mkdir(parents=True, exist_ok=True)
    index: list[dict[str, Any]] = []
    versions = set()

    def keep(cubin: bytes, **what: Any) -> None:
        index.append({"file": f"{len(index)}.cubin", **what})
        (folder / index[-1]["file"]).write_bytes(cubin)

    for subject in SUBJECTS:
        kernel = subject.kernel
        compiled = compiler.compile(subject.source, kernel.entry, arch=devices.DEFAULT.arch, options=OPTIONS)
        versions.add(".".join(map(str, compiled.compiler_version)))
        for change in subject.changes:
            cubin = patch.changed(compiled, CHANGES[change])
            keep(cubin, kind="kernel", subject=subject.name, kernel=kernel.name, params=dict(kernel.params),
                 change=change, function=compiled.lowered_name)  # fmt: skip
    for name, launch in (own or {}).items():
        compiled = run.compiled(launch, devices.DEFAULT.arch)
        for change in (AS_COMPILED, NO_REUSE):
            cubin = patch.changed(compiled, CHANGES[change])
            keep(cubin, kind="own", subject=name, params={}, change=change, function=compiled.lowered_name,
                 grid=launch.grid, block=launch.block)  # fmt: skip
    for pattern, fmas in PATTERNS.items():
        keep(loop(fmas), kind="reads", pattern=pattern)
    for sums, fmas in SUMS_IN.items():
        keep(loop(fmas, writes=sums != NOWHERE), kind="loads", sums=sums, into=None)
        for into in ("registers", "nowhere"):
            cubin = loop(fmas, LOADS, writes=sums != NOWHERE, returns=into == "registers")
            keep(cubin, kind="loads", sums=sums, into=into)
    (folder / INDEX).write_text(
        json.dumps({"nvrtc": ", ".join(sorted(versions)), "files": index}, indent=1), encoding="utf-8"
    )
    return folder / INDEX


# --- on a GPU ---------------------------------------------------------------------------------------------------------


def record_registers(cubins: Path, folder: Path = recordings.FOLDER) -> Path:
    """Measure everything that `write_cubins` wrote. Needs a GPU, and Nsight Compute for what warps wait for."""
    content = json.loads((cubins / INDEX).read_text(encoding="utf-8"))
    index = content["files"]
    rows = [*_reads(index, cubins), *_loads(index, cubins), *_kernels(index, cubins)]
    file = recordings.path(gpu.name(), SUITE, folder)
    timed = {
        "nvrtc": content["nvrtc"],
        "timed": "events around a launch, a cold L2, launches in turns; loops by clock64, the median of all SMs",
    }
    recordings.write(file, {"gpu": gpu.name(), "provenance": provenance() | timed, "rows": rows})
    return file


def _cycles(file: Path, lanes: Sequence[int]) -> float:
    """Cycles of one warp's instruction in the loop: of a scheduler that has two warps, divided by both."""
    import cupy

    function = cupy.RawModule(path=str(file)).get_function("queues")
    sms = cupy.cuda.Device().attributes["MultiProcessorCount"]
    times = cupy.zeros(2 * WARPS * sms, cupy.uint64)
    data = cupy.random.default_rng(0).random(256, dtype=cupy.float32) * 0.01
    least = np.inf
    for _ in range(3):
        function((sms,), (32 * WARPS,), (times, data, cupy.asarray(lanes, cupy.int32), np.int32(ROUNDS)))
        stamps = times.get().reshape(sms, WARPS, 2).astype(np.int64)
        median = np.median(stamps[:, :, 1].max(axis=1) - stamps[:, :, 0].min(axis=1))
        least = min(least, float(median) / (ROUNDS * FMAS * WARPS / 4))
    return least


def _reads(index: Sequence[Mapping[str, Any]], cubins: Path) -> Iterator[dict[str, Any]]:
    for entry in index:
        if entry["kind"] == "reads":
            cycles = _cycles(cubins / entry["file"], LANES["all lanes one address"])
            yield {"kind": "reads", "pattern": entry["pattern"], "cycles": round(cycles, 4)}


def _loads(index: Sequence[Mapping[str, Any]], cubins: Path) -> Iterator[dict[str, Any]]:
    without: dict[str, float] = {}
    for entry in index:
        if entry["kind"] != "loads":
            continue
        if entry["into"] is None:
            without[entry["sums"]] = _cycles(cubins / entry["file"], LANES["all lanes one address"])
            continue
        for name, lanes in LANES.items():
            cycles = _cycles(cubins / entry["file"], lanes)
            cost = (cycles - without[entry["sums"]]) * FMAS / LOADS
            yield {"kind": "loads", "lanes": name, "into": entry["into"], "sums": entry["sums"],
                   "cycles": round(cycles, 4), "cost": round(cost, 3)}  # fmt: skip


def _kernels(index: Sequence[Mapping[str, Any]], cubins: Path) -> Iterator[dict[str, Any]]:
    import cupy

    wanted = [entry for entry in index if entry["kind"] in ("kernel", "own")]
    A, B, C = (gpu.asarray(matrix) for matrix in problem(SIZE, SIZE, SIZE))
    launches = [_launch(entry, cubins) for entry in wanted]
    rows = slice(None, None, SIZE // 64)
    reference = Reference.of(A[rows], B)
    results = []
    for entry, launch in zip(wanted, launches, strict=True):
        C.fill(cupy.nan)
        launch(SIZE, SIZE, SIZE, 1.0, A, B, 0.0, C)
        gpu.synchronize()
        sha256 = hashlib.sha256(C.get().tobytes()).hexdigest()
        error = None if entry["change"] in WRONG else float(reference.error(C[rows]))
        what = {name: entry[name] for name in ("kind", "subject", "change", "params")}
        results.append(what | {"size": SIZE, "sha256": sha256, "error": error})
    calls = [lambda launch=launch: launch(SIZE, SIZE, SIZE, 1.0, A, B, 0.0, C) for launch in launches]
    calls.append(lambda: cupy.matmul(A, B, out=C))
    milliseconds = interleave(calls, budget_s=3.0)
    states = _states(wanted, cubins)
    for row, times, metrics in zip(results, milliseconds.T, states, strict=False):
        time = Timing.of(list(times))
        yield row | {"time": [time.median_ms, time.lower_ms, time.upper_ms, len(times)], "metrics": metrics}
    time = Timing.of(list(milliseconds[:, -1]))
    yield {"kind": "cuBLAS", "size": SIZE, "time": [time.median_ms, time.lower_ms, time.upper_ms, len(milliseconds)]}


def _launch(entry: Mapping[str, Any], cubins: Path) -> Callable[..., None]:
    function = gpu.RawModule(path=str(cubins / entry["file"])).get_function(entry["function"])
    if entry["kind"] == "kernel":
        return run.launcher(get(entry["kernel"], **entry["params"]), function)

    def launch(M: int, N: int, K: int, alpha: float, A: Any, B: Any, beta: float, C: Any) -> None:
        """A kernel without alpha and beta."""
        function(tuple(entry["grid"]), tuple(entry["block"]), (*map(np.int32, (M, N, K)), A, B, C))

    return launch


def _states(wanted: Sequence[Mapping[str, Any]], cubins: Path) -> list[dict[str, float]]:
    """Nsight Compute's answers, in the order of the launches. NoProfiler, with its words, if there are none."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--kernel-name", "regex:sgemm", "--metrics", ",".join(METRICS.values())]
    command += [sys.executable, "-m", __name__, "launch", str(cubins)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    start = done.stdout.find('"ID"')
    rows = list(csv.DictReader(io.StringIO(done.stdout[start:])))[1:] if start >= 0 else []
    if len(rows) != len(wanted):
        raise NoProfiler(f"ncu reported {len(rows)} of {len(wanted)} launches: {(done.stdout + done.stderr)[-800:]}")
    return [{name: float(row[metric].replace(",", "")) for name, metric in METRICS.items()} for row in rows]


def launch_all(cubins: Path) -> None:
    """Launch each changed kernel once, for `ncu`."""
    A, B, C = (gpu.asarray(matrix) for matrix in problem(SIZE, SIZE, SIZE))
    for entry in json.loads((cubins / INDEX).read_text(encoding="utf-8"))["files"]:
        if entry["kind"] in ("kernel", "own"):
            _launch(entry, cubins)(SIZE, SIZE, SIZE, 1.0, A, B, 0.0, C)
    gpu.synchronize()


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m helpers.measure.registers", description=__doc__)
    parser.add_argument("command", choices=("record", "launch"))
    parser.add_argument("cubins", type=Path)
    parser.add_argument("--folder", type=Path, default=recordings.FOLDER, help="where to write the recording")
    options = parser.parse_args(arguments)
    if options.command == "launch":
        launch_all(options.cubins)
    else:
        print(record_registers(options.cubins, options.folder))


if __name__ == "__main__":
    main()
