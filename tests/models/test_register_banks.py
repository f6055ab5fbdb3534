"""Operands from the two banks of registers, counted in written-out lines and in the machine code of kernels."""

import pytest

from gemm_kernels import get
from helpers import compiler
from helpers.models.register_banks import Banks, banks, lost_cycles

STRAIGHT = {  # what the exchange of neighbours in `stream_k` is, and what would stand there without it
    "{acc[y][x + 1], acc[y][x], acc[y][x + 3], acc[y][x + 2]}": "as_float4(acc[y][x])",
    "WIDTH == 4 ? i % BN : i % BN ^ 1": "i % BN",
    "part[WIDTH == 4 ? x ^ 1 : x]": "part[x]",
}


def sass(*instructions):
    return "\n".join(f"        /*{16 * i:04x}*/   {one} ;" for i, one in enumerate(instructions))


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
    found = banks(sass(*instructions))
    assert found.conflicts == conflicts
    assert found.fmas == sum(one.startswith("FFMA") for one in instructions)


def test_without_fmas_the_share_is_nothing():
    assert banks("") == Banks(0, 0, 0) and banks("").share == 0


EVEN, ODD, BOTH = (2, 0), (0, 2), (1, 1)  # what an FMA whose a is at hand asks of the two banks
ROW = [(2, 1), *[BOTH] * 7]  # eight FMAs with one a: the first one reads it, too
TURNED = [BOTH] * 8  # and turned round, with a b at hand where the rows meet
MEASURED = {  # pattern: cycles for each FMA, measured on an H200 with two warps on a scheduler
    "b and sum from both banks": ([BOTH], 1.01),
    "from one bank, in turns": ([EVEN, ODD], 1.02),
    "in pairs": ([EVEN] * 2 + [ODD] * 2, 1.51),
    "in fours": ([EVEN] * 4 + [ODD] * 4, 1.76),
    "in eights": ([EVEN] * 8 + [ODD] * 8, 1.88),
    "always from one bank": ([EVEN], 2.01),
    "one of 2 from one bank": ([EVEN, BOTH], 1.51),
    "one of 4": ([EVEN, *[BOTH] * 3], 1.26),
    "one of 8": ([EVEN, *[BOTH] * 7], 1.13),
    "one of 16": ([EVEN, *[BOTH] * 15], 1.07),
    "nothing at hand, two and one": ([(2, 1)], 2.00),
    "nothing at hand, two and one in turns": ([(2, 1), (1, 2)], 1.50),
    "three from one bank": ([(3, 0)], 3.00),
    "rows of eight": (ROW, 1.13),
    "rows of eight, every other one backwards": (TURNED, 1.01),
}


@pytest.mark.parametrize(("pattern", "cycles"), MEASURED.values(), ids=MEASURED)
def test_the_model_takes_the_cycles_that_were_measured(pattern, cycles):
    fmas = 128 * len(pattern)
    assert 1 + lost_cycles(pattern * 128) / fmas == pytest.approx(cycles, abs=0.025)


def test_counting_conflicts_is_refuted_by_the_same_measurements():
    """By it every FMA of the second pattern would lose a cycle, as in the sixth."""
    every_other, always = ([EVEN, ODD] * 64), ([EVEN] * 128)
    assert all(max(asked) > 1 for asked in every_other + always)
    assert lost_cycles(every_other, slack=0) == lost_cycles(always, slack=0) == 128
    assert lost_cycles(every_other) <= 1 and lost_cycles(always) >= 127


def test_the_exchange_of_neighbours_and_the_order_of_loads_save_cycles():
    kernel = get("persistent", BM=192, WM=48, TM=24)
    b_first, a_first = (
        "            for (int x = 0; x < TN; x += 4) "
        "load_now(&b_frag[k % 2][x], b_now + 4 * (k * BN + x / 4 * COL_STRIDE));\n",
        "            for (int y = 0; y < TM; y += 4)\n"
        "                load_now(&a_frag[k % 2][y], a_now + 4 * (k * (BM + PAD) + y / 4 * ROW_STRIDE));\n",
    )
    assert kernel.source.count(b_first + a_first) == 1
    other = kernel.source.replace(b_first + a_first, a_first + b_first)
    lost = [
        (found := banks(compiler.disassemble(compiler.compile(text, kernel.entry, arch="sm_90")))).lost / found.fmas
        for text in (kernel.source, other)
    ]
    assert lost[0] < 0.05 < 0.1 < lost[1]


def test_the_exchange_of_neighbours_frees_most_fmas_of_tuned_from_conflicts():
    kernel = get("stream_k")
    source = kernel.source
    for exchanged, straight in STRAIGHT.items():
        assert source.count(exchanged) == 1
        source = source.replace(exchanged, straight)
    found = [
        banks(compiler.disassemble(compiler.compile(text, kernel.entry, arch="sm_90")))
        for text in (kernel.source, source)
    ]
    assert found[0].fmas == found[1].fmas
    assert found[0].share < 0.2 and found[1].share > 0.8
