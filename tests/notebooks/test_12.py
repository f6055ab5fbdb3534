"""Notebook 12: what its prose says of banks, marks, writes and speeds is what the models say and what was recorded."""

import re

import pytest

from gemm_kernels import get
from gpusim import compiler
from helpers import pictures, run
from helpers.exercises import n12
from helpers.exercises.framework import trial
from helpers.measure import registers
from helpers.measure.registers import AS_COMPILED, BOTH_BANKS, NO_B, NO_FRAGMENTS, NO_REUSE, ONE_BANK, recorded
from helpers.pictures.bank_board.facts import shared_accesses
from helpers.pictures.ladder.facts import UPPER_RUNGS, ladder_of
from helpers.pictures.register_file.model import asked_of, banks, lost_cycles
from helpers.pictures.register_file.write_port import collisions
from tests.notebooks.support import H200, answered, prose, said, sources

PEAK = H200.peak_fp32_gflops / 1000


def gain(new, old):
    """How much faster one row of the recording is than another, as a share."""
    return new.tflops / old.tflops - 1


def test_what_a_learner_writes_in_an_exercise_reaches_its_check():
    wrong = "return [(y, x) for y in range(8) for x in range(4)]"
    right = "return [(y, x if y % 2 else 3 - x) for y in range(8) for x in range(4)]"
    assert answered("12", "fma_order.check", wrong, right).passed


# --- steps 1 and 6: the marks


def test_subnormal_numbers_count_as_0_in_every_fma():
    fmas = re.findall(r"\bFFMA[.\w]*", compiler.disassemble(run.compiled(get("stream_k"))))
    assert len(fmas) > 1000 and set(fmas) == {"FFMA.FTZ"}


@pytest.mark.parametrize("name", ["warptiled", "serpentine", "pinned", "unmerged", "stream_k"])
def test_clearing_all_marks_keeps_c_and_costs_a_third_of_speed(name):
    marked, cleared = recorded(name), recorded(name, NO_REUSE)
    assert marked.sha256 == cleared.sha256
    assert gain(cleared, marked) == pytest.approx(-1 / 3, abs=0.04)


def test_c_is_right_where_it_was_not_changed_on_purpose():
    for subject in registers.SUBJECTS:
        for change in subject.changes:
            error = recorded(subject.name, change).error
            assert (error is None) == (change in registers.WRONG) and (error is None or error < 1e-4)


@pytest.mark.parametrize("name", ["warptiled", "serpentine", "stream_k"])
def test_model_agrees_without_marks_and_misses_a_tenth_with_them(name):
    text = compiler.disassemble(run.compiled(get(name)))
    for change, shown in ((AS_COMPILED, text), (NO_REUSE, text.replace(".reuse", ""))):
        metrics = recorded(name, change).metrics
        per_fma = metrics["instructions"] / (registers.SIZE**3 / 32)
        by_bank = banks(shown)
        model, measured = per_fma + by_bank.lost / by_bank.fmas, 100 * per_fma / metrics["issue_active"]
        if change == NO_REUSE:
            assert model == pytest.approx(measured, rel=0.03)
        else:
            assert 0.08 < measured - model < 0.125


def test_serpentine_loses_less_than_warptiled_in_model_and_gpu():
    lost = [banks(compiler.disassemble(run.compiled(get(name)))).lost for name in ("warptiled", "serpentine")]
    assert lost[1] < lost[0] / 2
    assert gain(recorded("serpentine"), recorded("warptiled")) > 0.02


# --- steps 2 and 3: by hand


def rows_by_hand():
    cells = re.findall(r"\| (\d) \| `(FFMA [^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", prose("12"))
    assert [row[0] for row in cells] == list("0123")
    return [(text, *(re.findall(r"R\d+", cell) for cell in places)) for _, text, *places in cells]


