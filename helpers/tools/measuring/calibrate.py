"""Microbenchmarks of one GPU: how long its instructions, its caches and its memory take, in cycles of the SM clock.

`python -m helpers.tools.measuring calibrate` runs them all, in about a minute, and keeps what was measured in
constants/<gpu>/machine.json; `gpusim.timing.machine` makes the constants of the SM model of it. Needs a GPU.

Three kinds: a loop of one instruction on one SM's worth of warps, or on one warp, timed with `clock64()`; chains of
dependent loads; and whole launches between two events, as the ladder is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import gpu, recordings
from helpers.measure.provenance import provenance
from helpers.measure.timing import WRITE, flusher
from helpers.tools.measuring import probes

COPIES = 64  # of an instruction in the body of its loop
REPEATS = 3  # of each launch; the least counts

_HEAD = r"""
typedef unsigned long long u64;
__device__ __forceinline__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t) :: "memory"); return t; }
__constant__ int table[256];
#define FOR_EACH(i, n) for (u64 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
"""
_KERNEL = r"""
extern "C" __global__ void __launch_bounds__(1024)
loop_{name}(u64 *times, int *sink, int *data, int rounds, int stride, int zero) {{
    extern __shared__ int shared[];
    const int lane = threadIdx.x % 32;
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) shared[i] = 0;
    unsigned base = (unsigned)__cvta_generic_to_shared(shared) + zero;
    {declarations}
    __syncthreads();
    u64 begin = 0;
    #pragma unroll 1
    for (int round = 0; round <= rounds; ++round) {{
        if (round == 1) begin = now();  // the first one brings the code and the data
        {body}
    }}
    const u64 end = now();
    int use = 0; {use}
    if (use == 0x12345) sink[0] = use;
    const int warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (lane == 0) times[2 * warp] = begin, times[2 * warp + 1] = end;
}}
"""


@dataclass(frozen=True)
class Loop:
    """A loop of one PTX instruction.  declare, statement: with @ for the number of one of 8 independent chains and #
    for that of one of the COPIES.  use: what keeps the compiler from dropping it.  chain: all copies on chain 0."""

    name: str
    declare: str
    statement: str
    use: str = ""
    chain: bool = False

    @property
    def source(self) -> str:
        chain = [0 if self.chain else copy % 8 for copy in range(COPIES)]
        body = "\n".join(
            self.statement.replace("@", str(which)).replace("#", str(copy)) for copy, which in enumerate(chain)
        )
        declarations = "\n".join(self.declare.replace("@", str(which)) for which in range(8))
        use = " ".join(self.use.replace("@", str(which)) for which in range(8))
        return _HEAD + _KERNEL.format(name=self.name, declarations=declarations, body=body, use=use)


def _asm(text: str, *operands: str) -> str:
    return f'asm volatile("{text}" : {" : ".join(operands)});'


def _loops() -> Iterator[tuple[Loop, tuple[tuple[int, int, int], ...]]]:
    """Each loop with what it is launched with: (blocks or 0 for one on each SM, threads, stride)."""
    full, alone = ((0, 1024, 1),), ((1, 32, 1),)
    f, i, d = "float a@ = lane + @ + zero;", "int a@ = lane + @ + zero;", "double a@ = lane + @ + zero;"
    fu, iu = "use += __float_as_int(a@);", "use += a@;"
    arithmetic = (
        ("fma", f, "fma.rn.f32 %0, %0, %0, %0;", '"+f"(a@)', fu),
        ("imad", i, "mad.lo.s32 %0, %0, %0, %0;", '"+r"(a@)', iu),
        ("xor", i + " int b@ = lane * 3 + zero;", "xor.b32 %0, %0, %1;", '"+r"(a@) : "r"(b@)', iu),
        ("dfma", d, "fma.rn.f64 %0, %0, %0, %0;", '"+d"(a@)', "use += (int)a@;"),
        ("ex2", f, "ex2.approx.ftz.f32 %0, %0;", '"+f"(a@)', fu),
        ("shuffle", i, "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;", '"+r"(a@)', iu),
        ("redux", i, "redux.sync.add.s32 %0, %0, -1;", '"+r"(a@)', iu),
    )
    for name, declare, text, operands, use in arithmetic:
        yield Loop(name, declare, _asm(text, operands), use), full
        yield Loop(f"{name}_chain", declare, _asm(text, operands), use, chain=True), alone
    four = "float a@ = lane, b@ = 1, c@ = 2, d@ = 3; "
    for shape, inputs in (("m16n8k16.row.col.f32.bf16.bf16.f32", 4), ("m16n8k8.row.col.f32.tf32.tf32.f32", 4)):
        name = "mma_bf16" if "bf16" in shape else "mma_tf32"
        text = f"mma.sync.aligned.{shape} {{%0,%1,%2,%3}}, {{%4,%4,%4,%4}}, {{%4,%4}}, {{%0,%1,%2,%3}};"
        operands = '"+f"(a@), "+f"(b@), "+f"(c@), "+f"(d@) : "r"(lane)'
        yield Loop(name, four, _asm(text, operands), "use += __float_as_int(a@ + b@ + c@ + d@);"), ((0, 512, 1),)
        yield (
            Loop(f"{name}_chain", four, _asm(text, operands), "use += __float_as_int(a@ + b@ + c@ + d@);", True),
            alone,
        )
        del inputs
    for bits, count in ((32, 1), (64, 2), (128, 4)):
        vector = {1: "b32 %0", 2: "v2.b32 {%0,%1}", 4: "v4.b32 {%0,%1,%2,%3}"}[count]
        names = [f'"=r"({letter}@)' for letter in "abcd"[:count]]
        declare = f"int a@ = 0, b@, c@, d@; int p@ = base + ((lane * {count} * stride + @ * 32) & 2047) * 4;"
        yield (
            Loop(
                f"lds{bits}",
                declare,
                _asm(f"ld.volatile.shared.{vector}, [%{count}];", ", ".join(names), '"r"(p@)'),
                iu,
            ),
            ((0, 1024, 0), (0, 1024, 1), (0, 1024, 2), (0, 1024, 8), (0, 128, 1)),
        )
    chase = "{.reg .b32 t; ld.volatile.shared.b32 t, [%0]; add.s32 %0, %0, t;}"
    yield (
        Loop("lds_chase", "int a@ = base + lane * stride * 4;", _asm(chase, '"+r"(a@)'), iu, True),
        tuple((1, 32, stride) for stride in (0, 1, 2, 8)),
    )
    for bits, names in ((64, "t, u"), (128, "t, u, v, w")):  # the next address comes with the last register
        step = f"[%0]; add.s32 %0, %0, {names[-1]};"
        chase = f"{{.reg .b32 t, u, v, w; ld.volatile.shared.v{bits // 32}.b32 {{{names}}}, {step}}}"
        declare = f"int a@ = base + lane * stride * {bits // 8};"
        yield Loop(f"lds{bits}_chase", declare, _asm(chase, '"+r"(a@)'), iu, True), ((1, 32, 0), (1, 32, 1))
    for cache in ("ca", "cg"):
        chase = f"{{.reg .b32 t; .reg .b64 u; ld.global.{cache}.b32 t, [%0]; cvt.u64.u32 u, t; add.u64 %0, %0, u;}}"
        yield (
            Loop(
                f"ldg_{cache}_chase",
                "int *a@ = data + lane * stride;",
                _asm(chase, '"+l"(a@)'),
                "use += (int)(u64)a@;",
                True,
            ),
            tuple((1, 32, stride) for stride in (0, 1, 2, 8, 32)),
        )
    chase = "{.reg .b32 t; atom.shared.add.u32 t, [%0], 0; add.s32 %0, %0, t;}"
    yield Loop("atoms_chase", "int a@ = base + lane * 4;", _asm(chase, '"+r"(a@)'), iu, True), alone
    yield Loop("atoms", "int p@ = base + lane * stride * 4;", _asm("red.shared.add.u32 [%0], 1;", "", '"r"(p@)')), (
        (0, 1024, 0), (0, 1024, 1), (0, 128, 1),
    )  # fmt: skip
    add = _asm("red.shared.add.u32 [%0], %1;", "", '"r"(p@), "r"(lane)')
    yield Loop("atoms_add", "int p@ = base + lane * stride * 4;", add), (
        (0, 1024, 0), (0, 1024, 1), (0, 1024, 2), (0, 1024, 8), (0, 128, 0),
    )  # fmt: skip
    swap = _asm("{.reg .b32 t; atom.shared.cas.b32 t, [%0], %1, %1;}", "", '"r"(p@), "r"(lane)')
    yield Loop("atoms_cas", "int p@ = base + lane * stride * 4;", swap), ((0, 1024, 0), (0, 1024, 1), (0, 128, 0))
    add = _asm("red.shared.add.f32 [%0], 0f3F800000;", "", '"r"(p@)')  # a loop that tries to swap until it succeeds
    yield Loop("atoms_addf", "int p@ = base + lane * stride * 4;", add), ((0, 32, 0), (0, 32, 1), (0, 1024, 1))
    hit = _asm("ld.global.ca.b32 %0, [%1];", '"=r"(a@)', '"l"(p@)')
    yield Loop("ldg_hit", "int a@ = 0; int *p@ = data + lane * stride + @ * 1024;", hit, iu), (
        (0, 1024, 1), (0, 256, 1), (0, 128, 1), (0, 1024, 8),
    )  # fmt: skip
    yield Loop("ldc_chase", "int a@ = zero;", "a@ = table[(a@ + #) & 255];", iu, True), alone
    yield (
        Loop("bar", "int a@ = 0;", _asm("bar.sync 0;", "")),
        tuple((0, threads, 1) for threads in (32, 128, 256, 512, 1024)),
    )
    far = "int *p@ = data + (blockIdx.x * 1024 + threadIdx.x) * {step};"
    for name, step, stride in (("stg", 1, 1), ("stg_sector", 8, 8), ("stg_line", 32, 32)):
        body = f'asm volatile("st.global.b32 [%0], %1;" :: "l"(p0 + (# % 16) * {132 * 1024 * step}), "r"(lane));'
        yield Loop(name, far.format(step=step), body), ((0, 1024, stride), (1, 1024, stride))
    body = 'asm volatile("st.global.v4.b32 [%0], {%1,%1,%1,%1};" :: "l"(p0 + (# % 16) * 540672), "r"(lane));'
    yield Loop("stg128", far.format(step=4), body), ((0, 1024, 1), (1, 1024, 1))
    for name, op in (
        ("red", "red.global.add.u32 [%0], 1;"),
        ("redf", "red.global.add.f32 [%0], 0f3F800000;"),
        ("atom", "{.reg .b32 t; atom.global.add.u32 t, [%0], 1; xor.b32 %1, %1, t;}"),
    ):
        operands = ("", '"l"(p0)') if name.startswith("red") else ('"+l"(p0), "+r"(a@)',)
        where = "int a@ = 0; int *p@ = data + (blockIdx.x * 1024 + threadIdx.x) * stride;"
        yield Loop(name, where, _asm(op, *operands), "use += a@;"), (
            (0, 256, 0), (1, 256, 0), (0, 256, 1), (1, 256, 1), (0, 256, 32), (1, 256, 32),
        )  # fmt: skip
    copy = (
        'asm volatile("cp.async.{c}.shared.global [%0], [%1], {n};" '
        ':: "r"(base + (threadIdx.x & 511) * {n}), "l"(p0 + (# & 15) * {s}));'
    )
    wait = ' if (# % 8 == 7) asm volatile("cp.async.commit_group; cp.async.wait_group 1;");'
    for cache, size in (("cg", 16), ("ca", 4)):
        at = f"int *p@ = data + (blockIdx.x % 8) * 65536 + threadIdx.x * {size // 4};"
        yield (
            Loop(f"copy{size}", at, copy.format(c=cache, n=size, s=256 * size) + wait),
            ((0, 1024, 1), (0, 256, 1), (1, 32, 1)),
        )
    for kib in (16, 32, 48, 64, 96, 128, 160, 192):
        body = "\n".join(_asm("fma.rn.f32 %0, %0, %0, %0;", f'"+f"(a{k % 8})') for k in range(kib))
        yield Loop(f"code{kib}", f, body, fu), ((0, 128, 1), (0, 512, 1))


_LAUNCHES = (
    _HEAD
    + r"""
