"""Batches of multiply-adds: the order of the program is kept where it matters, and the results are the same."""

import numpy as np

from helpers import simulator
from helpers.simulator.engine.batching import gather
from helpers.simulator.engine.ir import Instruction, Kind


def multiply_add(index: int, target: int, *sources: int) -> Instruction:
    return Instruction(index, "fma", "fma", 0, Kind.ALU, reads=sources, writes=(target,), fma=(None, None, None))


def other(index: int, target: int, *sources: int, guard=None) -> Instruction:
    return Instruction(index, "mov", "mov", 0, Kind.ALU, guard=guard, reads=sources, writes=(target,))


def order(*instructions: Instruction) -> list:
    return [
        [one.index for one in item] if isinstance(item, list) else item.index for item in gather(list(instructions))
    ]


def test_independent_multiply_adds_wait_for_each_other_past_unrelated_instructions():
    assert order(multiply_add(0, 10, 1, 2, 10), other(1, 5, 6), multiply_add(2, 11, 1, 3, 11)) == [1, [0, 2]]


def test_a_reader_of_a_result_comes_after_the_batch():
    assert order(multiply_add(0, 10, 1, 2), multiply_add(1, 11, 1, 2), other(2, 5, 10)) == [[0, 1], 2]


def test_a_multiply_add_of_a_waiting_result_starts_a_new_batch():
    assert order(multiply_add(0, 10, 1, 2, 10), multiply_add(1, 10, 3, 4, 10)) == [0, 1]


def test_overwriting_an_operand_or_a_result_comes_after_the_batch():
    assert order(multiply_add(0, 10, 1, 2), multiply_add(1, 11, 1, 2), other(2, 1, 6)) == [[0, 1], 2]
    assert order(multiply_add(0, 10, 1, 2), other(1, 10, 6), multiply_add(2, 11, 1, 2)) == [0, 1, 2]


def test_a_guard_that_is_a_waiting_result_counts_as_a_read():
    assert order(multiply_add(0, 10, 1, 2), other(1, 5, 6, guard=(10, False))) == [0, 1]


def test_a_tile_gives_the_same_bits_on_a_small_and_on_a_large_wave():
    source = """extern "C" __global__ void tile(const float *a, const float *b, float *c) {
        float x[8], y[8], acc[8][8] = {};
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        for (int k = 0; k < 5; ++k) {
            for (int i = 0; i < 8; ++i) { x[i] = a[t + i + 8 * k]; y[i] = b[t + 3 * i + k]; }
            for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) acc[i][j] += x[i] * y[j];
        }
        for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) if (t % 3) c[64 * t + 8 * i + j] = acc[i][j];
    }"""
    kernel = simulator.RawModule(code=source).get_function("tile")
    random = np.random.default_rng(5)
    threads = 16384
    a, b = random.normal(size=(2, threads + 64)).astype(np.float32)
    whole, parts = np.zeros((2, threads, 64), np.float32)
    kernel((32,), (512,), (a, b, whole))
    for start in range(0, 300, 100):
        kernel((1,), (100,), (a[start : start + 200], b[start : start + 200], parts[start : start + 100]))
    phase = np.array([start + t for start in range(0, 300, 100) for t in range(100) if t % 3 and (start + t) % 3])
    assert len(phase) > 100
    assert (whole[phase] == parts[phase]).all()
