"""Programs in which threads of a block, and of several, hand on what they did: whole they are right, and each piece in
[[ ]] is needed.

CUDA guide, 'Memory Fence Functions' and 'Synchronization Functions'; PTX ISA, 'Memory Consistency Model'.
"""

import re

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine.run import Launch

I32 = np.int32
WORDS = {
    "FENCE": "__threadfence();", "OF_BLOCK": "__threadfence_block();", "BARRIER": "__syncthreads();",
    "WARP": "__syncwarp();",
}  # fmt: skip
# By name: blocks, threads, and what they do. a: data; f: flags, zero at first.
PROGRAMS = {
    "one thread polls for its block": (2, 64, """
        if (bl == 0) { a[t] = t; [[FENCE]] [[BARRIER]] if (t == 0) atomicExch(f, 1); }
        else { if (t == 0) while (!atomicAdd(f, 0)) { } FENCE [[BARRIER]] out[t] = a[t ^ 1]; }"""),
    "one lane polls for its warp": (2, 64, """
        if (w == 0 && bl == 0) { a[t] = t; [[FENCE]] [[WARP]] if (t == 0) *(volatile int *)f = 1; }
        if (w == 1 && bl == 1) { if (l == 0) while (!*(volatile int *)f) { } FENCE [[WARP]] out[t] = a[l ^ 1]; }"""),
    "another warp polls as well": (2, 64, """
        if (bl == 0 && t == 0) { a[0] = 1; FENCE atomicExch(f, 1); }
        if (bl == 1 && t == 0) { while (!atomicAdd(f, 0)) { } FENCE }
        if (bl == 1 && t == 32) { [[while (!atomicAdd(f, 0)) { }]] FENCE out[0] = a[0]; }"""),
    "another warp is told in shared memory": (2, 64, """
        __shared__ int told; if (t == 0) told = 0; BARRIER
        if (bl == 0 && t == 0) { a[0] = 7; [[FENCE]] atomicExch(f, 1); }
        if (bl == 1 && t == 0) { while (!atomicAdd(f, 0)) { } FENCE atomicExch(&told, 1); }
        if (bl == 1 && t == 32) { [[while (!atomicAdd(&told, 0)) { }]] FENCE out[0] = a[0]; }"""),
    "a warp passes on what it is told in shared memory": (2, 64, """
        __shared__ int told; if (t == 0) told = 0; BARRIER
        if (bl == 0 && t == 0) { a[0] = 7; [[OF_BLOCK]] atomicExch(&told, 1); }
        if (bl == 0 && t == 32) { [[while (!atomicAdd(&told, 0)) { }]] [[FENCE]] atomicExch(f, 1); }
        if (bl == 1 && t == 0) { while (!atomicAdd(f, 0)) { } FENCE out[0] = a[0]; }"""),
    "a warp writes what another block has read": (2, 64, """
        if (bl == 0 && t == 0) { out[0] = a[0]; [[FENCE]] atomicExch(f, 1); }
        if (bl == 1) { if (t == 0) while (!atomicAdd(f, 0)) { } FENCE [[BARRIER]] if (t == 33) a[0] = 5; }"""),
    "a barrier of the grid": (3, 64, """
        a[64 * bl + t] = t; [[FENCE]] [[BARRIER]]
        if (t == 0) { atomicAdd(f, 1); while (*(volatile int *)f < 3) { } FENCE } [[BARRIER]]
        out[64 * bl + t] = a[64 * ((bl + 1) % 3) + (t ^ 1)];"""),
    "a barrier of the grid whose fence one thread makes for all": (3, 64, """
        a[64 * bl + t] = t; [[BARRIER]]
        if (t == 0) { [[FENCE]] atomicAdd(f, 1); while (*(volatile int *)f < 3) { } FENCE } [[BARRIER]]
        out[64 * bl + t] = a[64 * ((bl + 1) % 3) + (t ^ 1)];"""),
    "a fence between two barriers": (2, 64, """
        if (bl == 0) { a[t] = t; [[BARRIER]] if (t == 32) { [[FENCE]] } [[BARRIER]] if (t == 0) atomicExch(f, 1); }
        else { if (t == 0) while (!atomicAdd(f, 0)) { } FENCE BARRIER out[t] = a[t ^ 1]; }"""),
    "all threads poll": (3, 64, """
        a[64 * bl + t] = t; [[FENCE]] [[BARRIER]] if (t == 0) atomicAdd(f, 1);
        while (*(volatile int *)f < 3) { }
        FENCE out[64 * bl + t] = a[64 * ((bl + 1) % 3) + (t ^ 1)];"""),
    "all lanes poll in shared memory": (1, 32, """
        __shared__ int d[32]; __shared__ volatile int ready; if (t == 0) ready = 0; BARRIER
        d[t] = t; OF_BLOCK [[WARP]] if (t == 0) ready = 1; while (!ready) { } OF_BLOCK out[t] = d[t ^ 1];"""),
    "there and back": (2, 64, """
        for (int r = 0; r < 2; ++r) {
            if (bl == 0) {
                if (t == 0) while (*(volatile int *)(f + 1) != r) { } BARRIER
                a[t] = t + r; [[FENCE]] [[BARRIER]] if (t == 0) *(volatile int *)f = r + 1;
            } else {
                if (t == 0) while (*(volatile int *)f != r + 1) { } FENCE [[BARRIER]]
                out[t] += a[t ^ 1]; [[FENCE]] [[BARRIER]] if (t == 0) *(volatile int *)(f + 1) = r + 1;
            }
        }"""),
    "the sums of those before": (4, 64, """
        if (t == 0) {
            int sum = 0;
            if (bl > 0) { while (!*(volatile int *)(f + bl - 1)) { } FENCE sum = a[bl - 1]; }
            a[bl] = sum + 1; [[FENCE]] *(volatile int *)(f + bl) = 1; }
        [[BARRIER]] if (bl > 0) out[64 * bl + t] = a[bl - 1];"""),
    "a lock of the block": (2, 64, """
        if (t == 0) while (atomicCAS(f, 0, 1)) { } FENCE [[BARRIER]]
        a[t] += bl; [[FENCE]] [[BARRIER]] if (t == 0) atomicExch(f, 0);"""),
    "a lock of a warp": (2, 32, """
        if (l == 0) while (atomicCAS(f, 0, 1)) { } FENCE [[WARP]]
        a[l] += bl; [[FENCE]] [[WARP]] if (l == 0) atomicExch(f, 0);"""),
    "who counts last reads what all have added, itself the last": (4, 64, """
        if (t) return;
        atomicAdd(a, bl + 1); [[FENCE]] if (atomicAdd(f, 1) == 3) { FENCE out[0] = a[0]; a[0] = f[0] = 0; }"""),
    "the last block reads the sums of all threads": (4, 64, """
        __shared__ int last;
        atomicAdd((float *)a + t, 1.0f); [[FENCE]] [[BARRIER]] if (t == 0) last = atomicAdd(f, 1) == 3;
        [[BARRIER]] if (last) { FENCE out[t] = a[t] + a[t ^ 33]; }"""),
    "the last block reads the parts of all": (4, 64, """
        __shared__ bool last;
        a[64 * bl + t] = t; [[FENCE]] [[BARRIER]] if (t == 0) last = atomicAdd(f, 1) == 3;
        BARRIER if (last && t == 0) for (int k = 0; k < 256; ++k) out[0] += a[k];"""),
    "the last block reads the parts of all, fenced behind a barrier": (4, 64, """
        __shared__ bool last;
        a[64 * bl + t] = t; [[BARRIER]] [[FENCE]] if (t == 0) last = atomicAdd(f, 1) == 3;
        BARRIER if (last && t == 0) for (int k = 0; k < 256; ++k) out[0] += a[k];"""),
    "the last warp reads the parts of all": (8, 32, """
        __shared__ bool last;
        a[32 * bl + t] = t; [[FENCE]] [[WARP]] if (t == 0) last = atomicAdd(f, 1) == 7;
        BARRIER if (last && t == 0) for (int k = 0; k < 256; ++k) out[0] += a[k];"""),
    "a chain of three blocks": (3, 32, """
        volatile int *v = f;
        if (t == 0 && bl == 0) { a[0] = 1; [[FENCE]] v[0] = 1; }
        if (t == 0 && bl == 1) { while (!v[0]) { } [[FENCE]] v[1] = 1; }
        if (t == 0 && bl == 2) { [[while (!v[1]) { }]] FENCE out[0] = a[0]; }"""),
    "one block after the other": (4, 64, """
        volatile int *v = f;
        a[64 * bl + t] = t; FENCE [[BARRIER]]
        if (t == 0) { if (bl) while (!v[bl - 1]) { } [[FENCE]] v[bl] = 1; } BARRIER
        for (int k = 0; k <= bl; ++k) out[64 * bl + t] += a[64 * k + (t ^ 1)];"""),
    "a tree of counters": (4, 32, """
        if (t) return;
        a[bl] = bl; [[FENCE]]
        if (atomicAdd(f + bl / 2, 1) == 1) {
            [[FENCE]] if (atomicAdd(f + 2, 1) == 1) { FENCE for (int k = 0; k < 4; ++k) out[k] = a[k]; } }"""),
    "a flag that is set to zero first": (1, 64, """
        __shared__ volatile int ready; __shared__ int data;
        if (t == 0) ready = 0; [[BARRIER]]
        if (t == 0) { data = a[0] + 5; [[OF_BLOCK]] ready = 1; }
        if (t == 32) { while (!ready) { } OF_BLOCK out[0] = data; }"""),
    "another warp raises the flag than sets it to zero": (1, 64, """
        __shared__ volatile int ready;
        if (t == 0) ready = 0; [[BARRIER]] if (t == 32) ready = 1; if (t == 0) while (!ready) { } out[t] = 1;"""),
    "a ring between two warps": (1, 64, """
        __shared__ volatile int head, tail; __shared__ int ring[4];
        if (t == 0) { head = 0; tail = 0; } [[BARRIER]]
        if (t == 0) for (int i = 0; i < 9; ++i) {
            while (head - tail == 4) { } OF_BLOCK ring[i % 4] = i; [[OF_BLOCK]] head = i + 1; }
        if (t == 32) for (int i = 0; i < 9; ++i) {
            while (head == i) { } OF_BLOCK out[i] = ring[i % 4]; [[OF_BLOCK]] tail = i + 1; }"""),
    "two warps fill and empty an array in turns": (1, 64, """
        __shared__ int ring[32];
        for (int i = 0; i < 5; ++i)
            if (w == 0) {
                if (l == 0) while (atomicAdd(f, 0) != 2 * i) { } [[WARP]]
                ring[l] = a[32 * i + l]; [[OF_BLOCK]] WARP if (l == 0) atomicExch(f, 2 * i + 1);
            } else {
                if (l == 0) while (atomicAdd(f, 0) != 2 * i + 1) { } [[WARP]]
                out[32 * i + l] = ring[31 - l]; [[OF_BLOCK]] WARP if (l == 0) atomicExch(f, 2 * i + 2);
            }"""),
    "one thread makes the fence for what all have added": (4, 64, """
        atomicAdd(a, t); [[BARRIER]] if (t == 0) { [[FENCE]] if (atomicAdd(f, 1) == 3) { FENCE out[0] = a[0]; } }"""),
    "sums behind a barrier of the grid": (4, 64, """
        for (int r = 0; r < 2; ++r) {
            atomicAdd(a + r, t); [[BARRIER]]
            if (t == 0) { [[FENCE]] atomicAdd(f, 1); while (*(volatile int *)f < 4 * (r + 1)) { } FENCE } [[BARRIER]]
            out[64 * bl + t] += a[r]; }"""),
    "all threads count and poll": (3, 64, """
        a[64 * bl + t] = t; [[FENCE]] atomicAdd(f, 1); [[while (*(volatile int *)f < 192) { }]]
        FENCE out[64 * bl + t] = a[64 * ((bl + 1) % 3) + (t ^ 1)];"""),
    "a sum of floats in shared memory": (1, 64, """
        __shared__ float sum; if (t == 0) sum = 0; [[BARRIER]] atomicAdd(&sum, 1.0f); BARRIER out[t] = sum;"""),
    "many set a flag": (1, 64, """
        __shared__ int found; if (t == 0) found = 0; BARRIER if (a[t] == t) found = 1; [[BARRIER]] out[t] = found;"""),
    "a block hands on in global memory": (2, 64, """
        a[64 * bl + t] = t; [[BARRIER]] out[64 * bl + t] = a[64 * bl + (t ^ 33)];"""),
    "a part of a warp meets": (1, 32, """
        __shared__ int d[32];
        if (l < 8) { d[l] = a[l]; [[__syncwarp(0xff);]] out[l] = d[l ^ 1]; [[__syncwarp(0xff);]] d[l] = 5; }"""),
    "both halves of a warp meet, each by itself": (1, 32, """
        __shared__ int d[32]; const unsigned half = l < 16 ? 0xffff : 0xffff0000;
        d[l] = a[l]; [[__syncwarp(half);]] out[l] = d[l ^ 1]; [[__syncwarp(half);]] d[l] = 5;"""),
    # Of these the machine code is a loop of compare-and-swaps, each of which begins with a plain load: that alone may
    # race with them.
    "a sum of floats": (2, 64, """
        __shared__ float sum; if (t == 0) sum = 0; [[BARRIER]] atomicAdd(&sum, a[t] + 1.0f); [[BARRIER]]
        if (t == 0) out[bl] = sum;"""),
    "a sum of doubles that all read": (1, 64, """
        __shared__ double sum; if (t == 0) sum = 0; [[BARRIER]] atomicAdd(&sum, a[t] + 1.0); [[BARRIER]]
        out[t] = sum;"""),
    "a sum of floats in each round": (1, 64, """
        __shared__ float sum;
        for (int r = 0; r < a[0] + 2; ++r) {
            if (t == 0) sum = 0; [[BARRIER]] atomicAdd(&sum, t + 1.0f); [[BARRIER]] out[t] += sum; [[BARRIER]]
        }"""),
    "a sum of sums of floats": (1, 64, """
        __shared__ float bins[64], total; bins[t] = 0; if (t == 0) total = 0; [[BARRIER]]
        atomicAdd(&bins[t % 8], a[t] + 1.0f); [[BARRIER]] atomicAdd(&total, bins[(t + 1) % 8]); [[BARRIER]]
        out[t] = total;"""),
    "a sum of floats from the stack beside a read": (1, 64, """
        __shared__ float bins[64]; float own[64]; for (int i = 0; i < 64; ++i) own[i] = a[(t + i) % 64];
        bins[t] = 0; [[BARRIER]] atomicAdd(&bins[t % 8], own[f[t] & 63]); [[BARRIER]] out[t] = bins[(t + 1) % 8];"""),
    "a maximum by compare-and-swap that is read": (1, 64, """
        int old = a[0], was; do { was = old; old = atomicCAS(a, was, max(was, t)); } while (old != was);
        [[BARRIER]] out[t] = a[0];"""),
}  # fmt: skip
BY_NUMPY = ("fence between two barriers",)  # which clean ones the compiled engine leaves to it

