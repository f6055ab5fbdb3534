"""Why a kernel does not compile is proven by its text: the order, the braces, the statement that an if swallowed."""

import pytest

from gpusim.compiler import CompileError
from helpers import exercises
from helpers.exercises.framework import compiler_errors, text_slips
from helpers.run import simulated
from tests.exercises.typed import CAUSE, slips

UNDEFINED = 'kernel.cu:{}: error: identifier "{}" is undefined'


def said(line: int, name: str, *lines: str) -> str:
    return compiler_errors.explanation(UNDEFINED.format(line, name), "\n".join(lines))


@pytest.mark.parametrize(
    ("line", "name", "lines", "reason"),
    [
        (2, "y", ("{", "int row = y;", "const int x = 1, y = 2;", "}"), "y is declared in line 3, below line 2"),
        (2, "s", ("{", "s[0] = 1;", "__shared__ float r[8], s[8];", "}"), "s is declared in line 3, below line 2"),
        (2, "a", ("{", "b = a; int a = 1;", "}"), "a is declared in line 2, behind its use in line 2"),
        (3, "b", ("{", "auto f = [&](int b, int k) {};", "As[b] = 0;", "int b = 0;", "}"), "Line 3 stands in neither"),
        (4, "a", ("{", "{ int a = 1; f(a);", "}", "b = a;", "}"), "a is declared in line 2, inside of braces"),
        (4, "a", ("{", "if (n >= 8)", "const float a = 1;", "b = a;", "}"), "all that `if (n >= 8)` in line 2 has"),
        (3, "a", ("{", "if (n) b = 1; else float a = 2;", "b = a;", "}"), "all that `else` in line 2 has"),
        (
            4,
            "p",
            ("{", "for (int k = 0; k < K; ++k)", "float p = k;", "s += p;", "}"),
            "Several statements that belong together",
        ),
        (3, "i", ("{", "for (int i = 0; i < n; ++i) { f(i); }", "b = i;", "}"), "ends with its braces in line 2"),
        (4, "i", ("{", "for (int i = 0; i < n; ++i)", "__syncthreads();", "b = i;", "}"), "is all that this repeats"),
        (3, "k", ("{", "for (int k = 0; k < K; ++k);", "b = k;", "}"), text_slips.EMPTY_LOOP),
        (3, "k", ("{", "for (int k = 0; k < K; ++k)", "f(1); b = k;", "}"), "Several statements that belong together"),
        (
            4,
            "j",
            ("{", "for (int j = 0; j < 4; ++j)", "f(j);", "for (int i = 0; j < 4; ++j)", "g(i);", "}"),
            "The loop in line 4 declares i and counts j",
        ),
        (2, "blockidx", ("{", "int x = blockidx.x;", "}"), "Did you mean blockIdx?"),
    ],
)
def test_an_unknown_name_is_explained_by_where_it_stands(line, name, lines, reason):
    assert reason in said(line, name, *lines)


def test_only_a_condition_of_an_edge_misses_its_return():
    edge, other = (
        said(4, "a", "{", f"if ({condition})", "float a = 1;", "b = a;", "}") for condition in ("r >= M", "b != 0")
    )
    assert "return; is missing behind the condition" in edge and "return" not in other
    assert other.endswith("and a ends with it. Several statements that belong together stand in braces.")


def test_a_parameter_is_no_declaration_that_comes_too_late():
    assert said(1, "n", "{ a = n; }", "__device__ void f(int n) { }") == ""


SIZED = "kernel.cu:3: error: expression must have a constant value\n    3 |     __shared__ float As[T][T];"


@pytest.mark.parametrize(
    ("first", "solution", "reason"),
    [
        (
            "const int T = blockDim.x;",
            "extern __shared__ float s[];",
            "no size behind it: extern __shared__ float As[];",
        ),
        ("const int T = blockDim.x;", "__shared__ float s[16];", "must be known when the kernel is compiled"),
        ("int T = 16;", "__shared__ float s[16];", ""),
    ],
)
def test_sizes_of_the_launch_and_of_the_text_are_distinguished(first, solution, reason):
    source = f"__global__ void f() {{\n    {first}\n    __shared__ float As[T][T];\n}}"
    explanation = compiler_errors.explanation(SIZED, source, solution)
    assert reason in explanation and bool(reason) == bool(explanation)


def test_the_axis_of_a_triple_is_that_of_its_expression():
    message = 'kernel.cu:1: error: no suitable conversion function from "const uint3" to "const int" exists'
    alone = compiler_errors.explanation(message, "const int x = threadIdx, y = threadIdx.y;")
    assert alone.startswith("Line 1 has threadIdx alone") and alone.endswith("one is needed: threadIdx.x, .y or .z.")
    assert compiler_errors.explanation(message, "dim3 b = 1; int y = threadIdx.y;") == ""


