"""What a shuffle takes from a lane that does not take part is no finding before it is used, and masks that a launch is
given must name who calls: at both levels, of patterns that public kernels have."""

from functools import cache

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled

F = np.float32
HEAD = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#define FULL 0xffffffffu
extern "C" __global__ void k(const float *x, float *y, int n, unsigned m) {
  const int t = threadIdx.x, lane = t & 31, warps = (blockDim.x + 31) / 32;
"""
DOWN = "for (int o = %s; o; o /= 2) v += __shfl_down_sync(%s, v, o);"
# name: (threads, n, body). A right one leaves the sum of the first n of x in y[0].
RIGHT = {
    "a whole warp": (32, 32, f"float v = x[t]; {DOWN % (16, 'FULL')} if (t == 0) y[0] = v;"),
    "a block of 16 from offset 8 on": (16, 16, f"float v = x[t]; {DOWN % (8, 'FULL')} if (t == 0) y[0] = v;"),
    "half a warp in a branch": (
        64, 16, f"if (t < 16) {{ float v = x[t]; {DOWN % (8, '0xffffu')} if (t == 0) y[0] = v; }}",
    ),
    "width 16 of a block of 48": (
        48, 48,
        "__shared__ float s[3]; float v = x[t]; for (int o = 8; o; o /= 2) v += __shfl_down_sync(FULL, v, o, 16);"
        "if (t % 16 == 0) s[t / 16] = v; __syncthreads(); if (t == 0) y[0] = s[0] + s[1] + s[2];",
    ),
    "a guard in the last warp": (
        48, 48,
        "__shared__ float s[2]; float v = x[t]; const int left = min(32, int(blockDim.x) - (t & ~31));"
        "for (int o = 16; o; o /= 2) { float w = __shfl_down_sync(FULL, v, o); if (lane + o < left) v += w; }"
        "if (lane == 0) s[t / 32] = v; __syncthreads(); if (t == 0) y[0] = s[0] + s[1];",
    ),
    "a guarded identity": (
        48, 48,
        "__shared__ float s[2]; float v = x[t]; const int left = min(32, int(blockDim.x) - (t & ~31));"
        "for (int o = 16; o; o /= 2) { float w = __shfl_down_sync(FULL, v, o); v += lane + o < left ? w : 0.0f; }"
        "if (lane == 0) s[t / 32] = v; __syncthreads(); if (t == 0) y[0] = s[0] + s[1];",
    ),
    "no lane beyond n stays, odd numbers halved up": (
        32, 21,
        "if (t >= n) return; float v = x[t]; for (int left = n; left > 1; left = (left + 1) / 2) {"
        "  const int half = (left + 1) / 2; float w = __shfl_down_sync((1u << n) - 1, v, half);"
        "  if (lane + half < left) v += w; } if (t == 0) y[0] = v;",
    ),
    "an argument of the maximum by a branch": (
        16, 16,
        "float v = x[t]; int at = t; for (int o = 8; o; o /= 2) { float w = __shfl_down_sync(FULL, v, o);"
        " int from = __shfl_down_sync(FULL, at, o); if (w > v || (w == v && from < at)) { v = w; at = from; } }"
        "if (t == 0) { float sum = 0; for (int i = 0; i < n; ++i) sum += x[i]; y[0] = at == n - 1 ? sum : -1; }",
    ),
    "a scan in a partial warp": (
        20, 20,
        "float v = x[t]; for (int o = 1; o < 32; o *= 2) { float w = __shfl_up_sync(FULL, v, o);"
        "if (lane >= o) v += w; }"
        "if (t == n - 1) y[0] = v;",
    ),
    "the sums of warps in the first warp": (
        96, 96,
        f"__shared__ float s[32]; float v = x[t]; {DOWN % (16, 'FULL')} if (lane == 0) s[t / 32] = v; __syncthreads();"
        f"if (t < 32) {{ v = t < warps ? s[t] : 0.0f; {DOWN % (16, 'FULL')} if (t == 0) y[0] = v; }}",
    ),
    "the sums of warps in as many lanes": (
        256, 256,
        f"__shared__ float s[32]; float v = x[t]; {DOWN % (16, 'FULL')} if (lane == 0) s[t / 32] = v; __syncthreads();"
        f"if (t < warps) {{ v = s[t]; {DOWN % ('warps / 2', '(1u << warps) - 1')} if (t == 0) y[0] = v; }}",
    ),
    "a butterfly in whole warps": (
        64, 64,
        "__shared__ float s[2]; float v = x[t]; for (int o = 16; o; o /= 2) v += __shfl_xor_sync(FULL, v, o);"
        "s[t / 32] = v; __syncthreads(); if (t == 0) y[0] = s[0] + s[1];",
    ),
    "a butterfly over the identity": (
        32, 25,
        "float v = t < n ? x[t] : 0.0f; for (int o = 16; o; o /= 2) v += __shfl_xor_sync(FULL, v, o);"
        "if (t == 0) y[0] = v;",
    ),
    "lanes by a ballot, one after the other": (
        32, 11,
        "const unsigned mask = __ballot_sync(FULL, t < n); if (t < n) { float v = x[t], sum = 0;"
        "for (unsigned rest = mask; rest; rest &= rest - 1) sum += __shfl_sync(mask, v, __ffs(rest) - 1);"
        "if (t == 0) y[0] = sum; }",
    ),
    "an active mask and its leader": (
        32, 12,
        "if (t < n) { const unsigned mask = __activemask(); float v = x[t], sum = 0; for (unsigned rest = mask; rest;"
        "rest &= rest - 1) sum += __shfl_sync(mask, v, __ffs(rest) - 1); if (lane == __ffs(mask) - 1) y[0] = sum; }",
    ),
    "a leader hands on its place": (
        32, 32,
        "__shared__ int end; __shared__ float s[32]; if (t == 0) end = 0; __syncthreads(); const unsigned mask ="
        "__ballot_sync(FULL, x[t] >= 0); int place = 0;"
        "if (lane == __ffs(mask) - 1) place = atomicAdd(&end, __popc(mask));"
        "place = __shfl_sync(FULL, place, __ffs(mask) - 1); s[place + __popc(mask & ((1u << lane) - 1))] = x[t];"
        "__syncthreads(); if (t == 0) { float sum = 0; for (int i = 0; i < end; ++i) sum += s[i]; y[0] = sum; }",
    ),
    "beyond the segment each has its own": (
        32, 8,
        "float v = t < n ? x[t] : 0.0f, sum = 0; for (int o = 0; o < 32; ++o) { float w = __shfl_down_sync(FULL, v, o);"
        "sum += lane + o < 32 ? w : 0.0f; } if (t == 0) y[0] = sum; else if (sum < 0) y[0] = -1;",
    ),
    "tiles of cooperative groups": (
        64, 64,
        "__shared__ float s[4]; auto tile = cg::tiled_partition<16>(cg::this_thread_block()); float v = x[t];"
        "for (int o = tile.size() / 2; o; o /= 2) v += tile.shfl_down(v, o);"
        "if (tile.thread_rank() == 0) s[t / 16] = v;"
        "__syncthreads(); if (t == 0) y[0] = s[0] + s[1] + s[2] + s[3];",
    ),
    "a tile in a small block": (
        16, 16,
        "auto tile = cg::tiled_partition<16>(cg::this_thread_block());"
        "float v = cg::reduce(tile, x[t], cg::plus<float>()); if (t == 0) y[0] = v;",
    ),
    "coalesced threads reduce": (
        32, 13,
        "if (t < n) { auto group = cg::coalesced_threads(); float v = cg::reduce(group, x[t], cg::plus<float>());"
        "if (group.thread_rank() == 0) y[0] = v; }",
    ),
    "coalesced threads shuffle": (
        32, 24,
        "if (t < n) { auto group = cg::coalesced_threads(); float v = x[t], sum = 0;"
        "for (int i = 0; i < group.size(); ++i) sum += group.shfl(v, i); if (group.thread_rank() == 0) y[0] = sum; }",
    ),
    "each side of a ballot among its own": (
        32, 20,
        "unsigned mask = __ballot_sync(FULL, t < n); if (t >= n) mask = ~mask; float v = x[t], sum = 0;"
        "for (unsigned rest = mask; rest; rest &= rest - 1) sum += __shfl_sync(mask, v, __ffs(rest) - 1);"
        "if (t == 0) y[0] = sum;",
    ),
    "equals hand on what their leader got": (
        32, 32,
        "__shared__ float sums[4]; if (t < 4) sums[t] = 0; __syncwarp();"
        "const unsigned mask = __match_any_sync(FULL, t & 3);"
        "float v = x[t]; for (unsigned rest = mask & (mask - 1); rest; rest &= rest - 1) {"
        "  float w = __shfl_sync(mask, x[t], __ffs(rest) - 1); if (lane == __ffs(mask) - 1) v += w; }"
        "if (lane == __ffs(mask) - 1) sums[t & 3] = v; __syncwarp();"
        "if (t == 0) y[0] = sums[0] + sums[1] + sums[2] + sums[3];",
    ),
    "neighbours of another group are left out": (
        32, 32,
        "const unsigned mask = __match_any_sync(FULL, t / 16); float v = x[t]; for (int o = 8; o; o /= 2) {"
        "  float w = __shfl_down_sync(mask, v, o); v += mask >> ((lane + o) & 31) & 1 && lane + o < 32 ? w : 0.0f; }"
        "v += __shfl_xor_sync(FULL, v, 16); if (t == 0) y[0] = v;",
    ),
    "an array in local memory on the way": (
        32, 32,
        "float v[4] = {x[t], 0, 0, 0}; for (int o = 16; o; o /= 2) { v[o & 3] += 0;"
        "v[0] += __shfl_down_sync(FULL, v[0], o); }"
        "if (t == 0) y[0] = v[n & 3];",
    ),
}  # fmt: skip
# name: (threads, n, m, body, a part of the message)
WRONG = {
    "sixteen threads from offset 16 on": (
        16, 16, 0, f"float v = x[t]; {DOWN % (16, 'FULL')} if (t == 0) y[0] = v;",
        "lane 16 of its warp, which does not"
    ),
    "a butterfly over a partial warp": (
        48, 48, 0,
        "float v = x[t]; for (int o = 16; o; o /= 2) v += __shfl_xor_sync(FULL, v, o); if (lane == 0) y[t / 32] = v;",
        "the block of 48 threads gives this warp 16",
    ),
    "a return before it": (
        32, 20, 0, f"if (t >= n) return; float v = x[t]; {DOWN % (16, 'FULL')} if (t == 0) y[0] = v;",
        "which has ended",
    ),
    "lanes that the ballot does not name": (
        32, 25, 0,
        f"unsigned mask = __ballot_sync(FULL, t < n); if (t < n) {{ float v = x[t]; {DOWN % (16, 'mask')}"
        " if (t == 0) y[0] = v; } else y[t] = x[t];",
        "of its warp, which",
    ),
    "an address of another lane": (
        16, 16, 0, "int at = __shfl_sync(FULL, t, 20); y[0] = x[at & 15];",
        "uses a value that is not defined as an address",
    ),
    "a decision": (
        16, 16, 0, "float v = __shfl_sync(FULL, x[t], 20); if (v > 1) y[t] = 1;",
        "decides by a value that is not defined",
    ),
    "through local memory": (
        16, 16, 0,
        "float v[8]; for (int i = 0; i < 8; ++i) v[i] = x[i]; v[n & 7] = __shfl_sync(FULL, x[t], 20); y[t] = v[m & 7];",
        "stores a value that is not defined",
    ),
    "a vote": (
        16, 16, 0, "y[t] = __any_sync(FULL, __shfl_sync(FULL, x[t], 20) > 0);", "stores a value that is not defined",
    ),
    "mask 0": (32, 32, 0, "y[t] = __shfl_down_sync(0u, x[t], 1);", "0x00000000, does not name it"),
    "a vote with mask 0": (32, 32, 0, "y[t] = __all_sync(0u, x[t] > 0);", "0x00000000, does not name it"),
    "a match with mask 0": (32, 32, 0, "y[t] = __match_any_sync(0u, t & 3);", "0x00000000, does not name it"),
    "a barrier with mask 0": (32, 32, 0, "y[t] = 1; __syncwarp(0u);", "0x00000000, does not name it"),
    "a constant mask": (32, 32, 0, "y[t] = __shfl_xor_sync(0xffffu, x[t], 1);", "0x0000ffff, does not name it"),
    "masks of an unrolled loop": (
        32, 32, 0, "float v = x[t]; for (int o = 16; o; o /= 2) v += __shfl_down_sync(o, v, 1); y[t] = v;",
        "0x00000010, does not name it",
    ),
    "a given mask": (32, 32, 0xFF, "y[t] = __shfl_down_sync(m, x[t], 4);", "0x000000ff, does not name it"),
    "a given mask of a vote": (32, 32, 0xFF, "y[t] = __ballot_sync(m, x[t] > 0);", "0x000000ff, does not name it"),
    "a ballot of some, used by all": (
        32, 20, 0, "const unsigned mask = __ballot_sync(FULL, t < n); y[t] = __shfl_xor_sync(mask, x[t], 1);",
        "0x000fffff, does not name it",
    ),
    "a barrier of those of a ballot": (
        32, 20, 0, "const unsigned mask = __ballot_sync(FULL, t < n); y[t] = 1; __syncwarp(mask & 0xffffu);",
        "0x0000ffff, does not name it",
    ),
    "a vote by those of a ballot": (
        32, 20, 0, "const unsigned mask = __ballot_sync(FULL, t < n); y[t] = __any_sync(mask, x[t] > 3);",
        "0x000fffff, does not name it",
    ),
    "equals of lane 0, used by all": (
        32, 32, 0,
        "const unsigned mask = __shfl_sync(FULL, __match_any_sync(FULL, t & 3), 0);"
        "y[t] = __shfl_xor_sync(mask, x[t], 4);",
        "0x11111111, does not name it",
    ),
    "from lanes that are not equal": (
        32, 32, 0,
        "y[t] = __shfl_xor_sync(__match_any_sync(FULL, t & 3), x[t], 1);",
        "from lane 1 of its warp, which the mask does not name",
    ),
    "a computed mask": (32, 8, 0, "y[t] = __any_sync((1u << n) - 1, x[t] > 0);", "0x000000ff, does not name it"),
}  # fmt: skip


LEVELS = [("sass", "sm_80"), ("sass", "sm_90"), ("ptx", "sm_90"), ("ptx", "sm_120")]


@pytest.fixture(scope="module")
def modules():
    """One module for each architecture: compiling the headers takes longer than all kernels."""
    made = {}

    def module(arch: str):
        if arch not in made:
            kernels = "".join(
                "extern" + HEAD.replace("void k(", f"void k{number}(").partition("extern")[2] + body + "\n}\n"
                for number, (*_, body) in enumerate([*RIGHT.values(), *(row[:-1] for row in WRONG.values())])
            )
            made[arch] = gpusim.RawModule(
                code=HEAD.partition("extern")[0] + kernels, options=("-std=c++17",), arch=arch
            )
        return made[arch]

    return module


def launched(module, number: int, level: str, threads: int, n: int, m: int) -> tuple[float, float]:
    x = (np.arange(threads) + 1).astype(F)
    y = np.zeros(max(64, threads), F)
    with gpusim.record(level=level, blocks=()):
        module.get_function(f"k{number}")(1, threads, (x, y, np.int32(n), np.uint32(m)))
    return float(y[0]), float(x[:n].sum())


@pytest.mark.table(keep=2)
@pytest.mark.parametrize(("level", "arch"), LEVELS)
def test_right_reductions_pass(modules, level, arch):
    wrong = []
    for number, (name, (threads, n, _)) in enumerate(RIGHT.items()):
        got, expected = launched(modules(arch), number, level, threads, n, 0)
        if got != expected:
            wrong.append(f"{name}: {got}, not {expected}")
    assert not wrong


@pytest.mark.parametrize(("level", "arch"), LEVELS)
def test_values_of_absent_lanes_are_found_when_used(modules, level, arch):
    for number, (name, (threads, n, m, _, part)) in enumerate(WRONG.items(), len(RIGHT)):
        with pytest.raises(errors.WarpMaskError) as caught:
            launched(modules(arch), number, level, threads, n, m)
        assert part in str(caught.value), name


def test_right_reductions_need_no_second_execution(modules, monkeypatch):
    """The compiled engine follows what is not defined, so that right kernels stay fast."""
    handed_on, execute = [], compiled.execute

    def executed(*arguments):
        result = execute(*arguments)
        handed_on.extend([arguments[0].program.name] * (result is None))
        return result

    monkeypatch.setattr(compiled, "execute", executed)
    if compiled.library() is None:
        pytest.skip("there is no compiled engine")
    for number, (threads, n, _) in enumerate(RIGHT.values()):
        launched(modules("sm_90"), number, "sass", threads, n, 0)
    names = list(RIGHT)
    assert {names[int(register[1:])] for register in handed_on} <= {"an argument of the maximum by a branch"}


# name: (body, what y holds). All lanes call, each in its branch: allowed since Volta (CUDA guide, 'Independent Thread
# Scheduling').
WITHOUT_GROUPS = HEAD.partition("cooperative_groups;")[2]  # they take most of the time to compile
T = np.arange(64)
LOW = T % 32 < 16
IN_BRANCHES = {
    "a shuffle": (
        "if (lane < 16) y[t] = __shfl_xor_sync(FULL, x[t] * 10, 16) + 1;"
        " else y[t] = __shfl_xor_sync(FULL, x[t] * 7, 16) + 2;",
        np.where(LOW, ((T ^ 16) + 1) * 7 + 1, ((T ^ 16) + 1) * 10 + 2),
    ),
    "a result that one branch drops": (
        "float w = x[t] * 3; if (lane < 16) { __shfl_xor_sync(FULL, w, 16); y[t] = w; }"
        " else { w = __shfl_xor_sync(FULL, w * 5, 16); y[t] = w; }",
        np.where(LOW, (T + 1) * 3, ((T ^ 16) + 1) * 3),
    ),
    "a vote": (
        "if (lane < 16) y[t] = __popc(__ballot_sync(FULL, lane % 3 == 0)) + 1;"
        " else y[t] = __popc(__ballot_sync(FULL, lane % 5 == 0));",
        np.where(LOW, 6 + 3 + 1, 6 + 3),  # 0, 3, …, 15 of the lower lanes; 20, 25, 30 of the upper ones
    ),
    "masks of ballots": (
        "if (lane < 16) { const unsigned mask = __ballot_sync(FULL, lane != 3); y[t] = x[t];"
        " if (lane != 3) y[t] = __shfl_sync(mask, x[t], 31) + 1; }"
        " else { const unsigned mask = __ballot_sync(FULL, lane != 20); y[t] = x[t];"
        " if (lane != 20) y[t] = __shfl_sync(mask, x[t], 31); }",
        np.where((T % 32 == 3) | (T % 32 == 20), T + 1, T // 32 * 32 + 32 + LOW),
    ),
    "three branches": (
        "if (lane < 8) y[t] = __shfl_sync(FULL, x[t], 31) + 1;"
        " else if (lane < 20) y[t] = __shfl_sync(FULL, x[t] * 2, 31) + 2;"
        " else y[t] = __shfl_sync(FULL, x[t] * 3, 31) + 3;",
        (T // 32 + 1) * 32 * 3 + np.select([T % 32 < 8, T % 32 < 20], [1, 2], 3),
    ),
}  # fmt: skip
WITHIN_BRANCHES = "if (lane < 16) y[t] = __shfl_xor_sync(FULL, x[t], 1); else y[t] = __shfl_xor_sync(FULL, x[t], 2);"


@cache
def in_branches(arch: str) -> gpusim.RawModule:
    bodies = [*(body for body, _ in IN_BRANCHES.values()), WITHIN_BRANCHES]
    kernels = (WITHOUT_GROUPS.replace("void k(", f"void k{i}(") + body + "\n}" for i, body in enumerate(bodies))
    return gpusim.RawModule(code="".join(kernels), arch=arch)


def branched(arch: str, level: str, number: int) -> np.ndarray:
    y = np.zeros(64, F)
    with gpusim.record(level=level, blocks=()):
        function = in_branches(arch).get_function(f"k{number}")
        function(1, 64, ((T + 1).astype(F), y, np.int32(0), np.uint32(0)))
    return y


@pytest.mark.parametrize("has_library", (True, False))
@pytest.mark.parametrize("arch", ("sm_80", "sm_90", "sm_120"))
def test_lanes_of_different_branches_exchange_values(arch, has_library, monkeypatch):
    if not has_library:
        monkeypatch.setattr(compiled, "library", lambda: None)
    for number, (name, (_, expected)) in enumerate(IN_BRANCHES.items()):
        np.testing.assert_array_equal(branched(arch, "sass", number), expected, err_msg=name)


def test_ptx_level_refuses_an_exchange_between_branches():
    for number in range(len(IN_BRANCHES)):
        with pytest.raises(errors.KernelError, match="in another branch, which only machine code shows"):
            branched("sm_90", "ptx", number)


def test_lanes_of_each_branch_exchange_values(level):
    np.testing.assert_array_equal(branched("sm_90", level, len(IN_BRANCHES)), np.where(LOW, T ^ 1, T ^ 2) + 1)
