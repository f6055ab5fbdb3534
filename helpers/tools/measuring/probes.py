"""Microbenchmarks of what happens around the instructions of a launch: blocks that follow each other, reading and
writing at once, gathers, L1 as it fills up, queues before the memory units. Part of `calibrate`. Needs a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from helpers.measure.timing import WRITE, flusher

MIXED_LOADS = r"""
typedef unsigned long long u64;
#define LOADS 16
#define MIXED(name, fresh, lanes)  /* of the loads of a turn, those whose bits are set miss L1 and hit L2 */        \
    extern "C" __global__ void __launch_bounds__(1024)                                                              \
    name(u64 *times, const int *hits, const int *lines, int turns, int zero, int *to) {                             \
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;                                                 \
        int v[LOADS], sum = 0;                                                                                      \
        u64 begin = 0;                                                                                              \
        _Pragma("unroll 1") for (int turn = 0; turn <= turns; ++turn) {                                             \
            if (turn == 1) begin = clock64();  /* the first one brings the code and what shall hit */               \
            const int *old = hits + lane + turn * zero;  /* which the compiler must not know to be the same */      \
            const int *other = lines + lane % (lanes) + (turn * 32 + warp) * LOADS * 32;                            \
            _Pragma("unroll") for (int k = 0; k < LOADS; ++k) {                                                     \
                const int *from = ((fresh) >> k & 1 ? other : old) + k * 32;                                        \
                asm volatile("ld.global.b32 %0, [%1];" : "=r"(v[k]) : "l"(from) : "memory");                        \
            }                                                                                                       \
            _Pragma("unroll") for (int k = 0; k < LOADS; ++k) sum ^= v[k];                                          \
        }                                                                                                           \
        __syncthreads();                                                                                            \
        if (threadIdx.x == 0) times[blockIdx.x] = clock64() - begin;                                                \
        if (sum == 12345) to[0] = sum;                                                                              \
    }
MIXED(mixed_none, 0, 32)
MIXED(mixed_each_other, 0xaaaa, 1)
MIXED(mixed_all, 0xffff, 1)
MIXED(mixed_all_lines, 0xffff, 32)
"""
KERNELS = (
    MIXED_LOADS
    + r"""
#define EACH(i, n) for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x)

extern "C" __global__ void spin(int cycles) {
    const u64 begin = clock64();
    while (clock64() - begin < cycles) {}
}
extern "C" __global__ void keep_clean(const float4 *from, float *to, u64 n) {
    float sum = 0;
    EACH(i, n) sum += __ldcg(from + i).x;
    if (sum == 1.2345f) to[0] = sum;
}
extern "C" __global__ void copy(const float4 *from, float4 *to, u64 n) {
    EACH(i, n) to[i] = from[i];
}
extern "C" __global__ void write_sectors(float *to, u64 n) {
    EACH(i, n) to[i * 8] = 1;
}
extern "C" __global__ void write_halves(float4 *to, u64 n) {
    EACH(i, n) to[i * 2] = make_float4(1, 2, 3, 4);
}
extern "C" __global__ void write_scattered(float *to, u64 n) {  // n: a power of two
    EACH(i, n) to[i * 83152659 & (n - 1)] = 1;
}
extern "C" __global__ void gather(const float *from, float *to, u64 n, unsigned entries, unsigned alike) {
    float sum = 0;
    EACH(i, n) {  // `alike` lanes beside each other read what lies together
        unsigned h = (unsigned)(i / alike) * 2654435761u;
        h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
        sum += __ldcg(from + ((u64)(h & (entries / alike - 1)) * alike + i % alike));
    }
    if (sum == 1.2345f) to[0] = sum;
}
extern "C" __global__ void steps(const int *from, int *to, int count, int apart) {
    int at = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 32 + threadIdx.x % 32, zero = 0;
    for (int k = 0; k < count; ++k) zero = __ldcg(from + at + (u64)k * apart + zero);
    if (zero) to[0] = zero;
}
extern "C" __global__ void chase(u64 *times, const u64 *from, int count) {
    u64 at = (u64)from, begin = clock64();
    for (int i = 0; i < count; ++i) asm volatile("ld.global.cg.b64 %0, [%0];" : "+l"(at));
    times[0] = begin, times[1] = clock64() + (at == 5);
}
extern "C" __global__ void __launch_bounds__(1024) again(u64 *times, const float *from, int lines, int *to) {
    float sum = 0, v;
    u64 begin = 0;
    for (int pass = 0; pass < 5; ++pass) {
        __syncthreads();
        if (pass == 1) begin = clock64();
        for (int line = threadIdx.x / 32; line < lines; line += blockDim.x / 32) {
            asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(v) : "l"(from + line * 32 + threadIdx.x % 32) : "memory");
            sum += v;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) times[blockIdx.x] = clock64() - begin;
    if (sum == 1.2345f) to[0] = sum;
}
extern "C" __global__ void kept(u64 *times, int *from, int lines, int *stored, int others, int lanes, int *to) {
    int at = 0;  // by one warp; there are only zeros
    for (int i = 0; i < lines; ++i) asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(at) : "l"(from + i * 32 + at));
    if (threadIdx.x < lanes)
        for (int i = 0; i < others; ++i) asm volatile("st.global.b32 [%0], 0;" :: "l"(stored + i * 32 + threadIdx.x));
    u64 begin = clock64();
    while (clock64() - begin < 20000) {}
    begin = clock64();
    for (int i = 0; i < lines; ++i) asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(at) : "l"(from + i * 32 + at));
    times[0] = clock64() - begin + at;
}
#define DEPTH 64
#define IN_TURN(request)                                                                    \
    unsigned stamp[DEPTH + 1];                                                              \
    _Pragma("unroll") for (int k = 0; k < DEPTH; ++k) {                                     \
        asm volatile("bar.sync %0, 32;" :: "r"(warp) : "memory");  /* else they change places */ \
        asm volatile("mov.u32 %0, %%clock;" : "=r"(stamp[k]) :: "memory");                  \
        request;                                                                            \
    }                                                                                       \
    asm volatile("bar.sync %0, 32;" :: "r"(warp) : "memory");                               \
    asm volatile("mov.u32 %0, %%clock;" : "=r"(stamp[DEPTH]) :: "memory");                  \
    if (threadIdx.x % 32 == 0)                                                              \
        for (int k = 0; k <= DEPTH; ++k) stamps[warp * (DEPTH + 1) + k] = stamp[k];
