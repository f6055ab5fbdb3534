"""Barriers of a part of a block, by both engines and at both levels, against values counted by hand."""

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.engine import compiled

HEAD = 'extern "C" __global__ void kernel(int *out, int n, int m) {\n    const int t = threadIdx.x;\n'
HALVES = """__shared__ int s[128];
    s[t] = t;
    if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = s[t ^ 32];
}"""
HANDED_OVER = """__shared__ int s[64];
    if (t < 64) {
        for (int round = 1; round <= 3; ++round) {
            s[t] = 100 * round + t;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory");
        }
    } else {
        int sum = 0;
        for (int round = 1; round <= 3; ++round) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            sum += s[127 - t];
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
        out[t] = sum;
    }
}"""
REGISTERS = """__shared__ int s[128];
    s[t] = t;
    asm volatile("bar.sync %0, %1;" :: "r"(t / 64 + n), "r"(m) : "memory");
    out[t] = s[t ^ 32];
    asm volatile("barrier.sync %0;" :: "r"(n + 9) : "memory");
    out[t] += 1000 * s[t ^ 64];
}"""
REDUCTIONS = """int count, any, all;
    asm volatile("{.reg .pred p; setp.lt.s32 p, %1, 70; bar.red.popc.u32 %0, %2, 64, p;}"
                 : "=r"(count) : "r"(t), "r"(t / 64 + 1) : "memory");
    asm volatile("{.reg .pred p, q; setp.lt.s32 p, %1, 70; bar.red.or.pred q, %2, %3, p; selp.b32 %0, 1, 0, q;}"
                 : "=r"(any) : "r"(t), "r"(t / 64 + n), "r"(m) : "memory");
    asm volatile("{.reg .pred p, q; setp.lt.s32 p, %1, 70; bar.red.and.pred q, %2, 64, p; selp.b32 %0, 1, 0, q;}"
                 : "=r"(all) : "r"(t), "r"(t / 64 + 1) : "memory");
    out[t] = 100 * count + 10 * any + all;
}"""
NOT_FULL = """__shared__ int s[64];
    s[t] = t;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = s[39 - t];
}"""
IN_TURNS = """asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = t;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] += 1;
}"""
THREADS = np.arange(128)
CASES = {
    "halves": (HALVES, THREADS ^ 32),
    "handed over": (HANDED_OVER, np.where(THREADS < 64, 0, 600 + 3 * (127 - THREADS))),
    "registers": (REGISTERS, (THREADS ^ 32) + 1000 * (THREADS ^ 64)),
    "reductions": (REDUCTIONS, np.where(THREADS < 64, 6411, 610)),
}


def launch(
    body: str, level: str | None, block: int = 128, arch: str = "sm_90", grid: int = 3, checks: str = "raise"
) -> np.ndarray:
    kernel = simulator.RawModule(code=HEAD + body, arch=arch).get_function("kernel")
    out = np.zeros(128, np.int32)
    arguments = (out, np.int32(3), np.int32(64))
    if level is None:
        kernel((grid,), (block,), arguments)
    else:
        with simulator.record(level=level, checks=checks):
            kernel((grid,), (block,), arguments)
    return out


@pytest.mark.parametrize("level", ["sass", "ptx"])
@pytest.mark.parametrize("case", CASES)
def test_a_part_of_a_block_waits_for_itself(case, level):
    body, expected = CASES[case]
    np.testing.assert_array_equal(launch(body, level, grid=1), expected)


@pytest.mark.parametrize("arch", ["sm_80", "sm_75"])
@pytest.mark.parametrize("case", CASES)
def test_the_machine_code_of_older_architectures_does_the_same(case, arch):
    body, expected = CASES[case]
    np.testing.assert_array_equal(launch(body, "sass", arch=arch, grid=1), expected)


