"""Volatile loads and stores of shared memory: by which of them threads hand on what they did, and which are a race.

PTX ISA, 'Memory Consistency Model'; CUDA guide, 'Independent Thread Scheduling'.
"""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.compiler import compile, ptx
from gpusim.engine.run import Launch
from gpusim.symbols.memory_order import Strength, Waits, of_statements

I32 = np.int32


def launched(source, level, threads=64, blocks=1):
    """What a kernel (int *x, int *out) has put into out. RaceError if the sanitizer sees a race."""
    x, out = np.arange(1, 257, dtype=I32), np.zeros(256, I32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((blocks,), (threads,), (x, out))
    return out


# A warp hands on a number to the next one, which adds to it.
CHAIN = """INCLUDE
extern "C" __global__ void kernel(const int *x, int *out) {
    DECLARED
    __shared__ int data;
    const int warp = threadIdx.x / 32;
    if (threadIdx.x < 8) FLAG(threadIdx.x) = 0;
    if (threadIdx.x == 0) data = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        if (warp > 0)
            while (!(FOUND)) { }
        FENCE
        data += x[warp];
        FENCE
        RAISED;
    }
    __syncthreads();
    out[threadIdx.x] = data;
}"""
REF = "cuda::atomic_ref<int, cuda::thread_scope_block>(flags[{}])"
FLAGS = {  # how it is declared, raised and found
    "declared volatile": ("__shared__ volatile int flags[8];", "flags[warp] = 1", "flags[warp - 1]"),
    "an array that is cast": (
        "__shared__ int flags[8];", "((volatile int *)flags)[warp] = 1", "((volatile int *)flags)[warp - 1]"),
    "an address that is cast": (
        "__shared__ int flags[8];", "*(volatile int *)&flags[warp] = 1", "*(volatile int *)&flags[warp - 1]"),
    "a pointer to volatile": (
        "__shared__ int flags[8]; volatile int *const seen = flags;", "seen[warp] = 1", "seen[warp - 1] == 1"),
    "relaxed": (
        "__shared__ int flags[8];", REF.format("warp") + ".store(1, cuda::memory_order_relaxed)",
        REF.format("warp - 1") + ".load(cuda::memory_order_relaxed)"),
    "an atomic operation polls": (
        "__shared__ int flags[8];", "*(volatile int *)&flags[warp] = 1", "atomicAdd(&flags[warp - 1], 0)"),
    "volatile polls": ("__shared__ int flags[8];", "atomicExch(&flags[warp], 1)", "((volatile int *)flags)[warp - 1]"),
    "bytes": (
        "__shared__ volatile char flags[8];", "flags[warp] = 1", "flags[warp - 1]"),
    "with the data in one array": (
        "extern __shared__ int pool[]; volatile int *const flags = pool + 8;", "flags[warp] = 1", "flags[warp - 1]"),
}  # fmt: skip


def chained(how, level, fence):
    declared, raised, reported = FLAGS[how]
    source = CHAIN.replace("DECLARED", declared).replace("RAISED", raised).replace("FOUND", reported)
    source = source.replace("INCLUDE", "#include <cuda/atomic>" if "cuda::" in raised else "")
    source = source.replace("FLAG(threadIdx.x)", "flags[threadIdx.x]").replace("FENCE", fence)
    x, out = np.arange(1, 257, dtype=I32), np.zeros(256, I32)
    with gpusim.record(level=level, checks="raise"):
        kernel = gpusim.RawModule(code=source).get_function("kernel")
        kernel((1,), (256,), (x, out), shared_mem=64)
    return out


@pytest.mark.parametrize("how", FLAGS)
def test_shared_flag_orders_data_without_the_numpy_engine(how, level, monkeypatch):
    monkeypatch.setattr(Launch, "run", lambda launch: pytest.fail("the engine in NumPy runs it, too"))
    assert chained(how, level, "__threadfence_block();").tolist() == [36] * 256


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("how", FLAGS)
def test_missing_fence_makes_the_data_a_race_but_not_the_flag(how, level):
    with pytest.raises(errors.RaceError, match="data") as caught:
        chained(how, level, "")
    assert {finding.lines for finding in caught.value.report.findings} == {(13,)}
    assert "__threadfence_block() must come before the flag is raised, and behind the wait" in str(caught.value)


# The same on one line.
ON_ONE_LINE = """
extern "C" __global__ void kernel(const int *x, int *out) {
    __shared__ int flags[8], data;
    const int warp = threadIdx.x / 32;
    if (threadIdx.x < 8) flags[threadIdx.x] = 0;
    if (threadIdx.x == 0) data = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        if (warp > 0) { while (!*(volatile int *)&flags[warp - 1]) { } data += x[warp]; } else { data = x[0]; }
        __threadfence_block();
        *(volatile int *)&flags[warp] = 1;
    }
    __syncthreads();
    out[threadIdx.x] = data;
}"""


def test_a_flag_and_its_data_on_one_line_are_distinguished(level, monkeypatch):
    with pytest.raises(errors.RaceError, match="data"):
        launched(ON_ONE_LINE.replace("__threadfence_block();", ""), level, 256)
    monkeypatch.setattr(Launch, "run", lambda launch: pytest.fail("the engine in NumPy runs it, too"))
    assert launched(ON_ONE_LINE, level, 256).tolist() == [36] * 256


# ---- a reduction that relies on a warp that runs in step
REDUCTION = """
extern "C" __global__ void kernel(const int *x, int *out) {
    DECLARED
    const int t = threadIdx.x;
    FIRST
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        volatile int *v = (volatile int *)s;
        STEP(32)
        STEP(16)
        STEP(8)
        STEP(4)
        STEP(2)
        STEP(1)
    }
    if (t == 0) *out = s[0];
}"""
WAITS = "if (t == 63) *(volatile int *)&raised = 1; if (t == 0) while (!*(volatile int *)&raised) { }"
OTHERS = {
    "alone": ("__shared__ int s[64];", ""),
    "declared volatile": ("__shared__ volatile int s[64];", ""),
    "beside a fence": ("__shared__ int s[64];", "out[t] = 0; __threadfence();"),
    "beside an atomic operation": ("__shared__ int s[64], n;", "if (t == 0) n = 0; __syncthreads(); atomicAdd(&n, 1);"),
    "beside a flag": ("__shared__ int s[64], raised;", f"if (t == 0) raised = 0; __syncthreads(); {WAITS}"),
}
IN_STEP = "v[t] += v[t + {}];"
SYNCHRONISED = "if (t < {0}) v[t] += v[t + {0}]; __syncwarp();"


def reduced(level, what, step):
    source = REDUCTION.replace("DECLARED", OTHERS[what][0]).replace("FIRST", OTHERS[what][1])
    for width in (32, 16, 8, 4, 2, 1):
        source = source.replace(f"STEP({width})", step.format(width))
    return launched(source, level)[0]


@pytest.mark.parametrize("what", OTHERS)
def test_volatile_does_not_keep_the_lanes_of_a_warp_in_step(level, what):
    with pytest.raises(errors.RaceError, match="shared memory") as caught:
        reduced(level, what, IN_STEP)
    assert "the lanes of a warp need not run in step, and volatile does not make them" in str(caught.value)
    assert {line for finding in caught.value.report.findings for line in finding.lines} <= set(range(10, 16))
    assert reduced(level, what, SYNCHRONISED) == sum(range(1, 65))


def test_volatile_read_of_an_atomic_counter_is_no_race(level):
    source = """
extern "C" __global__ void kernel(const int *x, int *out) {
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (threadIdx.x % 2) atomicAdd(&count, 1);
    else out[threadIdx.x] = LOOK;
}"""
    assert launched(source.replace("LOOK", "*(volatile int *)&count"), level).max() <= 32
    with pytest.raises(errors.RaceError, match="count"):
        launched(source.replace("LOOK", "count"), level)


def test_waiting_thread_may_load_before_the_change_exists(level):
    source = """
extern "C" __global__ void kernel(const int *x, int *out) {
    __shared__ int count, data[64];
    __shared__ volatile int turn;
    if (threadIdx.x == 0) count = turn = 0;
    __syncthreads();
    for (int round = 0; round < 2; ++round) {
        data[threadIdx.x] = x[threadIdx.x] + round;
        __syncwarp();
        if (threadIdx.x % 32 == 0) {
            const int seen = turn;
            __threadfence_block();
            if (atomicAdd(&count, 1) == 2 * round + 1) turn = seen + 1;
            while (turn == seen) { }
            __threadfence_block();
        }
        __syncwarp();
        out[threadIdx.x] = data[threadIdx.x ^ 32];
        __syncthreads();
    }
}"""
    assert launched(source, level)[:64].tolist() == [(k ^ 32) + 2 for k in range(64)]
    with pytest.raises(errors.RaceError, match="data"):
        launched(source.replace("__threadfence_block();", "", 1), level)


BEGUN = {
    "in shared memory": ("__shared__ int n;", "n"),
    "in global memory": ("", "out[99]"),
}  # fmt: skip


@pytest.mark.parametrize("where", BEGUN)
@pytest.mark.parametrize("fence", ("", "__threadfence();"))
def test_counter_whose_first_value_is_not_awaited_is_a_race(level, where, fence):
    declared, n = BEGUN[where]
    source = f"""
extern "C" __global__ void kernel(const int *x, int *out) {{
    {declared}
    if (threadIdx.x == 0) {n} = 0;
    __syncthreads();
    atomicAdd(&{n}, 1);
    {fence}
    __syncthreads();
    out[threadIdx.x] = {n};
}}"""
    assert launched(source, level)[:64].tolist() == [64] * 64
    with pytest.raises(errors.RaceError) as caught:
        launched(source.replace("__syncthreads();", "", 1), level)
    assert set(caught.value.lines) == {4, 6}


def test_flag_alone_needs_no_fence_shared_polls_need_a_barrier(level):
    source = """
extern "C" __global__ void kernel(const int *x, int *out) {
    __shared__ volatile int flag, rounds;
    if (threadIdx.x == 0) flag = rounds = 0;
    __syncthreads();
    if (threadIdx.x == 0) flag = 1;
    else while (!flag) { }
    do {
        __syncthreads();
        if (threadIdx.x == 0) rounds = rounds + 1;
        __syncthreads();
    } while (rounds < 3);
    out[threadIdx.x] = 1;
}"""
    assert launched(source, level)[:64].all()
    with pytest.raises(errors.RaceError, match="rounds"):
        launched(source.replace("        __syncthreads();", "", 1), level)


# ---- who looks again and again
LOOPS = {
    "nothing else": ("while (!*v) { }", True),
    "until it has changed": ("int old = *v; while (*v == old) { }", True),
    "a number of tries": ("for (int k = 0; k < 99 && !*v; ++k) { }", True),
    "with a break": ("for (int k = 0; k < n; ++k) { sum += k * k; if (*v) break; out[k] = sum; }", True),
    "with a return": ("for (int k = 0; k < n; ++k) { out[k] += sum; if (*v == k) return; }", True),
    "a variable between": (
        "bool done = false; while (!done) { if (*v == 7) { out[1] = 3; done = true; } else __nanosleep(100); }", True),
    "a warp together": ("while (!__any_sync(~0u, *v == 1)) { }", True),
    "one for the warp": (
        "int found; do { found = t ? 0 : *v; found = __shfl_sync(~0u, found, 0); } while (!found);", True),
    "with a pause": ("while (*v == 0) __nanosleep(20);", True),
    "a state machine": (
        "int i = 0; while (i < 3) { int seen = *v; i = seen > 5 ? i + 1 : i > 1 ? 0 : i; }", True),
    "a loop that is unrolled": ("for (int i = 0; i < 8 && !*v; ++i) out[i] = n;", True),
    "a loop that is unrolled, with a break": (
        "for (int i = 0; i < 4; ++i) { if (*v) break; __nanosleep(20); sum += n * i; }", True),
    "a loop that is unrolled, and waits for nothing": ("for (int i = 0; i < 8; ++i) if (v[i] > 3) out[i] = n;", False),
    "a search that is unrolled": (
        "for (int i = 4; i > 0; i /= 2) if (v[t + i] > v[t]) v[t] = v[t + i];", False),
    "no loop": ("sum += *v;", False),
    "no loop, and a decision": ("if (*v) out[2] = 1;", False),
    "a sum of a loop": ("for (int k = 0; k < n; ++k) sum += v[k];", False),
    "a decision in a loop": ("for (int k = 0; k < n; ++k) if (v[k] > 3) sum += k;", False),
    "a barrier in the loop": ("do { __syncthreads(); out[3] = 1; } while (*v);", False),
    "another load decides": ("while (out[4]) { sum += *v; __threadfence(); }", False),
}  # fmt: skip


@pytest.mark.parametrize("how", LOOPS)
def test_ptx_loop_until_a_load_changes_makes_the_load_strong(how):
    body, waits = LOOPS[how]
    source = f"""extern "C" __global__ void kernel(int n, volatile int *out) {{
        extern __shared__ int s[]; volatile int *v = s; int t = threadIdx.x, sum = 0;
        {body}
        out[t] = sum; }}"""
    kernel = compile(source, "kernel")
    function = ptx.parse(kernel.ptx).functions["kernel"]
    accesses = [
        at for at, statement in enumerate(function.statements) if statement.opcode[:3] == ("ld", "volatile", "shared")
    ]
    assert accesses
    assert bool(Waits(function).decided_by(accesses)) == waits
    expected = {Strength.STRONG} if waits else {Strength.PLAIN}  # of a line all
    assert set(of_statements(function, dict.fromkeys(accesses)).values()) == expected


IN_FUNCTIONS = {  # how a flag is raised and waited for
    "a function waits": ("ready = 1", "wait_for(&ready)"),
    "a function looks": ("ready = 1", "while (!look(&ready)) { }"),
    "a function raises": ("put(&ready)", "while (!ready) { }"),
    "both": ("put(&ready)", "wait_for(&ready)"),
    "one function raises, and another looks": ("put(&ready)", "while (!look(&ready)) { }"),
}


@pytest.mark.parametrize("how", IN_FUNCTIONS)
def test_flag_is_recognised_when_a_called_function_handles_it(how, level):
    source = f"""
    __device__ __noinline__ void wait_for(volatile int *p) {{ while (!*p) {{ }} }}
    __device__ __noinline__ int look(volatile int *p) {{ return *p; }}
    __device__ __noinline__ void put(volatile int *p) {{ *p = 1; }}
    extern "C" __global__ void kernel(const int *x, int *out) {{
        __shared__ volatile int ready;
        __shared__ int data;
        if (threadIdx.x == 0) ready = 0;
        __syncthreads();
        if (threadIdx.x == 32) {{
            data = x[5];
            FENCE
            {IN_FUNCTIONS[how][0]};
        }} else if (threadIdx.x == 0) {{
            {IN_FUNCTIONS[how][1]};
            __threadfence_block();
            out[0] = data;
        }}
    }}"""
    assert launched(source.replace("FENCE", "__threadfence_block();"), level)[0] == 6
    with pytest.raises(errors.RaceError) as caught:
        launched(source.replace("FENCE", ""), level)
    assert {finding.lines for finding in caught.value.report.findings} == {(11, 17)}


def test_unrolled_search_with_early_end_is_no_race(level):
    source = """
    extern "C" __global__ void kernel(const int *x, int *out) {
        __shared__ volatile int found;
        if (threadIdx.x == 0) found = 0;
        __syncthreads();
        for (int i = 0; i < 8 && !found; ++i)
            if (x[8 * (threadIdx.x % 8) + i] == 13 + threadIdx.x / 32) found = 1;
        __syncthreads();
        out[threadIdx.x] = found;
    }"""
    assert launched(source, level)[:64].tolist() == [1] * 64
    with pytest.raises(errors.RaceError, match="found"):
        launched(source.replace("__syncthreads();", "", 1), level)


def test_a_called_function_that_relies_on_lanes_in_step_is_found(level):
    source = """
    __device__ __noinline__ void reduce(volatile int *s, int t) { s[t] += s[t + 16]; s[t] += s[t + 8]; }
    extern "C" __global__ void kernel(const int *x, int *out) {
        __shared__ int s[64];
        const int t = threadIdx.x;
        s[t] = x[t];
        __syncthreads();
        if (t < 32) reduce(s, t);
        __syncthreads();
        out[t] = s[t];
    }"""
    with pytest.raises(errors.RaceError, match="shared memory"):
        launched(source, level)
