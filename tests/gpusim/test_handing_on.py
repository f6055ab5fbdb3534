"""Threads hand on what they did, by a fence and a flag: in order, and so no race; without the fence it is one.

CUDA guide, 'Memory Fence Functions'; PTX ISA, 'Memory Consistency Model'.
"""

import time

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine.run import Launch

I32 = np.int32
BLOCK, DEVICE = "__threadfence_block();", "__threadfence();"

# One thread writes, and raises a flag; another polls the flag, and reads. WHO: 0, 1, or somebody else.
SOURCE = """
INCLUDE
extern "C" __global__ void kernel(const int *x, int *data, int *flag, int *out) {
    __shared__ int shared_data, shared_flag;
    if (threadIdx.x == 0) shared_flag = 0;
    __syncthreads();
    if (WHO == 0) {
        DATA = x[0];
        FENCE
        RAISE;
    } else if (WHO == 1) {
        while (!(POLL)) { }
        out[0] = DATA;
    }
}"""
LANES, WARPS, BLOCKS = "threadIdx.x", "(threadIdx.x % 32 ? 9 : threadIdx.x / 32)", "(threadIdx.x ? 9 : blockIdx.x)"
FLAGS = {
    "exchanged and added to": ("atomicExch(FLAG, 1)", "atomicAdd(FLAG, 0)"),
    "compared and swapped": ("atomicCAS(FLAG, 0, 1)", "atomicCAS(FLAG, 1, 1)"),
    "combined with or": ("atomicOr(FLAG, 1)", "atomicOr(FLAG, 0)"),
    "volatile": ("*(volatile int *)FLAG = 1", "*(volatile int *)FLAG"),
    "relaxed": ("cuda::atomic_ref<int, SCOPE>(*FLAG).store(1, cuda::memory_order_relaxed)",
                "cuda::atomic_ref<int, SCOPE>(*FLAG).load(cuda::memory_order_relaxed)"),
}  # fmt: skip
RELEASED = ("cuda::atomic_ref<int, SCOPE>(*FLAG).store(1, cuda::memory_order_release)",
            "cuda::atomic_ref<int, SCOPE>(*FLAG).load(cuda::memory_order_acquire)")  # fmt: skip


def hand_on(level, counting, data, flag, fence, how, scope="block"):
    """What the second thread has read. RaceError if the sanitizer sees a race."""
    source = SOURCE.replace("WHO", counting).replace("DATA", data).replace("FENCE", fence)
    source = source.replace("RAISE", how[0]).replace("POLL", how[1])
    source = source.replace("INCLUDE", "#include <cuda/atomic>" if "cuda::" in how[0] else "")
    source = source.replace("FLAG", flag).replace("SCOPE", f"cuda::thread_scope_{scope}")
    x, given, raised, out = np.array([42], I32), np.zeros(1, I32), np.zeros(1, I32), np.zeros(1, I32)
    with gpusim.record(level=level, checks="raise"):
        kernel = gpusim.RawModule(code=source).get_function("kernel")
        kernel((2 if counting == BLOCKS else 1,), (64,), (x, given, raised, out))
    return int(out[0])


PLACES = {"all global": ("data[0]", "flag"), "data in shared memory": ("shared_data", "flag"),
          "flag in shared memory": ("data[0]", "&shared_flag"),
          "all shared": ("shared_data", "&shared_flag")}  # fmt: skip


@pytest.mark.parametrize("places", PLACES)
def test_polled_flag_orders_data_only_behind_a_fence(level, places):
    counting, fence = (LANES, BLOCK) if "all" in places else (WARPS, DEVICE)
    assert hand_on(level, counting, *PLACES[places], fence, FLAGS["exchanged and added to"]) == 42
    with pytest.raises(errors.RaceError) as caught:
        hand_on(level, counting, *PLACES[places], "", FLAGS["exchanged and added to"])
    assert caught.value.lines == (8, 13)


