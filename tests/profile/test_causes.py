"""The causes that the page names: proven by counts, on pairs of kernels, slow and mended, whose times were recorded."""

import json
from functools import cache

import numpy as np
import pytest

import gpusim
from helpers import cycles, profile, recordings, run
from helpers.profile import causes
from helpers.profile.__main__ import main
from helpers.profile.pairs import FOLDER, SUITE, Example, Pair, pairs

PAIRS = {pair.rule: pair for pair in pairs()}


def captured(example: Example) -> gpusim.Captured:
    kernel = run.simulated(example.source, example.kernel)
    with gpusim.capture() as caught:
        run.call(kernel, example.grid, example.block, example.arguments(), example.shared)
    return caught[0]


@cache
def slow(rule: str) -> profile.Profile:
    return profile.profile(captured(PAIRS[rule].slow))


def of_source(source: str, name: str, *args, grid: int = 8, block: int = 128) -> tuple[causes.Cause, ...]:
    with gpusim.capture() as caught:
        run.call(run.simulated(source, name), (grid,), (block,), args)
    return profile.profile(caught[0]).causes


def floats(size: int) -> np.ndarray:
    return np.random.default_rng(size).random(size, np.float32)


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.rule)
def test_the_slow_kernel_of_a_pair_has_its_cause_and_no_other(pair: Pair):
    assert [(cause.rule, cause.line) for cause in slow(pair.rule).causes] == [(pair.rule, pair.line)]


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.rule)
def test_the_mended_kernel_of_a_pair_has_no_cause(pair: Pair):
    profiled = profile.profile(captured(pair.mended))
    assert profiled.causes == ()
    assert profiled.prediction.ms < 0.75 * slow(pair.rule).prediction.ms


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("pair", pairs(), ids=lambda pair: pair.rule)
def test_recorded_times_of_a_pair_are_as_the_page_says(pair: Pair):
    profiled = slow(pair.rule)
    rows = recordings.raw(profiled.prediction.gpu, SUITE)["rows"]
    (row,) = (row for row in rows if row["rule"] == pair.rule)
    (before, *_), (after, *_) = row["slow"], row["mended"]
    assert row["difference"] < 1e-4 and before > 1.3 * after
    (cause,) = profiled.causes
    if cause.gain is not None:
        assert cause.gain.factor == pytest.approx(before / after, rel=0.2)
    predicted = profiled.prediction.ms / cycles.predict(captured(pair.mended)).ms
    assert 1 / 1.5 < predicted / (before / after) < 1.5


def test_the_promised_factor_is_that_of_the_mended_file():
    for rule in ("double literal", "launch bounds", "slow function"):
        (cause,) = slow(rule).causes
        mended = cycles.predict(captured(PAIRS[rule].mended))
        assert cause.gain.factor == pytest.approx(slow(rule).prediction.ms / mended.ms, rel=0.05)
        assert f"Predicted with that: {cause.gain.factor:.1f} times as fast." in profile.text(slow(rule))


def test_counts_of_a_cause_are_those_of_the_first_block():
    (cause,) = slow("double literal").causes
    program = captured(PAIRS["double literal"].slow).run.program
    names = ("DADD", "DSETP", "F2F.F32.F64", "F2F.F64.F32")
    doubles = [instruction for instruction in program.instructions if instruction.opcode.startswith(names)]
    padding = [
        instruction for instruction in program.instructions if instruction.opcode in ("NOP", "BRA")
    ]  # behind the end: no loop is left
    assert len(doubles) == 4 * 64  # to FP64, the addition, back, and whether the result is subnormal
    count = len(program.instructions) - len(padding)
    assert f"so that {len(doubles)} of the {count} instructions of" in cause.observation
    (cause,) = slow("local array").causes
    assert "`counts` (64 bytes a thread) is an array in local memory" in cause.observation
    assert f"make {8 * (64 * 2 + 8):,} requests there" in cause.observation  # a load and a store a key; four wide ones
    assert f"{8 * 64 * 2:,} of them are at this line." in cause.observation
    (cause,) = slow("atomics on one address").causes
    assert "all 256 atomic operations" in cause.observation and "some 1,048,576, which" in cause.observation


def test_a_macro_is_named_with_its_own_line():
    source = """
    #define HALF 0.5
    __global__ void k(const float *x, float *y) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i] * x[i] - HALF * x[i] + x[i] * 3.0e-1;
    }"""
    (cause,) = of_source(source, "k", floats(1024), np.zeros(1024, np.float32))
    assert cause.line == 5
    assert cause.observation.startswith("Line 5: the literals 0.5 (line 2) and 3.0e-1 are doubles, so")
    assert cause.advice.startswith("Write 0.5f and 3.0e-1f")


def test_literals_of_several_lines_are_one_cause():
    source = """
    __global__ void k(const float *x, float *y) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        float sum = 0.3 +
            x[i] * x[i + 1];
        sum += 2 * x[i];
        y[i] = sum * 1.7;
    }"""
    (cause,) = of_source(source, "k", floats(1025), floats(1024))
    assert cause.observation.startswith("Lines 4 and 7: the literals 0.3 and 1.7 are doubles, so that ")


