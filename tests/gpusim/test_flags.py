"""Options of the compiler: kernels run with all that NVRTC knows, and a sentence answers the others."""

import numpy as np
import pytest

import gpusim
from gpusim import compiler, errors
from helpers import run
from helpers.run import operands
from tests.gemm_kernels.test_numeric import smaller

# A function that is not inlined, an array of a thread with an index known at run time, shared memory, a division, a
# variable of the module, and float32 arithmetic that may be fused.
SOURCE = """
__device__ int launches;
__device__ __noinline__ float half_of(float x) { return x / 2.0f; }
extern "C" __global__ void kernel(const float *x, float *y, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float own[4];
    for (int k = 0; k < 4; ++k) own[k] = x[(i + k) % n] + k;
    s[threadIdx.x] = own[i % 4];
    __syncthreads();
    if (i < n) y[i] = half_of(s[63 - threadIdx.x]) + x[i] * x[i];
    if (i == 0) ++launches;
}"""
LINE_OF_RESULT = 11
X = np.random.default_rng(5).standard_normal(128).astype(np.float32)


def expected() -> np.ndarray:
    i = np.arange(128)
    s = X[(i + i % 4) % 128] + (i % 4).astype(np.float32)
    return s.reshape(2, 64)[:, ::-1].reshape(-1) / 2 + X * X


def launch(*options, level="sass", source=SOURCE):
    y = np.zeros(128, np.float32)
    with gpusim.record(level=level, checks="raise") as recording:
        gpusim.RawModule(code=source, options=options).get_function("kernel")((2,), (64,), (X, y, np.int32(128)))
    return y, recording


FLAGS = [
    ("-G",), ("--device-debug",), ("-G", "-dopt=on"), ("--ptxas-options=-O0",), ("-Xptxas", "-O0"), ("-Xptxas=-O1",),
    ("--dopt=on",), ("-rdc=true",), ("-rdc", "true"), ("--relocatable-device-code=true",), ("-dc",), ("--device-c",),
    ("--maxrregcount=32",), ("-maxrregcount", "32"), ("-use_fast_math",), ("--use_fast_math",), ("-lineinfo",),
    ("--generate-line-info",), ("-fmad=false",), ("-ewp",),
]  # fmt: skip


@pytest.mark.parametrize("options", FLAGS, ids=" ".join)
def test_kernel_runs_as_machine_code_with_every_nvrtc_option(options):
    y, recording = launch(*options)
    assert np.allclose(y, expected(), atol=1e-6)
    assert recording.level == "sass"
    assert LINE_OF_RESULT in {row.line for row in recording.by_line()}


def test_debug_code_gives_the_bits_of_unfused_code(level):
    assert launch("-G", level=level)[0].tobytes() == launch("-fmad=false", level=level)[0].tobytes()


def test_code_for_a_debugger_is_watched_line_by_line():
    broken = SOURCE.replace("__syncthreads();", "")
    with pytest.raises(errors.RaceError) as caught:
        launch("-G", source=broken)
    assert caught.value.lines == (9, 11)
    unset = SOURCE.replace("k < 4", "k < 3")
    with pytest.raises(errors.UninitializedRead, match="a variable of its own, or an element of one") as caught:
        launch("-G", source=unset)
    assert caught.value.line == 9


def multiply_with(name, *options):
    kernel = smaller(name).launch(70, 66, 37)
    A, B, C = operands(70, 66, 37)
    result = C.copy()
    module = gpusim.RawModule(code=kernel.source, options=(*kernel.options, *options), name_expressions=[kernel.entry])
    compiled = module.get_function(kernel.entry)
    with gpusim.record(level="sass", checks="raise", max_instructions=20_000_000):
        run.start(compiled, kernel, A, B, result, 1.5, 0.5)
    assert np.allclose(result, 1.5 * A.astype(float) @ B + 0.5 * C, atol=1e-4)
    assert compiled.forms.at("sass")[0].machine is not None, "only the engine in NumPy can execute it"


# One for each kind of load, of copy and of arithmetic; `wide_copies` loads more than it uses, through local arrays.
@pytest.mark.parametrize("name", ["shared_memory", "vectorized_ptx", "wide_copies", "swizzled"])
def test_kernels_of_the_course_run_as_code_for_a_debugger(name):
    multiply_with(name, "-G")


@pytest.mark.parametrize("options", [("--maxrregcount=64",), ("--ptxas-options=-O0",), ("--use_fast_math",)], ids=str)
def test_a_tiled_kernel_of_the_course_runs_with_other_options(options):
    multiply_with("block_tile_2d", *options)


def test_local_arrays_read_by_fours_must_be_aligned():
    with pytest.raises(errors.Misaligned, match=r"of its local memory(.|\n)*alignas\(16\)") as caught:
        multiply_with("async_copy", "-G")
    assert "as_float4(a_frag" in str(caught.value)


SENTENCES = {
    "-dlto": "Leave it out; one source is compiled as a whole anyway",
    "--dlink-time-opt": "for a linker",
    "-O0": "For code that is not optimised at all write '-G'",
    "-O3": "as by nvcc's -O3",
    "--optimize=0": "write '-G'",
    "-Xptxas -O0": "Each option is a string of its own, with its value behind '=': '-Xptxas=-O0'",
    "--maxrregcount 32": "'--maxrregcount=32'",
    "-g": "for the GPU's write '-G'",
    "-Wall": "does not know the option '-Wall'",
}


@pytest.mark.parametrize("option", SENTENCES)
def test_option_unknown_to_nvrtc_is_answered_by_what_to_write(option):
    with pytest.raises(compiler.CompileError) as caught:
        launch(option)
    assert SENTENCES[option] in str(caught.value)
    assert "\n" not in str(caught.value)


DEEP = """__device__ __noinline__ int deep(int n) {
    int own[4] = {n, n + 1, n + 2, 3};
    return n > 0 ? own[n & 3] + deep(n - 1) : 0;
}
extern "C" __global__ void kernel(int *out, int n) {
    out[threadIdx.x] = deep(n + threadIdx.x % 3);
}"""


def test_recursion_in_debug_code_ends_at_a_full_stack():
    kernel = gpusim.RawModule(code=DEEP, options=("-G",)).get_function("kernel")
    out = {level: np.zeros(8, np.int32) for level in ("sass", "ptx")}
    for level, result in out.items():
        with gpusim.record(level=level):
            kernel((1,), (8,), (result, np.int32(2)))
    assert out["sass"].tolist() == out["ptx"].tolist() and len(set(out["sass"])) == 3
    with (
        gpusim.record(level="sass"),
        pytest.raises(errors.OutOfBounds, match=r"at byte -\d+ of its local.*\n.*\n.*too"),
    ):
        kernel((1,), (8,), (out["sass"], np.int32(1000)))
