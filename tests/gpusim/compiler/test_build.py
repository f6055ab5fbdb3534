"""Compiling CUDA C++ without a GPU: resources, parameters, options, architectures."""

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gpusim import compiler
from gpusim.compiler import build, cubin, includes, nvrtc

TILE = r"""
template <int BM, int BK>
__global__ void __launch_bounds__(256) tile(int M, float alpha, const float *__restrict__ A, float *C) {
    __shared__ float As[BK][BM];
    As[0][threadIdx.x] = A[threadIdx.x];
    __syncthreads();
    C[threadIdx.x] = alpha * As[0][255 - threadIdx.x] + M;
}
extern "C" __global__ void scale(float *x, char shift, double factor) { x[threadIdx.x] *= factor + shift; }
__global__ void plain(float *x) { x[0] = 1; }
"""

SPILLING = """
extern "C" __global__ void __launch_bounds__(1024) spill(float *x) {
    float held[100];
    #pragma unroll
    for (int i = 0; i < 100; i++) held[i] = x[i * threadIdx.x];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 100; i++) x[i * 7 * threadIdx.x] = held[99 - i];
}
"""

LOCAL = """
extern "C" __global__ void pick(float *x, int n) {
    float held[64];
    for (int i = 0; i < n; i++) held[i & 63] = x[i];
    x[0] = held[x[0] > 0 ? n & 63 : 3];
}
"""


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")


@pytest.fixture
def outputs(monkeypatch):
    """The list of what the compiler gave."""
    given, run = [], nvrtc.run
    monkeypatch.setattr(nvrtc, "run", lambda *arguments: given.append(run(*arguments)) or given[-1])
    build._compiled.cache_clear()
    return given


def reported(output):
    """ptxas's own report on a kernel: (registers, shared bytes, stack bytes, spill stores, spill loads)."""
    text = output.log.split(f"Function properties for {output.lowered_names[0]}\n")[1]
    stack, stores, loads = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes", text).groups()
    used = re.search(r"Used (\d+) registers[^\n]*", text)
    shared = re.search(r"(\d+) bytes smem", used[0])
    return int(used[1]), int(shared[1]) if shared else 0, int(stack), int(stores), int(loads)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize(("source", "entry"), [(TILE, "tile<128, 8>"), (SPILLING, "spill"), (LOCAL, "pick")])
def test_cubin_resources_are_those_that_the_assembler_reports(source, entry, arch, outputs):
    kernel = compiler.compile(source, entry, arch=arch)
    registers, shared, stack, stores, loads = reported(outputs[-1])
    assert kernel.registers == registers > 0
    assert kernel.shared_bytes == shared
    assert kernel.local_bytes == stack
    assert (kernel.spill_store_bytes, kernel.spill_load_bytes) == (stores, loads)


def test_the_kinds_of_memory_are_found_where_they_are_used():
    assert compiler.compile(TILE, "tile<128, 8>").shared_bytes == 128 * 8 * 4
    assert compiler.compile(TILE, "tile<256, 2>").shared_bytes == 256 * 2 * 4
    spilling = compiler.compile(SPILLING, "spill")
    assert spilling.registers == 64  # 65536 registers / 1024 threads
    assert spilling.spill_store_bytes > 0
    assert compiler.compile(LOCAL, "pick").local_bytes >= 64 * 4


def test_every_architecture_that_the_compiler_knows_compiles():
    for arch in compiler.architectures():
        kernel = compiler.compile(TILE, "scale", arch=arch)
        assert f".target {arch}\n" in kernel.ptx
        assert kernel.registers > 0
        assert [(each.offset, each.size) for each in kernel.parameters] == [(0, 8), (8, 1), (16, 8)]


@pytest.mark.parametrize(("arch", "base"), [("sm_75", 0x160), ("sm_86", 0x160), ("sm_90", 0x210), ("sm_100", 0x380)])
def test_parameters_lie_where_the_architecture_puts_them(arch, base):
    assert compiler.compile(TILE, "scale", arch=arch).parameter_base == base


def test_parameters_have_the_names_and_types_of_the_source():
    parameters = compiler.compile(TILE, "tile<128, 8>").parameters
    assert [(each.name, each.type, each.offset, each.size) for each in parameters] == [
        ("M", "int", 0, 4),
        ("alpha", "float", 4, 4),
        ("A", "const float *", 8, 8),
        ("C", "float *", 16, 8),
    ]
    assert [each.is_pointer for each in parameters] == [False, False, True, True]