def test_double_arithmetic_that_is_meant_is_no_cause():
    source = """
    __global__ void k(const double *x, double *y, float *z) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i] * 0.3 + pow(x[i], 1.7);  // 0.5
        z[i] = 2.5f * i;
    }"""
    n = 1024
    assert of_source(source, "k", np.ones(n), np.ones(n), floats(n)) == ()


def test_power_of_three_is_a_product_and_sine_has_a_fast_form():
    source = """
    __global__ void k(const float *x, float *y) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = powf(fabsf(x[i]) + 1, 3);
        y[i] += sinf(1000 * x[i]);
    }"""
    power, sine = sorted(of_source(source, "k", floats(1024), floats(1024)), key=lambda cause: cause.line)
    assert "`powf(fabsf(x[i]) + 1, 3)`" in power.observation and "write x * x * x." in power.advice
    assert sine.line == 5 and "write __sinf." in sine.advice and "error in the last digits" in sine.advice


def test_spills_without_launch_bounds_differ_from_arrays():
    source = (FOLDER / "spilled.cu").read_text(encoding="utf-8")
    many = source.replace("__launch_bounds__(256, 8) ", "").replace("48", "300")
    (cause,) = of_source(many, "mix", floats(300 * 128), floats(128), np.int32(128), grid=1)
    assert cause.rule == "spills" and "a thread has 255 registers, and what does not fit" in cause.observation
    assert "smaller tiles" in cause.advice and cause.gain is None


def test_division_of_64_bits_counts_the_function_it_calls():
    source = """
    __global__ void k(const long long *x, long long *y, long long n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i] / n;
    }"""
    (cause,) = of_source(source, "k", np.full(1024, 1 << 40), np.zeros(1024, np.int64), np.int64(3))
    assert cause.line == 4 and "of 64-bit integers above all: a warp executes" in cause.observation
    at_line, in_all = (int(text) for text in cause.observation.split("executes ")[1].split() if text.isdigit())
    assert 70 < at_line < in_all
    assert (
        of_source(source.replace("/ n", "/ 7"), "k", np.ones(1024, np.int64), np.ones(1024, np.int64), np.int64(3))
        == ()
    )


def test_a_function_that_is_never_called_takes_no_instructions():
    source = """
    __global__ void k(const float *x, float *y) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i] / (1 + x[(i + 1) % 1024]);
    }"""
    x = floats(1024)
    assert of_source(source, "k", x, floats(1024)) == ()
    with gpusim.record(blocks=(), checks="off") as recording:
        run.call(run.simulated(source, "k"), (8,), (128,), (x, np.zeros_like(x)))
    calls = [instruction for instruction in recording.by_instruction() if instruction.opcode.startswith("CALL")]
    assert calls and not sum(call.warps for call in calls)
    assert sum(causes.by_line(recording.by_instruction()).values()) == recording.instructions()


def test_atomics_of_a_histogram_are_no_contention():
    source = """
    __global__ void k(const int *x, int *bins) {
        atomicAdd(&bins[x[blockIdx.x * blockDim.x + threadIdx.x] % 64], 1);
    }
    __global__ void skewed(const int *x, int *bins) {
        __shared__ int own[64];
        if (threadIdx.x < 64) own[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(&own[x[blockIdx.x * blockDim.x + threadIdx.x] / 90], 1);
        __syncthreads();
        if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    }"""
    keys = np.random.default_rng(3).integers(0, 100, 1024, np.int32)
    assert not [cause for cause in of_source(source, "k", keys, np.zeros(64, np.int32)) if "atomics" in cause.rule]
    (cause,) = of_source(source, "skewed", keys, np.zeros(64, np.int32))
    assert cause.line == 9 and "go to one address in shared memory" in cause.observation


def test_of_very_many_atomics_the_first_are_looked_at(monkeypatch):
    source = """
    __global__ void k(float *sum) {
        for (int n = 0; n < 100; ++n) atomicAdd(sum, 1.5f);
    }"""
    monkeypatch.setattr(causes, "MOST_ATOMICS", 3000)
    (cause,) = of_source(source, "k", floats(1))
    assert cause.observation == (
        "Line 3: 1,024 of the first 1,024 atomic operations of the first block go to one address, which L2 carries out "
        "one after the other."
    )


def test_a_grid_that_fills_its_waves_has_no_tail():
    full = Example("waves.cu", "chain", (264,), (1024,), ("270336", "270336", "1000"), 122880)
    assert profile.profile(captured(full)).causes == ()


def test_the_command_of_the_page_runs_as_it_stands(capsys):
    page = (FOLDER.parents[2] / "notebooks" / "own_kernels.md").read_text(encoding="utf-8")
    (command,) = (line for line in page.splitlines() if "-m helpers.profile" in line)
    file, *rest = command.split("helpers.profile ", 1)[1].split()
    assert main([str(FOLDER.parents[2] / file), *rest]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("saxpy\nThe limit is ") and "loading from" not in printed and "% line 4 " in printed


def test_causes_are_in_the_json_and_the_html(capsys, tmp_path):
    example = PAIRS["integer division"].slow
    call = [str(FOLDER / example.file), example.kernel, "--grid", "8", "--block", "256", "--args", *example.args]
    assert main([*call, "--json", "--html", str(tmp_path / "page.html")]) == 0
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert (cause["rule"], cause["line"], cause["gain"]) == ("integer division", 7, None)
    assert cause["observation"] in (tmp_path / "page.html").read_text(encoding="utf-8")
