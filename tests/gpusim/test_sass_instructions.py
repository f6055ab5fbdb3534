"""Every instruction of the PTX manual's table once more, as the machine code that the assembler makes of it."""

import dataclasses

import pytest

import gpusim
from gpusim import errors
from tests.gpusim import test_ptx_instructions as ptx

TOGETHER = 40
# Beyond 255 the manual takes the lower byte of these fields' lengths; the assembler's code for 64 bits does not.
FIELDS_OF_64_BITS = ("bfi.b64", "bfe.s64", "bfe.u64")
CASES = [(family, name) for family, cases in ptx.FAMILIES.items() for name in cases]


@pytest.fixture(scope="module")
def finished() -> dict[tuple[str, str], ptx.Run]:
    """The runs of all cases so far; a kernel runs when the first of its cases is asked for."""
    return {}


def run(cases: list[ptx.Case], seed: int) -> list[ptx.Run]:
    with gpusim.record(level="sass", checks="off"):
        return ptx.run(cases, seed)


def case(family: str, name: str) -> ptx.Case:
    known = ptx.FAMILIES[family][name]
    if name not in FIELDS_OF_64_BITS:
        return known
    fields = [size for size in ptx.FIELDS if size < 256]
    return dataclasses.replace(known, pools=tuple(pool and fields for pool in known.pools))


@pytest.mark.parametrize(("family", "name"), CASES, ids=[name for _, name in CASES])
def test_machine_code_of_an_instruction_follows_the_ptx_manual(finished, family, name):
    names = list(ptx.FAMILIES[family])
    if (family, name) not in finished:
        first = names.index(name) // TOGETHER * TOGETHER
        together = names[first : first + TOGETHER]
        try:
            runs = run([case(family, each) for each in together], seed=first)
        except errors.UnsupportedInstruction:  # alone, so that only the one that is not known fails
            together, runs = [name], run([case(family, name)], seed=first)
        finished.update({(family, each): case_run for each, case_run in zip(together, runs, strict=True)})
    ptx.check(ptx.FAMILIES[family][name], finished[family, name])


@pytest.mark.parametrize("name", ptx.RARE)
def test_a_rare_instruction_is_right_or_refused_but_never_wrong(name):
    try:
        (case_run,) = run([ptx.RARE[name]], seed=1)
    except errors.UnsupportedInstruction:
        return
    ptx.check(ptx.RARE[name], case_run)