@pytest.mark.parametrize("how", FLAGS)
def test_any_operations_may_raise_and_poll_the_flag(level, how):
    assert hand_on(level, WARPS, "data[0]", "flag", BLOCK, FLAGS[how]) == 42
    with pytest.raises(errors.RaceError):
        hand_on(level, WARPS, "data[0]", "flag", "", FLAGS[how])


@pytest.mark.parametrize(("data", "flag"), [("data[0]", "flag"), ("shared_data", "&shared_flag")])
def test_release_store_and_acquire_load_order_without_a_fence(level, data, flag):
    assert hand_on(level, WARPS, data, flag, "", RELEASED) == 42
    with pytest.raises(errors.RaceError):
        hand_on(level, WARPS, data, flag, "", FLAGS["relaxed"])


def test_a_fence_of_the_block_hands_nothing_on_to_other_blocks(level):
    with pytest.raises(errors.RaceError, match="between blocks"):
        hand_on(level, BLOCKS, "data[0]", "flag", BLOCK, FLAGS["exchanged and added to"])
    assert hand_on(level, BLOCKS, "data[0]", "flag", DEVICE, FLAGS["exchanged and added to"]) == 42
    with pytest.raises(errors.RaceError, match="between blocks"):
        hand_on(level, BLOCKS, "data[0]", "flag", "", RELEASED)
    assert hand_on(level, BLOCKS, "data[0]", "flag", "", RELEASED, scope="device") == 42


LOCKS = {
    "a lock": "if (t == 0) { while (atomicCAS(lock, 0, 1)) { } FENCE *total += 1; FENCE atomicExch(lock, 0); }",
    "a lock of every thread": """bool done = false;
        while (!done) if (atomicCAS(lock, 0, 1) == 0) { FENCE *total += 1; FENCE atomicExch(lock, 0); done = true; }""",
    "a lock of the block": """if (t == 0) while (atomicCAS(lock, 0, 1)) { }
        __syncthreads(); total[t] += 1; FENCE __syncthreads(); if (t == 0) atomicExch(lock, 0);""",
    "a ticket": """if (t == 0) {
        int mine = atomicAdd(lock + 1, 1);
        while (*(volatile int *)lock != mine) { } FENCE *total += 1; FENCE *(volatile int *)lock = mine + 1; }""",
    "turns": "if (t == 0) { while (atomicAdd(lock, 0) != blockIdx.x) { } *total += 1; FENCE atomicAdd(lock, 1); }",
}


