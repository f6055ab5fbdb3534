"""The video instructions of PTX, on halves and bytes of registers, or on one number of each."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import gpusim
from gpusim import errors

THREADS = 64
PARTS = {2: 16, 4: 8}
TYPES = ("u32.u32.u32", "s32.s32.s32", "s32.u32.s32", "s32.s32.u32", "u32.s32.s32")
NAMES = ("vadd", "vsub", "vabsdiff", "vavrg", "vmin", "vmax")


def operands() -> np.ndarray:
    """a, b and c for all threads: random words, then words of extreme parts."""
    rng = np.random.default_rng(15)
    extremes = rng.choice(np.array([0, 1, 0x7F, 0x80, 0x81, 0xFF], np.uint8), (3, THREADS // 2, 4)).view(np.uint32)
    return np.concatenate([rng.integers(0, 1 << 32, (3, THREADS // 2), np.uint32), extremes[..., 0]], axis=1)


def run(instructions: Sequence[str], level: str) -> np.ndarray:
    """The results of each instruction for all threads; of d, a, b and c if it does not say of what."""
    out = np.zeros((len(instructions), THREADS), np.uint32)
    asm = "".join(
        f'asm("{text if "%" in text else f"{text} %0, %1, %2, %3"};" : "=r"(d) : "r"(a[i]), "r"(b[i]), "r"(c[i]));'
        f"o[{64 * row} + i] = d;"
        for row, text in enumerate(instructions)
    )
    module = gpusim.RawModule(
        code='extern "C" __global__ void k(unsigned* o, const unsigned* a, const unsigned* b, const unsigned* c) {'
        f"unsigned d; int i = threadIdx.x; {asm} }}"
    )
    with gpusim.record(level=level):
        module.get_function("k")((1,), (THREADS,), (out.reshape(-1), *operands()))
    return out


@pytest.mark.parametrize("name", [f"{name}{count}" for name in NAMES for count in PARTS])
def test_register_parts_compute_in_ptx_as_in_machine_code(name):
    endings = ("", ".sat", ".add")
    instructions = [f"{name}.{types}{ending}" for types in TYPES for ending in endings]
    for text, ptx, sass in zip(instructions, run(instructions, "ptx"), run(instructions, "sass"), strict=True):
        assert np.array_equal(ptx, sass), text


@pytest.mark.parametrize("count", PARTS)
def test_register_parts_compare_alike_at_both_levels(count):
    comparisons = ("eq", "ne", "lt", "le", "gt", "ge")
    pairs = ("u32.u32", "s32.s32", "u32.s32")
    texts = [f"vset{count}.{types}.{how}{add}" for types in pairs for how in comparisons for add in ("", ".add")]
    for text, ptx, sass in zip(texts, run(texts, "ptx"), run(texts, "sass"), strict=True):
        assert np.array_equal(ptx, sass), text


@pytest.mark.parametrize("name", [f"{name}{count}" for name in (*NAMES, "vset") for count in PARTS])
def test_parts_come_from_both_operands_and_some_result_is_kept(name):
    masks, choices = (
        (("b0", "b31", "b210"), ("b7654", "b0426")) if name.endswith("4") else (("h0", "h1"), ("h32", "h12"))
    )
    middle = "u32.s32.lt" if name.startswith("vset") else "s32.u32.s32"
    endings = ("", ".add") if name.startswith("vset") else ("", ".sat", ".add")
    texts = [
        f"{name}.{middle}{ending} %0.{mask}, %1.{choice}, %2.{choices[0]}, %3"
        for ending, mask, choice in itertools.product(endings, masks, choices)
    ]
    for text, ptx, sass in zip(texts, run(texts, "ptx"), run(texts, "sass"), strict=True):
        assert np.array_equal(ptx, sass), text


# ---- one number of each register

WORDS = list(itertools.product(("u32", "s32"), repeat=3))
WHERE = ("", ".b0", ".b3", ".h1")  # the part of an operand


def forms_of_one(name: str) -> list[str]:
    """Instructions of one number, with every type and ending that is modelled, each of some parts."""
    parts = itertools.cycle(itertools.product(WHERE, WHERE[::-1]))
    texts = []

    def add(opcode: str, third: bool, part: str = "", signs: tuple[str, str, str] = ("", "", "")) -> None:
        (x, y), (p, q, r) = next(parts), signs
        texts.append(f"{opcode} %0{part}, {p}%1{x}, {q}%2{y}" + (f", {r}%3" if third else ""))

    if name == "vset":
        for types, how in itertools.product(itertools.product(("u32", "s32"), repeat=2), ("eq", "ne", "lt", "ge")):
            opcode = f"vset.{'.'.join(types)}.{how}"
            for ending in (".add", ".min", ".max"):
                add(opcode + ending, True)
            add(opcode, False)
            add(opcode, True, ".b2")
        return texts
    for types in WORDS:
        opcode = f"{name}.{'.'.join(types)}"
        if name == "vmad":
            signed = types[1:] == ("s32", "s32")
            for ending in ("", ".po", *((".sat", ".shr7", ".sat.shr15", ".po.shr15") if signed else ())):
                for signs in ("   ", *(() if "po" in ending else ("-  ", "  -", "-- "))):
                    add(opcode + ending, True, signs=tuple(sign.strip() for sign in signs))
            continue
        if name in ("vshl", "vshr"):
            for mode in ("clamp", "wrap") if types[2] == "u32" else ():
                add(f"{opcode}.{mode}", False)
                add(f"{opcode}.{mode}.add", True)
                add(f"{opcode}.{mode}", True, ".b1")
            continue
        limits = ("",) if name == "vabsdiff" and types[1] != types[2] else ("", ".sat")
        for limit, ending in itertools.product(limits, ("", ".add", *((".min", ".max") if name in LIMITS else ()))):
            if (limit, ending) != (".sat", ".add"):
                add(opcode + limit + ending, bool(ending))
        for part in (".b0", ".b2", ".h0", ".h1"):
            add(opcode, True, part)
    return texts


LIMITS = ("vmin", "vmax")


@pytest.mark.parametrize("name", ("vadd", "vsub", "vabsdiff", *LIMITS, "vshl", "vshr", "vset", "vmad"))
def test_one_number_of_each_register_agrees_at_both_levels(name):
    texts = forms_of_one(name)
    for text, ptx, sass in zip(texts, run(texts, "ptx"), run(texts, "sass"), strict=True):
        assert np.array_equal(ptx, sass), text


REFUSED = {
    "vadd.s32.s32.s32.sat %0.b0, %1, %2, %3": "the limit of vadd in this form; without .sat it runs",
    "vshl.u32.u32.u32.sat.clamp %0, %1, %2": "the limit of vshl in this form; without .sat it runs",
    "vsub.s32.u32.u32.min %0, %1, %2, %3": "vsub with .min or .max; in two instructions it runs",
    "vmad.u32.u32.u32.sat %0, %1, %2, %3": "of signed ones it runs",
}


@pytest.mark.parametrize(("text", "why"), REFUSED.items())
def test_multi_step_video_instruction_is_refused_with_what_runs(text, why):
    with pytest.raises(errors.UnsupportedInstruction, match=why):
        run([text], "ptx")
    run([text], "sass")
