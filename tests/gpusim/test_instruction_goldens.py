"""Instructions in the forms that the compiler makes of them: the simulator answers what an H200 answered."""

import re

import numpy as np
import pytest

from tests.gpusim import instruction_forms
from tests.gpusim.goldens import instructions

MODULES = instruction_forms.modules()


@pytest.fixture(scope="module")
def golden():
    return instructions.golden()


def test_every_form_is_in_the_recording(golden):
    assert list(golden) == [form.name for module in MODULES for form in module.forms]
    assert len(golden) * instruction_forms.LANES >= 10**6


@pytest.mark.parametrize("number", range(len(MODULES)))
def test_machine_code_of_a_form_answers_what_the_gpu_answered(golden, number):
    module = MODULES[number]
    answers = instructions.simulated(module)
    exact = [form for form in module.forms if not form.approximate]
    wrong = {form.name: problem for form in exact if (problem := differs(answers[form.name], golden[form.name]))}
    assert not wrong


# A changed sign, and what gives back an operand: machine code folds it into another instruction, with a NaN of its own.
PASSES_NAN_ON = re.compile(r"neg|abs| of .*[-|]|fm(in|ax) of both f64|m(in|ax)\.f64|cvt\.ftz\.f32")
# The manual takes the lower byte of a field's place and width, the assembler's code for 64 bits all of them.
FIELDS_OF_64_BITS = {"bfi.b64", "bfe.s64", "bfe.u64"}
REFUSED_AS_PTX = {
    "min.xorsign.abs.f32", *(f"__h{name}_nan {type_}" for name in ("min", "max") for type_ in ("f16", "bf16")),
    *(f"__h{name}2_nan {type_}" for name in ("min", "max") for type_ in ("f16x2", "bf16x2")),
}  # fmt: skip


@pytest.mark.parametrize("number", range(len(MODULES)))
def test_ptx_of_a_form_answers_what_its_machine_code_does(number):
    module = MODULES[number]
    sass, ptx = (instructions.simulated(module, level) for level in ("sass", "ptx"))
    for name in REFUSED_AS_PTX & ptx.keys():
        assert "is not modelled" in ptx.pop(name)
    wrong = {form.name: ptx[form.name] for form in module.forms if form.name in ptx and not alike(form, ptx, sass)}
    assert not wrong


def alike(form: instruction_forms.Form, ptx: dict, sass: dict) -> bool:
    """Whether two levels answer the same; where the manual leaves a NaN's sign and payload open, any NaN will do."""
    ours, theirs, type_ = ptx[form.name], sass[form.name], form.output
    if isinstance(ours, str):
        return False
    if form.name in FIELDS_OF_64_BITS:
        fields = instruction_forms.operands(form)[-2:]
        ours, theirs = (answers[np.maximum(*fields) < 256] for answers in (ours, theirs))
        assert len(ours) > 99
    if form.name.endswith("x2"):
        ours, theirs, type_ = ours.view(np.uint16), theirs.view(np.uint16), "bf16" if "bf16x2" in form.name else "f16"
    same = ours == theirs
    if PASSES_NAN_ON.search(form.name):
        same |= is_nan(ours, type_) & is_nan(theirs, type_)
    if form.name == "div.rp.ftz.f32":  # up to the smallest normal number; the assembler's code flushes before it rounds
        same |= (ours == 0x00800000) & (theirs == 0)
    return bool(same.all())


def is_nan(bits: np.ndarray, type_: str) -> np.ndarray:
    if type_ not in instruction_forms.FORMATS:
        return np.zeros(len(bits), bool)
    exponent, fraction = instruction_forms.FORMATS[type_]
    magnitude = bits & bits.dtype.type((1 << exponent + fraction) - 1)
    return magnitude > bits.dtype.type(((1 << exponent) - 1) << fraction)


def differs(answers: np.ndarray | str, recorded: list[bytes]) -> str:
    """What is wrong with a form's answers; "" if nothing is."""
    if isinstance(answers, str):
        return answers
    pairs = zip(instructions.digests(answers), recorded, strict=True)
    warps = [warp for warp, (ours, theirs) in enumerate(pairs) if ours != theirs]
    return f"another answer in warps {warps}" if warps else ""


def test_a_digest_notices_a_single_bit():
    answers = np.arange(instruction_forms.LANES, dtype=np.uint32)
    changed = answers.copy()
    changed[77] ^= 1 << 31
    differ = [a != b for a, b in zip(instructions.digests(answers), instructions.digests(changed), strict=True)]
    assert np.flatnonzero(differ).tolist() == [77 // instructions.WARP]


def test_operands_are_of_every_kind():
    form = next(form for form in instruction_forms.all_forms() if form.name == "__fmaf_rn")
    for column in instruction_forms.operands(form):
        numbers = column.view(np.float32)
        assert np.isnan(numbers).any() and np.isinf(numbers).any()
        assert ((numbers == 0) & np.signbit(numbers)).any()
        assert ((numbers != 0) & (np.abs(numbers) < np.float32(2.0**-126))).any()
