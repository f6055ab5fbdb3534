"""Which element lies in which shared word, and who reads it, from recorded addresses alone."""

import numpy as np
import pytest

import gpusim
from gemm_kernels import Kernel, get
from helpers.pictures import CannotTell
from helpers.pictures.tile_phases.staging import staged_phases

SMALL = {"BM": 32, "BN": 32, "BK": 8, "TM": 4, "TN": 4}


def record(kernel: Kernel, size: int) -> gpusim.Recording:
    return record_source(kernel.source, kernel.entry, kernel.block, size)


def record_source(source: str, entry: str, block: tuple[int, ...], size: int, level: str = "ptx") -> gpusim.Recording:
    module = gpusim.RawModule(code=source, options=("-std=c++17",), name_expressions=[entry])
    A, B, C = (np.zeros((size, size), np.float32) for _ in range(3))
    sizes = (np.int32(size),) * 3
    with gpusim.record(level=level, blocks=[(0, 0, 0)]) as recording:
        module.get_function(entry)((1, 1), block, (*sizes, np.float32(1), A, B, np.float32(0), C))
    return recording


def test_every_phase_loads_the_next_tile_of_a_and_of_b():
    phases = staged_phases(record(get("shared_memory").replace(T=4), 12))
    assert len(phases) == 3
    for number, phase in enumerate(phases):
        row, k = np.divmod(phase.elements("A"), 12)
        assert set(zip(row.tolist(), k.tolist(), strict=True)) == {
            (r, 4 * number + c) for r in range(4) for c in range(4)
        }
        k, col = np.divmod(phase.elements("B"), 12)
        assert set(k.tolist()) == set(range(4 * number, 4 * number + 4)) and set(col.tolist()) == set(range(4))


def test_a_thread_reads_its_row_of_a_and_its_column_of_b():
    phase = staged_phases(record(get("shared_memory").replace(T=4), 12))[1]
    assert phase.read_by(4 * 2 + 3, "A").tolist() == [2 * 12 + k for k in range(4, 8)]
    assert phase.read_by(4 * 2 + 3, "B").tolist() == [k * 12 + 3 for k in range(4, 8)]


def test_loads_and_reads_are_counted_as_in_the_recording():
    recording = record(get("shared_memory").replace(T=8), 16)
    phases = staged_phases(recording)
    assert sum(phase.floats_loaded for phase in phases) == recording.total("lanes", "global", "ld")
    assert sum(phase.floats_read for phase in phases) == recording.total("lanes", "shared", "ld")


@pytest.mark.parametrize("name", ["block_tile_2d", "transposed", "padded", "swizzled", "vectorized"])
def test_whatever_the_layout_a_thread_reads_the_same_elements(name):
    phase = staged_phases(record(get(name).replace(**SMALL), 64))[1]
    rows, k = np.divmod(phase.read_by(9, "A"), 64)
    k_of_b, columns = np.divmod(phase.read_by(9, "B"), 64)
    assert set(rows.tolist()) == {4, 5, 6, 7} and set(columns.tolist()) == {4, 5, 6, 7}
    assert sorted(k.tolist()) == sorted(k_of_b.tolist()) == sorted(4 * list(range(8, 16)))


LATER = """
extern "C" __global__ void later(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                 float *C) {
    __shared__ float s[64];
    const float a = A[threadIdx.x], b = B[2 * threadIdx.x];
    s[threadIdx.x] = a;
    s[32 + threadIdx.x] = b;
    __syncthreads();
    C[threadIdx.x] = s[63 - threadIdx.x] + s[threadIdx.x];
}
"""


def test_loads_that_are_stored_later_are_paired_in_their_order():
    (phase,) = staged_phases(record_source(LATER, "later", (32,), 16))
    assert phase.read_by(0, "B").tolist() == [62]
    assert phase.read_by(0, "A").tolist() == [0]


IN_ONE_LINE = """
extern "C" __global__ void dense(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                 float *C) {
    __shared__ float As[8][4], Bs[4][8];
    const int x = threadIdx.x, y = threadIdx.y, t = 8 * y + x;
    As[t / 4][t % 4] = A[t / 4 * K + t % 4]; Bs[y][x] = B[y * N + x]; __syncthreads();
    float sums[2] = {};
    for (int k = 0; k < 4; ++k)
        for (int i = 0; i < 2; ++i) sums[i] += As[2 * y + i][k] * Bs[k][x];
    for (int i = 0; i < 2; ++i) C[(2 * y + i) * N + x] = sums[i];
}
"""


def test_tiles_filled_in_one_line_differ_by_registers():
    (phase,) = staged_phases(record_source(IN_ONE_LINE, "dense", (8, 4), 8, level="sass"))
    assert sorted(phase.read_by(3 * 8 + 5, "A").tolist()) == [8 * row + k for row in (6, 7) for k in range(4)]
    assert sorted(phase.read_by(3 * 8 + 5, "B").tolist()) == [8 * k + 5 for k in range(4)]


def test_kernel_without_shared_memory_gets_a_sentence():
    with pytest.raises(CannotTell, match="stores nothing to shared memory"):
        staged_phases(record(get("coalesced"), 32))


def test_an_edge_of_the_matrix_is_answered_in_a_sentence():
    with pytest.raises(CannotTell, match="multiples of the tile"):
        staged_phases(record(get("shared_memory").replace(T=8), 12))


UNEQUAL = """
extern "C" __global__ void uneven(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                  float *C) {
    __shared__ float As[128];
    float sum = 0;
    for (int k0 = 0; k0 < 256; k0 += 128) {
        for (int i = threadIdx.x; i < 128; i += 8) As[i] = A[k0 + i];
        __syncthreads();
        for (int k = 0; k < 128; ++k) sum += As[k];
        __syncthreads();
    }
    C[threadIdx.x] = sum;
}
"""


def test_warps_that_store_unequally_often_get_a_sentence():
    with pytest.raises(CannotTell, match="Some warps store more often than others"):
        staged_phases(record_source(UNEQUAL, "uneven", (64, 1), 16))
    evenly = record_source(UNEQUAL.replace("i += 8", "i += 64"), "uneven", (64, 1), 16)
    assert len(staged_phases(evenly)) == 2
