"""What a learner reads when a source does not compile: every message by its text."""

import pytest

from gpusim import compiler
from gpusim.compiler import CompileError, UnknownArchitecture, UnknownKernel, diagnostics


@pytest.fixture(autouse=True)
def _no_disk_cache(monkeypatch):
    monkeypatch.setenv("GEMM_COURSE_CACHE", "off")


def message(source, entry="k", kind=CompileError, **kwargs):
    with pytest.raises(kind) as raised:
        compiler.compile(source, entry, **kwargs)
    assert type(raised.value) is kind
    return str(raised.value)


def test_an_error_shows_the_compilers_words_the_line_and_a_caret():
    source = "__global__ void k(float *C, int N) {\n    int row = threadIdx.x;\n    C[row * N + colum] = 0;\n}\n"
    assert message(source) == (
        'kernel.cu:3: error: identifier "colum" is undefined\n'
        "    3 |     C[row * N + colum] = 0;\n"
        "      |                 ^"
    )


def test_caret_is_right_after_tabs_and_multibyte_letters():
    source = "__global__ void k(int *x) {\n\t\tx[0] = /* größe → */ \tsize;\n}\n"
    text, caret = message(source).split("\n")[1:]
    assert text == "    2 | \t\tx[0] = /* größe → */ \tsize;"
    assert caret.endswith("^")
    assert caret.count("\t") == 3  # tabs stay tabs, so that both lines are equally wide
    assert len(caret) - 1 == text.index("size")


def test_windows_line_ends_do_not_move_the_caret():
    source = "__global__ void k(int *x) {\r\n    x[0] = y;\r\n}\r\n"
    assert message(source).split("\n")[1:] == ["    2 |     x[0] = y;", "      |            ^"]


def test_several_errors_are_shown_and_the_rest_is_counted():
    source = "__global__ void k(int *x) {\n" + "".join(f"    x[{i}] = missing_{i};\n" for i in range(8)) + "}\n"
    paragraphs = message(source).split("\n\n")
    assert [paragraph.split("\n")[0] for paragraph in paragraphs] == [
        *(f'kernel.cu:{i + 2}: error: identifier "missing_{i}" is undefined' for i in range(5)),
        "… and 3 more errors; the first one is often their cause",
    ]


def test_an_error_in_an_included_header_shows_the_headers_line():
    source = '#include "tile.cuh"\n__global__ void k(float *x) { x[0] = f(1); }\n'
    header = "#pragma once\n__device__ float f(float x) {\n    return x * scale;\n}\n"
    assert message(source, headers={"tile.cuh": header}) == (
        'tile.cuh:3: error: identifier "scale" is undefined\n    3 |     return x * scale;\n      |                ^'
    )


def test_a_missing_brace_shows_the_one_that_was_never_closed():
    assert message("__global__ void k(int *x) {\n    x[0] = 1;\n") == (
        'error: expected a "}" (the source ends before it)\n'
        'kernel.cu:1: note: to match this "{"\n'
        "    1 | __global__ void k(int *x) {\n"
        "      |                           ^"
    )


def test_a_static_assertion_names_its_instantiation():
    source = (
        'template <int B> __global__ void k(int *x) {\n    static_assert(B % 32 == 0, "B must be whole warps");\n}\n'
    )
    shown = message(source, "k<33>")
    assert shown.startswith('kernel.cu:2: error: static assertion failed with "B must be whole warps"\n    2 | ')
    assert "with B=33" in shown


def test_argument_types_of_an_unresolved_call_are_shown():
    source = "__global__ void k(int *x) {\n    atomicAdd(&x, 3);\n}\n"
    assert message(source) == (
        'kernel.cu:2: error: no instance of overloaded function "atomicAdd" matches the argument list\n'
        "    argument types are: (int **, int)\n"
        "    2 |     atomicAdd(&x, 3);\n"
        "      |     ^"
    )


