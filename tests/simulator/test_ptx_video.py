"""The SIMD video instructions of PTX, on halves and bytes of registers."""

from collections.abc import Sequence

import numpy as np
import pytest

from helpers import simulator

THREADS = 64
PARTS = {2: 16, 4: 8}
TYPES = ("u32.u32.u32", "s32.s32.s32", "s32.u32.s32", "s32.s32.u32", "u32.s32.s32")
NAMES = ("vadd", "vsub", "vabsdiff", "vavrg", "vmin", "vmax")


# ptxas makes one instruction of each, which takes c; what that does with c only a GPU can say.
IN_ONE_INSTRUCTION = ("vabsdiff4.u32.u32.u32", "vabsdiff4.u32.s32.s32")


def operands() -> np.ndarray:
    """a, b and c for all threads: random words, then words of extreme parts."""
    rng = np.random.default_rng(15)
    extremes = rng.choice(np.array([0, 1, 0x7F, 0x80, 0x81, 0xFF], np.uint8), (3, THREADS // 2, 4)).view(np.uint32)
    return np.concatenate([rng.integers(0, 1 << 32, (3, THREADS // 2), np.uint32), extremes[..., 0]], axis=1)


def run(instructions: Sequence[str], level: str) -> np.ndarray:
    """The results of each instruction for all threads."""
    out = np.zeros((len(instructions), THREADS), np.uint32)
    asm = "".join(
        f'asm("{instruction} %0, %1, %2, %3;" : "=r"(d) : "r"(a[i]), "r"(b[i]), "r"(c[i])); o[{64 * row} + i] = d;'
        for row, instruction in enumerate(instructions)
    )
    module = simulator.RawModule(
        code='extern "C" __global__ void k(unsigned* o, const unsigned* a, const unsigned* b, const unsigned* c) {'
        f"unsigned d; int i = threadIdx.x; {asm} }}"
    )
    with simulator.record(level=level):
        module.get_function("k")((1,), (THREADS,), (out.reshape(-1), *operands()))
    return out


@pytest.mark.parametrize("name", [f"{name}{count}" for name in NAMES for count in PARTS])
def test_parts_of_a_register_are_at_the_level_of_ptx_what_the_machine_code_computes(name):
    endings = ("", ".sat", ".add")
    instructions = [f"{name}.{types}{ending}" for types in TYPES for ending in endings]
    instructions = [text for text in instructions if text not in IN_ONE_INSTRUCTION]
    for text, ptx, sass in zip(instructions, run(instructions, "ptx"), run(instructions, "sass"), strict=True):
        assert np.array_equal(ptx, sass), text


@pytest.mark.parametrize("count", PARTS)
def test_parts_of_a_register_are_compared_at_the_level_of_ptx_as_by_the_machine_code(count):
    comparisons = ("eq", "ne", "lt", "le", "gt", "ge")
    pairs = ("u32.u32", "s32.s32", "u32.s32")
    texts = [f"vset{count}.{types}.{how}{add}" for types in pairs for how in comparisons for add in ("", ".add")]
    for text, ptx, sass in zip(texts, run(texts, "ptx"), run(texts, "sass"), strict=True):
        assert np.array_equal(ptx, sass), text


def test_differences_of_bytes_are_those_of_the_bytes_with_or_without_signs():
    found = run(IN_ONE_INSTRUCTION, "ptx").view(np.uint8)
    for of_bytes, dtype in zip(found, (np.uint8, np.int8), strict=True):
        a, b, _ = operands().view(dtype).astype(int)
        assert np.array_equal(of_bytes, np.abs(a - b))


def test_a_choice_of_bytes_is_refused_by_its_name():
    with pytest.raises(simulator.UnsupportedInstruction, match="choice of parts"):
        source = (
            'extern "C" __global__ void k(unsigned* o) { unsigned d;'
            'asm("vadd4.u32.u32.u32 %0, %1.b7654, %2.b3210, %3;"'
            ': "=r"(d) : "r"(o[0]), "r"(o[1]), "r"(o[2])); o[3] = d; }'
        )
        with simulator.record(level="ptx"):
            simulator.RawModule(code=source).get_function("k")((1,), (1,), (np.zeros(4, np.uint32),))