def test_four_fmas_by_hand_ask_the_banks_as_the_table_says():
    rows = rows_by_hand()
    assert asked_of(row[0] for row in rows) == tuple((len(even), len(odd)) for _, _, even, odd in rows)
    for text, held, even, odd in rows:
        assert all(int(name[1:]) % 2 == 0 for name in even) and all(int(name[1:]) % 2 for name in odd)
        assert sorted(re.findall(r"R\d+", text)[1:]) == sorted([*held, *even, *odd])


def test_the_four_fmas_lose_their_cycles_where_the_text_says():
    texts = [row[0] for row in rows_by_hand()]
    steps = n12.queue(asked_of(texts))
    assert [step.lost for step in steps] == [0, 0, 1, 1] and [step.behind[0] for step in steps[:2]] == [1, 1]
    assert [fma.text for fma in _by_hand()] == texts


def _by_hand():
    (source,) = (source for source in sources("12", "code") if source.startswith("by_hand = "))
    names = {"pictures": pictures}
    exec(source.splitlines()[0], names)
    return names["by_hand"]


def test_folded_questions_other_fma_loses_no_cycle():
    texts = [row[0] for row in rows_by_hand()]
    other = re.search(r"what if FMA 2 were <code>([^<]+)</code>", prose("12"))
    texts[2] = other[1]
    assert lost_cycles(asked_of(texts)) == 0


def test_the_lines_of_the_notebook_are_the_model():
    (source,) = (source for source in sources("12", "code") if source.startswith("def lost("))
    names = {}
    exec(source.split("\n\n\n")[0], names)
    for fmas in registers.PATTERNS.values():
        asked = asked_of(fma.text for fma in fmas * 3)
        assert names["lost"](asked) == lost_cycles(asked)


# --- steps 4 and 5: what was measured


def test_rows_two_and_six_ask_a_bank_twice_in_1_and_2_cycles():
    assert "second row of the table with the sixth" in prose("12")
    second, sixth = (list(registers.PATTERNS)[row] for row in (1, 5))
    for pattern, cycles in ((second, 1), (sixth, 2)):
        assert all(max(asked) == 2 for asked in asked_of(fma.text for fma in registers.PATTERNS[pattern])[1:])
        assert registers.cycles_of(pattern) == pytest.approx(cycles, abs=0.05)
    assert len(registers.PATTERNS) == 16


# --- steps 7 and 8: writes


def test_fewer_reads_gain_little_and_fewer_writes_twice_as_much():
    base = recorded("stream_k")
    reads, writes = (gain(recorded("stream_k", change), base) for change in (NO_B, NO_FRAGMENTS))
    assert 0 < reads < 0.03 and writes > 2 * reads


def test_merged_load_costs_the_same_for_any_bank_of_sums():
    merged, others = ("zigzag, rows", "zigzag, columns"), ("unmerged, rows", "unmerged, columns", "each lane its own")
    for lanes in merged:
        cost = [registers.cost_of(lanes, sums) for sums in (BOTH_BANKS, ONE_BANK)]
        assert cost[0] > 1.5 and cost[1] == pytest.approx(cost[0], rel=0.02)
        assert cost[1] < 0.8 * min(registers.cost_of(other, ONE_BANK) for other in others)
    for lanes in others:
        assert abs(registers.cost_of(lanes, BOTH_BANKS)) < 0.05 and registers.cost_of(lanes, ONE_BANK) > 2


def test_loads_cost_nothing_if_they_or_the_fmas_write_nothing():
    for lanes in registers.LANES:
        assert abs(registers.cost_of(lanes, registers.NOWHERE)) < 0.06
        for sums in registers.SUMS_IN:
            assert abs(registers.cost_of(lanes, sums, "nowhere")) < 0.06


def test_the_model_of_the_ports_says_which_loads_collide():
    in_turn, all_even = [number % 2 for number in range(16)], [0] * 16
    assert [collisions(in_turn, {4: merged}) for merged in (True, False)] == [2, 0]
    assert [collisions(all_even, {4: merged}) for merged in (True, False)] == [2, 2]


# --- steps 9 to 11: lanes


