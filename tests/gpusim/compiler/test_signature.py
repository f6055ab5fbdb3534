"""Kernel and parameter names read from source text."""

import pytest

from gpusim.compiler.signature import declared_parameters, kernel_names, parameter_names, signatures

SGEMM = """
// __global__ void commented_out(int wrong);
/* template <int X> __global__ void also_out(int wrong); */
template <const int BM, int BN = 2 * (4 + 4), typename T = float>
__global__ void
__launch_bounds__((BM * BN) / (8 * 8), 1)   // a comment, with a comma (and brackets)
sgemm(
    int M, int N /* columns, of C */,
    int K,
    float alpha,
    const float* __restrict__ A,
    float const * const __restrict__ B, float beta,
    T *C)
{
    helper(M, N);
}
"""


def test_signature_with_lines_comments_and_templates_is_read():
    assert parameter_names(SGEMM, "sgemm<128, 16>") == ("M", "N", "K", "alpha", "A", "B", "beta", "C")
    assert [each.type for each in declared_parameters(SGEMM, "sgemm")] == [
        "int",
        "int",
        "int",
        "float",
        "const float *",
        "float const *",
        "float",
        "T *",
    ]
    assert declared_parameters(SGEMM, "sgemm<128, 16, double>")[-1].type == "double *"
    assert kernel_names(SGEMM) == ("sgemm<BM, BN, T>",)


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("float *x", [("float *", "x")]),
        ("float* x, float*y", [("float *", "x"), ("float *", "y")]),
        ("unsigned int n", [("unsigned int", "n")]),
        ("unsigned n, long long m", [("unsigned", "n"), ("long long", "m")]),
        ("const volatile int * __restrict__ p", [("const volatile int *", "p")]),
        ("float **rows", [("float **", "rows")]),
        ("const float *const *const rows", [("const float *const *", "rows")]),
        ("float x[]", [("float *", "x")]),
        ("float tile[4][8]", [("float *", "tile")]),
        ("cuda::std::array<float, 4> a", [("cuda::std::array<float, 4>", "a")]),
        ("Pair<Pair<int, float>, 2> p, int n", [("Pair<Pair<int, float>, 2>", "p"), ("int", "n")]),
        ("float (*f)(float, int), int n", [("float (*)(float, int)", "f"), ("int", "n")]),
        ("const __grid_constant__ CUtensorMap map", [("const CUtensorMap", "map")]),
        ("struct Big big", [("struct Big", "big")]),
        ("[[maybe_unused]] int n", [("int", "n")]),
        ("int n = 3, float x = f(1, 2)", [("int", "n"), ("float", "x")]),
        ("int, const float *, unsigned long", [("int", ""), ("const float *", ""), ("unsigned long", "")]),
        ("ns::Type", [("ns::Type", "")]),
        ("const Type", [("const Type", "")]),
        ("void", []),
        ("", []),
    ],
)
def test_parameters_of_all_kinds_are_read(declaration, expected):
    (signature,) = signatures(f"__global__ void k({declaration}) {{}}")
    assert [(each.type, each.name) for each in signature.parameters] == expected


def test_a_parameter_without_a_name_is_called_by_its_place():
    assert parameter_names("__global__ void k(float *A, int, int N) {}", "k") == ("A", "argument 2", "N")


@pytest.mark.parametrize(
    "head",
    [
        'extern "C" __global__ void',
        'extern "C" __global__ void __launch_bounds__(256)',
        "static __global__ void",
        "__global__ static void",
        "__global__ __launch_bounds__(256, 2) void",
        "void __global__",
        "__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128)",
        "template <int N, class = void> __global__ void",
        "namespace inner { __global__ void",
        "inline __attribute__((always_inline)) __global__ void",
    ],
)
def test_attributes_and_their_order_do_not_matter(head):
    assert parameter_names(f"{head} k(int n, float *x) {{}}", "inner::k<3>") == ("n", "x")


def test_object_macros_are_expanded():
    source = """
    #define RESTRICT __restrict__
    #define REAL float
    #define MATRIX const REAL *RESTRICT
    #define KERNEL extern "C" __global__ void
    KERNEL k(MATRIX A, \\
             REAL *C) {}
    """
    assert [(each.type, each.name) for each in declared_parameters(source, "k")] == [
        ("const float *", "A"),
        ("float *", "C"),
    ]


def test_a_macro_that_names_itself_does_not_hang():
    assert parameter_names("#define A B\n#define B A\n__global__ void k(A x) {}", "k") == ("x",)


def test_definition_with_the_right_parameter_count_is_taken():
    source = """
    #if USE_BETA
    __global__ void k(float *A, float *B, float beta) {}
    #else
    __global__ void k(float *X, float *Y) {}
    #endif
    """
    assert [each.name for each in declared_parameters(source, "k", 2)] == ["X", "Y"]
    assert [each.name for each in declared_parameters(source, "k", 3)] == ["A", "B", "beta"]
    assert declared_parameters(source, "k", 4) is None


def test_an_explicit_specialisation_is_read():
    source = "template <class T> __global__ void k(T *x);\ntemplate <> __global__ void k<float>(float *y) {}"
    assert [signature.parameters[0].name for signature in signatures(source)] == ["x", "y"]
    assert kernel_names(source) == ("k<T>", "k")


def test_text_in_strings_is_no_code():
    source = 'const char *s = "__global__ void fake(int a)"; const char *r = R"(__global__ void raw(int b))";'
    assert kernel_names(source + "__global__ void real(int c) {}") == ("real",)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "__global__",
        "__global__ void",
        "__global__ void k(",
        "__global__ void k(int a, float",
        "}{)(><",
        "/* open",
        "#define",
    ],
)
def test_broken_text_never_fails(source):
    assert parameter_names(source, "nope") == ()
    kernel_names(source)