def test_structure_by_value_is_one_parameter_of_its_size():
    source = (
        'struct Map { float v[1500]; };\nextern "C" __global__ void k(float *x, Map map, int n) { x[0] = map.v[n]; }'
    )
    for arch in ("sm_86", "sm_90", "sm_100"):
        parameters = compiler.compile(source, "k", arch=arch).parameters
        assert [(each.type, each.offset, each.size) for each in parameters] == [
            ("float *", 0, 8),
            ("Map", 8, 6000),
            ("int", 6008, 4),
        ]


def test_a_parameter_that_the_text_does_not_show_is_counted():
    source = """
    #define PAIR int n, int
    extern "C" __global__ void k(float *x, PAIR) { x[0] = n; }
    """
    assert [each.name for each in compiler.compile(source, "k").parameters] == ["x", "n", "argument 3"]


def test_launch_bounds_are_known():
    assert compiler.compile(TILE, "tile<128, 8>").max_threads_per_block == 256
    assert compiler.compile(TILE, "scale").max_threads_per_block is None


def test_an_entry_may_be_extern_c_plain_or_a_template():
    names = {entry: compiler.compile(TILE, entry).lowered_name for entry in ("scale", "plain", "tile<128, 8>")}
    assert names["scale"] == "scale"
    assert names["plain"] == "_Z5plainPf"
    assert names["tile<128, 8>"].startswith("_Z4tileILi128ELi8EE")
    for entry, lowered_name in names.items():
        assert f".entry {lowered_name}(" in compiler.compile(TILE, entry).ptx


def test_several_kernels_of_a_source_are_compiled_at_once():
    kernels = compiler.compile_module(TILE, ("tile<128, 8>", "tile<256, 8>", "scale"))
    assert list(kernels) == ["tile<128, 8>", "tile<256, 8>", "scale"]
    assert [kernel.shared_bytes for kernel in kernels.values()] == [4096, 8192, 0]
    assert len({kernel.cubin for kernel in kernels.values()}) == 1


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_the_instructions_are_those_of_cupys_own_options(arch):
    kernel = compiler.compile(TILE, "tile<128, 8>", arch=arch)
    cupy_options = ("--std=c++17", "-ftz=true", f"-arch={arch}", "--device-as-default-execution-space")
    other = nvrtc.run(TILE, "x.cu", cupy_options, ("tile<128, 8>",), {}).cubin
    assert code(kernel.cubin) == code(other)


def bits(kind, value):
    """A floating-point constant as PTX stores it when the compiler has folded it: the integer of the same bits."""
    return str(int.from_bytes(struct.pack(kind, value), "little"))


def code(image):
    return {name: part.data for name, part in cubin.read(image).sections.items() if name.startswith(".text")}


def test_options_are_cupys_in_order_except_include_folders():
    core = pytest.importorskip("cupy._core.core")
    try:
        cupys = core.assemble_cupy_compiler_options(("-DBM=8",))
    except RuntimeError:
        pytest.skip("CuPy lists no options where the headers of a CUDA toolkit are missing")
    cupys = tuple(option for option in cupys if not option.startswith("-I"))
    assert build.full_options("sm_90", ("-DBM=8",))[: len(cupys)] == cupys


def test_source_without_includes_has_the_same_options_everywhere(monkeypatch):
    given = []
    run = nvrtc.run
    monkeypatch.setattr(nvrtc, "run", lambda *arguments: given.append(arguments[2]) or run(*arguments))
    monkeypatch.setattr(build, "_folders", lambda: ("-I/one", "-I/two"))
    monkeypatch.setattr(includes, "registered", tuple)
    build._compiled.cache_clear()
    compiler.compile('extern "C" __global__ void k(int *x) { x[0] = 1; }', "k")
    compiler.compile(
        ' # include "one.h"\nextern "C" __global__ void k(int *x) { x[0] = 1; }', "k", headers={"one.h": ""}
    )
    plain, including = given
    assert not [option for option in plain if option.startswith("-I")]
    assert [option for option in including if option.startswith("-I")] == ["-I/one", "-I/two"]
    assert including.index("--std=c++17") < including.index("-I/one")


