"""Threads that wait for others in a loop: they must let them run (CUDA guide, 'Independent Thread Scheduling')."""

import numpy as np
import pytest

from helpers import simulator

LEVELS = ("sass", "ptx")

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
    with simulator.record(level=level, checks="off"):
        simulator.RawModule(code=source, options=options).get_function(name)((grid,), (block,), arrays)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("producer", "consumer"), [(0, 32), (32, 0)])
def test_two_warps_pass_items_on_through_a_flag_that_they_wait_for(level, producer, consumer):
    x, y = np.arange(20, dtype=np.int32), np.zeros(20, np.int32)
    launch(level, PRODUCER_AND_CONSUMER, "pass_on", 1, 64, x, y, PRODUCER=producer, CONSUMER=consumer)
    assert y.tolist() == (3 * x).tolist()


@pytest.mark.parametrize("level", LEVELS)
def test_a_lock_that_blocks_wait_for_is_handed_on(level):
    total = np.zeros(1, np.int32)
    launch(level, LOCK, "count", 24, 32, total)
    assert total[0] == 24


@pytest.mark.parametrize("level", LEVELS)
def test_blocks_are_served_in_the_order_of_their_tickets(level):
    order = np.zeros(24, np.int32)
    launch(level, TICKETS, "in_order", 24, 64, order)
    assert sorted(order.tolist()) == list(range(1, 25))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("writer", [0, 7])
def test_blocks_wait_for_another_one_wherever_it_is_in_the_grid(level, writer):
    y = np.zeros(9, np.int32)
    launch(level, WAIT_FOR_A_BLOCK, "wait", 8, 32, y, WRITER=writer)
    assert y.tolist() == [0 if block == writer else 7 for block in range(8)] + [7]


@pytest.mark.parametrize("level", LEVELS)
def test_a_loop_that_nobody_ends_is_still_reported(level):
    source = 'extern "C" __global__ void endless(volatile int *flag) { if (threadIdx.x) while (!*flag) { } }'
    with pytest.raises(simulator.StepLimitExceeded), simulator.sanitize(max_instructions=20_000):
        launch(level, source, "endless", 2, 64, np.zeros(1, np.int32))