def test_a_missing_header_is_explained():
    shown = message('#include "nope.h"\n__global__ void k(int *x) {}\n', headers={"other.h": ""})
    assert shown.split("\n")[-1] == (
        "    NVRTC found no nope.h. The headers given are: other.h. It compiles device code alone, without the C and "
        "C++ standard headers; functions such as sqrtf, fmaf and printf need no #include. CUDA's own headers, such as "
        "cuda_fp16.h and mma.h, come with the course: if they are missing, `make lab` sets it up again."
    )


def test_too_much_static_shared_memory_is_explained():
    source = """__global__ void k(float *x) {
        __shared__ float tile[100000];
        tile[threadIdx.x] = x[0];
        __syncthreads();
        x[threadIdx.x] = tile[99 - threadIdx.x];
    }"""
    assert message(source) == (
        "error: ptxas: Entry function 'k' uses too much shared data (0x61a80 bytes, 0xc000 max)\n"
        "    The __shared__ arrays take 400000 bytes; arrays of fixed size may take 49152 bytes a block. Use smaller "
        "tiles, or dynamic shared memory (extern __shared__) for more."
    )


def test_a_function_without_a_body_is_explained():
    source = "__device__ int helper(int);\n__global__ void k(int *x) { x[0] = helper(x[1]); }\n"
    assert message(source) == (
        "fatal: ptxas: Unresolved extern function 'helper'\n"
        "    The source declares this function and calls it, but never defines it."
    )


def test_wrong_inline_ptx_is_shown_with_the_line_it_is_from():
    source = (
        '__global__ void k(int *x) {\n    int y = x[0];\n    asm volatile("mov.u3 %0, 1;" : "=r"(y));\n    x[0] = y;\n}'
    )
    shown = message(source)
    assert shown.startswith("kernel.cu:3: error: ptxas, the assembler: ")
    assert '\n    3 |     asm volatile("mov.u3 %0, 1;" : "=r"(y));\n    in the PTX: mov.u3 %r' in shown
    assert "aborted due to errors" not in shown


KERNELS = """
template <int BM, int BK> __global__ void tile(float *x) { x[BM] = BK; }
extern "C" __global__ void plain(float *x) { x[0] = 1; }
__device__ float twice(float x) { return 2 * x; }
"""


def test_an_unknown_kernel_is_answered_with_those_there_are():
    assert message(KERNELS, "sgemm", UnknownKernel) == (
        "no kernel called sgemm in this source; it has: tile<BM, BK>, plain"
    )
    assert message("int x;", "sgemm", UnknownKernel) == (
        "no kernel called sgemm in this source; it has no __global__ function"
    )


def test_a_template_without_arguments_is_explained():
    assert message(KERNELS, "tile", UnknownKernel) == (
        "tile is a template, tile<BM, BK>: write it without template, or say which instantiation is meant, in the way "
        'of "tile<8, 8>"'
    )


def test_a_device_function_is_no_kernel():
    assert message(KERNELS, "twice", UnknownKernel) == (
        "twice is not a kernel: this source declares it without __global__; it has: tile<BM, BK>, plain"
    )


def test_two_kernels_of_one_name_are_explained():
    source = "__global__ void k(int *x) {}\n__global__ void k(float *x) {}\n"
    assert message(source, "k", UnknownKernel) == (
        "this source has 2 kernels called k, and it is not clear which is meant; give each its own name"
    )


def test_an_error_in_the_source_comes_before_an_unknown_kernel():
    shown = message("__global__ void k(int *x) { x[0] = y; }", "other")
    assert 'identifier "y" is undefined' in shown
    assert "other" not in shown


def test_an_unknown_architecture_is_answered_with_the_known_ones():
    shown = message(KERNELS, "plain", UnknownArchitecture, arch="sm_42")
    assert shown.startswith("'sm_42' is not an architecture that this compiler (NVRTC ")
    assert f"It knows: {', '.join(compiler.architectures())}. " in shown
    assert message(KERNELS, "plain", UnknownArchitecture, arch=(9, 0)).startswith("(9, 0) is not an architecture")


