"""Changed machine code: nvdisasm reads what was meant, and the simulator computes the same C without the marks."""

import dataclasses
import re
from functools import cache

import numpy as np
import pytest

from gemm_kernels import get
from gpusim import compiler
from gpusim.compiler import patch
from helpers import run

FMA = re.compile(r"FFMA\S* (R\w+), (R\w+)(\.reuse)?, (R\w+)(\.reuse)?, (R\w+)")
LOAD = re.compile(r"LDS\.128 (\w+)")


@cache
def compiled():
    return run.compiled(get("serpentine"), "sm_90")


@cache
def text_with(change):
    return compiler.disassemble(dataclasses.replace(compiled(), cubin=patch.changed(compiled(), change)))


def fmas(text):
    return FMA.findall(text)


def same(instruction):
    return instruction


def test_the_fields_of_an_fma_are_those_that_nvdisasm_prints():
    every_fma = [
        instruction for instruction in patch.instructions(compiled()) if patch.OPCODE.of(instruction) == patch.FFMA
    ]
    printed = fmas(text_with(same))
    assert len(every_fma) == len(printed) > 2000
    for word, (result, a, kept_a, b, kept_b, c) in zip(every_fma, printed, strict=True):
        for field, name in ((patch.RESULT, result), (patch.A, a), (patch.B, b), (patch.C, c)):
            assert field.of(word) == (patch.NO_REGISTER if name == "RZ" else int(name[1:]))
        keep = patch.REUSE_A * bool(kept_a) | patch.REUSE_B * bool(kept_b)
        assert patch.REUSE.of(word) == keep


def test_without_reuse_the_marks_are_gone_and_nothing_else():
    before, after = text_with(same), text_with(patch.without_reuse)
    assert ".reuse" in before and after == before.replace(".reuse", "")


def test_without_b_every_fma_reads_rz_and_marks_nothing():
    before, after = fmas(text_with(same)), fmas(text_with(patch.without_b))
    assert after == [(result, a, kept, "RZ", "", c) for result, a, kept, _, _, c in before]


def test_without_fragments_every_wide_load_is_dropped_only():
    before, after = text_with(same), text_with(patch.without_fragments)
    assert set(LOAD.findall(before)) != {"RZ"} == set(LOAD.findall(after))
    assert LOAD.sub("LDS.128 RZ", before) == after


def test_a_field_that_is_set_leaves_the_others():
    word = next(patch.instructions(compiled()))
    changed = patch.B.set(word, 17)
    assert patch.B.of(changed) == 17 and patch.B.set(changed, patch.B.of(word)) == word


def test_code_of_another_length_is_refused():
    code = list(patch.instructions(compiled()))
    assert patch.rewritten(compiled(), code) == compiled().cubin
    with pytest.raises(ValueError, match="bytes of machine code in one place"):
        patch.rewritten(compiled(), code[:-1])


def test_an_fma_is_written_as_nvdisasm_prints_it():
    fma = patch.Fma(48, 57, 17, patch.REUSE_A | patch.REUSE_B)
    assert fma.text == "FFMA R17, R48.reuse, R57.reuse, R17"
    assert np.all([FMA.match(fma.text), FMA.match(patch.Fma(1, 2, 3).text)])
