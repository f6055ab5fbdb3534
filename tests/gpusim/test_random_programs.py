"""Programs that nobody wrote: PTX level and machine code give the same bits, and the sanitizer finds nothing."""

import re

import pytest

from tests.gpusim import random_programs
from tests.gpusim.goldens import programs

# Programs that found something once: carries out of LEA.HI and of LEA of a negated number, votes behind which the PTX
# has a path that comes back, threads that leave a meeting while their warp is still together, and branches that are
# taken only if all agree.
OLD_BUGS = (1062, 1106, 3000531, 1122, 1302, 1240, 400126, 9102508)
SEEDS = (*range(24), *OLD_BUGS)

# A function that some threads call keeps their meeting in a register and has one of its own at the same barrier: the
# others wait for them all the same.
OLD_BUGS_WITH_CALLS = (1026, 1069, 901329)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_levels_give_the_same_bits(seed):
    assert random_programs.disagreement(seed) == ""


@pytest.mark.parametrize("seed", (*range(16), *OLD_BUGS_WITH_CALLS))
def test_both_levels_give_the_same_bits_for_calling_functions(seed):
    assert random_programs.disagreement(seed, random_programs.program_with_calls) == ""


# The others were compared when they were recorded: python -m tests.gpusim.goldens.programs compare
@pytest.mark.parametrize("seed", [seed for seed in range(24) if random_programs.architecture(seed) == programs.ARCH])
def test_the_machine_code_answers_what_an_h200_answered(seed):
    assert programs.simulated(seed) == programs.golden()[seed]


def test_programs_are_different_and_use_what_kernels_use():
    programs = [random_programs.program(seed) for seed in SEEDS]
    assert len(set(programs)) == len(SEEDS)
    assert random_programs.program(SEEDS[3]) == programs[3]
    for words in (
        "for (",
        "if (",
        "switch (",
        "__shfl",
        "atomicAdd",
        "__syncthreads",
        "__ballot_sync",
        "break;",
        "[8];",
    ):
        assert sum(words in text for text in programs) > 3, words


def test_a_disagreement_of_one_bit_is_found_and_named(monkeypatch):
    good, calls = random_programs.arguments, []

    def with_a_bit_more_the_second_time(seed: int) -> list:
        values = good(seed)
        calls.append(seed)
        if len(calls) == 2:
            values[0][5] ^= 1
        return values

    monkeypatch.setattr(random_programs, "arguments", with_a_bit_more_the_second_time)
    assert re.match(r"random program 3: out_[if]\[\d+\] is 0x.* at PTX level, 0x", random_programs.disagreement(3))
