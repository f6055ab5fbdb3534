"""What an index is for a thread, from the text of a kernel alone."""

import numpy as np
import pytest

from helpers.exercises.framework import integers

NAMES = {"threadIdx.x": 37, "blockIdx.x": 2, "N": 5}


@pytest.mark.parametrize(
    ("text", "value"),
    [("threadIdx.x / 8 % 3", 1), ("(N + 3) * 2 - 1", 15), ("N ^ 4 + 2", 3), ("N >> 1 | 8", 10),
     ("!(N < 5) && N == 5", True),
     ("N < 5 || N > 7", False), ("-N", -5), ("1.5f * N", 7.5), ("N != 0.0f", True), ("3.0f / 2", 1.5)],
)  # fmt: skip
def test_an_expression_has_the_value_that_it_has_in_c(text, value):
    assert integers.value(text, NAMES) == value


@pytest.mark.parametrize(
    "text",
    [
        "A[3]",
        "f(N)",
        "N +",
        "unknown",
        "N / 0",
        "N & 1 == 1",
        "!N == 1",
        "N << 30",
        "(N - 6) / 2",
        "(N - 6) % 2",
        "N - 6 < 3",
    ],
)
def test_what_is_more_than_whole_numbers_has_no_value(text):
    assert integers.value(text, NAMES) is None


def test_what_is_not_launched_is_no_code():
    source = "__global__ void f() { x; }\n__device__ int g() { return 1; }\n#if 0\ny\n#endif\n"
    kernel = "__global__ void __launch_bounds__(64) k(int n) { n; }"
    assert integers.launched(source + kernel, "k").split() == kernel.split()


def test_a_negative_number_is_known_where_it_is_signed():
    values = integers.names_in("int low = N - 6; unsigned high = N - 6; bool out = low < 0;", NAMES)
    assert values["low"] == -1 and values["out"] and values["high"] == 2**32 - 1


def test_what_is_made_of_threadIdx_is_unsigned():
    assert integers.value("threadIdx.x - 38", NAMES) == 2**32 - 1
    assert integers.value("(threadIdx.x - 38) / 2 > N", NAMES) and not integers.value(
        "low < blockIdx.x", {**NAMES, "low": -1}
    )
    values = integers.names_in("int left = threadIdx.x - 38; int half = 0.5f * N;", NAMES)
    assert values["left"] == -1 and "half" not in values
    assert integers.value("(1 << threadIdx.x % 4) - 5 < N", NAMES) is None  # what is shifted tells the type


@pytest.mark.parametrize("kind", ["long", "long int", "unsigned long", "unsigned long long", "short"])
def test_types_of_other_lengths_than_32_bits_are_not_known(kind):
    assert "i" not in integers.names_in(f"{kind} i = threadIdx.x - 38;", NAMES)


@pytest.mark.parametrize(
    "source",
    ["__device__ float at(const float *A, int row, int N) { return A[row * N]; } void f() { at(A, 1, K); }",
     "__device__ void f(float (&tile)[8][9], int N = 3, int k = 2) {} void g() { f(As, K); }",
     "struct Step { __device__ float operator()(float x, int N) const { return N; } };",
     "template <int N> __device__ int f(int i) { return i * N; }",
     "template <int T = 8, int N = 3> __global__ void k() {}",
     "#define AT(row, N) A[(row) * (N)]\nAT(1, K)", "auto at = [&](int N) { return N; }; at(K);"],
)  # fmt: skip
def test_a_parameter_of_a_function_is_no_name_of_the_kernel(source):
    assert "N" not in integers.names_in(source, NAMES)


def test_a_parameter_that_all_calls_give_its_own_name_is_known():
    source = "__device__ float at(int row, int N) { return row * N; } void f() { at(1, N); at(2, N); }"
    assert integers.names_in(source, NAMES)["N"] == 5


def test_comparisons_are_counted_as_0_and_1():
    values = {"x": np.arange(3), "y": np.arange(3)}
    assert integers.value("(x > 0) + (y > 1)", values).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "source",
    ["int i = 0; a[i++] = 1;", "int i = 2; if (N) f(); else i = 5;", "int i = 0; for (; i < N; ++i) {}",
     "int i = 1; for (int k = 0; k < N; ++k, i += 2) {}", "for (int k = 0, i = 4; k < N; ++k) {}",
     "int i = 1; { float i = 2; }", "#define i N + 1\n", "int i = 3; auto f = [&](int i) { return i; };",
     "for (long i = 0; i < N; ++i) {}", "int i = 1; atomicAdd(&i, 2);", "int i = 1; int &j = i; j = 3;",
     "__device__ void step(int &n) { n += 1; } void f() { int i = 1; step(i); }",
     "__device__ void set(int &to) { to = 1; } int i = 0; set(i);", "int i = 1; int j = i++;",
     "#define ADD(x, n) x += n\nint i = 1; ADD(i, 2);", 'int i = 0; asm("mov.u32 %0, %%laneid;" : "=r"(i));'],
)  # fmt: skip
def test_what_may_be_another_number_elsewhere_is_not_known(source):
    assert "i" not in integers.names_in(source, NAMES)


@pytest.mark.parametrize("source", ["N /= 2;", "{ const int N = 8; }"])
def test_a_given_number_that_is_set_again_is_not_known(source):
    assert "N" not in integers.names_in(source, NAMES)


def test_variables_have_their_first_values_in_any_order():
    source = "#define T 16\nconst int y = x + T, x = threadIdx.x % T;\nfor (int i = x; i < 9; i += T) {}\n"
    values = integers.names_in(source, NAMES, first_round=True)
    assert (values["x"], values["y"], values["i"], values["T"]) == (5, 21, 5, 16)
    assert "i" not in integers.names_in(source, NAMES)


def test_a_name_with_two_values_has_none():
    assert "k" not in integers.names_in("for (int k = 0;;) {} for (int k = 1;;) {}", NAMES, first_round=True)
    assert integers.names_in("for (int k = 0;;) {} for (int k = 0;;) {}", NAMES, first_round=True)["k"] == 0


def test_a_variable_that_is_set_again_has_no_value():
    source = "int row = 0, n = 2;\n    row = n + 1;\nfor (int i = n; i < 9; i += 4) x += i;\n"
    values = integers.names_in(source, NAMES, first_round=True)
    assert "row" not in values and (values["n"], values["i"]) == (2, 2)


def test_every_array_of_a_declaration_is_found():
    source = "__shared__ float As[T][T + 1];\nfloat a[4] = {0, 1}, *p, b[N];\nx[3] = 1;"
    assert integers.arrays(source) == [("As", "[T][T + 1]"), ("a", "[4]"), ("b", "[N]")]


def test_many_threads_are_evaluated_at_once():
    values = integers.names_in("int warp = threadIdx.x / 32;", {"threadIdx.x": np.arange(64)})
    assert values["warp"].tolist() == [0] * 32 + [1] * 32
