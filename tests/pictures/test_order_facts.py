"""The order of a warp's loads, stores and reads, out of a recording, and what lies between a load and its store."""

import numpy as np
import pytest

import gpusim
from helpers.pictures.order.facts import COPY, LOAD, READ, STORE, Event, events_of, names_of, reads_before_stores

SOURCE = """
extern "C" __global__ void k(const float *A, const float *B, float *C) {
    __shared__ float s[2][256];
    const int t = threadIdx.x;
    s[0][t] = A[t];
    s[1][t] = B[t];
    __syncthreads();
    const float next = A[t + 64];
    float sum = s[0][63 - t] + s[1][63 - t];
    __syncthreads();
    s[0][t] = next;
    __syncthreads();
    C[t] = sum + s[0][63 - t] + C[t];
}
"""


@pytest.fixture(scope="module")
def recording():
    kernel = gpusim.RawModule(code=SOURCE).get_function("k")
    A, B, C = (np.ones(size, np.float32) for size in (128, 64, 64))
    with gpusim.record(level="ptx") as recording:  # loads and stores in the order of the source
        kernel((1,), (64,), (A, B, C))
    return recording


def test_events_are_the_warps_loads_stores_and_reads_in_order(recording):
    events = events_of(recording, 1024)
    low, high = (0, 1023), (1024, 2047)
    assert [event for event in events if event.kind != LOAD] == [
        Event(STORE, low), Event(STORE, high), Event(READ, low), Event(READ, high), Event(STORE, low), Event(READ, low),
    ]  # fmt: skip
    assert [event.target for event in events if event.kind == LOAD] == ["A", "B", "A"]  # not C, which is also written


def test_the_reads_between_a_load_and_its_store_are_counted(recording):
    assert reads_before_stores(events_of(recording, 1024)) == [2]


def test_asynchronous_copies_wait_for_no_store():
    assert reads_before_stores([Event(LOAD, "A"), Event(COPY, (0, 63)), Event(READ, (0, 63))]) == []


def test_pieces_of_shared_memory_have_the_names_of_the_source():
    source = SOURCE.replace("s[2][256]", "near[2][256], far[64]").replace("s[", "near[")
    kernel = gpusim.RawModule(code=source.replace("C[t] =", "far[t] = 1; C[t] = far[63 - t] +")).get_function("k")
    near = [Event(STORE, (0, 1023)), Event(STORE, (1024, 2047)), Event(READ, (0, 1023))]
    assert names_of(kernel, near) == {(0, 1023): "near[0]", (1024, 2047): "near[1]"}
    assert names_of(kernel, [Event(READ, (2048, 2303))]) == {(2048, 2303): "far"}
    halves = [Event(READ, (2048, 2175)), Event(READ, (2176, 2303))]
    assert names_of(kernel, [*halves, Event(READ, (1536, 2303))]) == {}