extern "C" __global__ void queue_global(const int *from, int *to, unsigned *stamps) {
    int v[DEPTH], sum = 0, warp = threadIdx.x / 32;
    const int *p = from + threadIdx.x % 32 * 32;
    IN_TURN(asm volatile("ld.volatile.global.b32 %0, [%1];" : "=r"(v[k]) : "l"(p + k % 8 * 1024) : "memory"))
    for (int k = 0; k < DEPTH; ++k) sum += v[k];
    to[threadIdx.x] = sum;
}
extern "C" __global__ void queue_store(const int *from, int *to, unsigned *stamps) {
    const int warp = threadIdx.x / 32;
    int *p = to + threadIdx.x % 32 * 32 + warp * 65536;
    IN_TURN(asm volatile("st.global.b32 [%0], %1;" :: "l"(p + k * 1024), "r"(k) : "memory"))
}
extern "C" __global__ void queue_shared(const int *from, int *to, unsigned *stamps) {
    __shared__ int data[1024 + 8];
    int v[DEPTH], sum = 0, warp = threadIdx.x / 32;
    for (int k = threadIdx.x; k < 1032; k += blockDim.x) data[k] = from[k];
    __syncthreads();
    const unsigned p = (unsigned)__cvta_generic_to_shared(data) + threadIdx.x % 32 * 128;
    IN_TURN(asm volatile("ld.volatile.shared.b32 %0, [%1];" : "=r"(v[k]) : "r"(p + k % 8 * 4) : "memory"))
    for (int k = 0; k < DEPTH; ++k) sum += v[k];
    to[threadIdx.x] = sum;
}
extern "C" __global__ void parameter(int *to, int value) {
    if (value == 12345) to[0] = value;
}
extern "C" __global__ void store_parts(float *to, u64 n, unsigned apart, unsigned mask) {  // a float each
    EACH(i, n) to[i * apart & mask] = i;
}
extern "C" __global__ void store_quads(float4 *to, u64 n, unsigned apart, unsigned mask) {
    EACH(i, n) to[i * apart & mask] = make_float4(1, 2, 3, 4);
}
__device__ unsigned hashed(unsigned h) {
    h *= 2654435761u, h ^= h >> 15, h *= 2246822519u;
    return h ^ h >> 13;
}
extern "C" __global__ void add_floats(float *to, u64 n, unsigned mask) {
    EACH(i, n) atomicAdd(&to[hashed(i) & mask], 1.5f);
}
extern "C" __global__ void add_integers(int *to, u64 n, unsigned mask) {
    EACH(i, n) atomicAdd(&to[hashed(i) & mask], 3);
}
extern "C" __global__ void take_numbers(int *to, u64 n, unsigned mask) {
    int sum = 0;
    EACH(i, n) sum += atomicAdd(&to[hashed(i) & mask], 3);
    if (sum == 12345) to[0] = sum;
}
extern "C" __global__ void take_by_warps(int *to, u64 n, unsigned mask) {  // one lane of each warp
    int sum = 0;
    EACH(i, n) if (threadIdx.x % 32 == 0) sum += atomicAdd(&to[hashed(i) & mask], 3);
    if (sum == 12345) to[0] = sum;
}
"""
)
STRAIGHT = """
extern "C" __global__ void straight_{kib}(float *to, float x) {{
    float v0 = x, v1 = x + 1, v2 = x + 2, v3 = x + 3;
    {body}
    if (v0 + v1 + v2 + v3 == 1.2345f) to[0] = v0;
}}
"""
DEPTH = 64  # as in KERNELS
CODE = (1, 2, 4, 8, 16, 32, 64)  # KiB
TURNS, LOADS = 32, 16  # LOADS: as in MIXED_LOADS
MIXED = {
    "mixed_none": "loads that hit L1", "mixed_each_other": "loads of which each other one misses L1",
    "mixed_all": "loads of a sector that miss L1", "mixed_all_lines": "loads of a line that miss L1",
}  # fmt: skip
FEW_SMS = 8  # which do not use up what L2 delivers
QUEUES = ("queue_global", "queue_store", "queue_shared")
SIZES = (1, 4, 16, 32, 64, 256)  # MiB
PARTIAL = {"write_sectors": 32, "write_halves": 32, "write_scattered": 4}  # and of how many bytes a thread writes some
REPEATS = 9  # of a timed launch; the median counts


def run() -> dict[str, float]:
    """Microseconds of whole launches between two events, and cycles where the name says so."""
    import cupy

    module = cupy.RawModule(code=KERNELS, options=("-std=c++17",))
    call = Calls(module, flusher(WRITE))
    parts = (_blocks, _code, _streams, _parts, _gathers, _atomics, _steps, _l1, _kept, _mixed, _queues)
    return {name: value for part in parts for name, value in part(call).items()}


class Calls:
    """Kernels of a module, launched by name and timed."""

    def __init__(self, module: Any, flush: Callable[[], None], other: Calls | None = None) -> None:
        import cupy

        self.cupy, self.module, self.dirty, self.basic = cupy, module, flush, other or self
        if other is not None:
            return
        self.big, self.other = cupy.zeros(1 << 30, cupy.uint8), cupy.zeros(1 << 28, cupy.uint8)
        self.to = cupy.zeros(1 << 28, cupy.uint8)
        self.sms = cupy.cuda.Device().attributes["MultiProcessorCount"]

    def __call__(self, name: str, grid: int, threads: int, *args: Any, shared: int = 0) -> None:
        function = self.module.get_function(name)
        if shared > 48 * 1024:
            function.max_dynamic_shared_size_bytes = shared
        function((grid,), (threads,), args, shared_mem=shared)

    def again(self, name: str, grid: int, threads: int, *args: Any) -> Callable[[], None]:
        """What is done before a launch that shall find its data in L2: the launch, and a while in which the host can
        queue the next one."""

        def before() -> None:
            self(name, grid, threads, *args)
            self.basic("spin", 1, 32, np.int32(100_000))

        return before

    def clean(self) -> None:
        """Fill the L2 with what need not be written back."""
        self("keep_clean", 1056, 256, self.other, self.to, np.uint64(self.other.nbytes // 16))

    def timed(self, before: Callable[[], None], name: str, grid: int, threads: int, *args: Any, **more: int) -> float:
        """Microseconds."""
        values = []
        for _ in range(REPEATS):
            begin, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
            before()
            begin.record()
            self(name, grid, threads, *args, **more)
            end.record()
            end.synchronize()
            values.append(self.cupy.cuda.get_elapsed_time(begin, end) * 1e3)
        return round(float(np.median(values)), 3)

    def around(self, name: str, *args: Any) -> Mapping[str, Callable[[], None]]:
        """What is done before a launch, by the state of L2 that it leaves."""
        return {"dirty": self.dirty, "clean": self.clean, "warm": self.again(name, *args)}


def _blocks(call: Calls) -> dict[str, float]:
    """Blocks that take 3 000 cycles each, so that only what lies between them differs; and empty ones."""
    result = {}
    for threads, on_one, shared in (
        (32, 32, 0),
        (128, 16, 0),
        (256, 8, 0),
        (512, 4, 0),
        (1024, 2, 0),
        (256, 1, 200_000),
    ):
        for waves in (1, 3, 9):
            blocks = waves * on_one * call.sms
            kind = f"spin {waves} waves of {on_one} × {threads}"
            result[kind] = call.timed(call.dirty, "spin", blocks, threads, np.int32(3000), shared=shared)
    for blocks in (1056, 10560):
        result[f"spin nothing {blocks}×1024"] = call.timed(call.dirty, "spin", blocks, 1024, np.int32(0))
    return result


def _code(call: Calls) -> dict[str, float]:
    """Code that is executed once, and a parameter that is read, with nothing of it in the caches and with all of it."""
    import cupy

    result = {}
    for threads in (32, 256):
        args = ("parameter", call.sms, threads, call.to, np.int32(1))
        for state in ("dirty", "warm"):
            result[f"parameter {call.sms}×{threads} {state}"] = call.timed(call.around(*args)[state], *args)
    sources = {kib: "".join(f"v{i % 4} = fmaf(v{i % 4}, x, {i % 7}.5f); " for i in range(64 * kib)) for kib in CODE}
    text = "".join(STRAIGHT.format(kib=kib, body=body) for kib, body in sources.items())
    module = cupy.RawModule(code=text, options=("-std=c++17",))
    straight = Calls(module, call.dirty, call)
    for kib in CODE:
        for threads in (32, 256):
            args = (f"straight_{kib}", call.sms, threads, call.to, np.float32(0.5))
            for state, before in straight.around(*args).items():
                if state != "clean":
                    result[f"straight {kib} KiB {call.sms}×{threads} {state}"] = straight.timed(before, *args)
    return result


def _parts(call: Calls) -> dict[str, float]:
    """Four million stores into 4 MiB that L2 holds: whole lines, and parts of sectors."""
    result, n = {}, np.uint64(1 << 22)
    for name, apart, mask in (
        ("store_parts", 1, 2**20 - 1), ("store_parts", 8, 2**20 - 1), ("store_parts", 32, 2**20 - 1),
        ("store_quads", 1, 2**18 - 1), ("store_quads", 2, 2**18 - 1), ("store_quads", 8, 2**18 - 1),
    ):  # fmt: skip
        for blocks in (1, call.sms, 8 * call.sms):
            many = n if blocks > 1 else np.uint64(1 << 16)
            args = (name, blocks, 256, call.big, many, np.uint32(apart), np.uint32(mask))
            key = f"{name} {apart} apart, {blocks} blocks warm"
            result[key] = call.timed(call.again(*args), *args)
    return result


def _atomics(call: Calls) -> dict[str, float]:
    """A million atomic additions, of floats and of integers, with and without what was there before."""
    result, n = {}, 1 << 20
    for name in ("add_floats", "add_integers", "take_numbers", "take_by_warps"):
        call.big.fill(0)
        for places in (1, 16, 1024, 1 << 14, 1 << 18, 1 << 21, 1 << 25):
            args = (name, 1056, 256, call.big, np.uint64(n), np.uint32(places - 1))
            state = "warm" if places <= 1 << 18 else "dirty"
            result[f"{name} {places} places {state}"] = call.timed(call.around(*args)[state], *args)
    return result


def _streams(call: Calls) -> dict[str, float]:
    """Copies by 1056 blocks and by a thread for each 16 bytes; stores of parts of sectors."""
    result = {}
    for mib in SIZES:
        count = np.uint64(mib << 16)
        for grid, how in ((1056, "copy"), (mib << 8, "copy by each")):
            args = (grid, 256, call.big, call.to, count)
            for state, before in call.around("copy", *args).items():
                if state != "warm" or mib <= 16:
                    result[f"{how} {mib} MiB {state}"] = call.timed(before, "copy", *args)
        for name, bytes_each in PARTIAL.items():
            args = (1056, 256, call.big, np.uint64((mib << 20) // bytes_each))
            result[f"{name} {mib} MiB dirty"] = call.timed(call.dirty, name, *args)
    return result


def _gathers(call: Calls) -> dict[str, float]:
    """Four million loads of random floats, and of groups of 8 and 32 that lie together, in tables of several sizes."""
    result, n = {}, 1 << 22
    for alike in (1, 2, 8, 32):
        for mib in (1, 8, 32, 128, 1024):
            args = (1056, 256, call.big, call.to, np.uint64(n), np.uint32(mib << 18), np.uint32(alike))
            for state, before in call.around("gather", *args).items():
                if (state == "warm") == (mib <= 8):
                    result[f"gather by {alike} in {mib} MiB {state}"] = call.timed(before, "gather", *args)
        for blocks in (1, call.sms // 4, call.sms):
            many = np.uint64(n * blocks // 1056)
            args = ("gather", blocks, 1024, call.big, call.to, many, np.uint32(1 << 20), np.uint32(alike))
            result[f"gather by {alike} by {blocks} blocks warm"] = call.timed(call.again(*args), *args)
    return result


def _steps(call: Calls) -> dict[str, float]:
    """Loads that wait for one another, by a few warps and by many; and on a page of memory each."""
    result = {}
    call.big.fill(0)
    for blocks, threads in ((call.sms, 32), (call.sms, 256), (2 * call.sms, 1024)):
        for count in (1, 2, 4, 8):
            args = (blocks, threads, call.big, call.to, np.int32(count), np.int32(1 << 19))
            for state in ("dirty", "clean"):
                before = getattr(call, state)
                result[f"{count} steps of {blocks}×{threads} {state}"] = call.timed(before, "steps", *args)
    times, random = call.cupy.zeros(2, call.cupy.uint64), np.random.default_rng(1)
    for kib, lines in ((2048, 512), (128, 512), (16, 512)):  # how far apart; a line of each
        order = random.permutation(lines)
        host = np.zeros(lines * kib * 128, np.uint64)
        where = order.astype(np.uint64) * kib * 1024 + order.astype(np.uint64) % 64 * 128
        host[where // 8] = call.big.data.ptr + np.roll(where, -1)
        call.big[: host.nbytes] = call.cupy.asarray(host.view(np.uint8))
        for _ in range(3):
            call.clean()
            call("chase", 1, 1, times, np.uint64(call.big.data.ptr + int(where[0])), np.int32(lines))
        stamps = times.get().astype(np.int64)
        result[f"chase {lines} lines, {kib} KiB apart (cycles)"] = float((stamps[1] - stamps[0]) / lines)
    call.big.fill(0)
    return result


def _l1(call: Calls) -> dict[str, float]:
    """Cycles for each line that an SM reads again and again, all of so many KiB each time."""
    result = {}
    times = call.cupy.zeros(call.sms, call.cupy.uint64)
    for kib in (64, 128, 160, 176, 192, 208, 216, 224, 232, 240, 248, 256, 272, 320, 384):
        lines = kib * 8
        for _ in range(3):
            call("again", call.sms, 1024, times, call.big, np.int32(lines), call.to)
        result[f"again {kib} KiB (cycles)"] = round(float(np.median(times.get())) / (4 * lines), 4)
    return result


def _kept(call: Calls) -> dict[str, float]:
    """Cycles of a load from 64 KiB that were loaded before, and since then other lines, or these, were stored."""
    result = {}
    times, lines = call.cupy.zeros(1, call.cupy.uint64), 512
    for stored in (call.other, call.big):
        stored.fill(0)
        for lanes, parts in ((32, "lines"), (1, "a float of lines")):
            for kib in (0, 64, 128, 192, 256, 512):
                for _ in range(3):
                    args = (np.int32(lines), stored, np.int32(8 * kib), np.int32(lanes), call.to)
                    call("kept", 1, 32, times, call.big, *args)
                which = "the same" if stored is call.big else "others"
                result[f"load after stores to {parts}, {kib} KiB, {which} (cycles)"] = float(times.get()[0]) / lines
    return result


def _mixed(call: Calls) -> dict[str, float]:
    """Cycles of an SM for each load of its 32 warps, whose loads find their data in L1, in L2, or here and there."""
    result = {}
    times = call.cupy.zeros(FEW_SMS, call.cupy.uint64)
    call.big.fill(0)
    for name, what in MIXED.items():
        values = []
        for _ in range(REPEATS):  # the first one brings the lines to L2
            call(name, FEW_SMS, 1024, times, call.to, call.big, np.int32(TURNS), np.int32(0), call.other)
            values.append(float(np.median(times.get())))
        result[f"{what} (cycles)"] = round(min(values) / (TURNS * LOADS * 32), 4)
    return result


def _queues(call: Calls) -> dict[str, float]:
    """Cycles after the first at which a warp issues each of 40 requests that take 32 cycles of a unit each."""
    result = {}
    for name in QUEUES:
        for warps in (1, 4, 8):
            stamps = call.cupy.zeros(warps * (DEPTH + 1), call.cupy.uint32)
            for _ in range(2):
                call(name, 1, 32 * warps, call.big, call.to, stamps)
            cycles = stamps.get().reshape(warps, -1).astype(np.int64)
            issued = (cycles - cycles.min())[0]
            for k in range(0, DEPTH + 1, 2):
                result[f"{name} {k} of {warps} (cycles)"] = float(issued[k])
    return result