# Right as they are.
RIGHT = {
    "all set a flag in global memory": (64, 256, "if (a[t] == 0) out[0] = 1;"),
    "a maximum by compare-and-swap": (2, 64, """
        int old = a[0], was; do { was = old; old = atomicCAS(a, was, max(was, t)); } while (old != was);"""),
    "a maximum by compare-and-swap in shared memory": (1, 64, """
        __shared__ int most; if (t == 0) most = 0; BARRIER
        int old = most, was; do { was = old; old = atomicCAS(&most, was, max(was, t)); } while (old != was);"""),
    "a list to which all add": (1, 64, """
        __shared__ int first; if (t == 0) first = -1; BARRIER
        int next; do out[t] = next = first; while (atomicCAS(&first, next, t) != next);"""),
    "a table with a place for each": (1, 64, """
        for (int at = t / 2;; at = (at + 1) % 64) {
            const int there = f[at];
            if (there == t + 1 || (there == 0 && atomicCAS(f + at, there, t + 1) == 0)) { out[t] = at; break; }
        }"""),
    "until nothing changes": (1, 64, """
        __shared__ bool changed; int rounds = 0;
        do {
            BARRIER if (t == 0) changed = false; BARRIER if (rounds++ < 3) changed = true; BARRIER
        } while (changed);"""),
}  # fmt: skip
HALVES = """#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float *x, float *y) {
    __shared__ __half total, beside[65];
    const int t = threadIdx.x;
    if (t == 0) total = 0.0f;
    beside[t] = x[t];
    __syncthreads();
    atomicAdd(&total, READ);
    __syncthreads();
    y[t] = total;
}"""
# Like these, and wrong.
WRONG = {
    "one stores something else": (1, 64, """
        __shared__ int v; if (t < 32) v = a[t] + 1; if (t == 40) v = a[t] + 2; BARRIER out[t] = v;"""),
    "one stores what another has stored last": (1, 64, """
        __shared__ volatile int v; volatile int *p = a;
        if (t == 0) v = p[0] + 1; if (t == 0) v = p[1] + 2; if (t == 32) v = p[2] + 2; BARRIER out[t] = v;"""),
    "one stores something else in global memory": (
        1, 64, "if (t == 0) out[0] = a[0] + 1; if (t == 32) out[0] = a[1] + 2;"),
    "a store beside a compare-and-swap": (1, 64, """
        __shared__ int v; if (t == 0) v = 0; BARRIER
        atomicCAS(&v, 0, 1); if (t == 40) v = a[0] + 7; BARRIER out[t] = v;"""),
    "a store beside a compare-and-swap in global memory": (
        1, 64, "atomicCAS(out, 0, 1); if (t == 40) out[0] = a[0] + 7;"),
    "a look at what others add to": (1, 64, """
        __shared__ int v; if (t == 0) v = 0; BARRIER
        if (t < 32) atomicCAS(&v, 0, 1); else atomicAdd(&v, 1); out[t] = v;"""),
    "a look at what others add to in global memory": (
        1, 64, "if (t < 32) atomicAdd(out, 1); else f[t] = out[0];"),
}  # fmt: skip