def test_wrong_options_are_named():
    assert message(KERNELS, "plain", options=("--nope",)) == (
        "NVRTC, the compiler that CuPy's RawModule and the simulator use, does not know the option '--nope'; it has "
        "fewer than nvcc. Leave it out."
    )
    assert message(KERNELS, "plain", options="-DX=1") == (
        "options must be a tuple of strings such as ('-DX=1',), and this is one string"
    )
    assert message(KERNELS, "plain", options=("-arch=sm_80",)) == (
        "the option '-arch=sm_80' is not allowed here: CuPy adds its own -arch for the GPU it finds. "
        'Leave it out; without a GPU, give arch="sm_90" beside the options.'
    )
    assert message(KERNELS, "plain", options=(3,)) == "the option 3 is of type int; options are strings"


def test_a_source_that_is_no_text_gets_a_sentence():
    assert message(None, "k") == (
        "the source is of type NoneType; expected the CUDA C++ text itself, a str. "
        'For a file, give pathlib.Path("kernel.cu").read_text().'
    )
    assert message(KERNELS, "") == 'the kernel\'s name is \'\'; expected text such as "sgemm" or "sgemm<32>"'


def test_a_message_without_a_caret_still_shows_the_line():
    (diagnostic,) = diagnostics.parse('kernel.cu(2): error: something is wrong\n\n1 error detected in "kernel.cu".\n')
    assert diagnostics.render(diagnostic, {"kernel.cu": "one\n  two\n"}) == (
        "kernel.cu:2: error: something is wrong\n    2 |   two"
    )


HOST = """__global__ void k(float *x) { x[0] = 1.0f; }
int main() {
    float *d;
    cudaMalloc(&d, 4);
    k<<<1, 1>>>(d);
    cudaFree(d);
    std::cout << "done";
}
"""


def test_host_code_is_named_once_with_its_other_lines():
    sentence = message("#include <iostream>\n" + HOST)
    assert sentence.count("is host code: to allocate, to copy and to launch is Python's part here") <= 2  # and <<< >>>
    assert 'identifier "cudaMalloc" is undefined' in sentence and '"cudaFree"' not in sentence
    assert "Host code, too: lines 7, 8. Leave out main and every other function that runs on the CPU." in sentence


def test_header_of_the_sources_project_is_to_be_left_out():
    sentence = message('#include "utils/common.h"\n' + HOST.split("int main")[0])
    assert "utils/common.h is a file of the project that this source comes from" in sentence
    assert "NVRTC found no" not in sentence


def test_kernel_that_launches_kernels_is_said_not_to_be_modelled():
    sentence = message("__global__ void c(int *o) { o[0] = 1; }\n__global__ void k(int *o) { c<<<1, 1>>>(o); }")
    assert (
        "<<< >>> is host code" in sentence
        and "Kernels that launch kernels, dynamic parallelism, are not modelled" in sentence
    )


def test_a_header_of_curand_is_said_to_be_a_package_of_its_own():
    sentence = message("#include <curand_kernel.h>\n" + HOST.split("int main")[0])
    assert "curand_kernel.h belongs to cuRAND" in sentence and "`%pip install nvidia-curand-cu12` in a cell" in sentence
    assert "then restart the kernel" in sentence


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("C[0] = __shfl_xor(C[1], 1);", "before CUDA 9. .* __shfl_xor_sync(0xffffffff, …)."),
        ("C[0] = __ballot(C[1] > 0);", "before CUDA 9. .* __ballot_sync(0xffffffff, …)."),
        ("float row[n]; row[0] = 1; C[0] = row[0];", "extern __shared__ float tile[]; with shared_mem=…"),
        ("auto twice = [] __device__(float x) { return 2 * x; }; C[0] = twice(1);", "leave __device__ out"),
        ("extern __shared__ float s[]; C[0] = s[0]; { extern __shared__ int s[]; }", "must be of one type"),
    ],
)
def test_what_the_compilers_words_leave_open_is_said(body, said):
    before, _, after = said.partition(".* ")
    sentence = message(f"__global__ void k(float *C, int n) {{ {body} }}")
    assert before in sentence and after in sentence


