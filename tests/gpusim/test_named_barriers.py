"""Barriers of a part of a block, by both engines and at both levels, against values counted by hand."""

import warnings

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled
from gpusim.engine.run import Launch

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
    kernel = gpusim.RawModule(code=HEAD + body, arch=arch).get_function("kernel")
    out = np.zeros(128, np.int32)
    arguments = (out, np.int32(3), np.int32(64))
    if level is None:
        kernel((grid,), (block,), arguments)
    else:
        with gpusim.record(level=level, checks=checks):
            kernel((grid,), (block,), arguments)
    return out


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


@pytest.fixture
def alone(monkeypatch):
    """The compiled engine has nobody to ask."""

    def refuse(run):
        raise AssertionError(f"{run.program.name} was executed by the engine in NumPy")

    monkeypatch.setattr(Launch, "run", refuse)


# Two warps copy for two others, which say when they have read it.
COPIED_FOR_OTHERS = """__shared__ alignas(16) int s[2][64];
    __shared__ unsigned long long full, vacant;
    const unsigned full_at = (unsigned)__cvta_generic_to_shared(&full);
    const unsigned vacant_at = (unsigned)__cvta_generic_to_shared(&vacant);
    auto wait = [](unsigned at, int parity) {
        asm volatile("{.reg .pred p; again%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again%=;}"
                     :: "r"(at), "r"(parity) : "memory");
    };
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(full_at) : "memory");
        asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(vacant_at) : "memory");
    }
    __syncthreads();
    int sum = 0;
    for (int round = 0; round < 4; ++round) {
        if (t < 64) {
            if (round) wait(vacant_at, round - 1 & 1);
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                         :: "r"((unsigned)__cvta_generic_to_shared(&s[0][t])), "l"(out + t) : "memory");
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(full_at) : "memory");
        } else {
            wait(full_at, round & 1);
            const int mine = s[0][127 - t];
            asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}" :: "r"(vacant_at) : "memory");
            s[1][t - 64] = mine;
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum += s[1][127 - t];
            asm volatile("bar.sync 1, 64;" ::: "memory");
        }
    }
    if (t >= 64) out[t] = sum;
}"""
DECIDED = {name: CASES[name] for name in ("halves", "handed over", "registers")} | {
    "copied for others": (COPIED_FOR_OTHERS, np.zeros(128, int))
}


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("case", DECIDED)
def test_what_is_right_is_decided_by_the_compiled_engine(case):
    body, expected = DECIDED[case]
    np.testing.assert_array_equal(launch(body, "sass", grid=1), expected)