def test_a_value_returned_by_a_function_is_not_the_kernels():
    message = "kernel.cu:2: error: return value type does not match the function type"
    kernel = "__global__ void f(const float *x, float *y) {\n    return 1.0f;\n}"
    assert compiler_errors.explanation(message, kernel).endswith("stores its result into y: y[…] = …;")
    assert compiler_errors.explanation(message, kernel.replace("__global__", "__device__")) == ""


@pytest.mark.parametrize(
    "line", ["if (a) b == c;", "for (int i = 0; i < n; ++i) s[i] == 0;", "if (a) b = c; else b == d;"]
)
def test_a_comparison_behind_a_condition_is_no_assignment(line):
    assert text_slips.COMPARED in text_slips.explanation(line)


@pytest.mark.parametrize(
    "line",
    ["if (a) b = c == d;", "for (int k = K - 1; k >= 0; --k) f(k);", "for (int i = 0; i < n; i += 2) f(i);",
     "extern __shared__ float room[];", "while (half > 0) half == 1 ? f(1) : f(0);"],
)  # fmt: skip
def test_loops_and_conditions_that_are_meant_are_left_alone(line):
    assert text_slips.explanation(line) == ""


def test_the_memory_of_a_launch_is_not_two_arrays():
    text = "extern __shared__ float As[];\nextern __shared__ float Bs[];\n"
    assert text_slips.explanation(text).startswith("As and Bs (lines 1 and 2) are the same memory")


@pytest.mark.filterwarnings("error")
def test_two_arrays_of_one_memory_are_answered_without_a_warning():
    typed = [slip for slip in slips() if slip.exercise == "room_at_launch" and "are the same memory" in slip.says]
    assert [slip.kind(slip.check()) for slip in typed] == [CAUSE]


def test_what_the_simulator_advises_on_launches_is_left_out():
    exercise = exercises.get("room_at_launch")
    sized = exercise.solved.replace("extern __shared__ float room[]", "__shared__ float room[2 * T * T]")
    longer = exercise.solved.replace("Bs[k * T + x]", "Bs[k * N + x]")
    for source in (sized.replace("const int T = blockDim.x;", ""), longer):
        sentence = exercise.check(source).sentence
        assert "shared_mem" not in sentence, sentence
    assert "`Bs[k * N + x]`: with `Bs[k * T + x]` in its place the kernel is right." in sentence


def test_a_name_that_is_in_scope_gets_no_advice_on_braces():
    assert said(3, "a", "{", "int a = 1", "b = a;", "}") == ""


@pytest.mark.parametrize(
    ("line", "name", "lines", "reason"),
    [
        (2, "k", ("{", "for (int i = 0; i < n; ++i) s += x[k];", "}"), "The loop in line 2 declares i"),
        (2, "k", ("{", "for (k = 0; k < n; ++k) s += x[k];", "}"), ""),
        (3, "index", ("__global__ void f(int n) {", "int i = 0;", "y[index] = 1;", "}"), "it declares i."),
        (2, "bx", ("{", "out[0] = x + bx * (y + by);", "}"), "y is threadIdx.y, bx is blockDim.x"),
        (2, "bx", ("{", "out[0] = by * 8 + bx;", "}"), ""),
    ],
)
def test_a_name_that_is_declared_nowhere_is_not_guessed(line, name, lines, reason):
    sentence = said(line, name, *lines)
    assert reason in sentence and bool(reason) == bool(sentence) and "Did you mean" not in sentence


def test_what_a_kernel_declares_says_nothing_of_a_structure():
    lines = (
        "struct S {",
        "__device__ float f() const { return M; }",
        "};",
        "__global__ void k(int M) {",
        "int i = 0;",
        "}",
    )
    assert said(2, "M", *lines) == ""


@pytest.mark.parametrize(
    ("error", "source"),
    [
        ('1: error: identifier "m" is undefined', '__global__ void f() { g("if (x): }"); }'),
        ('2: error: identifier "m" is undefined', "#define N 8;\n"),
        ('3: error: identifier "m" is undefined', "int a = b // of a row;\n  + c;\nint d = m;"),
        ('2: error: identifier "index1" is undefined', "__global__ void f() {\ny[index1] = x[index2];\n}"),
        ('2: error: identifier "S" is undefined', "__global__ void f() { g(); }\nS s;"),
        ('2: error: identifier "range" is undefined', "__global__ void f() {\ng(range / 2);\n}"),
        ('1: error: no suitable conversion function from "dim3" to "int" exists', "g(b);\nauto t = threadIdx;"),
        ('1: error: function "atomicAdd" matches\nargument types are: (float [4][4], float)', "f();"),
        ('2: error: "v" has already been declared', "__global__ void g(float *v);\n__global__ void f(float *y) {"),
        ('1: error: initialization with "{...}" expected for aggregate', "float sum[] = 0.0f;"),
        ('1: error: "mma_sync" matches\nargument types are: (accumulator, matrix_a, matrix_b, accumulator)', "f();"),
        ('1: error: no operator "*" matches\noperand types are: S * float', "s * 2.0f; float4 v;"),
        (
            "1: error: expression must have integral type\n    1 | x = s % 2;\n      |     ^",
            "x = s % 2;\nfloat s = 1;",
        ),
        (
            "1: error: expression must be a modifiable lvalue\n    1 | a + 1 = 3;\n      | ^",
            "a + 1 = 3;\nconst int a = 1;",
        ),
        ("2: error: return value type does not match", "__global__ void f() {\ng([](int i) -> void { return i; });"),
    ],
)  # fmt: skip
def test_nothing_is_said_of_an_error_that_has_another_cause(error, source):
    assert compiler_errors.explanation(f"kernel.cu:{error}", source) == ""


