"""Kernels from books and forums: what nvcc's host headers bring is there, and no line changes its number."""

from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim import compiler, errors
from gpusim.compiler.build import include_options
from gpusim.compiler.errors import CompileError
from gpusim.compiler.portable import _CUB, _CUB_FUNCTIONS, HOST_HEADERS, _headers_of_cub, adapted

BODY = 'extern "C" __global__ void k(float *x) {\n    x[threadIdx.x] = 1.0f;\n}\n'


def ran(source: str, output: np.ndarray) -> np.ndarray:
    gpusim.RawModule(code=source).get_function("k")((1,), (len(output),), (output,))
    return output


def test_a_source_that_needs_nothing_is_returned_as_it_is():
    assert adapted(BODY) is BODY or adapted(BODY) == BODY


@pytest.mark.parametrize("header", ["cstdio", "algorithm", "cassert", "stdlib.h", "cublas_v2.h", "iostream", "cmath"])
def test_a_header_of_the_host_is_allowed(header):
    assert header in HOST_HEADERS
    source = f"#include <{header}>\n{BODY}"
    assert ran(source, np.zeros(4, np.float32)).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("uint i = 3000000000u; x[0] = i > 2000000000u;", 1),
        ("uint32_t i = 0xffffffff; x[0] = (i + 1) == 0;", 1),
        ("int64_t i = int64_t(1) << 40; x[0] = i > 1000000000;", 1),
        ("uchar i = 255; i += 1; x[0] = i;", 0),
        ("x[0] = -INFINITY;", -np.inf),
        ("x[0] = FLT_MAX;", np.finfo(np.float32).max),
        ("x[0] = INT_MAX == 2147483647 && INT_MIN < 0;", 1),
        ("x[0] = isnan(NAN);", 1),
        ("x[0] = M_PI;", np.float32(np.pi)),
        ("x[0] = M_PI_2 + M_PI_4 + M_1_PI + M_LN2;", np.float32(0.75 * np.pi + 1 / np.pi + np.log(2))),
        ("x[0] = HUGE_VALF; if (!(1e300 < HUGE_VAL && isinf(HUGE_VAL))) x[0] = 0;", np.inf),
        ("x[0] = LONG_MAX == INT64_MAX && UINT32_MAX == UINT_MAX && LONG_MIN + LONG_MAX == -1;", 1),
        ("x[0] = USHRT_MAX + SHRT_MIN + UCHAR_MAX + SCHAR_MIN + INT8_MIN;", 65535 - 32768 + 255 - 256),
        ("assert(x != nullptr); x[0] = 1;", 1),
        ("x[0] = std::sqrt(25.0f) + std::max(3, 4) + std::abs(-2.5f) + std::pow(2.0f, 3.0f);", 19.5),
        ("x[0] = std::fmin(3.0, 2.0) + sizeof(std::sqrt(4.0f)) + std::isnan(NAN) + (std::int16_t)65537;", 8),
        ("x[0] = -std::numeric_limits<float>::infinity() < std::numeric_limits<int>::min();", 1),
        ("x[0] = -__FLT_MAX__ < -__FLT_MIN__ && __INT_MAX__ == INT_MAX && __CHAR_BIT__ == 8;", 1),
        ("x[0] = CUDART_INF_F > 1 && isnan(CUDART_NAN);", 1),
        (
            "std::conditional_t<(sizeof(x[0]) > 4), double, int64_t> two = 2.5; std::size_t n = 1; x[0] = two;"
            "if (std::is_same<std::size_t, decltype(sizeof(n))>::value && std::is_integral_v<uint8_t>) x[0] += n;",
            3,
        ),
        (
            "std::array<float, 3> a = {1, 2, 4}; std::swap(a[0], a[1]); std::pair<int, float> p = {3, a[0]};"
            "auto [first, second] = std::make_tuple(p, 0.5f); x[0] = 10 * first.first + first.second + second;",
            32.5,
        ),
    ],
)
def test_names_that_the_hosts_headers_bring_exist(statement, expected):
    source = f'extern "C" __global__ void k(float *x) {{ {statement} }}'
    assert ran(source, np.zeros(1, np.float32))[0] == expected


@pytest.mark.parametrize(("header", "prefix"), [("cupy/complex.cuh", ""), ("thrust/complex.h", "thrust::")])
def test_complex_numbers_of_cupy_and_of_thrust_are_those_of_cuda(header, prefix):
    source = f"""#include <{header}>
extern "C" __global__ void turn(const {prefix}complex<float> *a, {prefix}complex<float> *b) {{
    {prefix}complex<float> i(0, 1);
    b[threadIdx.x] = i * conj(a[threadIdx.x]) + {prefix}complex<float>(abs(a[threadIdx.x]));
}}"""
    a = np.array([3 + 4j, -1j, 2], np.complex64)
    b = np.zeros_like(a)
    gpusim.RawModule(code=source).get_function("turn")((1,), (3,), (a, b))
    assert np.allclose(b, 1j * a.conj() + abs(a))


@pytest.mark.parametrize(
    "header", ["cuda/std/array", "cuda/std/limits", "cuda/barrier", "cub/cub.cuh", "cupy/complex.cuh"]
)
def test_the_names_exist_beside_headers_that_bring_some_of_them(header):
    types = ("uint", "uchar", "int8_t", "uint32_t", "int64_t", "uint64_t", "uintptr_t")
    sizes = " + ".join(f"sizeof({type_})" for type_ in types)
    source = f'#include <{header}>\nextern "C" __global__ void k(float *x) {{ x[0] = {sizes}; }}'
    assert ran(source, np.zeros(1, np.float32))[0] == 4 + 1 + 1 + 4 + 8 + 8 + 8