def spin(how, fence):
    body = LOCKS[how].replace("FENCE", fence)
    source = f'extern "C" __global__ void kernel(int *lock, int *total) {{ int t = threadIdx.x; {body} }}'
    lock, total = np.zeros(2, I32), np.zeros(64, I32)
    with gpusim.record(level="sass", checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((30,), (64,), (lock, total))
    return total


@pytest.mark.parametrize("how", LOCKS)
def test_compiled_engine_checks_blocks_that_spin_on_a_lock(how, monkeypatch):
    monkeypatch.setattr(Launch, "run", lambda launch: pytest.fail("the engine in NumPy runs it, too"))
    assert spin(how, DEVICE).max() == (30 * 64 if "every thread" in how else 30)


@pytest.mark.table(keep=2)
@pytest.mark.parametrize("how", LOCKS)
def test_a_lock_without_fences_is_found_in_a_moment(how):
    start = time.process_time()
    with pytest.raises(errors.RaceError, match="global memory"):
        spin(how, "")
    assert time.process_time() - start < 20, "seconds"


# Block 0 raises a flag, block 1 waits for one, and they may have others; block 2 passes on what it has heard.
OF_BLOCKS = """
extern "C" __global__ void kernel(int *data, int *flags, int *out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        data[0] = 42;
        __threadfence();
        atomicExch(flags, 1);
    } else if (blockIdx.x == 2) {
        while (!atomicAdd(flags, 0)) { }
        __threadfence();
        PASS
    } else {
        UNTIL
        __threadfence();
        out[0] = data[0];
    }
}"""
ORDERED = {
    "by the same flag": ("", "while (!atomicAdd(flags, 0)) { }"),
    "by a flag that passes it on": ("atomicExch(flags + 99, 1);", "while (!atomicAdd(flags + 99, 0)) { }"),
    "by one of two flags": ("", "atomicAdd(flags + 99, 1); while (!*(volatile int *)flags) { }"),
    "by 64 bits of which the flag is the half": (
        "", "while (!atomicAdd((unsigned long long *)flags, 0ull)) { }"),
}  # fmt: skip
SPIN = "for (int k = 0; k < 200; ++k) atomicAdd(flags + 99, 1);"
UNORDERED = {
    "another flag": ("", SPIN),
    "another flag that is passed on before": ("", f"if (!atomicAdd(flags + 98, 0)) {SPIN}"),
    "a flag that is written and not read": ("", f"{SPIN} *(volatile int *)flags = 1;"),
}


def of_blocks(level, texts):
    data, flags, out = np.zeros(1, I32), np.zeros(100, I32), np.zeros(1, I32)
    source = OF_BLOCKS.replace("PASS", texts[0]).replace("UNTIL", texts[1])
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((3,), (32,), (data, flags, out))
    return out[0]


@pytest.mark.parametrize("how", ORDERED)
def test_blocks_acquire_by_a_common_variable_or_a_chain_of_them(level, how):
    assert of_blocks(level, ORDERED[how]) == 42


@pytest.mark.parametrize("how", UNORDERED)
def test_variable_used_by_one_of_two_blocks_orders_nothing(level, how):
    with pytest.raises(errors.RaceError) as caught:
        of_blocks(level, UNORDERED[how])
    assert sorted(caught.value.lines) == [5, 15]


RING = """
extern "C" __global__ void kernel(const int *x, int *out) {
    __shared__ volatile int ring[4], full;
    if (threadIdx.x == 0) full = 0;
    __syncthreads();
    for (int i = 0; i < 5 && threadIdx.x % 32 == 0; ++i)
        if (threadIdx.x) {
            while (!full) { }
            __threadfence_block();
            out[i] = ring[i % 4];
            __threadfence_block();
            full = 0;
        } else {
            while (full) { }
            ring[i % 4] = x[i];
            __threadfence_block();
            full = 1;
        }
}"""


def through_a_ring(level, source):
    x, out = np.arange(7, 12, dtype=I32), np.zeros(5, I32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((1,), (64,), (x, out))
    return out.tolist()


DATA = ("volatile int ring[4], full", "int ring[4]; __shared__ volatile int full")


@pytest.mark.parametrize("declared", DATA)
def test_shared_volatile_flag_orders_data_only_behind_a_fence(level, declared):
    source = RING.replace(DATA[0], declared)
    assert through_a_ring(level, source) == [7, 8, 9, 10, 11]
    with pytest.raises(errors.RaceError, match="shared memory"):
        through_a_ring(level, source.replace("__threadfence_block();", ""))


# All threads of a warp count at once: ptxas lets one of them make the fence and the atomic operation.
EVERYBODY = """#include <cuda/atomic>
extern "C" __global__ void kernel(const int *x, int *data, int *count, int *out) {
    __shared__ int shared_count, shared_data[64];
    if (threadIdx.x == 0) shared_count = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    DATA[i] = x[i];
    const int all = gridDim.x * blockDim.x;
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(COUNT);
    if (counter.fetch_add(1, cuda::memory_order_ORDER) != all - 1) return;
    int sum = 0;
    for (int k = 0; k < all; ++k) sum += DATA[k];
    *out = sum;
}"""


def last_of_all(level, blocks, data, count, order):
    source = EVERYBODY.replace("DATA", data).replace("COUNT", count).replace("ORDER", order)
    n = 64 * blocks
    x, given, counted, out = np.arange(n, dtype=I32), np.zeros(n, I32), np.zeros(1, I32), np.zeros(1, I32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((blocks,), (64,), (x, given, counted, out))
    return out[0] == x.sum()


@pytest.mark.parametrize(
    ("blocks", "data", "count"),
    [(3, "data", "*count"), (1, "shared_data", "shared_count"), (1, "data", "shared_count")],
)
def test_thread_counting_for_its_warp_releases_all_its_writes(level, blocks, data, count):
    assert last_of_all(level, blocks, data, count, "acq_rel")
    with pytest.raises(errors.RaceError):
        last_of_all(level, blocks, data, count, "relaxed")


# Each block leaves its part and counts itself; who reads the other's part?
PARTS = """
extern "C" __global__ void kernel(const int *x, int *parts, unsigned *count, int *out) {
    __shared__ unsigned turn;
    const int i = blockIdx.x * blockDim.x + threadIdx.x, other = i + (gridDim.x - 1 - 2 * blockIdx.x) * blockDim.x;
    parts[i] = x[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) turn = atomicAdd(count, 1);
    __syncthreads();
    if (WHO) out[i] = parts[other];
}"""


@pytest.mark.parametrize("blocks", [2, 4])
def test_last_to_count_alone_acquires_the_parts_of_all(level, blocks):
    def read_by(condition):
        x, count = np.arange(64 * blocks, dtype=I32) + 1, np.zeros(1, np.uint32)
        parts, out = np.zeros((2, 64 * blocks), I32)
        with gpusim.record(level=level, checks="raise"):
            kernel = gpusim.RawModule(code=PARTS.replace("WHO", condition)).get_function("kernel")
            kernel((blocks,), (64,), (x, parts, count, out))
        return out

    assert read_by("turn == gridDim.x - 1").any()
    for condition in ("true", "turn == 0", "turn < gridDim.x - 1"):
        with pytest.raises(errors.RaceError, match="parts") as caught:
            read_by(condition)
        assert caught.value.lines == (5, 10)


# Each thread adds to a sum, the last block reads it. Its own threads have added last.
SUM = """#include <cuda/atomic>
extern "C" __global__ void kernel(int *sum, unsigned *count, int *out) {
    __shared__ bool last;
    atomicAdd(sum, threadIdx.x);
    FENCE
    BARRIER
    if (threadIdx.x == 0) last = COUNTED == gridDim.x - 1;
    __syncthreads();
    if (last) out[threadIdx.x] = *sum;
}"""
COUNTS = {
    "atomicInc": "atomicInc(count, gridDim.x)",
    "acq_rel": "cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*count).fetch_add(1, cuda::memory_order_acq_rel)",
}


def summed(level, how="atomicInc", fence=DEVICE, barrier="__syncthreads();"):
    source = SUM.replace("FENCE", fence).replace("BARRIER", barrier).replace("COUNTED", COUNTS[how])
    total, count, out = np.zeros(1, I32), np.zeros(1, np.uint32), np.zeros(64, I32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((5,), (64,), (total, count, out))
    return out.tolist()


@pytest.mark.parametrize(("how", "fence"), [("atomicInc", DEVICE), ("acq_rel", "")])
def test_last_block_may_read_a_sum_its_own_threads_added_to_last(level, how, fence, monkeypatch):
    monkeypatch.setattr(Launch, "run", lambda launch: pytest.fail("the engine in NumPy runs it, too"))
    assert summed(level, how, fence) == [5 * sum(range(64))] * 64


def test_sum_read_by_the_last_block_is_reported_with_its_repair(level):
    with pytest.raises(errors.RaceError, match="between blocks") as caught:
        summed(level, fence="")
    assert caught.value.lines == (4, 9)
    advice = (
        "If what line 7 finds is to tell that line 4 is done, put __threadfence() behind line 4, before the counter"
    )
    assert advice in str(caught.value)
    with pytest.raises(errors.RaceError, match="between blocks") as caught:
        summed(level, barrier="")
    assert caught.value.lines == (4, 9)
    assert "put __syncthreads() behind the fence that follows line 4, before one thread changes" in str(caught.value)


def test_fence_behind_the_count_alone_is_no_reason_for_a_barrier(level):
    source = """extern "C" __global__ void kernel(int *parts, unsigned *count, int *out) {
        if (threadIdx.x) return;
        parts[blockIdx.x] = 1;
        const bool last = atomicAdd(count, 1u) == gridDim.x - 1;
        __threadfence();
        if (last) for (int b = 0; b < gridDim.x; ++b) *out += parts[b]; }"""
    with gpusim.record(level=level, checks="raise"):
        kernel = gpusim.RawModule(code=source).get_function("kernel")
        with pytest.raises(errors.RaceError, match="put __threadfence\\(\\) behind line 3, before the counter"):
            kernel((5,), (32,), (np.zeros(5, I32), np.zeros(1, np.uint32), np.zeros(1, I32)))


def test_update_that_gets_the_old_value_follows_those_before(level):
    source = """extern "C" __global__ void kernel(int *count, int *out) {
        if (threadIdx.x == 0 && UPDATED == gridDim.x - 1) { out[0] = *count; *count = 0; } }"""
    count, out = np.zeros(1, I32), np.zeros(1, I32)
    with gpusim.record(level=level, checks="raise"):
        kernel = gpusim.RawModule(code=source.replace("UPDATED", "atomicAdd(count, 1)")).get_function("kernel")
        kernel((5,), (64,), (count, out))
    assert (count[0], out[0]) == (0, 5)
    unasked = source.replace("UPDATED", "(atomicAdd(count, 1), blockIdx.x)")
    with pytest.raises(errors.RaceError), gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=unasked).get_function("kernel")((5,), (64,), (count, out))


# A word that has later writers, with which an access is in order, and an earlier one, with which it is in none.
EARLIER = {
    "a plain store before atomic operations": "if (b == 0 && t == 0) *word = 0; __syncthreads(); ADD",
    "stores of one value before another": "*word = 0; __syncthreads(); if (b == last && t == 0) *word = 5;",
    "stores of one value before an atomic operation": "*word = 0; __syncthreads(); if (b == last) ADD",
    "an atomic operation before a store of what is there": """
        __shared__ int before; if (t == 0) { before = atomicAdd(word, 1); __threadfence(); } __syncthreads();
        if (before != last) { *word = 0; return; }
        for (int k = t; k < 3; k += 32) out[k] = k;
        if (t == 0) *word = 0;""",
}


@pytest.mark.parametrize("how", EARLIER)
def test_the_last_writer_of_a_word_hides_no_earlier_one(how, level):
    body = EARLIER[how].replace("ADD", "if (t == 0) out[b] = atomicAdd(word, 2);")
    source = f"""extern "C" __global__ void kernel(int *word, int *out) {{
        const int t = threadIdx.x, b = blockIdx.x, last = gridDim.x - 1; {body} }}"""
    kernel = gpusim.RawModule(code=source).get_function("kernel")
    with gpusim.record(level=level, checks="raise"):
        kernel((1,), (64,), (np.zeros(1, I32), np.zeros(3, I32)))
    with pytest.raises(errors.RaceError), gpusim.record(level=level, checks="raise"):
        kernel((3,), (64,), (np.zeros(1, I32), np.zeros(3, I32)))


# Every block stores the same, and hands that on before the last of them goes on.
HANDED_ON = """
extern "C" __global__ void kernel(int *word, int *arrived) {
    __shared__ int before;
    if (threadIdx.x == 0) {
        *word = 0;
        __threadfence();
        before = atomicAdd(arrived, 1);
        __threadfence();
    }
    __syncthreads();
    if (before != gridDim.x - 1) return;
    if (threadIdx.x == 0) { atomicAdd(word, 2); *arrived = 0; }
    __syncthreads();
    if (threadIdx.x == 1) *word += 3;
}"""


def test_the_last_block_knows_all_earlier_writers_of_a_word(level):
    word, arrived = np.ones(1, I32), np.zeros(1, I32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=HANDED_ON).get_function("kernel")((30,), (64,), (word, arrived))
    assert (int(word[0]), int(arrived[0])) == (5, 0)
