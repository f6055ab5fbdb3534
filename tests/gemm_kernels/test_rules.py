"""Python's rules against the static_asserts of the sources: the same sentences, and the same verdicts.

The compiler judges many parameter sets in one run: each is an instantiation, and a verdict needs no machine code.
"""

import itertools
import random
import re

import pytest

from gemm_kernels.ladder import LADDER, VECTORS
from helpers.compiler import nvrtc

TEMPLATES = [kernel for kernel in LADDER + VECTORS if kernel.template]
OWN_SOURCE = [kernel for kernel in TEMPLATES if kernel.name == kernel.file]  # autotuned has split_k's
IDS = [kernel.name for kernel in TEMPLATES]
VALUES = {
    "T": (0, 1, 7, 16, 32, 33),
    "BM": (0, 16, 64, 96, 100, 128, 256),
    "BN": (0, 16, 64, 96, 100, 128, 256),
    "BK": (0, 1, 2, 4, 8, 12, 16, 64),
    "WM": (0, 16, 32, 64, 128),
    "WN": (0, 8, 32, 64, 128),
    "TM": (0, 1, 2, 4, 6, 8, 16),
    "TN": (0, 1, 2, 4, 6, 8, 16),
    "SLICES": (0, 1, 2, 3, 4, 8),
    "STAGES": (0, 1, 2, 3, 9, 40),
    "BLOCKS": (0, 1, 2, 3, 16),
    "WORKERS": (-1, 0, 1, 132),
    "LOOPS": (0, 1, 2, 3),
    "WARPS": (0, 1, 3, 16, 32, 64),
    "LOADS": (0, 1, 3, 8),
}
ERRORS_SHOWN = 15  # parameter sets a run, so that NVRTC does not stop before it has said all


def sentences(source):
    return [match.group(1) for match in re.finditer(r'static_assert\([^;]*?"([^"]+)"\)', source)]


def broken_rule(kernel, params):
    """The first rule's sentence that Python finds broken, or None."""
    return next((rule.sentence for rule in kernel.rules if not rule.holds(params)), None)


def candidates(kernel):
    """The defaults, every change of one parameter, and a seeded choice of changes of several."""
    sets = {tuple(kernel.params.values())}
    for name, value in itertools.chain.from_iterable(zip([n] * 9, VALUES[n], strict=False) for n in kernel.params):
        sets.add(tuple((kernel.params | {name: value}).values()))
    chance = random.Random(kernel.name)
    while len(sets) < 60 and len(kernel.params) > 1:
        sets.add(tuple(chance.choice(VALUES[name][1:]) for name in kernel.params))
    return [dict(zip(kernel.params, values, strict=True)) for values in sorted(sets)]


def compilers_verdicts(kernel, sets):
    """For each parameter set the text of the compiler's errors about it."""
    errors = [""] * len(sets)
    for start in range(0, len(sets), ERRORS_SHOWN):
        part = sets[start : start + ERRORS_SHOWN]
        names = [f"{kernel.function}<{', '.join(map(str, params.values()))}>" for params in part]
        output = nvrtc.run(kernel.source, "kernel.cu", ("-arch=compute_90", "--std=c++17"), names, {})
        for block in re.split(r"\n(?=kernel\.cu\()", output.log):
            # The last one is the kernel's, which a function that it calls was instantiated from.
            found = re.findall(r"\[with (.*?)\]|template arguments <(.*?)>", block)
            if " error: " in block and found:
                values = tuple(int(number) for number in re.findall(r"-?\d+", "".join(found[-1])))
                errors[start + [tuple(params.values()) for params in part].index(values)] += block
    return errors


@pytest.mark.parametrize("kernel", TEMPLATES, ids=IDS)
def test_the_sentences_are_those_of_the_static_asserts_in_the_same_order(kernel):
    assert [rule.sentence for rule in kernel.rules] == sentences(kernel.source)


@pytest.mark.parametrize("kernel", OWN_SOURCE, ids=lambda kernel: kernel.name)
def test_python_and_the_compiler_accept_and_reject_the_same_parameters(kernel):
    sets = candidates(kernel)
    accepted = [params for params in sets if broken_rule(kernel, params) is None]
    assert 1 < len(accepted) < len(sets), "the parameter sets must try both verdicts"
    for params, errors in zip(sets, compilers_verdicts(kernel, sets), strict=True):
        sentence = broken_rule(kernel, params)
        assert bool(errors) == (sentence is not None), f"{params}: Python says {sentence}, the compiler: {errors}"
        if sentence and all(value >= 1 for value in params.values()):
            assert f'static assertion failed with "{sentence}"' in errors, params


@pytest.mark.parametrize("kernel", TEMPLATES, ids=IDS)
def test_replace_refuses_with_the_sentence_what_the_rules_refuse(kernel):
    for params in candidates(kernel)[:12]:
        sentence = broken_rule(kernel, params)
        if sentence is None:
            assert kernel.replace(**params).params == params
        else:
            with pytest.raises(ValueError, match=re.escape(sentence)):
                kernel.replace(**params)