def test_compiler_warnings_about_cudas_own_headers_are_hidden():
    source = """#include <cub/block/block_reduce.cuh>
__global__ void k(float *x) {
    using Sum = cub::BlockReduce<float, 64>;
    __shared__ typename Sum::TempStorage kept;
    int nobody_reads = 3;
    x[0] = Sum(kept).Sum(x[threadIdx.x]);
}"""
    log = compiler.compile(source, "k").log
    assert "nobody_reads" in log and "cub/" not in log


@pytest.mark.parametrize(
    "source",
    [
        f"typedef unsigned int uint;\n{BODY.replace('x[thr', 'uint i = 0; x[i + thr')}",
        f"using uint = unsigned;\n{BODY.replace('x[thr', 'uint i = 0; x[i + thr')}",
        f"#define INFINITY 1e30f\n{BODY.replace('1.0f', 'INFINITY > 0')}",
        BODY.replace("x[threadIdx.x] = 1.0f;", "int half = 1; x[threadIdx.x] = half;"),
        BODY.replace("1.0f", "1.0f /* uint and INFINITY */"),
    ],
)
def test_what_a_source_defines_itself_stays_its_own(source):
    assert ran(source, np.zeros(2, np.float32)).tolist() == [1, 1]


def test_lines_keep_their_numbers_whatever_is_put_before_them():
    source = f"#include <cstdio>\n#include <algorithm>\n{BODY.replace('1.0f', 'uint(INFINITY) + missing')}"
    with pytest.raises(CompileError, match=r'kernel.cu:4: error: identifier "missing" is undefined') as raised:
        compiler.compile(source, "k")
    assert "    4 |     x[threadIdx.x] = uint(INFINITY) + missing;" in str(raised.value)


def test_a_line_of_the_simulators_messages_is_the_sources_too():
    source = f"#include <cstdio>\n{BODY.replace('1.0f', 'uint(2)')}"
    with pytest.raises(errors.OutOfBounds, match="line 3: .*uint"):
        gpusim.RawModule(code=source).get_function("k")((1,), (8,), (np.zeros(4, np.float32),))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("int main() { float *x; cudaMalloc(&x, 4); return 0; }", "cudaMalloc"),
        ("void start(float *x) { k<<<1, 4>>>(x); }", "<<< >>>"),
        ("void call() { cublasHandle_t handle; }", "cublas"),
    ],
)
def test_host_code_is_answered_by_where_it_belongs(code, said):
    with pytest.raises(CompileError, match="host code") as raised:
        compiler.compile(f"{BODY}{code}\n", "k")
    assert "gpu.RawModule" in str(raised.value) and said in str(raised.value)


def test_of_cub_a_kernel_gets_the_classes_that_it_names():
    source = "#include <cub/cub.cuh>\nusing A = cub::BlockRadixSort<int, 64, 2>;\nusing B = cub::WarpReduce<int>;\n"
    added = adapted(source).split("#line 1")[0].split("\n")
    assert added == ["#include <cub/block/block_radix_sort.cuh>", "#include <cub/warp/warp_reduce.cuh>", ""]


@pytest.mark.parametrize(
    "uses",
    [
        "int v[4]; cub::LoadDirectBlocked(threadIdx.x, x, v); cub::StoreDirectStriped<32>(threadIdx.x, x, v);",
        "int v[4] = {1, 2, 3, 4}; x[0] = cub::ThreadReduce(v, cub::Sum());",
        "typedef cub::WarpReduce<int> R; __shared__ R::TempStorage t; x[0] = R(t).Reduce(x[threadIdx.x], cub::Max());",
        "x[cub::WarpId()] = cub::ThreadLoad<cub::LOAD_CG>(x);",
    ],
)
def test_of_cub_a_kernel_gets_the_functions_that_it_calls(uses):
    source = f'#include <cub/cub.cuh>\nextern "C" __global__ void k(int *x) {{ {uses} }}\n'
    assert compiler.compile(source, "k", options=("-std=c++17",)).cubin


def test_everything_of_cub_that_is_known_has_its_header():
    folder = next(Path(option.removeprefix("-I")) for option in include_options("#include <x>") if "cccl" in option)
    headers = _headers_of_cub(_CUB | {name for names in _CUB_FUNCTIONS.values() for name in names})
    assert len(headers) > len(_CUB_FUNCTIONS) and not [name for name in headers if not (folder / name).is_file()]


@pytest.mark.parametrize("header", ["cooperative_groups.h", "cooperative_groups/reduce.h", "cuda_pipeline.h", "mma.h"])
def test_host_types_may_be_used_beside_headers_that_name_them(header):
    body = """
    extern "C" __global__ void k(float *x) {
        uintptr_t at = reinterpret_cast<uintptr_t>(x);
        int64_t far = int64_t(1) << 40;
        x[threadIdx.x] = at % 4 == 0 && uint64_t(far) > uint32_t(-1);
    }"""
    assert ran(f"#include <{header}>\n{body}", np.zeros(4, np.float32)).tolist() == [1, 1, 1, 1]