PLANTED = {  # what is changed in it, and the error
    "the copies are not waited for": (
        "cp.async.mbarrier.arrive.noinc.shared.b64 [%0];",
        "{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}", errors.AsyncCopyError,
    ),
    "one warp meets nobody": (
        """            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum""",
        """            if (t < 96) asm volatile("bar.sync 1, 32;" ::: "memory");
            sum""", errors.RaceError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_in_what_is_copied_for_others_is_found(name):
    old, new, error = PLANTED[name]
    assert old in COPIED_FOR_OTHERS
    with pytest.raises(error):
        launch(COPIED_FOR_OTHERS.replace(old, new), "sass", grid=1)


GUARDED = """const int here = m >> t / 32 & 1;
    int x = t;
    #pragma unroll 1
    for (int round = 0; round < n; ++round) {
        x = 3 * x + 1;
        asm volatile("{.reg .pred p; setp.ne.s32 p, %0, 0; @p bar.sync 1, 64;}" :: "r"(here) : "memory");
    }
    out[t] = x;
}"""


@pytest.mark.parametrize("way", ["compiled", "machine code in NumPy", "ptx"])
def test_code_before_a_guarded_named_barrier_is_executed_once(way, monkeypatch):
    if way == "machine code in NumPy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    kernel = gpusim.RawModule(code=HEAD + GUARDED, arch="sm_90").get_function("kernel")
    executed = []
    for warps in (0b0000, 0b1010):
        out = np.zeros(128, np.int32)
        with gpusim.record(level="ptx" if way == "ptx" else "sass", checks="off") as recording:
            kernel((1,), (128,), (out, np.int32(3), np.int32(warps)))
        np.testing.assert_array_equal(out, 27 * THREADS + 13)
        executed.append(recording.counters["smsp__inst_executed.sum"])
    assert executed[0] == executed[1], "of all warps, whoever waits"


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


@pytest.mark.parametrize("case", BYSTANDERS)
def test_warps_outside_a_barrier_race_with_those_inside(case, level):
    body, lines = BYSTANDERS[case]
    with pytest.raises(errors.RaceError, match="shared memory") as caught:
        launch(body, level, grid=1)
    assert set(caught.value.lines) == lines


def test_warp_counts_whole_although_some_lanes_are_absent(level):
    expected = np.where(THREADS < 40, 39 - THREADS, 0)
    np.testing.assert_array_equal(launch(NOT_FULL, level, block=40, grid=1), expected)


def test_all_warps_of_a_block_take_turns_at_a_two_warp_barrier(level):
    np.testing.assert_array_equal(launch(IN_TURNS, level, grid=1), THREADS + 1)


def test_barrier_for_too_many_threads_says_how_many_came(level):
    body = """if (t < 64) asm volatile("bar.sync 3, 96;" ::: "memory");
        out[t] = t;
    }"""
    with pytest.raises(errors.BarrierError, match=r"at line 3 for barrier 3, to which 64 of 96 threads have come"):
        launch(body, level)


def test_thread_count_that_is_no_multiple_of_a_warp_is_refused(level):
    body = """asm volatile("bar.sync 1, %0;" :: "r"(m / 2 + 1) : "memory");
        out[t] = t;
    }"""
    with pytest.raises(errors.BarrierError, match=r"waits at a barrier for 33 threads(.|\n)*a multiple of 32"):
        launch(body, level)


def test_a_missing_barrier_between_parts_is_a_race(level):
    body = HANDED_OVER.replace("bar.arrive 1", "bar.sync 1")
    for second in ("bar.sync 2", "bar.arrive 2"):
        body = body.replace(f'asm volatile("{second}, 128;" ::: "memory");', "")
    with pytest.raises(errors.RaceError):
        launch(body, level)


APART = """extern "C" __global__ void k(const float *x, float *y, int n) {
    __shared__ float s[2][64];
    const int t = threadIdx.x % 64;
    const bool producer = threadIdx.x < 64;
    if (producer) s[0][t] = x[t];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        if (producer) { if (i + 1 < n) s[(i + 1) % 2][t] = x[(i + 1) * 64 + t];
            BARRIER }
        else { sum += s[i % 2][63 - t];
            __syncthreads(); }
    }
    if (!producer) y[t] = sum;
}"""


def double_buffered(level: str, checks: str, barrier: str = "__syncthreads();") -> gpusim.Recording:
    """Launch APART; AssertionError if its sums are wrong."""
    x, y = np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
    function = gpusim.RawModule(code=APART.replace("BARRIER", barrier)).get_function("k")
    with gpusim.record(level=level, checks=checks) as recording:
        function(1, 128, (x, y, np.int32(4)))
    np.testing.assert_array_equal(y, x.reshape(4, 64)[:, ::-1].sum(0))
    return recording


@pytest.mark.parametrize("engine", ["C", "NumPy"])
def test_whole_warps_may_pass_one_barrier_at_two_lines(level, engine, monkeypatch):
    if engine == "NumPy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    with pytest.warns(errors.BarrierWarning, match=r"64 threads .* at line 10; 64 threads .* at line 12"):
        double_buffered(level, "raise")
    (finding,) = double_buffered(level, "report").checks.findings
    assert (finding.kind, finding.lines, finding.thread) == ("different barriers", (10, 12), (0, 0, 0))
    with warnings.catch_warnings(action="error"):
        double_buffered(level, "off")


def test_a_race_of_warps_apart_is_found_as_well(level):
    with pytest.raises(errors.RaceError, match="race in shared memory"):
        double_buffered(level, "raise", "__syncthreads(); s[(i + 1) % 2][t] = 7;")