@pytest.mark.parametrize("case", ["halves", "handed over", "registers"])
def test_both_engines_agree(case, monkeypatch):
    body, expected = CASES[case]
    kinds = []
    execute = compiled.execute

    def noted(*arguments):
        kinds.append(execute(*arguments))
        return kinds[-1]

    monkeypatch.setattr(compiled, "execute", noted)
    np.testing.assert_array_equal(launch(body, "sass", grid=1, checks="off"), expected)
    assert kinds[-1] is not None, "the compiled engine did not execute it"
    monkeypatch.setattr(compiled, "execute", lambda *arguments: None)
    np.testing.assert_array_equal(launch(body, "sass", grid=1), expected)


BYSTANDERS = {
    "reads what a pair of warps write": (
        """__shared__ int s[128];
    if (t < 64) {
        s[t] = t;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[t] = s[63 - t];
    } else
        out[t] = s[t - 64];
}""", {5, 9}),
    "writes what a pair of warps read": (
        """__shared__ int s[128];
    s[t] = t;
    __syncthreads();
    if (t < 64) {
        out[t] = s[64 + t];
        asm volatile("bar.sync 1, 64;" ::: "memory");
    } else
        s[t] = 7;
    __syncthreads();
}""", {7, 10}),
    "came to another barrier": (HALVES.replace("s[t ^ 32]", "s[t ^ 64]"), {4, 7}),
    "lets others know before it writes": (
        HANDED_OVER.replace("s[t] = 100 * round + t;\n", "").replace(
            'asm volatile("bar.sync 2, 128', 's[t] = 100 * round + t; asm volatile("bar.sync 2, 128'), {7, 13}),
}  # fmt: skip


@pytest.mark.parametrize("level", ["sass", "ptx"])
@pytest.mark.parametrize("case", BYSTANDERS)
def test_who_does_not_take_part_in_a_barrier_races_with_those_who_do(case, level):
    body, lines = BYSTANDERS[case]
    with pytest.raises(simulator.RaceError, match="shared memory") as caught:
        launch(body, level, grid=1)
    assert set(caught.value.lines) == lines


@pytest.mark.parametrize("level", ["sass", "ptx"])
def test_a_warp_counts_whole_although_some_of_its_lanes_are_not_there(level):
    expected = np.where(THREADS < 40, 39 - THREADS, 0)
    np.testing.assert_array_equal(launch(NOT_FULL, level, block=40, grid=1), expected)


@pytest.mark.parametrize("level", ["sass", "ptx"])
def test_all_warps_of_a_block_may_pass_a_barrier_of_two_warps_in_turns(level):
    np.testing.assert_array_equal(launch(IN_TURNS, level, grid=1), THREADS + 1)


@pytest.mark.parametrize("level", ["sass", "ptx"])
def test_who_waits_for_too_many_is_told_how_many_came(level):
    body = """if (t < 64) asm volatile("bar.sync 3, 96;" ::: "memory");
        out[t] = t;
    }"""
    with pytest.raises(simulator.BarrierError, match=r"at line 3 for barrier 3, to which 64 of 96 threads have come"):
        launch(body, level)


@pytest.mark.parametrize("level", ["sass", "ptx"])
def test_a_number_of_threads_that_is_no_multiple_of_a_warp_is_refused(level):
    body = """asm volatile("bar.sync 1, %0;" :: "r"(m / 2 + 1) : "memory");
        out[t] = t;
    }"""
    with pytest.raises(simulator.BarrierError, match=r"waits at a barrier for 33 threads(.|\n)*a multiple of 32"):
        launch(body, level)


@pytest.mark.parametrize("level", ["sass", "ptx"])
def test_a_missing_barrier_between_parts_is_a_race(level):
    body = HANDED_OVER.replace("bar.arrive 1", "bar.sync 1")
    for second in ("bar.sync 2", "bar.arrive 2"):
        body = body.replace(f'asm volatile("{second}, 128;" ::: "memory");', "")
    with pytest.raises(simulator.RaceError):
        launch(body, level)
