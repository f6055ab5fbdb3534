"""Instructions in the forms that the compiler makes of them: the simulator answers what an H200 answered."""

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
