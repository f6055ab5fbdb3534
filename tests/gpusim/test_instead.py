"""What is not modelled is refused with its line and with what to do instead, the same at both levels."""

import re

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.isa import instead

REFUSED = {
    "cube maps": ("float v = texCubemap<float>(p[0], 0.5f, 0.5f, 1); p[1] = v;", instead.TEXTURES),
    "sizes": ('int v; asm("txq.width.b32 %0, [%1];" : "=r"(v) : "l"(p[0])); p[1] = v;', instead.TEXTURES),
    "offsets": (
        'float v; asm("{.reg .f32 a; tex.2d.v4.f32.f32 {%0, a, a, a}, [%1, {%2, %2}], {1, 1};}" : "=f"(v) : "l"(p[0]),'
        ' "f"(.5f)); p[1] = v;',
        instead.TEXTURES,
    ),
    "surfaces' sums": ('asm("sured.b.add.1d.u32.trap [%0, {%1}], %1;" :: "l"(p[0]), "r"(4));', instead.TEXTURES),
    "tensor maps": (
        'asm volatile("cp.async.bulk.prefetch.tensor.1d.L2.global.tile [%0, {%1}];" :: "l"(p), "r"(0));',
        instead.TENSOR_MAPS,
    ),
    "sums in shared memory": (
        'asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%0], '
        '[%0], 16, [%0];" :: "r"(16));',
        instead.BULK,
    ),
    "counted stores": (
        'asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %0, [%0];" :: "r"(16));',
        instead.COUNTED_STORES,
    ),
    "warp groups": ('asm volatile("wgmma.fence.sync.aligned;"); p[1] = 1;', instead.WARP_GROUPS),
    "tensor memory": (
        'asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");', instead.TENSOR_MEMORY, "sm_100a",
    ),
    "work of other blocks": (
        'asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];"'
        ' :: "r"(0), "r"(16));', instead.TAKEN_OVER, "sm_100a",
    ),
    "256 bits": (
        'unsigned v[8]; asm("ld.global.v8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];" : "=r"(v[0]), "=r"(v[1]),'
        ' "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]) : "l"(p)); p[1] = v[0] ^ v[7];',
        instead.OF_256_BITS, "sm_100a",
    ),
    "matrices of bytes": (
        'unsigned a, b; asm volatile("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8x16.b4x16_p64 {%0, %1}, [%2];"'
        ' : "=r"(a), "=r"(b) : "r"(0)); p[1] = a + b;', instead.MATRICES_OF_BYTES, "sm_120a",
    ),
    "4 bits": (
        'unsigned v; asm("{.reg .b8 z; cvt.rn.satfinite.e2m1x2.f32 z, %1, %1; cvt.u32.u8 %0, z;}" : "=r"(v)'
        ' : "f"((float)p[0])); p[1] = v;', instead.FEW_BITS, "sm_120a",
    ),
    "memory of several GPUs": (
        'unsigned v; asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(v) : "l"(p));'
        " p[1] = v;", instead.SEVERAL_GPUS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_way_out_is_named_with_the_line(what, level):
    statement, sentence, *others = REFUSED[what]
    source = f'extern "C" __global__ void kernel(unsigned long long *p) {{\n    {statement}\n}}'
    kernel = gpusim.RawModule(code=source, arch=others[0] if others else "sm_90a").get_function("kernel")
    with gpusim.record(level=level), pytest.raises(errors.UnsupportedInstruction) as caught:
        kernel((1,), (128,), (np.zeros(4, np.uint64),))
    assert re.search(r"`.+` \(line 2 of your source\) is not modelled", str(caught.value))
    assert sentence in str(caught.value) and "Write it with ordinary arithmetic" not in str(caught.value)


WIDE = """extern "C" __global__ void kernel(unsigned long long *p, unsigned long long *out) {
    unsigned long long low, high;
    const int t = threadIdx.x;
    asm volatile("{.reg .b128 a, b, c; mov.b128 a, {%3, %4}; mov.b128 b, {%5, %6};"
                 " atom.global.cas.b128 c, [%2], a, b; mov.b128 {%0, %1}, c;}"
                 : "=l"(low), "=l"(high) : "l"(p), "l"(3ull), "l"(4ull + t), "l"(3ull), "l"(5ull + t) : "memory");
    out[4 * t] = low;
    out[4 * t + 1] = high;
    asm volatile("{.reg .b128 a, c; mov.b128 a, {%3, %4}; atom.global.exch.b128 c, [%2], a; mov.b128 {%0, %1}, c;}"
                 : "=l"(low), "=l"(high) : "l"(p + 2), "l"(7ull), "l"(1ull << 40 | t) : "memory");
    out[4 * t + 2] = low;
    out[4 * t + 3] = high;
}"""


def test_machine_code_compares_and_exchanges_128_bits_at_once():
    p, out = np.array([3, 4, 8, 9], np.uint64), np.zeros((32, 4), np.uint64)
    kernel = gpusim.RawModule(code=WIDE, arch="sm_90").get_function("kernel")
    with gpusim.record(level="sass"):
        kernel((1,), (32,), (p, out))
    lanes = np.arange(32, dtype=np.uint64)
    np.testing.assert_array_equal(out[:, 0], 3)
    np.testing.assert_array_equal(out[:, 1], 4 + lanes)  # each finds what the one before it has put there
    np.testing.assert_array_equal(out[:, 2], np.r_[np.uint64(8), np.full(31, 7, np.uint64)])
    np.testing.assert_array_equal(out[:, 3], np.r_[np.uint64(9), np.uint64(1 << 40) | lanes[:-1]])
    assert p.tolist() == [3, 36, 7, 1 << 40 | 31]
    with gpusim.record(level="ptx"), pytest.raises(errors.UnsupportedInstruction) as caught:
        kernel((1,), (32,), (p, out))
    assert instead.WIDE_ATOMICS in str(caught.value)


def test_what_gives_registers_back_changes_no_value():
    source = """extern "C" __global__ void __launch_bounds__(128, 1) kernel(int *out) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        out[threadIdx.x] = threadIdx.x;
    }"""
    out = np.zeros(128, np.int32)
    with gpusim.record(level="sass"):
        gpusim.RawModule(code=source, arch="sm_90a").get_function("kernel")((1,), (128,), (out,))
    np.testing.assert_array_equal(out, np.arange(128))


def test_a_kernel_beside_one_of_clusters_runs(level):
    before = 'extern "C" __global__ void __cluster_dims__(2) other(int *out) { out[0] = 1; }\n'
    np.testing.assert_array_equal(launched("blockIdx.x + 5", level, before=before), [5, 6])


def test_a_cluster_of_one_block_is_a_block(level):
    np.testing.assert_array_equal(launched("blockIdx.x + 5", level, "__cluster_dims__(1, 1, 1)"), [5, 6])


def launched(value: str, level: str, bounds: str = "", before: str = "") -> np.ndarray:
    """What two blocks of one thread write."""
    source = f"""#include <cooperative_groups.h>
    {before}extern "C" __global__ void {bounds} kernel(int *out) {{
        __shared__ int shared[1];
        shared[0] = 0;
        out[blockIdx.x] = {value} + shared[0];
    }}"""
    out = np.zeros(2, np.int32)
    kernel = gpusim.RawModule(code=source, arch="sm_90").get_function("kernel")
    with gpusim.record(level=level):
        kernel((2,), (1,), (out,))
    return out


def test_what_is_only_an_unknown_form_has_no_advice_of_its_own():
    assert instead.instead_of("ATOMG.E.ADD.64") == instead.instead_of("text") == instead.instead_of("cp.async.ca") == ""
