"""Which lane of a warp holds which element of a matrix that a tensor core multiplies: asked of the instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import gpusim

# Tiles whose elements are their own numbers go through ldmatrix, which gives each lane what mma.m16n8k8 wants of it.
# The sums of a product whose element (row, column) is 8 row + column say who holds what of C.
ASK = """
__device__ __forceinline__ unsigned at(const float *row) { return unsigned(__cvta_generic_to_shared(row)); }

extern "C" __global__ void ask(const float *A, const float *B, int multiply, float *a_held, float *b_held,
                               float *d_held) {
    __shared__ __align__(16) float As[16][8], Bs[8][8];   // (row, k), and B transposed: (column, k)
    const int lane = threadIdx.x;
    for (int i = lane; i < 128; i += 32) As[i / 8][i % 8] = A[i];
    for (int i = lane; i < 64; i += 32) Bs[i % 8][i / 8] = B[i];
    __syncthreads();
    unsigned a[4], b[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(at(&As[lane % 16][lane / 16 * 4])) : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(b[0]), "=r"(b[1]) : "r"(at(&Bs[lane % 8][lane / 8 % 2 * 4])) : "memory");
    float d[4] = {};
    if (multiply)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    for (int n = 0; n < 4; ++n) a_held[lane * 4 + n] = __uint_as_float(a[n]);
    for (int n = 0; n < 2; ++n) b_held[lane * 2 + n] = __uint_as_float(b[n]);
    for (int n = 0; n < 4; ++n) d_held[lane * 4 + n] = d[n];
}
"""


@dataclass(frozen=True)
class Held:
    """A matrix of an instruction.  lane, register: (rows, columns), who holds an element and in which register."""

    name: str
    lane: np.ndarray
    register: np.ndarray

    def of(self, lane: int) -> list[tuple[int, int]]:
        """(row, column) of the elements that a lane holds, in the order of its registers."""
        places = np.argwhere(self.lane == lane)
        return sorted(((int(row), int(column)) for row, column in places), key=lambda cell: self.register[cell])


def _held(name: str, numbers: np.ndarray, shape: tuple[int, int]) -> Held:
    """numbers: (32, registers), the element that each register holds, counted row by row."""
    lane, register = (np.full(shape, -1) for _ in range(2))
    for (holder, which), number in np.ndenumerate(numbers.astype(int)):
        cell = divmod(int(number), shape[1])
        lane[cell], register[cell] = holder, which
    return Held(name, lane, register)


def _asked(A: np.ndarray, B: np.ndarray, multiply: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b, d = (np.zeros((32, count), np.float32) for count in (4, 2, 4))
    ask = gpusim.RawModule(code=ASK).get_function("ask")
    ask((1,), (32,), (np.float32(A), np.float32(B), np.int32(multiply), a, b, d))
    return a, b, d


@lru_cache(maxsize=1)
def held() -> tuple[Held, Held, Held]:
    """A (16, 8), B (8, 8) and C (16, 8) of m16n8k8 for TF32, from the lanes of a simulated launch."""
    a, b, _ = _asked(np.arange(128).reshape(16, 8), np.arange(64).reshape(8, 8), multiply=False)
    A, B = np.zeros((16, 8)), np.zeros((8, 8))
    A[:, 0], A[:, 1], B[0], B[1] = np.arange(16), 1, 8, np.arange(8)  # row * 8 + 1 * column
    *_, d = _asked(A, B, multiply=True)
    return _held("A", a, (16, 8)), _held("B", b, (8, 8)), _held("C", d, (16, 8))


def of_function(element: Callable[[int, int], int | None], registers: int, shape: tuple[int, int]) -> Held:
    """The map of A that a learner's function says; lane −1 where no lane holds the element by it."""
    lane, register = (np.full(shape, -1) for _ in range(2))
    for lane_number in range(32):
        for which in range(registers):
            number = element(lane_number, which)
            if isinstance(number, int | np.integer) and 0 <= number < shape[0] * shape[1]:
                cell = divmod(int(number), shape[1])
                lane[cell], register[cell] = lane_number, which
    return Held("A", lane, register)
