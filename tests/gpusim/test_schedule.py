"""Threads that wait for others in a loop: they must let them run (CUDA guide, 'Independent Thread Scheduling')."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim import errors, native
from gpusim.engine import compiled, convergence
from gpusim.engine.clock import TAKES
from helpers.pictures.machine import facts as memories

compiled_engine = pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")
RECORDED = Path(__file__).parent / "goldens" / "system_sm_90.json"

PRODUCER_AND_CONSUMER = """
extern "C" __global__ void pass_on(const int *x, int *y) {
    __shared__ volatile int full, item;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    if (threadIdx.x == PRODUCER) {
        for (int i = 0; i < 20; ++i) {
            while (full) { }
            item = x[i];
            __threadfence_block();
            full = 1;
        }
    } else if (threadIdx.x == CONSUMER) {
        for (int i = 0; i < 20; ++i) {
            while (!full) { }
            y[i] = 3 * item;
            __threadfence_block();
            full = 0;
        }
    }
}"""

LOCK = """
__device__ int lock;
extern "C" __global__ void count(int *total) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1)) { }
        __threadfence();
        *(volatile int *)total += 1;
        __threadfence();
        atomicExch(&lock, 0);
    }
}"""

# The threads of one warp take a lock in turns; an H200 ends all of them (goldens/system_sm_90.json).
LOCKS_IN_A_WARP = """
extern "C" __global__ void spin(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0);
    *(volatile int *)count = *(volatile int *)count + 1; __threadfence(); atomicExch(lock, 0);
}
extern "C" __global__ void spin_volatile(int *lock, int *count) {
    while (atomicExch(lock, 1) != 0);
    __threadfence(); *count += 1; __threadfence(); *(volatile int *)lock = 0;
}
extern "C" __global__ void spin_done(int *lock, int *count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int *)count = *(volatile int *)count + 1; __threadfence(); atomicExch(lock, 0);
            done = true;
        }
    }
}"""

# What who waits for a lock does between two looks at it.
MEANWHILE = {
    "idle": "", "counting": "++tries;", "looking elsewhere": "tries += *taken >= 0;", "counting in memory": "++*own;",
    "counting together": "atomicAdd(tried, 1);",
    "waiting for the clock": "++tries; for (long long start = clock64(); clock64() - start < 50;) { }",
}  # fmt: skip

TICKETS = """
__device__ int next_ticket;
__device__ volatile int served;
extern "C" __global__ void in_order(int *order) {
    if (threadIdx.x == 0) {
        int ticket = atomicAdd(&next_ticket, 1);
        while (served != ticket) { }
        order[ticket] = gridDim.x - blockIdx.x;
        __threadfence();
        served = ticket + 1;
    }
}"""

WAIT_FOR_A_BLOCK = """
__device__ volatile int ready;
extern "C" __global__ void wait(int *y) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == WRITER) { y[8] = 7; __threadfence(); ready = 1; }
        else { while (!ready) { } __threadfence(); y[blockIdx.x] = ((volatile int *)y)[8]; }
    }
}"""


def launch(level: str, source: str, name: str, grid: int, block: int, *arrays: np.ndarray, **macros) -> None:
    options = tuple(f"-D{macro}={value}" for macro, value in macros.items())
    with gpusim.record(level=level, checks="off"):
        gpusim.RawModule(code=source, options=options).get_function(name)((grid,), (block,), arrays)


@pytest.mark.parametrize(("producer", "consumer"), [(0, 32), (32, 0)])
def test_warps_pass_items_through_a_flag_that_they_wait_for(level, producer, consumer):
    x, y = np.arange(20, dtype=np.int32), np.zeros(20, np.int32)
    launch(level, PRODUCER_AND_CONSUMER, "pass_on", 1, 64, x, y, PRODUCER=producer, CONSUMER=consumer)
    assert y.tolist() == (3 * x).tolist()


def test_a_lock_that_blocks_wait_for_is_passed_on(level):
    total = np.zeros(1, np.int32)
    launch(level, LOCK, "count", 24, 32, total)
    assert total[0] == 24


@pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")
@pytest.mark.parametrize("meanwhile", MEANWHILE.values(), ids=MEANWHILE)
@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (4, 128), (16, 128)])
def test_a_lock_that_each_thread_waits_for_is_taken_by_each(level, meanwhile, blocks, threads):
    source = """extern "C" __global__ void kernel(int *lock, volatile int *taken, int *tried) {
        int tries = 0;
        int *const own = tried + blockIdx.x * blockDim.x + threadIdx.x;
        while (atomicCAS(lock, 0, 1) != 0) { MEANWHILE }
        *taken = *taken + 1;
        __threadfence();
        atomicExch(lock, 0);
        *own += tries;
    }"""
    lock, taken = np.zeros((2, 1), np.int32)
    tried = np.zeros(blocks * threads, np.int32)
    launch(level, source, "kernel", blocks, threads, lock, taken, tried, MEANWHILE=meanwhile)
    assert (lock[0], taken[0]) == (0, blocks * threads)
    assert (tried > 0).any() == bool(meanwhile)


# Threads of one warp wait for each other, and write meanwhile. x[1] becomes the number of threads.
WRITE_WHILE_THEY_WAIT = {
    "a lock of each bucket, within another lock": """int *bucket = x + 16 + threadIdx.x % 3;
        while (atomicCAS(bucket, 0, 1)) atomicAdd(x + 2, 1);
        while (atomicCAS(x, 0, 1)) atomicAdd(x + 3, 1);
        ((volatile int *)x)[1] += 1; __threadfence(); atomicExch(x, 0); atomicExch(bucket, 0);""",
    "tickets": """int ticket = atomicAdd(x + 4, 1);
        while (((volatile int *)x)[5] != ticket) atomicAdd(x + 2, 1);
        ((volatile int *)x)[1] += 1; __threadfence(); atomicAdd(x + 5, 1);""",
    "each for the lane before it": """int lane = threadIdx.x % 32, *cell = x + 8 + threadIdx.x - lane + 64 * blockIdx.x;
        while (lane && ((volatile int *)cell)[lane - 1] == 0) atomicAdd(x + 2, 1);
        atomicAdd(x + 1, 1); __threadfence(); atomicExch(cell + lane, 1);""",
    "each for the lane behind it": """int lane = threadIdx.x % 32, *cell = x + 8 + threadIdx.x - lane + 64 * blockIdx.x;
        while (lane < 31 && ((volatile int *)cell)[lane + 1] == 0) atomicAdd(x + 2, 1);
        atomicAdd(x + 1, 1); __threadfence(); atomicExch(cell + lane, 1);""",
    "in a branch, before a barrier": """if (threadIdx.x % 2) {
            while (atomicCAS(x, 0, 1)) atomicAdd(x + 2, 1);
            ((volatile int *)x)[1] += 2; __threadfence(); atomicExch(x, 0);
        }
        __syncthreads();""",
    "readers and writers": """if (threadIdx.x % 8 == 0) {
            while (atomicCAS(x, 0, -1) != 0) atomicAdd(x + 2, 1);
            ((volatile int *)x)[1] += 8; __threadfence(); atomicExch(x, 0);
        } else {
            for (;;) {
                int readers = *(volatile int *)x;
                if (readers >= 0 && atomicCAS(x, readers, readers + 1) == readers) break;
                atomicAdd(x + 3, 1);
            }
            __threadfence(); atomicSub(x, 1);
        }""",
}


@compiled_engine
@pytest.mark.parametrize("checks", ["off", "raise"])
@pytest.mark.parametrize("body", WRITE_WHILE_THEY_WAIT.values(), ids=WRITE_WHILE_THEY_WAIT)
def test_writing_while_waiting_lets_threads_of_the_warp_go_on(body, level, checks):
    source = f'extern "C" __global__ void kernel(int *x) {{ {body} }}'
    x = np.zeros(512, np.int32)
    started = time.process_time()
    kernel = gpusim.RawModule(code=source).get_function("kernel")
    kernel.prepared(level)
    with gpusim.record(level=level, checks=checks):
        kernel((2,), (64,), (x,))
    assert x[1] == 128
    assert time.process_time() - started < 10  # the engine in NumPy would take longer


@compiled_engine
@pytest.mark.parametrize("blocks", [1, 16])
@pytest.mark.parametrize("items", [300, 2000])
def test_many_items_through_one_word_are_not_called_endless(items, blocks, level):
    source = """extern "C" __global__ void kernel(int *sum, int *full, volatile int *item) {
        const int pair = (blockIdx.x * blockDim.x + threadIdx.x) / 64;
        if (threadIdx.x % 64 == 0)
            for (int i = 0; i < ITEMS; ++i) {
                while (((volatile int *)full)[pair]) { }
                item[pair] = i; __threadfence(); atomicExch(full + pair, 1);
            }
        else if (threadIdx.x % 64 == 32)
            for (int i = 0; i < ITEMS; ++i) {
                while (!((volatile int *)full)[pair]) { }
                sum[pair] += item[pair]; __threadfence(); atomicExch(full + pair, 0);
            }
    }"""
    total, full, item = np.zeros((3, 4 * blocks), np.int32)
    launch(level, source, "kernel", blocks, 256, total, full, item, ITEMS=items)
    assert (total == items * (items - 1) // 2).all()


@compiled_engine
def test_waiting_for_a_clock_skips_instructions(level):
    source = """extern "C" __global__ void kernel(long long *waited) {
        long long start = clock64(), now;
        do now = clock64(); while (now - start < 100000000);
        waited[threadIdx.x] = now - start;
    }"""
    waited = np.zeros(64, np.int64)
    launch(level, source, "kernel", 1, 64, waited)
    assert (waited >= 100_000_000).all() and (waited < 120_000_000).all()


@compiled_engine
def test_wait_for_a_flag_limited_by_the_clock_ends(level):
    source = """extern "C" __global__ void kernel(volatile int *flag, int *late) {
        long long start = clock64();
        while (!*flag) if (clock64() - start > 50000) { atomicAdd(late, 1); break; }
    }"""
    flag, late = np.zeros((2, 1), np.int32)
    launch(level, source, "kernel", 2, 64, flag, late)
    assert late[0] == 128


def test_memory_takes_the_recorded_clocks_in_both_engines():
    header = (Path(native.__file__).parent / "engine" / "clock.h").read_text(encoding="utf-8")
    of_engine = {name: int(clocks) for name, clocks in re.findall(r"\bTAKES_(\w+) = (\d+)", header)}
    spaces = {"global": "L2", "shared": "SHARED", "local": "L1", "cluster": "DISTANT"}
    assert {space: of_engine[name] for space, name in spaces.items()} == TAKES
    recorded = memories.machine()
    assert (TAKES["global"], TAKES["shared"]) == (recorded.memory("l2").latency, recorded.memory("shared").latency)


LOADS = {
    "volatile": "*(volatile int *)flag", "by an atomic operation": "atomicAdd(flag, 0)",
    "by a comparison": "atomicCAS(flag, 7, 7)", "in order": "acquired(flag)",
}  # fmt: skip
BETWEEN_LOADS = {
    "nothing": "", "a sleep": "__nanosleep(100);", "longer sleeps": "__nanosleep(sleep); if (sleep < 4096) sleep *= 2;",
    "work": "for (int k = 0; k < 40; ++k) x = 3 * x + k;", "a count": "atomicAdd(tries, 1);",
}  # fmt: skip
# Block 0 waits for the flag, LIMIT clocks at most; took[0] says how long, took[1] how many of its threads saw it.
WAITS_BY_CLOCK = """
__device__ int acquired(int *flag) {
    int value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}
