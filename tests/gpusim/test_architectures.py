"""Each architecture that kernels can be compiled for, by one kernel; `architectures` as a command tries them all."""

import numpy as np
import pytest

import gpusim
from gemm_kernels import ladder, tensor
from gpusim import compiler, devices
from tests.gpusim import architectures, test_sass

# Small kernels, two of them with barriers and tiles; test_sass has more, for the architectures that are not here.
OTHERS = [arch for arch in devices.LIMITS if arch not in test_sass.ARCHITECTURES]
KERNELS = dict.fromkeys(OTHERS, "coalesced") | {"sm_87": "shared_memory", "sm_120": "shared_memory"}


@pytest.mark.table(keep=3)
@pytest.mark.parametrize("arch", KERNELS)
def test_kernel_multiplies_on_every_architecture_at_both_levels(arch):
    assert architectures.answer(ladder.get(KERNELS[arch]), arch) == architectures.RIGHT


def test_every_architecture_with_limits_is_known_to_the_compiler():
    assert set(devices.LIMITS) <= set(compiler.architectures())


@pytest.mark.parametrize(
    ("kernel", "arch", "reason"),
    [
        (ladder.get("async_copy"), "sm_75", "needs sm_80"),
        (tensor.get("mma"), "sm_70", "needs sm_80"),
    ],
)
def test_kernel_an_architecture_cannot_have_is_not_counted_right(kernel, arch, reason):
    assert architectures.answer(kernel, arch).startswith(reason)


# What machine code of one architecture has and that of others does not.
HALVES = """
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const float *x, float *out) {
    __half h = __float2half(1.2345678f);   // Turing rounds a constant in an operand of HADD2
    if (x[0] > 0) h = __hadd(h, __float2half(x[threadIdx.x]));
    out[threadIdx.x] = __half2float(h);
}"""
ARRIVES = """
extern "C" __global__ void kernel(const float *x, float *out) {
    __shared__ unsigned long long bar;
    __shared__ float s[32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(at) : "memory");
    __syncthreads();
    unsigned long long state;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + threadIdx.x) : "memory");
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" :: "r"(at) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    for (int done = 0; !done;)
        asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}"
                     : "=r"(done) : "r"(at), "l"(state) : "memory");
    out[threadIdx.x] = s[31 - threadIdx.x];
}"""
NUMBERS = """
extern "C" __global__ void kernel(const float *x, float *out) {
    unsigned sm, sms;
    asm("mov.u32 %0, %%smid; mov.u32 %1, %%nsmid;" : "=r"(sm), "=r"(sms));
    out[threadIdx.x] = sm < sms ? x[threadIdx.x] : 0;
}"""
DOUBLES = """
extern "C" __global__ void kernel(const float *x, float *out) {
    double d[2] = {0.5, 0.25};
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d[0]), "+d"(d[1]) : "d"((double)x[threadIdx.x]), "d"(threadIdx.x % 4 == 1 ? 2.0 : 0.0));
    out[threadIdx.x] = d[0] + d[1];
}"""
X = np.arange(32, dtype=np.float32) + 1
ONLY_THERE = {
    ("sm_75", "halves"): (HALVES, (np.float16(1.2345678) + X.astype(np.float16)).astype(np.float32)),
    ("sm_80", "copies that arrive"): (ARRIVES, X[::-1]),
    ("sm_90", "copies that arrive"): (ARRIVES, X[::-1]),
    ("sm_80", "products of float64"): (DOUBLES, np.repeat(4 * X[1::4] + 0.75, 4)),
    ("sm_90", "products of float64"): (DOUBLES, np.repeat(4 * X[1::4] + 0.75, 4)),
    ("sm_87", "numbers of SMs where no GPU is known"): (NUMBERS, X),
}


def run(source: str, arch: str, level: str) -> np.ndarray:
    out = np.zeros(32, np.float32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source, arch=arch).get_function("kernel")((1,), (32,), (X, out))
    return out


@pytest.mark.parametrize(("arch", "what"), ONLY_THERE)
def test_what_only_some_architectures_have_gives_the_same_there(arch, what, level):
    source, expected = ONLY_THERE[arch, what]
    np.testing.assert_array_equal(run(source, arch, level), expected)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80"])
def test_lanes_in_compiler_functions_are_named_by_the_call(arch):
    source = """extern "C" __global__ void kernel(const float *x, float *out) {
    if (threadIdx.x < 16)
        out[threadIdx.x] = __shfl_down_sync(~0u, x[threadIdx.x], 1);
    else out[threadIdx.x] = x[threadIdx.x] * x[threadIdx.x ^ 1];
    out[threadIdx.x] += 1;
}"""
    with pytest.raises(gpusim.SimulatorError, match="lanes 16 to 31") as caught:
        run(source, arch, "sass")
    assert caught.value.line == 3


def test_an_mbarrier_that_plain_stores_make_works_on_blackwell():
    source = """#include <cuda/barrier>
extern "C" __global__ void kernel(const float *x, float *out) {
    __shared__ float s[32];
    __shared__ cuda::barrier<cuda::thread_scope_block> meeting[2];
    if (threadIdx.x < 2) init(&meeting[threadIdx.x], 32);
    __syncthreads();
    s[threadIdx.x] = x[threadIdx.x];
    meeting[x[0] > 0].arrive_and_wait();
    out[threadIdx.x] = s[31 - threadIdx.x];
}"""
    assert run(source, "sm_120", "sass").tolist() == X[::-1].tolist()
