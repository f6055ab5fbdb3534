"""Rows of what came with Hopper, and of what a source brings beside its kernel: headers, host code."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.compiler.errors import CompileError
from tests.gpusim.foreign.rows import Run, refused, right

I32, F32 = np.int32, np.float32


@right("griddepcontrol")
def _(run, rng):
    x, y = rng.integers(-99, 99, 64).astype(I32), np.zeros(64, I32)
    run("waits_for_grid", 1, 64, x, y)
    assert (y == 2 * x).all()


REGISTERS = """extern "C" __global__ void __launch_bounds__(256) gives_registers(const int *x, int *y) {
    if (threadIdx.x < 128) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    else asm volatile("setmaxnreg.inc.sync.aligned.u32 200;");
    y[threadIdx.x] = x[255 - threadIdx.x];
}"""


@right("setmaxnreg")
def _(run, rng):
    x, y = rng.integers(-99, 99, 256).astype(I32), np.zeros(256, I32)
    run.once(REGISTERS, "gives_registers", 1, 256, x, y, arch="sm_90a")
    assert (y == x[::-1]).all()


@right("fence_proxy_variants")
def _(run, rng):
    x, y = rng.integers(-99, 99, 32).astype(I32), np.zeros(32, I32)
    run("fences", 1, 32, x, y)
    assert (y == x[::-1]).all()


@right("cp_async_bulk_1d")
def _(run, rng):
    x, y = rng.integers(-1000, 1000, 256).astype(I32), np.zeros(256, I32)
    run("copies_in_bulk", 1, 256, x, y)
    assert np.array_equal(y, x[::-1])


@refused("tma_tensor_2d")
def _(run, rng):
    given = np.array((0, 0), np.dtype([("x", np.uint64), ("y", np.uint64)]))[()]
    run.says("copies_a_tile", 1, 256, given, np.zeros(256, I32), text="tensor map.*cp.async|the address of")


WGMMA = """extern "C" __global__ void multiplies(const unsigned long long *d, float *y) {
    float c[8] = {};
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;}"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]),
          "+f"(c[5]), "+f"(c[6]), "+f"(c[7]) : "l"(d[0]), "l"(d[1]));
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int k = 0; k < 8; ++k) y[8 * threadIdx.x + k] = c[k];
}"""


@refused("wgmma")
def _(run, rng):
    given = (np.zeros(2, np.uint64), np.zeros(1024, F32))
    with pytest.raises(errors.UnsupportedInstruction, match=r"line [36](.|\n)*Products of warp groups.*wmma") as caught:
        run.once(WGMMA, "multiplies", 1, 128, *given, arch="sm_90a")
    run.messages.append(str(caught.value))


def _message(source: str) -> str:
    with pytest.raises(CompileError) as caught:
        gpusim.RawModule(code=source).get_function("solve_kernel")
    return str(caught.value)


KERNEL = """__global__ void solve_kernel(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""


@refused("leetgpu_template_with_host_code")
def _(run, rng):
    sentence = _message(
        "#include <cuda_runtime.h>\n" + KERNEL + """extern "C" void solve(const float *a, const float *b,
        float *c, int n) {
    solve_kernel<<<(n + 255) / 256, 256>>>(a, b, c, n);
    cudaDeviceSynchronize();
}""")  # fmt: skip
    assert "kernel.cu:9" in sentence and "cudaDeviceSynchronize is host code" in sentence
    assert "calling the kernel launches it" in sentence


@refused("sample_with_main_and_stdio")
def _(run, rng):
    sentence = _message(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <cuda_runtime.h>\n" + KERNEL + """int main() {
    float *a;
    cudaMalloc(&a, 400);
    float *h = (float *)malloc(400);
    solve_kernel<<<1, 100>>>(a, a, a, 100);
    cudaFree(a);
    printf("done\\n");
    return 0;
}""")  # fmt: skip
    assert "kernel.cu:10" in sentence and "cudaMalloc is host code" in sentence and "Leave out main" in sentence


@refused("dynamic_parallelism")
def _(run, rng):
    sentence = _message(
        "__global__ void child(int *x) { x[0] = 1; }\n"
        "__global__ void solve_kernel(int *x) {\n    child<<<1, 1>>>(x);\n}"
    )
    assert (
        "kernel.cu:3" in sentence and "Kernels that launch kernels, dynamic parallelism, are not modelled" in sentence
    )


@refused("curand_philox_header", "curand_xorwow_header")
def _(run, rng):
    """Where the package is, the kernel runs: held to the generators' definitions by hand, not on every machine."""
    sentence = _message("#include <curand_kernel.h>\n__global__ void solve_kernel(int *x) { x[0] = 1; }")
    assert "curand_kernel.h belongs to cuRAND" in sentence and "%pip install nvidia-curand-cu12" in sentence


USES = {  # what a source with a header uses of it, and what that is
    "cuda_runtime.h": ("make_float2(1, 2).y", 2), "stdio.h": ("1", 1), "math.h": ("sqrtf(16.0f) + fabs(-2.0)", 6),
    "stdint.h": ("sizeof(uint64_t) + (uint8_t)257", 9), "cstdint": ("(std::int16_t)65537 + INT32_MAX / 1000000000", 3),
    "cmath": ("std::sqrt(25.0f) + std::max(3, 4)", 9), "assert.h": ("(assert(x != nullptr), 3)", 3), "cuda.h": ("4", 4),
    "float.h": ("FLT_MAX > 3e38f ? 5 : 0", 5), "limits.h": ("INT_MAX == 2147483647 && CHAR_BIT == 8 ? 6 : 0", 6),
    "device_launch_parameters.h": ("threadIdx.x + blockDim.x", 1), "vector_types.h": ("sizeof(float4)", 16),
    "cuda/std/complex": ("(cuda::std::complex<float>(1, 2) * cuda::std::complex<float>(3, 4)).imag()", 10),
    "cuda/std/cstdint": ("sizeof(cuda::std::uint16_t)", 2),
    "cuComplex.h": ("cuCmulf(make_cuComplex(1, 2), make_cuComplex(3, 4)).x", -5),
    "cuda/std/array": ("cuda::std::array<int, 3>{7, 8, 9}[2]", 9), "algorithm": ("min(3, 2) + max(1, 4)", 6),
    "iostream": ("11", 11),
}  # fmt: skip


def _header(name: str, expression: str, expected: float):
    def check(run: Run, rng):
        x = np.zeros(1, F32)
        code = f'#include <{name}>\nextern "C" __global__ void uses(float *x) {{ x[0] = {expression}; }}'
        run.once(code, "uses", 1, 1, x)
        assert x[0] == expected

    return check


for header, use in USES.items():
    right(f"include_{header}")(_header(header, *use))
