"""Forms of PTX beside the arithmetic: how inline PTX and headers write it, what bounds a launch, and what is refused.

Whatever is not modelled ends in one sentence that says what, so that the other level can be taken in its place.
"""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.compiler import ptx
from gpusim.compiler.ptx import Address, Immediate, Other, Register, Special, Vector
from gpusim.isa.ptx import program
from gpusim.isa.ptx.opcodes import OPCODES


def at_ptx_level(source: str, *args, block=32, grid=1, checks="raise") -> None:
    with gpusim.record(level="ptx", checks=checks):
        gpusim.RawModule(code=source).get_function("kernel")(grid, block, args)


def translated(source: str):
    """The program of a kernel at PTX level, whatever the machine code can do."""
    return program.translate(gpusim.RawModule(code=source).get_function("kernel").compiled)


# ---- what is read


def test_coordinate_addresses_and_unknown_operands_are_read():
    assert ptx.parse_operand("[%rd1, {%f2, %f3}]") == Address(
        Register("%rd1"), 0, (Vector((Register("%f2"), Register("%f3"))),)
    )
    assert ptx.parse_operand("[%rd1+8]") == Address(Register("%rd1"), 8)
    assert ptx.parse_operand("[%rd1+%rd2]") == Other("[%rd1+%rd2]")
    assert ptx.parse_operand("%laneid") == Special("%laneid")
    assert ptx.parse_operand("017") == Immediate(15, 15)


INLINE = {
    "no blank after .reg": '{ .reg.b32 f; .reg.b16 r; cvt.rn.f16.f32 r, %1; cvt.f32.f16 f, r; mov.b32 %0, f; }',
    "several names": "{ .reg.b16 hl, hu; .reg .b32 both; mov.b32 both, %1; mov.b32 {hl, hu}, both; "
                     "mov.b32 %0, {hl, hu}; }",
    "a dollar in a name": "{ .reg .pred __$temp3; setp.lt.f32 __$temp3, %1, 0f40000000; "
                          "selp.f32 %0, %1, 0f00000000, __$temp3; }",
    "no braces": ".reg .f32 bare; mov.f32 bare, %1; mov.f32 %0, bare;",
}  # fmt: skip


@pytest.mark.parametrize("text", INLINE.values(), ids=INLINE)
def test_inline_ptx_registers_are_known_by_their_declared_names(text):
    source = f"""extern "C" __global__ void kernel(float *x) {{
        float y;
        asm volatile("{text}" : "=f"(y) : "f"(x[threadIdx.x]));
        x[threadIdx.x] = y;
    }}"""
    x = np.full(32, 1.5, np.float32)
    at_ptx_level(source, x)
    assert (x == 1.5).all()


def test_bfloat16_comparison_is_read_as_the_headers_write_it():
    source = """extern "C" __global__ void kernel(const unsigned short *a, const unsigned short *b, int *less) {
        int i = threadIdx.x, yes;
        asm("{ .reg .pred __$temp3; setp.lt.bf16 __$temp3, %1, %2; selp.u32 %0, 1, 0, __$temp3; }"
            : "=r"(yes) : "h"(a[i]), "h"(b[i]));
        less[i] = yes;
    }"""
    one_bits, two_bits, nan = 0x3F80, 0x4000, 0x7FC0
    a, b = (
        np.array([one_bits, two_bits, one_bits, nan, 0xC000], np.uint16),
        np.array([two_bits, one_bits, one_bits, one_bits, 0x8000], np.uint16),
    )
    less = np.zeros(5, np.int32)
    at_ptx_level(source, a, b, less, block=5)
    assert less.tolist() == [1, 0, 0, 0, 1]


def test_a_cache_policy_changes_no_value():
    source = """extern "C" __global__ void kernel(const float *x, float *y) {
        unsigned long long policy;
        asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
        float v;
        asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x + threadIdx.x), "l"(policy));
        y[threadIdx.x] = v;
    }"""
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    at_ptx_level(source, x, y)
    np.testing.assert_array_equal(x, y)