__device__ void others(int *flag, long long limit) { OTHERS }
extern "C" __global__ void kernel(int *flag, unsigned long long *took, int *tries, long long limit) {
    if (blockIdx.x || threadIdx.x >= 32) { others(flag, limit); return; }
    const long long start = clock64();
    unsigned sleep = 8, x = 0;
    while (LOOK == 0 && clock64() - start < limit) { BETWEEN }
    const long long end = clock64();
    atomicMax(took, (unsigned long long)(end - start));
    if (LOOK) atomicAdd(took + 1, 1ull);
    tries[1 + x % 2] = 0;
}"""


def waited(
    level: str, limit: float, others: str = "", look: str = LOADS["volatile"], between: str = "", grid=1, block=32
):
    """How long the first warp waits, and how many of its threads see the flag."""
    took, flag, tries = np.zeros(2, np.uint64), np.zeros(1, np.int32), np.zeros(3, np.int32)
    macros = {"OTHERS": others, "LOOK": look, "BETWEEN": between}
    launch(level, WAITS_BY_CLOCK, "kernel", grid, block, flag, took, tries, np.int64(limit), **macros)
    return took.tolist()


@compiled_engine
@pytest.mark.parametrize("limit", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("look", LOADS.values(), ids=LOADS)
@pytest.mark.parametrize("between", BETWEEN_LOADS.values(), ids=BETWEEN_LOADS)
def test_timeout_on_a_flag_that_is_never_set_ends_in_time(between, look, limit, level):
    took, saw = waited(level, limit, look=look, between=between)
    assert limit <= took < 1.3 * limit + 5000 and saw == 0


SETS_THE_FLAG = "for (long long start = clock64(); clock64() - start < %s;) { } atomicExch(flag, 1);"
warps_and_blocks = pytest.mark.parametrize(("grid", "block"), [(1, 64), (4, 32)], ids=["warps", "blocks"])


@compiled_engine
@pytest.mark.parametrize("limit", [1e6, 1e9])
@warps_and_blocks
def test_a_flag_is_seen_that_another_one_sets_in_time(grid, block, limit, level):
    took, saw = waited(level, limit, SETS_THE_FLAG % "limit / 10", grid=grid, block=block)
    assert limit / 11 < took < limit / 5 and saw == 32


@compiled_engine
@pytest.mark.parametrize("limit", [1e6, 1e9])
@warps_and_blocks
def test_a_flag_that_another_one_sets_too_late_is_not_waited_for(grid, block, limit, level):
    took, _ = waited(level, limit, SETS_THE_FLAG % "3 * limit", grid=grid, block=block)
    assert limit <= took < 1.3 * limit


@compiled_engine
def test_flag_set_after_long_work_is_seen(level):
    works = """__shared__ int s[64];
        int y = 1;
        for (int k = 0; k < 2000; ++k) { y = y * 5 + s[(y ^ k) & 63]; s[k & 63] = y; }
        atomicExch(flag, 1 + (y == 12345));"""
    for limit in (1e6, 1e8):
        took, saw = waited(level, limit, " ".join(works.split()), block=64)
        assert took < limit and saw == 32


@compiled_engine
def test_timer_goes_on_from_setting_a_flag_to_seeing_it(level):
    source = """__device__ long long timer() {
        long long t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t;
    }
    extern "C" __global__ void kernel(volatile int *flag, volatile long long *times) {
        if (threadIdx.x) return;
        while (*flag != blockIdx.x) { }
        times[blockIdx.x] = timer();
        __threadfence();
        *flag = blockIdx.x + 1;
    }"""
    flag, times = np.zeros(1, np.int32), np.zeros(24, np.int64)
    launch(level, source, "kernel", 24, 32, flag, times)
    assert (np.diff(times) >= 0).all() and times[0] > 0


@compiled_engine
def test_a_waiting_warps_clock_counts_the_whole_wait(level):
    source = """extern "C" __global__ void kernel(volatile int *flag, long long *took) {
        const long long start = clock64();
        if (threadIdx.x < 32) { while (clock64() - start < 10000000) { } *flag = 1; }
        else { while (*flag == 0) { } *took = clock64() - start; }
    }"""
    flag, took = np.zeros(1, np.int32), np.zeros(1, np.int64)
    launch(level, source, "kernel", 1, 64, flag, took)
    assert 8_000_000 < took[0] < 13_000_000


@compiled_engine
def test_a_clock_shows_the_same_in_both_engines(level, monkeypatch):
    source = """extern "C" __global__ void kernel(long long *shown) {
        shown[0] = clock64();
        __syncthreads();
        shown[1] = clock64();
        long long start = clock64();
        while (clock64() - start < 1000000) { }
        shown[2] = clock64();
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(shown[3]));
        __nanosleep(1000);
        shown[4] = clock64() + ((volatile long long *)shown)[0] - shown[0];
        shown[5] = clock64();
    }"""
    shown = np.zeros((2, 6), np.int64)
    launch(level, source, "kernel", 1, 32, shown[0])
    monkeypatch.setattr(compiled, "library", lambda: None)
    launch(level, source, "kernel", 1, 32, shown[1])
    assert shown[0].tolist() == shown[1].tolist() and (np.diff(shown[0]) > 0).all()


@pytest.mark.skipif(compiled.library() is None, reason="there is no compiled engine here")
def test_threads_reconverge_behind_a_long_loop_without_effect(level):
    source = """extern "C" __global__ void kernel(const int *lengths, int *sums) {
        __shared__ int x[12000];
        for (int i = threadIdx.x; i < 12000; i += 32) x[i] = i;
        __syncwarp();
        int sum = 0;
        #pragma unroll 1
        for (int i = 0; i < lengths[threadIdx.x]; ++i) sum += x[i];
        sums[threadIdx.x] = sum;
    }"""
    lengths, sums = np.full(32, 1, np.int32), np.zeros(32, np.int32)
    lengths[17] = 12000
    with gpusim.record(level=level, checks=False) as recording:
        gpusim.RawModule(code=source).get_function("kernel")((1,), (32,), (lengths, sums))
    assert sums.tolist() == [n * (n - 1) // 2 for n in lengths.tolist()]
    assert recording.counters["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] == 1


def test_blocks_are_served_in_the_order_of_their_tickets(level):
    order = np.zeros(24, np.int32)
    launch(level, TICKETS, "in_order", 24, 64, order)
    assert sorted(order.tolist()) == list(range(1, 25))


@pytest.mark.table(keep=2)
@pytest.mark.parametrize("native", [True, False], ids=["compiled", "numpy"])
@pytest.mark.parametrize(("name", "recorded"), json.loads(RECORDED.read_text(encoding="utf-8"))["locks"].items())
def test_threads_of_a_warp_take_a_lock_in_turns(native, name, recorded, monkeypatch):
    threads = 32 if native else 4  # NumPy takes a hundred times as long, and the turns go up with the square
    if not native:
        monkeypatch.setattr(compiled, "library", lambda: None)
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    with gpusim.record(level="sass", checks="off"):
        gpusim.RawModule(code=LOCKS_IN_A_WARP).get_function(name)((1,), (threads,), (lock, count))
    assert (lock[0], count[0]) == (0, recorded * threads // 32)


@pytest.mark.parametrize(("name", "recorded"), json.loads(RECORDED.read_text(encoding="utf-8"))["locks"].items())
def test_threads_of_two_warps_take_a_lock_in_turns_in_ptx_too(name, recorded):
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch("ptx", LOCKS_IN_A_WARP, name, 1, 64, lock, count)
    assert (lock[0], count[0]) == (0, 2 * recorded)


@pytest.mark.parametrize("writer", [0, 7])
def test_blocks_wait_for_another_one_wherever_it_is_in_the_grid(level, writer):
    y = np.zeros(9, np.int32)
    launch(level, WAIT_FOR_A_BLOCK, "wait", 8, 32, y, WRITER=writer)
    assert y.tolist() == [0 if block == writer else 7 for block in range(8)] + [7]


def test_a_loop_that_is_never_ended_is_still_reported(level):
    source = 'extern "C" __global__ void endless(volatile int *flag) { if (threadIdx.x) while (!*flag) { } }'
    with pytest.raises(errors.StepLimitExceeded), gpusim.sanitize(max_instructions=20_000):
        launch(level, source, "endless", 2, 64, np.zeros(1, np.int32))


GRID_BARRIER = """
__device__ volatile int arrived;
extern "C" __global__ void meet(int *total, int rounds) {
    for (int round = 1; round <= rounds; ++round) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd((int *)&arrived, 1);
            while (arrived < round * (int)gridDim.x) { }
        }
        __syncthreads();
        atomicAdd(total, 1);
    }
}"""

LOOK_BACK = """
__device__ volatile int ready[256], prefix[256];
extern "C" __global__ void scan(const int *x, int *y) {
    if (threadIdx.x == 0) {
        int sum = x[blockIdx.x];
        if (blockIdx.x) { while (!ready[blockIdx.x - 1]) { } __threadfence(); sum += prefix[blockIdx.x - 1]; }
        prefix[blockIdx.x] = y[blockIdx.x] = sum;
        __threadfence();
        ready[blockIdx.x] = 1;
    }
}"""

NEVER_SET = """
extern "C" __global__ void wait_for_nobody(volatile int *flag) {
    if (blockIdx.x == 3) return;
    while (!*flag) { }
}"""

COUNTING = """
extern "C" __global__ void count_for_ever(volatile int *flag) {
    int n = 0;
    while (!flag[0]) ++n;
    flag[1] = n;
}"""


def machine_code(source: str, name: str, grid: int, block: int, *arguments) -> None:
    """Launch by the compiled engine; TOOK gets the seconds of processor time."""
    function = gpusim.RawModule(code=source).get_function(name)
    assert function.prepared("sass").machine is not None
    with gpusim.record(level="sass", checks="off"):
        started = time.process_time()
        try:
            function((grid,), (block,), arguments)
        finally:
            TOOK.append(time.process_time() - started)


TOOK: list[float] = []


@compiled_engine
def test_grid_barrier_holds_as_many_blocks_as_the_device():
    total = np.zeros(1, np.int32)
    machine_code(GRID_BARRIER, "meet", 132, 256, total, np.int32(3))
    assert total[0] == 3 * 132 * 256


@compiled_engine
def test_more_blocks_than_the_device_holds_are_said_to_deadlock():
    with pytest.raises(errors.StepLimitExceeded, match=r"threads wait for ever: .* for arrived to change"):
        machine_code(GRID_BARRIER, "meet", 20_000, 256, np.zeros(1, np.int32), np.int32(1))


@compiled_engine
def test_each_block_of_a_scan_waits_for_the_one_before_it():
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    machine_code(LOOK_BACK, "scan", 256, 64, x, y)
    assert y.tolist() == np.cumsum(x).tolist()


@compiled_engine
def test_threads_waiting_in_vain_are_named_with_their_condition():
    with pytest.raises(errors.StepLimitExceeded) as caught:
        machine_code(NEVER_SET, "wait_for_nobody", 16, 128, np.zeros(1, np.int32))
    text = str(caught.value)
    assert "thread (0, 0, 0) of block (0, 0, 0) and 31 more of its warp at line 4, for flag to change" in text
    assert "line 4: while (!*flag) { }" in text and caught.value.line == 4
    assert TOOK[-1] < 4


@compiled_engine
def test_a_waiting_loop_that_counts_is_reported_in_a_second():
    with pytest.raises(errors.StepLimitExceeded, match="still running after 1,000,000 instructions"):
        machine_code(COUNTING, "count_for_ever", 64, 256, np.zeros(2, np.int32))
    assert TOOK[-1] < 4


def test_grid_barrier_orders_blocks_with_checks(level):
    # More threads than the NumPy engine otherwise takes at once, and reads that make the checks look twice.
    source = """extern "C" __global__ void kernel(int *count, int *a, int *out) {
        const int at = blockIdx.x * blockDim.x + threadIdx.x;
        a[at] = at;
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(count, 1);
            while (atomicAdd(count, 0) < gridDim.x) { }
            __threadfence();
        }
        __syncthreads();
        out[at] = a[(at + 512) % (gridDim.x * blockDim.x)];
    }"""
    blocks, n = 40, 40 * 512
    count, a, out = np.zeros(1, np.int32), np.zeros(n, np.int32), np.zeros(n, np.int32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((blocks,), (512,), (count, a, out))
    np.testing.assert_array_equal(out, np.roll(np.arange(n), -512))


def test_reconverged_warps_go_on_together_on_a_partial_turn():
    groups, everybody = convergence.Convergence((2, 40), None), np.ones((2, 40), bool)
    some = np.zeros((2, 40), bool)
    some[0, 3:7] = True
    groups.enter(0, everybody)
    groups.split(everybody, some.astype(np.int32))
    assert (groups.of_which_some_are(some) == some).all()
    groups.arrive(0, everybody & ~some)
    groups.arrive(0, some)
    assert np.argwhere(groups.of_which_some_are(some)).tolist() == [[0, lane] for lane in range(32)]


# ptxas keeps a number of the loop of some threads in a uniform register, and the vote of the others in the same one.
COMPUTES_APART = """extern "C" __global__ void kernel(unsigned *sums, unsigned *out) {
    unsigned x = threadIdx.x * 2654435761u, kind = threadIdx.x & 3;
    if (kind == 0) {
        #pragma unroll 1
        for (unsigned i = 0; i < 3000; ++i) { x = x * 1664525u + i; if (x & 64) x ^= i << 3; }
    } else
        #pragma unroll 1
        for (unsigned k = 0; k < 6; ++k) {
            #pragma unroll 1
            for (unsigned i = 0; i < (kind == 3 ? 100 : 3); ++i) x = x * 1664525u + i;
            atomicAdd(&sums[k], x >> 20);
        }
    out[threadIdx.x] = x;
}"""


def test_threads_that_only_compute_keep_the_turn_of_their_warp(monkeypatch):
    monkeypatch.setattr(compiled, "library", lambda: None)
    sums, out, wanted = np.zeros(6, np.uint32), np.zeros(64, np.uint32), np.zeros(6, int)
    with gpusim.record(level="sass"):
        gpusim.RawModule(code=COMPUTES_APART).get_function("kernel")((1,), (64,), (sums, out))
    for thread in range(64):
        x, kind = thread * 2654435761 % 2**32, thread % 4
        for i in range(3000 if kind == 0 else 0):
            x = (x * 1664525 + i) % 2**32
            x ^= i << 3 if x & 64 else 0
        for k in range(6 if kind else 0):
            for i in range(100 if kind == 3 else 3):
                x = (x * 1664525 + i) % 2**32
            wanted[k] += x >> 20
        assert out[thread] == x, thread
    assert sums.tolist() == wanted.tolist()