def test_an_address_is_declared_with_the_types_that_it_has():
    message = 'kernel.cu:2: error: a value of type "{}" cannot be used to initialize an entity of type "{}"'
    head = "__global__ void f(const float *A) {\n"
    element = compiler_errors.explanation(message.format("float", "float *"), f"{head}float *p = A[0];")
    pointer = compiler_errors.explanation(message.format("const float *", "float"), f"{head}float p = A;")
    assert element.endswith("const float *p = &A[0];") and pointer.endswith("const float *p = A;")


# Bodies of a kernel, and what the compiler's message is explained by; "" where the likely cause is not this one's.
COMPILED = (
    ("float acc = 0;\nfor (int k = 0; k < K; ++k)   // all products;\n    acc += A[k] * b;", "called b;"),
    ("int i = K // rows;\n    + m;\nC[i] = 0;", "Nothing in this kernel is called m; it declares i."),
    ("int i = K // 2;\nC[i] = 0;", "What follows // in line 2 is not read."),
    ("float C[4] = {0.0f};\nC[1] = A[0];", "To store into it, leave the type out and say where"),
    ("for (int k = 0; k < K; ++k) {\n    const int left = K - k;\n    __shared__ float As[left];\n}", ""),
    ("const int len = 2 * K;\n__shared__ float As[len];", "len is known at the launch alone"),
    ("extern __shared__ float As[K];", ""),
    ("__shared__ float As[];", ""),
    ("A[1] * A[0] = 3.0f;", ""),
    ("A[K - C[0]] = 3.0f;", ""),
    ("A[0] = 3.0f;", "A is a const float *A: the kernel may read it, and not store into it."),
    ("const int k = 0;\nfor (k = 0; k < K; ++k) C[k] = 0;", "Leave const out in line 2 if it is to change."),
    ("for (int i = 0; i < K; ++i, ++n) C[i] = A[n];", "Nothing in this kernel is called n; it declares i."),
    ("for (int i = 0; i < T; ++i) C[0] = A[1];", "Nothing in this kernel is called T; it declares i."),
    ("float x = 1, y = 1;\nC[static_cast<int>(x) + y] = 0;", ""),
    ("C[threadIdx.y * K + threadIdx] = 0;", "Here one is needed: threadIdx.x, .y or .z."),
    ("float t = 1;\nC[0] = tA[1];", "t times an element of A is t * A[…]."),
    ("C[0] = a;\nif (K > 3) float a = 1;", ""),
    ("for (int i = 0, x = 3; i < K; ++i) C[i] = x;\nC[x] = 0;", ""),
    ("{\n    uint4 v = {};\n}\nC[0] = v.x;", ""),
    ("auto mix = [](float a, const float b) { return a + b; };\nC[0] = mix(1, b1);", "it declares mix, a and b."),
    ("float s[2] = {};\nC[0] = *(A + 1) * s;", ""),
    ("C[0] = A * 2;", "The name of an array alone is a pointer"),
    ("const float4 v = *reinterpret_cast<const float4 &>(A[0]);", ""),
    ("const float x = 1; const float y = A, z = 0;", ""),
    ("if (K > 3) break;", ""),
    ("#define AT (row + 1)\nC[AT] = 0;\n{\n    int row = 1;\n    C[row] = 0;\n}", ""),
    ("#define LEAVE return;\nif (K > n) LEAVE", ""),
)  # fmt: skip


@pytest.mark.parametrize(("body", "reason"), COMPILED)
def test_an_explanation_holds_for_what_the_compiler_met(body, reason):
    source = f'extern "C" __global__ void f(int K, const float *A, float *C) {{\n{body}\n}}'
    with pytest.raises(CompileError) as refused:
        simulated(source, "f")
    sentence = compiler_errors.explanation(str(refused.value), source)
    assert reason in sentence and bool(reason) == bool(sentence)