# ---- what bounds the launch

BOUNDS = {
    "__launch_bounds__(64, 2, 4)": "__launch_bounds__(64, 2, 4)",
    "__block_size__((32, 1, 1))": "__block_size__((32, 1, 1))",
    "__cluster_dims__(1, 1, 1)": "__cluster_dims__(1, 1, 1)",
    "__maxnreg__(64)": "__maxnreg__(64)",
}


@pytest.mark.parametrize("bounds", BOUNDS)
def test_register_block_and_cluster_bounds_precede_the_body(bounds):
    out = np.zeros(32, np.int32)
    at_ptx_level(f'extern "C" __global__ void {bounds} kernel(int *out) {{ out[threadIdx.x] = threadIdx.x; }}', out)
    np.testing.assert_array_equal(out, np.arange(32))


# ---- what is refused

REFUSED = {
    "a performance counter": ('int c; asm volatile("mov.u32 %0, %%pm0;" : "=r"(c)); x[0] = c;', "%pm0"),
    "8-bit floats": ('unsigned h; asm("cvt.rn.relu.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"((short)x[0])); '
                     "x[0] = h;", "e4m3x2"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "what"), REFUSED.values(), ids=REFUSED)
def test_unmodelled_ptx_is_refused_in_a_sentence_with_its_line(body, what):
    source = f'extern "C" __global__ void kernel(float *x, float *p) {{\n    {body}\n}}'
    with pytest.raises(errors.UnsupportedInstruction) as caught:
        translated(source)
    message = str(caught.value)
    assert "(line 2 of your source) is not modelled by the simulator: " in message and what in message
    assert message.endswith("Write it with ordinary arithmetic and loads.")


def test_a_mistake_in_a_rule_is_not_reported_as_a_limit(monkeypatch, prepared_afresh):
    def mistaken(t, s):
        return {}["nothing"]

    row = OPCODES["st"]
    monkeypatch.setitem(OPCODES, "st", type(row)(row.name, mistaken, row.operands, row.modifiers))
    with pytest.raises(KeyError, match="nothing"):
        translated('extern "C" __global__ void kernel(float *x) { x[0] = 1; }')


# ---- memory order


@pytest.mark.parametrize("order", ["acq_rel", "release"])
def test_an_atomic_with_a_memory_order_is_a_fence(order):
    """The last block adds up what the others wrote, and has seen their counts by an atomic that orders memory."""
    source = f"""__device__ unsigned int count;
    extern "C" __global__ void kernel(const float *in, float *parts, float *out) {{
        float sum = 0;
        for (int i = 0; i < 4; ++i) sum += in[4 * blockIdx.x + i];
        parts[blockIdx.x] = sum;
        unsigned int before;
        asm volatile("atom.{order}.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(&count) : "memory");
        if (before == gridDim.x - 1) {{
            {'asm volatile("fence.acq_rel.gpu;" ::: "memory");' if order == "release" else ""}
            float total = 0;
            for (int b = 0; b < gridDim.x; ++b) total += parts[b];
            *out = total;
        }}
    }}"""
    values, parts, out = np.arange(32, dtype=np.float32), np.zeros(8, np.float32), np.zeros(1, np.float32)
    at_ptx_level(source, values, parts, out, block=1, grid=8)
    assert out[0] == values.sum()


def test_an_atomic_without_a_memory_order_is_none():
    source = """__device__ unsigned int count;
    extern "C" __global__ void kernel(float *parts, float *out) {
        parts[blockIdx.x] = blockIdx.x;
        unsigned int before;
        asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(&count) : "memory");
        if (before == gridDim.x - 1) *out = parts[0];
    }"""
    with pytest.raises(errors.RaceError):
        at_ptx_level(source, np.zeros(8, np.float32), np.zeros(1, np.float32), block=1, grid=8)