def test_texture_references_are_said_to_be_objects_today():
    sentence = message("texture<float, 2> image;\n__global__ void k(float *C) { C[0] = tex2D(image, 1, 2); }")
    assert (
        "References such as texture<float, 2> went with CUDA 12" in sentence
        and "gpu.cuda.texture makes them" in sentence
    )


def test_host_headers_with_device_equivalents_are_named():
    kernel = "\n__global__ void k(float *C) { C[0] = 1; }"
    assert "finds it as <cuda/std/atomic>, with its names in cuda::std." in message("#include <atomic>" + kernel)
    assert "Thrust's functions are called by host code" in message("#include <thrust/sort.h>" + kernel)


def test_missing_semicolon_is_sought_at_the_previous_lines_end():
    sentence = message("__global__ void k(float *C) {\n    int a = 1\n    int b = 2;\n    C[0] = a + b;\n}")
    assert "Look at the end of line 2: the ; is missing there." in sentence and sentence.count("error:") == 1
    assert "end of line" not in message("__global__ void k(float *C) {\n    int a = 1 int b;\n}")


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("if (n > 8) return\n\n    float a = 1;\n    C[0] = a;", "Look at the end of line 2: the ; is missing there."),
        ("float a = 1  // mine\n    C[0] = a;", "end of line 2, in front of the comment: the ; is missing there."),
        ("float a = n // of them;\n    C[0] = a;", "In line 2 the ; is part of a comment: it must stand in front"),
        ("int a = blockIdx.x // blockDim.x;\n    C[0] = a;", "Whole numbers are divided with /, which rounds down."),
        ("C[n = 1.0f;", 'expected a "]" to match this "["'),
        ("if (n > (8) C[0] = 1;\n    C[1] = 2;", "The ( is not closed before the ;: a ) is missing between them."),
        ("for (int k = 0; k < n; ++k C[k] = 1;", "The ( is not closed before the ;: a ) is missing between them."),
        ("for (int k = 0, k < n, ++k) C[k] = 1;", "separated by ; and not by , : for (int k = 0; k < n; ++k)"),
        ("if (n) {\n    C[0] = 1;\n    else C[0] = 2;", "The { is not closed before the else in line 4"),
        ("C[0] = 1; }\n    C[1] = 2;", "The } in line 2 closes the { of line 1 already"),
        ("C[0] = 2 n;", "Nothing stands between 2 and n: there an operator is missing"),
        ("C[0] = 2 C[1] = n;", "In front of C a statement has no end"),
        ("int i = 0;\n    if (index < n) C[index] = 1;", 'identifier "index" is undefined'),
    ],
)
def test_where_punctuation_breaks_off_one_error_is_shown(body, hint):
    sentence = message(f"__global__ void k(float *C, int n) {{\n    {body}\n}}")
    assert hint in sentence and sentence.count("error:") == 1


@pytest.mark.parametrize(
    "body",
    [
        "auto f = [&](int i) { return i; };\n    C[f(n)] = missing;",
        "#if 1\n    if (n) {\n#else\n    {\n#endif\n    C[0] = missing; }",
        "if (n) C[0] = 1; else C[0] = 2;\n    if (n) { if (n > 1) C[0] = 1; else C[0] = missing; }",
        "for (int k = 0, j = 1; k < n; ++k, ++j) C[k] = missing;",
        'C[0] = 1; // an open ( and a "[\n    C[1] = missing;',
    ],
)
def test_brackets_that_match_are_not_said_to_break_off(body):
    sentence = message(f"__global__ void k(float *C, int n) {{\n    {body}\n}}")
    assert 'identifier "missing" is undefined' in sentence and "match this" not in sentence and "closes" not in sentence


def test_two_indices_of_a_flat_array_get_how_rows_lie():
    sentence = message("__global__ void k(float *C, int N) {\n    C[threadIdx.y][threadIdx.x] = 0;\n}")
    assert "element (row, col) of rows that are W numbers long is C[row * W + col]" in sentence


def test_a_case_that_is_no_constant_is_no_array_without_a_size():
    sentence = message("__global__ void k(float *C, int n) {\n    switch (n) { case n: C[0] = 1; }\n}")
    assert "expression must have a constant value" in sentence and "An array has a size" not in sentence