@pytest.mark.parametrize(
    ("header", "statement"),
    [
        ("cuda_runtime.h", "x[0] = fmaf(1.0f, 1.0f, 0.0f);"),
        ("cuda_fp16.h", "x[0] = __half2float(__hadd(__float2half(0.5f), __float2half(0.5f)));"),
        ("cuda_bf16.h", "x[0] = __bfloat162float(__float2bfloat16(1.0f));"),
        ("cuda_fp8.h", "x[0] = float(__nv_fp8_e4m3(1.0f));"),
        ("mma.h", "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f; x[0] = f.num_elements / 8;"),
        ("cooperative_groups.h", "cooperative_groups::this_thread_block().sync(); x[0] = 1.0f;"),
        ("cuda_pipeline.h", "__pipeline_commit(); __pipeline_wait_prior(0); x[0] = 1.0f;"),
        ("cuda/std/array", "cuda::std::array<float, 2> two = {1.0f, 2.0f}; x[0] = two[0];"),
        ("cub/block/block_reduce.cuh", "x[0] = sizeof(cub::BlockReduce<int, 32>) > 0;"),
        ("cub/cub.cuh", "x[0] = sizeof(cub::BlockReduce<int, 32>) > 0 && sizeof(cub::BlockScan<int, 32>) > 0;"),
    ],
)
def test_the_headers_of_cuda_are_there_without_a_toolkit(header, statement, monkeypatch):
    source = f'#include <{header}>\nextern "C" __global__ void k(float *x) {{ {statement} }}'
    kernel = compiler.compile(source, "k")
    assert kernel.registers >= 4
    monkeypatch.setattr(includes, "registered", tuple)
    folders = [option[2:] for option in build.full_options("sm_90", (), includes=True) if option.startswith("-I")]
    assert len(folders) == 3 and all("nvidia" in folder for folder in folders), "and no toolkit among them"


def test_machine_code_is_a_whole_elf_file():
    cubin = compiler.compile('extern "C" __global__ void k(float *x) { x[0] = 1; }', "k").cubin
    tables = struct.unpack_from("<QQ", cubin, 0x20)  # where the program headers and the section headers begin
    program_size, programs, section_size, sections = struct.unpack_from("<HHHH", cubin, 0x36)
    assert len(cubin) == max(tables[0] + program_size * programs, tables[1] + section_size * sections)


def test_denormals_are_flushed_as_by_cupy_whatever_is_asked():
    source = 'extern "C" __global__ void k(float *x) { x[0] = x[1] * x[2] + x[3]; }'
    assert "fma.rn.ftz.f32" in compiler.compile(source, "k").ptx
    assert "fma.rn.ftz.f32" in compiler.compile(source, "k", options=("-ftz=false",)).ptx


def test_the_language_is_cpp_17_unless_another_is_asked_for():
    source = 'extern "C" __global__ void k(long *x) { x[0] = __cplusplus; }'
    assert "201703" in compiler.compile(source, "k").ptx
    assert "202002" in compiler.compile(source, "k", options=("-std=c++20",)).ptx


def test_macros_reach_the_source_and_the_parameters_types():
    source = 'extern "C" __global__ void k(REAL *x) { x[0] = WIDTH; }'
    kernel = compiler.compile(source, "k", options=("-DREAL=double", "-DWIDTH=7"))
    assert kernel.parameters[0].type == "double *"
    assert bits("<d", 7) in kernel.ptx


def test_a_header_can_be_given_as_text():
    source = '#include "gemm_common.cuh"\nextern "C" __global__ void k(float *x) { x[0] = scaled(3); }'
    header = "#pragma once\n__device__ float scaled(float x) { return 2 * x; }\n"
    kernel = compiler.compile(source, "k", headers={"gemm_common.cuh": header})
    assert bits("<f", 2 * 3) in kernel.ptx
    assert kernel.headers == (("gemm_common.cuh", header),)


def test_ptx_names_the_source_by_the_name_it_was_given():
    kernel = compiler.compile(TILE, "scale", filename="cuda/scale.cu")
    assert re.findall(r'\.file\s+\d+ "(.*)"', kernel.ptx) == ["cuda/scale.cu"]


def test_warnings_are_logged_and_the_assemblers_report_is_not():
    source = 'extern "C" __global__ void k(float *x) {\n    int idle = 3;\n    x[0] = 1;\n}\n'
    assert compiler.compile(source, "k").log == (
        'kernel.cu:2: warning: variable "idle" was declared but never referenced\n'
        "    2 |     int idle = 3;\n"
        "      |         ^"
    )
    assert compiler.compile(TILE, "scale").log == ""


def test_the_compilers_version_is_known():
    kernel = compiler.compile(TILE, "scale")
    major, minor = kernel.compiler_version
    assert f"release {major}.{minor}" in kernel.ptx


def test_a_second_compilation_is_taken_from_memory():
    assert compiler.compile(TILE, "scale") is compiler.compile(TILE, "scale")


def test_nothing_is_printed_or_warned_of_without_a_gpu():
    program = "from gpusim import compiler; compiler.compile('__global__ void k(int *x) { x[0] = 1; }', 'k')"
    command = [sys.executable, "-W", "error", "-c", program]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_bytes_that_are_no_cubin_are_refused():
    with pytest.raises(ValueError, match="64-bit little-endian ELF"):
        cubin.read(b"not a cubin")
    whole = compiler.compile(TILE, "scale").cubin
    with pytest.raises(ValueError, match="not a whole CUBIN"):
        cubin.read(whole[: len(whole) // 2])
