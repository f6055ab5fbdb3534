"""Operands from the two banks of registers, counted in written-out lines and in the machine code of kernels."""

import pytest

from gemm_kernels import get
from helpers import compiler
from helpers.models.register_banks import Banks, banks

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
    assert banks("") == Banks(0, 0) and banks("").share == 0


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