extern "C" __global__ void chase(u64 *times, const u64 *from, int steps) {
    u64 at = (u64)from, begin = now();
    for (int i = 0; i < steps; ++i) asm volatile("ld.global.cg.b64 %0, [%0];" : "+l"(at));
    times[0] = begin, times[1] = now() + (at == 5);
}
extern "C" __global__ void read(const float4 *from, float *to, u64 n) {
    float sum = 0;
    FOR_EACH(i, n) {
        const float4 v = __ldcg(from + i);
        sum += v.x + v.y + v.z + v.w;
    }
    if (sum == 1.2345f) to[0] = sum;
}
extern "C" __global__ void read_sectors(const float *from, float *to, u64 n) {
    float sum = 0;
    FOR_EACH(i, n) sum += __ldcg(from + i * 8);
    if (sum == 1.2345f) to[0] = sum;
}
extern "C" __global__ void read_pairs(const float *from, float *to, u64 n) {
    float sum = 0;
    FOR_EACH(i, n) sum += __ldcg(from + i * 16);
    if (sum == 1.2345f) to[0] = sum;
}
extern "C" __global__ void write(float4 *to, float *unused, u64 n) {
    FOR_EACH(i, n) to[i] = make_float4(1, 2, 3, 4);
}
extern "C" __global__ void write_sectors(float *to, float *unused, u64 n) {
    FOR_EACH(i, n) to[i * 8] = 1;
}
extern "C" __global__ void write_halves(float4 *to, float *unused, u64 n) {
    FOR_EACH(i, n) to[i * 2] = make_float4(1, 2, 3, 4);
}
extern "C" __global__ void write_scattered(float *to, float *unused, u64 n) {  // n: a power of two
    FOR_EACH(i, n) to[i * 83152659 & (n - 1)] = 1;  // an odd factor: each float once
}
extern "C" __global__ void empty(const float *from, float *to, u64 n) {}
extern "C" __global__ void touch(const float *from, float *to, u64 n) {
    if (threadIdx.x == 0) to[blockIdx.x * 64] += 1.0f;
}
extern "C" __global__ void pitch(u64 *times, const float *from, int floats, float *to) {
    const float *mine = from + threadIdx.x % 32 * floats;
    float sum = 0, v;
    for (int i = 0; i < 64; ++i) sum += __ldca(mine + i % 16 * 32);   // now L1 has all lines
    __syncthreads();
    const long long begin = clock64();
    int at = 0;   // other lines each time, in the same place of the tags: equal loads would become one
    #pragma unroll 1
    for (int i = 0; i < 256; ++i) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) {
            asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(v) : "l"(mine + at));
            sum += v;
            at = (at + 32) & (15 * 32);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) times[blockIdx.x] = clock64() - begin;
    to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
)
PARTIAL = {"write_sectors": 32, "write_halves": 32, "write_scattered": 4}  # and of how many bytes a thread writes some
PITCH = "load pitch "  # and how many floats the lanes are apart
PITCHES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24, 31, 32, 33, 34, 35, 36, 37, 40, 41, 44, 48, 49, 50, 52, 56, 60, 63, 64,
           65, 66, 68, 72, 80, 96, 97, 100, 104, 112, 128, 129, 130, 132, 136, 144, 160, 192, 250, 255, 256, 257, 258,
           260, 1000, 1001, 1023, 1024, 1025)  # fmt: skip