def test_one_mistake_in_several_lines_is_explained_once():
    body = "    int T = blockDim.x;\n    __shared__ float As[T][T];\n    __shared__ float Bs[T][T];\n"
    sentence = message(f"__global__ void k(float *C) {{\n{body}    C[0] = As[0][0] + Bs[0][0];\n}}")
    assert sentence.count("An array has a size that is known") == 1 and sentence.endswith("The same in line 4.")


def test_the_many_functions_that_do_not_fit_are_not_listed():
    sentence = message("__global__ void k(float *x) { atomicAdd(*x, 1.0f); }")
    assert 'no instance of overloaded function "atomicAdd"' in sentence and sentence.count("note:") < 5


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("for i in range(K): sum += A[i];", "for (int i = 0; i < K; ++i) { … }"),
        ("for i in range(1, K, 2): sum += A[i];", "for (int i = 1; i < K; i += 2) { … }"),
        ("if row < K: sum = 1.0f;", "what depends on it in braces: if (…) { … }"),
        ("if (row < K):", "what depends on it in braces: if (…) { … }"),
        ("elif (row < K) { sum = 1.0f; }", "what depends on it in braces: else if (…) { … }"),
        ("else:", "braces hold what belongs to it: else { … }"),
        ("# load", "a comment begins with //, not with #."),
        ("int warp = row // 32;", "Whole numbers are divided with /, which rounds down."),
        ("bool odd = True;", "In C++: true."),
        ("col = row;", "declared with its type when it gets its first value: int col = …"),
        ("for (i = 0; i < K; ++i) sum += A[i];", "declared with its type when it gets its first value: int i = …"),
    ],
)
def test_a_line_of_python_gets_its_form_in_cpp(line, hint):
    source = (
        "__global__ void k(int K, float *A) {\n    int row = threadIdx.x;\n    float sum = 0.0f;\n"
        f"    {line}\n    A[row] = sum;\n}}\n"
    )
    first = message(source).split("\n\n")[0]
    assert first.endswith(hint) or hint in first.splitlines()[-1]


def test_errors_that_follow_from_a_loop_of_python_are_not_shown():
    source = "__global__ void k(int K, float *A) {\n    for i in range(K):\n        A[i] = 0;\n}\n"
    assert message(source).count("error:") == 1


@pytest.mark.parametrize(
    "line", ["if constexpr (true) sum = missing;", "sum = row == 1 ? missing : 2;", "if (row < 1) { sum = missing; }"]
)
def test_lines_of_cpp_are_not_taken_for_python(line):
    source = (
        f"__global__ void k(float *A) {{\n    int row = 0;\n    float sum = 0;\n    {line}\n    A[row] = sum;\n}}\n"
    )
    assert "Python" not in message(source) and "In C++" not in message(source)


# ---- a compiler that crashes

WGMMA = """
extern "C" __global__ void kernel(float *o, unsigned long long given) {
    float d[4] = {};
    asm volatile("wgmma.fence.sync.aligned;");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(DESCRIPTOR));
    o[threadIdx.x] = d[0];
}"""


def test_crashing_source_gets_a_sentence_and_the_session_goes_on():
    with pytest.raises(compiler.CompileError, match="crashed on this source") as caught:
        compiler.compile(WGMMA.replace("DESCRIPTOR", "0ull"), "kernel", arch="sm_90a")
    assert "make descriptors at run time" in str(caught.value)
    assert compiler.compile(WGMMA.replace("DESCRIPTOR", "given"), "kernel", arch="sm_90a").registers > 0


@pytest.mark.parametrize("arch", ["sm_90", "sm_120a"])
def test_warp_group_products_elsewhere_are_said_to_be_hoppers(arch):
    with pytest.raises(compiler.CompileError, match=f"not supported on .target '{arch}'") as caught:
        compiler.compile(WGMMA.replace("DESCRIPTOR", "given"), "kernel", arch=arch)
    assert str(caught.value).count('Hopper\'s alone, arch="sm_90a"') == 1 and "tcgen05" not in str(caught.value)