def launched(body: str, blocks: int, threads: int, level: str) -> None:
    for word, text in WORDS.items():
        body = re.sub(rf"\b{word}\b", text, body)
    source = f"""
    extern "C" __global__ void kernel(int *a, int *f, int *out) {{
        const int t = threadIdx.x, w = t / 32, l = t % 32, bl = blockIdx.x; (void)w; (void)l; {body} }}"""
    with gpusim.record(level=level, checks="raise"):
        arrays = tuple(np.zeros(256, I32) for _ in range(3))
        gpusim.RawModule(code=source).get_function("kernel")((blocks,), (threads,), arrays)


@pytest.mark.parametrize("name", PROGRAMS | RIGHT)
def test_the_whole_program_is_right(name, level, monkeypatch):
    blocks, threads, body = (PROGRAMS | RIGHT)[name]
    if not any(words in name for words in BY_NUMPY):
        monkeypatch.setattr(Launch, "run", lambda launch: pytest.fail("the engine in NumPy runs it, too"))
    launched(re.sub(r"\[\[|\]\]", "", body), blocks, threads, level)


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_without_one_piece_it_is_a_race(name, level):
    blocks, threads, body = PROGRAMS[name]
    pieces = list(re.finditer(r"\[\[.*?\]\]", body))
    assert pieces
    for piece in pieces:
        left = re.sub(r"\[\[|\]\]", "", body[: piece.start()] + body[piece.end() :])
        with pytest.raises(errors.RaceError, match="race in (global|shared) memory"):
            launched(left, blocks, threads, level)


@pytest.mark.parametrize("arch", ("sm_75", "sm_90", "sm_120"))
def test_a_sum_of_halves_leaves_the_half_beside_it_alone(arch):
    """It is a compare-and-swap of the word in which both lie, perhaps on the line of something else."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    for read in ("beside[t]", "__half(float(int(float(beside[(t + 2) % 64]) * 1.0f)))"):
        kernel = gpusim.RawModule(code=HALVES.replace("READ", read), arch=arch).get_function("kernel")
        kernel((1,), (64,), (x, y))
        assert y.tolist() == [64] * 64


@pytest.mark.parametrize("name", WRONG)
def test_what_only_looks_like_a_right_program_is_a_race(name, level):
    blocks, threads, body = WRONG[name]
    with pytest.raises(errors.RaceError, match="race in (global|shared) memory"):
        launched(body, blocks, threads, level)