def test_partners_of_the_second_map_differ_in_row_and_column():
    (block_of_code,) = (block for block in re.findall(r"```(.*?)```", prose("12")) if "moved" in block)
    digits = [int(digit) for digit in re.findall(r"\d", block_of_code)]
    first, second = (digits[n : n + 4] + digits[8 + n : 12 + n] for n in (0, 4))
    assert first == list(range(8))
    where = {lane: divmod(position, 4) for position, lane in enumerate(second)}
    assert all(a != b for i in range(8) for bit in (1, 2) for a, b in zip(where[i], where[i ^ bit], strict=True))


def test_twice_the_wavefronts_help_the_large_kernel_alone():
    merged, unmerged = recorded("stream_k"), recorded("stream_k, unmerged lanes")
    assert unmerged.metrics["wavefronts"] > 1.7 * merged.metrics["wavefronts"]
    assert unmerged.sha256 == merged.sha256 and 0.025 < gain(unmerged, merged) < 0.04
    assert unmerged.metrics["dispatch_stall"] <= merged.metrics["dispatch_stall"] / 2
    zigzag, own = (recorded(name, kind="own") for name in ("zigzag", "unmerged"))
    assert own.sha256 == zigzag.sha256 and gain(own, zigzag) < -0.1
    assert own.metrics["dispatch_stall"] < zigzag.metrics["dispatch_stall"]
    assert own.metrics["short_scoreboard"] > 3 * zigzag.metrics["short_scoreboard"]


def test_large_kernels_shared_memory_was_busy_a_third_of_time():
    merged = recorded("stream_k")
    cycles = merged.ms * 1e-3 * H200.clock_mhz * 1e6
    assert merged.metrics["wavefronts"] / H200.sms / cycles == pytest.approx(1 / 3, abs=0.06)


def test_small_kernel_needs_the_wavefronts_of_the_text():
    setup = n12.UNMERGED_LANES.problem.prepare(n12.JUDGED)
    kernel = run.simulated(n12.UNMERGED_LANES.solved, "sgemm")
    accesses = shared_accesses(trial.record(kernel, setup, blocks=((0, 0, 0),), only_traced=True))
    loads = [access.wavefronts for _, access in accesses if access.op == "ld"]
    fmas = n12.ROWS * n12.COLUMNS
    waves, *cycles = said("12", r"take (\d+) wavefronts, while the FMAs .* for (\d+) cycles, that is (\d+)")
    assert set(loads) == {4} and waves == sum(loads[: n12.LOADS]) and cycles == [fmas, fmas // 4]


def test_reading_costs_most_in_pinned_and_without_b_nothing():
    assert gain(recorded("unmerged"), recorded("pinned")) < -0.02
    for name in ("pinned", "unmerged"):
        reads, writes = (gain(recorded(name, change), recorded(name)) for change in (NO_B, NO_FRAGMENTS))
        assert reads > 1.5 * writes
    assert recorded("pinned", NO_B).tflops == pytest.approx(recorded("unmerged", NO_B).tflops, rel=0.01)
    merged, unmerged = recorded("stream_k"), recorded("stream_k, unmerged lanes")
    assert gain(recorded("stream_k", NO_FRAGMENTS), merged) > 4 * gain(
        recorded("stream_k, unmerged lanes", NO_FRAGMENTS), unmerged
    )


def test_the_exchange_gains_less_than_the_model_promises():
    at_4096 = ladder_of(H200.name, UPPER_RUNGS).at((4096,) * 3)
    lost = []
    for name in ("unmerged", "exchanged"):
        texts = [row.text for row in compiler.sass.rows(compiler.disassemble(run.compiled(get(name))), "")[0]]
        lost.append(1 + lost_cycles(asked_of(texts)) / sum(text.startswith("FFMA") for text in texts))
    measured = at_4096["exchanged"].gflops / at_4096["unmerged"].gflops
    assert 1.05 < measured < lost[0] / lost[1] - 0.03


def test_fastest_kernel_starts_an_fma_in_four_of_five_cycles():
    assert recorded("stream_k, unmerged lanes").tflops / PEAK > 0.8
