"""Barriers in shared memory, mbarrier and cuda::barrier, at both levels, against values counted by hand."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.arithmetic import mbarrier

HEAD = """extern "C" __global__ void kernel(int *out, int n) {
    __shared__ unsigned long long object;
    __shared__ int s[128];
    const int t = threadIdx.x;
    unsigned bar = static_cast<unsigned>(__cvta_generic_to_shared(&object));
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar), "r"(n));
    __syncthreads();
"""
ARRIVE = 'asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");'
WAIT = """for (int done = 0; !done;)
    asm volatile("{.reg .pred p; mbarrier.{what}.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(bar), "{kind}"({value}) : "memory");"""


def wait(what: str = "test_wait", kind: str = "l", value: str = "state") -> str:
    return WAIT.replace("{what}", what).replace("{kind}", kind).replace("{value}", value)


def launch(body: str, level: str, n: int, block: int, arch: str = "sm_90", head: str = HEAD) -> np.ndarray:
    kernel = gpusim.RawModule(code=head + body + "}", arch=arch, options=("-std=c++17",)).get_function("kernel")
    out = np.zeros(128, np.int32)
    with gpusim.record(level=level, checks="raise"):
        kernel((1,), (block,), (out, np.int32(n)))
    return out


THREADS = np.arange(128)
ROUNDS = f"""unsigned long long state;
    for (int round = 1; round <= 3; ++round) {{
        s[t] = 100 * round + t;
        {ARRIVE}
        {wait()}
        out[t] += s[t ^ 33];
        {ARRIVE}
        {wait()}
    }}"""
BY_PARITY = f"""unsigned long long state;
    if (t < 32) {{
        s[t] = 7 * t;
        {ARRIVE}
    }} else {{
        {wait("try_wait.parity", "r", "0")}
        out[t] = s[t - 32];
    }}"""
FOR_MANY = """unsigned long long state;
    unsigned before, after;
    if (t == 0) {
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 5;" : "=l"(state) : "r"(bar) : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(before) : "l"(state));
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(n - 6) : "memory");
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(after) : "l"(state));
        out[0] = before;
        out[1] = after;
    }"""
DROPS = f"""unsigned long long state;
    if (t >= 20) {{
        asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
        return;
    }}
    {ARRIVE}
    {wait()}
    s[t] = t;
    {ARRIVE}
    {wait()}
    out[t] = s[19 - t];"""
CASES = {  # what the threads do, how many are expected, how many there are
    "rounds": (ROUNDS, 128, 128),
    "by parity": (BY_PARITY, 32, 64),
    "for many": (FOR_MANY, 40, 32),
    "drops": (DROPS, 64, 64),
}
# One thread arrives, for several and for itself, drops out, and keeps the state that each is answered with.
STATES = """extern "C" __global__ void kernel(unsigned long long *out, int n) {
    __shared__ unsigned long long object;
    unsigned bar = static_cast<unsigned>(__cvta_generic_to_shared(&object));
    unsigned long long state;
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bar), "r"(n) : "memory");
    for (int k = 0; k < 16; ++k) {
        if (k % 5 == 3) asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
        else if (k % 5) asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 1;" : "=l"(state) : "r"(bar) : "memory");
        else asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
        out[k] = state;
    }
}"""


@pytest.mark.parametrize("arch", ["sm_90", "sm_80"])
def test_all_threads_meet_at_an_object_phase_after_phase(level, arch):
    kernel = gpusim.RawModule(code=HEAD + ROUNDS + "}", arch=arch).get_function("kernel")
    out = np.zeros(128, np.int32)
    with gpusim.record(level=level, checks="raise"):
        kernel((1,), (128,), (out, np.int32(128)))
    np.testing.assert_array_equal(out, 600 + 3 * (THREADS ^ 33))


def test_some_arrive_and_others_wait_for_the_parity_of_a_phase(level):
    np.testing.assert_array_equal(launch(BY_PARITY, level, 32, 64)[32:64], 7 * THREADS[:32])


def test_thread_arrives_for_many_and_the_state_counts_missing(level):
    assert launch(FOR_MANY, level, 40, 32)[:2].tolist() == [40, 35]


@pytest.mark.parametrize("arch", ["sm_90", "sm_80"])
def test_dropped_thread_is_not_awaited_again(level, arch):
    np.testing.assert_array_equal(launch(DROPS, level, 64, 64, arch)[:20], 19 - THREADS[:20])


def test_testing_an_unfinished_phase_is_false(level):
    body = f"""unsigned long long state;
    {ARRIVE}
    int done;
    asm volatile("{{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}}"
                 : "=r"(done) : "r"(bar), "l"(state) : "memory");
    out[t] = 1 + done;"""
    np.testing.assert_array_equal(launch(body, level, 33, 32)[:32], 1)
    assert launch(body, level, 32, 32)[:32].max() == 2


def test_without_waiting_it_is_a_race(level):
    body = f"""unsigned long long state;
    s[t] = t;
    {ARRIVE}
    out[t] = s[t ^ 33];"""
    with pytest.raises(errors.RaceError):
        launch(body, level, 200, 128)


BARRIER_OF_LIBCUDACXX = """#include <cuda/barrier>
extern "C" __global__ void kernel(int *out, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int s[128];
    if (threadIdx.x == 0) init(&barrier, n);
    __syncthreads();
    for (int round = 1; round <= 2; ++round) {
        s[threadIdx.x] = 100 * round + threadIdx.x;
        barrier.arrive_and_wait();
        out[threadIdx.x] = s[threadIdx.x ^ 33];
        barrier.arrive_and_wait();
    }
"""


def test_the_barrier_of_libcudacxx(level):
    out = launch("", level, 128, 128, head=BARRIER_OF_LIBCUDACXX)
    np.testing.assert_array_equal(out, 200 + (THREADS ^ 33))


def test_last_arrival_flips_the_parity_and_restarts_the_count():
    one_arrival, bits = np.array([1], np.uint64), mbarrier.initial(np.uint32([3]))
    assert [int(bits[0]) >> 63, int(mbarrier.pending(bits)[0])] == [0, 3]
    for parity, missing in ((0, 2), (0, 1), (1, 3), (1, 2)):
        bits = mbarrier.arrive(bits, one_arrival)
        assert [int(mbarrier.parity(bits)[0]), int(mbarrier.pending(bits)[0])] == [parity, missing]
    bits = mbarrier.arrive_and_drop(mbarrier.arrive(bits, one_arrival), one_arrival)
    assert [int(mbarrier.parity(bits)[0]), int(mbarrier.pending(bits)[0])] == [0, 2]


def test_state_holds_only_the_phase_and_the_missing_arrivals(level):
    out = np.zeros(16, np.uint64)
    with gpusim.record(level=level):
        gpusim.RawModule(code=STATES).get_function("kernel")((1,), (1,), (out, np.int32(5)))
    phases = [(0, 5), (0, 4), (0, 3), (0, 2), (0, 1), (1, 4), (1, 3), (1, 2), (1, 1), (0, 3), (0, 2), (0, 1), (1, 3)]
    assert out[:13].tolist() == [parity << 63 | (2**20 - missing) << 43 for parity, missing in phases]
