"""Notebook 09: what its prose says of float4 is what the counters, the recordings and the alignment say."""

import re

import numpy as np
import pytest

from gemm_kernels import get
from gpusim.occupancy import occupancy
from helpers import course, cycles, exercises, run
from helpers.exercises import n09, pairs
from helpers.measure.states import states
from helpers.pictures.budget import facts as budget
from helpers.pictures.vector_width.facts import WIDTHS, Copy, moves_of, way_of
from tests.notebooks.support import H200, answered, counters, gain, speeds

GUARDED_LOOP = '''my_loop = """    if (K % 4 == 0)
        for (; k < K; k += 4) {
            const float4 v = *reinterpret_cast<const float4 *>(&a[k]);
            acc += v.x * B[k * N + col] + v.y * B[(k + 1) * N + col];
            acc += v.z * B[(k + 2) * N + col] + v.w * B[(k + 3) * N + col];
        }
    for (; k < K; ++k) acc += a[k] * B[k * N + col];'''


def test_what_a_learner_writes_in_an_exercise_reaches_its_check():
    before = re.compile(r'my_loop = """.*?\n    }', re.DOTALL)
    assert answered("09", "aligned_rows.check", before, GUARDED_LOOP).passed


def test_float4_pays_at_aligned_sizes_and_less_elsewhere():
    for aligned, beside in ((1024, 1023), (2048, 2049), (4096, 4095)):
        assert gain("vectorized", "interleaved", aligned) > max(0, gain("vectorized", "interleaved", beside))


def test_only_sectors_of_c_fall():
    before, after = counters("interleaved"), counters("vectorized")
    requests, sectors = (f"l1tex__t_{what}_pipe_lsu_mem_global_op_st.sum" for what in ("requests", "sectors"))
    assert before[requests] == 4 * after[requests] and before[sectors] == 4 * after[sectors]


def test_float4_and_float2_are_refused_where_the_answers_say():
    four, two = WIDTHS[3], WIDTHS[2]
    for stride in (128, 129, 130, 132):
        refused = {row: bool(way_of(four, Copy(stride, row)).refused) for row in (1, 2)}
        assert refused == {1: stride % 4 != 0, 2: stride % 2 != 0}
        assert bool(way_of(two, Copy(stride, 1)).refused) == (stride % 2 != 0)


def test_row_beginning_beside_a_sector_costs_what_answers_say():
    assert [way_of(width, Copy(first=1)).cost for width in WIDTHS[:2]] == [4 * (4 + 1), 64 + 1]
    assert way_of(WIDTHS[3], Copy(first=1)).refused and way_of(WIDTHS[3], Copy(first=4)).cost == 16 + 1


def test_blocks_need_a_second_wave_at_2049_but_not_at_2048():
    for name in ("interleaved", "vectorized", "vectorized_ptx"):
        kernel = get(name)
        taken = run.compiled(kernel, H200.arch)
        blocks = occupancy(H200, kernel.threads, taken.registers, taken.shared_bytes).blocks
        fewer, more = (np.prod(kernel.grid(size, size)) for size in (2048, 2049))
        assert fewer <= blocks * H200.sms < more < 1.1 * blocks * H200.sms
        assert speeds(2049)[name] < 0.6 * speeds(2048)[name]


def test_blank_takes_its_solution_and_gains_what_the_prose_says():
    wide = exercises.get("wide")
    assert wide.check(wide.solved).passed
    for size in (1024, 2048, 4096):
        assert course.speed("wide", size).gflops / course.speed("patch", size).gflops > 1.15


def test_both_ptx_changes_gain_if_aligned_at_equal_traffic():
    assert all(gain("vectorized_ptx", "vectorized", size) > 0 for size in (1024, 2048, 4096))
    before, after = counters("vectorized"), counters("vectorized_ptx")
    traffic = [name for name in before if "requests" in name or "sectors" in name or "wavefronts" in name]
    assert traffic and all(before[name] == after[name] for name in traffic)


def test_float4_saves_cycles_as_it_saves_instructions():
    before, after = states("interleaved", 2048), states("vectorized", 2048)
    steps = [budget.k_step(name) for name in ("interleaved", "vectorized")]
    shares = [(step.fma + step.other) / step.total for step in steps]
    assert abs(shares[1] - shares[0]) < 0.01, "a scheduler issues in about the same share of its cycles"
    cycles = [ncu.metrics["smsp__cycles_active.avg"] for ncu in (before, after)]
    instructions = [cycle * ncu.issuing for cycle, ncu in zip(cycles, (before, after), strict=True)]
    assert cycles[1] / cycles[0] == pytest.approx(instructions[1] / instructions[0], abs=0.01)


def test_loads_that_stay_in_their_place_cost_half_as_many_cycles():
    before, after = (budget.k_step(name).parts for name in ("vectorized", "vectorized_ptx"))
    assert 0.4 < after["short_scoreboard"] / before["short_scoreboard"] < 0.6
    assert after["long_scoreboard"] < before["long_scoreboard"]


def test_vectorized_ptx_gains_by_one_change_and_loses_by_one():
    neither, far, near, both = n09.taken_apart().values()
    assert far.total > neither.total > near.total
    assert far.parts["long_scoreboard"] > neither.parts["long_scoreboard"] > near.parts["long_scoreboard"]
    assert both.total == pytest.approx(near.total, rel=0.02)
    assert neither.label.startswith("predicted")
    shape = (n09.TAKEN_APART_AT,) * 3
    without_hint = n09.with_one_change("load4_read_only").replace(".nc.L2::128B", "")
    predicted = cycles.predict(get("vectorized_ptx").launch(*shape).with_source(without_hint))
    assert budget.predicted(predicted, "without the hint", shape).total == pytest.approx(far.total, rel=0.01)


@pytest.mark.parametrize(("changed", "kept"), [("load4_read_only", "ld.global.nc"), ("load4_shared", "ld.shared")])
def test_each_change_alone_keeps_the_inline_ptx_of_its_own_loads(changed, kept):
    source = n09.with_one_change(changed)
    assert source.count("asm volatile") == 1 and f'asm volatile("{kept}' in source


def test_with_restrict_a_sum_in_memory_is_stored_once():
    plain, promised, vectorized, other = (pairs.launches(64)[name] for name in list(pairs.launches(64))[:4])
    stores = [run.record(kernel).total("requests", "global", "st") for kernel in (plain, promised)]
    assert stores == [8 * 65, 8 * 2]
    assert "CONSTANT" in moves_of(promised) and "CONSTANT" not in moves_of(plain)
    counts = [run.record(kernel).instructions() for kernel in (vectorized, other)]
    assert counts[0] == counts[1] and moves_of(vectorized) != moves_of(other)


def test_a_float4_in_shared_memory_is_stored_by_one_instruction():
    assert "1 × STS.128" in moves_of(get("vectorized")) and "1 × STS.128" in moves_of(get("vectorized_ptx"))
    assert "st.shared" not in get("vectorized_ptx").source


def test_restrict_triples_the_sum_in_memory_not_vectorized():
    plain, promised, guarded, other = (row.gflops for row in pairs.speeds(*list(pairs.launches())[:4]))
    assert promised > 3 * plain and other == pytest.approx(guarded, rel=0.01)