def calibrate(folder=recordings.FOLDER) -> dict[str, Any]:
    """Run all microbenchmarks and write machine.json: {"gpu", "provenance", "measured": {name: cycles, …}}."""
    measured = {**_run_loops(), **_run_launches(), **_run_pitches(), **probes.run()}
    content = {"gpu": gpu.name(), "provenance": provenance(), "measured": measured}
    recordings.write(recordings.path(gpu.name(), recordings.MACHINE, folder), content)
    return content


def _compiled(sources: dict[str, str]) -> dict[str, Any]:
    """Kernels by name, compiled by all cores."""
    import os
    from concurrent.futures import ThreadPoolExecutor

    import cupy

    def compiled(item: tuple[str, str]) -> tuple[str, Any]:
        with cupy.cuda.Device(0):
            module = cupy.RawModule(code=item[1], options=("-std=c++17",))
            return item[0], module.get_function(f"loop_{item[0]}")

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(pool.map(compiled, sources.items()))


def _run_loops() -> dict[str, float]:
    """Cycles of each loop for one of its instructions, under "name blocks×threads /stride"."""
    import cupy

    sms = cupy.cuda.Device().attributes["MultiProcessorCount"]
    loops = list(_loops())
    functions = _compiled({loop.name: loop.source for loop, _ in loops})
    data, sink = cupy.zeros(1 << 28, cupy.int32), cupy.zeros(64, cupy.int32)
    times = cupy.zeros(2 * 32 * sms, cupy.uint64)
    result = {}
    for loop, launches in loops:
        rounds = 2 if loop.name.startswith(("stg", "red", "atom", "code")) else 8
        for blocks, threads, stride in launches:
            grid, least = blocks or sms, np.inf
            for _ in range(REPEATS):
                args = (times, sink, data, *map(np.int32, (rounds, stride, 0)))
                functions[loop.name]((grid,), (threads,), args, shared_mem=32768)
                stamps = times[: 2 * grid * (threads // 32)].get().reshape(grid, -1, 2).astype(np.int64)
                cycles = np.median(stamps[:, :, 1].max(axis=1) - stamps[:, :, 0].min(axis=1))
                least = min(least, float(cycles))
            copies = COPIES * (int(loop.name[4:]) if loop.name.startswith("code") else 1)
            result[f"{loop.name} {blocks or 'all'}×{threads} /{stride}"] = round(least / (rounds * copies), 4)
    return result


def _run_launches() -> dict[str, float]:
    """Cycles for each load of a chain; microseconds of whole launches."""
    import cupy

    names = ("chase", "read", "read_sectors", "read_pairs", "write", *PARTIAL, "empty", "touch")
    module = cupy.RawModule(code=_LAUNCHES, options=("-std=c++17",))
    functions = {name: module.get_function(name) for name in names}
    big, other, to = cupy.zeros(1 << 30, cupy.uint8), cupy.ones(1 << 28, cupy.uint8), cupy.zeros(1 << 24, cupy.float32)
    times, flush, random = cupy.zeros(2, cupy.uint64), flusher(WRITE), np.random.default_rng(1)
    result: dict[str, float] = {}
    for kib in (128, 2048, 16384, 28672, 49152, 524288):
        lines = kib * 1024 // 128
        order = random.permutation(lines)[: min(4096, lines)]
        host = np.zeros(kib * 128, np.uint64)
        host[order * 16] = big.data.ptr + np.roll(order, -1).astype(np.uint64) * 128
        big[: kib * 1024] = cupy.asarray(host.view(np.uint8))
        for _ in range(REPEATS):
            if kib > 100_000:
                flush()
            functions["chase"]((1,), (1,), (times, np.uint64(big.data.ptr + int(order[0]) * 128), np.int32(len(order))))
        stamps = times.get().astype(np.int64)
        result[f"chase {kib} KiB"] = float((stamps[1] - stamps[0]) / len(order))

    def clean() -> None:  # the L2 full of what need not be written back
        functions["read"]((1056,), (256,), (other, to, np.uint64(other.nbytes // 16)))

    def timed(name: str, grid: int, threads: int, count: int, before: Callable[[], None]) -> float:
        args = (big, to, np.uint64(count))
        values = []
        for _ in range(9):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            before()
            begin.record()
            functions[name]((grid,), (threads,), args)
            end.record()
            end.synchronize()
            values.append(cupy.cuda.get_elapsed_time(begin, end) * 1e3)
        return round(float(np.median(values)), 3)

    def warm(name: str, grid: int, threads: int, count: int) -> Callable[[], None]:
        def before() -> None:
            to.fill(0)
            functions[name]((grid,), (threads,), (big, to, np.uint64(count)))

        return before

    for grid, threads in (
        (1, 32),
        (132, 32),
        (132, 256),
        (132, 1024),
        (1056, 256),
        (10560, 256),
        (105600, 256),
        (105600, 32),
    ):
        result[f"empty {grid}×{threads}"] = timed("empty", grid, threads, 0, flush)
    result["touch 132×32"] = timed("touch", 132, 32, 0, flush)
    result["touch 132×32 clean"] = timed("touch", 132, 32, 0, clean)
    for mib in (1, 4, 16, 32, 64, 256, 1024):
        count = mib << 16
        result[f"read {mib} MiB dirty"] = timed("read", 1056, 256, count, flush)
        result[f"read {mib} MiB clean"] = timed("read", 1056, 256, count, clean)
        if mib <= 64:
            result[f"read {mib} MiB warm"] = timed("read", 1056, 256, count, warm("read", 1056, 256, count))
            result[f"write {mib} MiB warm"] = timed("write", 1056, 256, count, warm("write", 1056, 256, count))
        result[f"write {mib} MiB dirty"] = timed("write", 1056, 256, count, flush)
        result[f"write {mib} MiB clean"] = timed("write", 1056, 256, count, clean)
        if mib <= 256:
            for name, bytes_each in PARTIAL.items():
                result[f"{name} {mib} MiB clean"] = timed(name, 1056, 256, (mib << 20) // bytes_each, clean)
        result[f"read sectors of {mib} MiB clean"] = timed("read_sectors", 1056, 256, (mib << 20) // 32, clean)
        result[f"read pairs of {mib} MiB clean"] = timed("read_pairs", 1056, 256, (mib << 20) // 64, clean)
    return result


def _run_pitches() -> dict[str, float]:
    """Cycles of L1 for a load of a warp whose lanes are so many floats apart and find everything there."""
    import cupy

    pitch = cupy.RawModule(code=_LAUNCHES, options=("-std=c++17",)).get_function("pitch")
    sms = cupy.cuda.Device().attributes["MultiProcessorCount"]
    data, to = cupy.ones(1 << 16, cupy.float32), cupy.empty(sms * 1024, cupy.float32)
    times, result = cupy.zeros(sms, cupy.uint64), {}
    for floats in PITCHES:
        least = np.inf
        for _ in range(REPEATS):
            pitch((sms,), (1024,), (times, data, np.int32(floats), to))
            least = min(least, float(np.median(times.get())))
        result[f"{PITCH}{floats}"] = round(least / (256 * 8 * 32), 4)
    return result
