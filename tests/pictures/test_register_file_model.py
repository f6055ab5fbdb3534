"""Operands from the two banks of registers, counted in written-out lines and in the machine code of kernels."""

import pytest

from gemm_kernels import get
from gemm_kernels.launch import OPTIONS
from gpusim import compiler
from gpusim.compiler.patch import REUSE_A, REUSE_B
from helpers.measure import registers
from helpers.pictures.register_file.model import Banks, asked_of, banks, in_order, lost_cycles, queue

STRAIGHT = {  # what the exchange of neighbours in `stream_k` is, and what would stand there without it
    "{acc[y][x + 1], acc[y][x], acc[y][x + 3], acc[y][x + 2]}": "as_float4(acc[y][x])",
    "WIDTH == 4 ? i % BN : i % BN ^ 1": "i % BN",
    "part[WIDTH == 4 ? x ^ 1 : x]": "part[x]",
}


def sass(*instructions):
    return "\n".join(f"        /*{16 * i:04x}*/   {instruction} ;" for i, instruction in enumerate(instructions))


@pytest.mark.parametrize(
    ("instructions", "conflicts"),
    [
        (["FFMA R4, R0, R1, R4"], 1),  # even, odd, even
        (["FFMA R4, R0, R1, RZ"], 0),  # RZ is no register
        (["FFMA R4, R0.reuse, R1, R4", "FFMA R5, R0, R2, R5"], 1),  # the second one has R0 at hand
        (["FFMA R4, R0.reuse, R1, R4", "FFMA R5, R0, R3, R5"], 2),  # but asks the odd bank twice
        (["FFMA R4, R0, R1, R4", "FFMA R5, R0, R2, R5"], 2),  # not marked, nothing is at hand
        (["FFMA R4, R0.reuse, R1, R4", "FFMA R5, R2, R0, R5"], 2),  # at hand in another position only
        (["FFMA R4, R0.reuse, R1, R4", "LDS.128 R8, [R20]", "FFMA R5, R0, R2, R5"], 2),
        (["FFMA.FTZ R4, R0, 2, R5"], 0),
        (["IMAD R4, R0, R2, R4", "FADD R1, R2, R4"], 0),  # no FMA
    ],
)
def test_an_fma_conflicts_if_one_bank_is_asked_twice(instructions, conflicts):
    counted = banks(sass(*instructions))
    assert counted.conflicts == conflicts
    assert counted.fmas == sum(instruction.startswith("FFMA") for instruction in instructions)


def test_without_fmas_the_share_is_nothing():
    assert banks("") == Banks(0, 0, 0) and banks("").share == 0


EVEN, ODD, BOTH = (2, 0), (0, 2), (1, 1)  # what an FMA whose a is at hand asks of the two banks


@pytest.mark.parametrize("pattern", registers.PATTERNS)
def test_model_takes_the_measured_cycles_but_the_loops_own(pattern):
    fmas = registers.PATTERNS[pattern] * (512 // len(registers.PATTERNS[pattern]))
    model = 1 + lost_cycles(asked_of(fma.text for fma in fmas)) / len(fmas)
    assert registers.cycles_of(pattern) - model == pytest.approx(0.03, abs=0.012)


def test_what_two_fmas_in_a_row_have_in_common_stays_at_hand():
    fmas = in_order([(48, 56, 16), (48, 57, 17), (49, 57, 21), (49, 56, 20)])
    assert [fma.keep for fma in fmas] == [REUSE_A, REUSE_B, REUSE_A, 0]
    assert asked_of(fma.text for fma in fmas) == ((3, 0), (0, 2), (0, 2), (2, 0))


def test_queue_shows_each_banks_debt_and_the_schedulers_stop():
    steps = queue([EVEN, BOTH, EVEN, ODD])
    assert [step.behind for step in steps] == [(1, 0), (1, 0), (1, 0), (0, 1)]
    assert [step.lost for step in steps] == [0, 0, 1, 0]


@pytest.mark.parametrize("asked", [(2, 0), (0, 2)])
def test_idle_banks_at_the_start_allow_one_double_request(asked):
    assert lost_cycles([asked]) == 0 and lost_cycles([asked, asked]) == 1


def test_counting_conflicts_is_refuted_by_the_same_measurements():
    """By it every FMA of the second pattern would lose a cycle, as in the sixth."""
    every_other, always = ([EVEN, ODD] * 64), ([EVEN] * 128)
    assert all(max(asked) > 1 for asked in every_other + always)
    assert lost_cycles(every_other, slack=0) == lost_cycles(always, slack=0) == 128
    assert lost_cycles(every_other) <= 1 and lost_cycles(always) >= 127


def test_exchanged_neighbours_and_load_order_save_cycles():
    kernel = get("persistent", BM=192, WM=48, TM=24).for_rows(1)  # one of its versions
    b_first, a_first = (
        "            for (int x = 0; x < TN; x += 4) "
        "load_now(&b_frag[k % 2][x], b_now + 4 * (k * BN + x / 4 * COL_STRIDE));\n",
        "            for (int y = 0; y < TM; y += 4)\n"
        "                load_now(&a_frag[k % 2][y], a_now + 4 * (k * (BM + PAD) + y / 4 * ROW_STRIDE));\n",
    )
    assert kernel.source.count(b_first + a_first) == 1
    other = kernel.source.replace(b_first + a_first, a_first + b_first)
    lost = [
        (
            counted := banks(compiler.disassemble(compiler.compile(text, kernel.entry, arch="sm_90", options=OPTIONS)))
        ).lost
        / counted.fmas
        for text in (kernel.source, other)
    ]
    assert lost[0] < 0.05 < 0.1 < lost[1]


def test_exchanged_neighbours_free_most_tuned_fmas_of_conflicts():
    kernel = get("stream_k")
    source = kernel.source
    for exchanged, straight in STRAIGHT.items():
        assert source.count(exchanged) == 1
        source = source.replace(exchanged, straight)
    lost = [
        banks(compiler.disassemble(compiler.compile(text, kernel.entry, arch="sm_90", options=OPTIONS)))
        for text in (kernel.source, source)
    ]
    assert lost[0].fmas == lost[1].fmas
    assert lost[0].share < 0.2 and lost[1].share > 0.8
