"""Sources, names and options that are none, or that hold characters that C++ does not know: which one, and where."""

import numpy as np
import pytest

import gpusim
from gpusim import compiler, errors
from helpers import gpu

KERNEL = 'extern "C" __global__ void k(float *x, int n) {{ {} x[0] = n; }}'


def message(source, **given) -> str:
    with pytest.raises((compiler.CompilerError, gpusim.SimulatorError)) as caught:
        gpusim.RawModule(source, **given).get_function("k")
    return str(caught.value)


CHARACTERS = {
    "no-break space": ("int\u00a0i = 0;", "U+00A0 NO-BREAK SPACE, which cannot be seen; C++ has no such character."),
    "quotation mark": ("printf(\u201chi\u201d);", "\u201c (U+201C LEFT DOUBLE QUOTATION MARK); C++ has no such"),
    "minus": ("n = n \u2212 1;", "\u2212 (U+2212 MINUS SIGN); C++ has no such character. Write - instead."),
    "mark inside": ("\ufeff n = 1;", "U+FEFF ZERO WIDTH NO-BREAK SPACE, which cannot be seen"),
    "emoji": ("n = 1 \U0001f600;", "\U0001f600 (U+1F600 GRINNING FACE); C++ has no such character. Outside of texts"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHARACTERS)
def test_foreign_character_is_named(name):
    text, said = CHARACTERS[name]
    source = KERNEL.format(text)
    column = next(position for position, letter in enumerate(source) if ord(letter) > 127) + 1
    assert f"In column {column} stands {said}" in message(source)


def test_mark_at_the_head_of_a_file_is_passed_over():
    compiler.compile("\ufeff#include <cuda_fp16.h>\n" + KERNEL.format("uint i = 0; n += i;"), "k")


@pytest.mark.parametrize("source", [b"text", 5, ["a"], object])
def test_source_that_is_no_text_is_refused(source):
    assert "expected the CUDA C++ text itself" in message(source)


def test_half_of_a_character_is_placed():
    said = message("// fine\n// \ud800\n" + KERNEL.format(""))
    assert said.startswith("line 2 of the source holds the character U+D800 (half of a pair of characters)")


def test_options_that_are_one_text_are_refused():
    assert "a tuple of strings such as ('-std=c++17',), and this is one" in message(KERNEL, options="-std=c++17")


def test_name_of_a_kernel_in_a_namespace_is_given():
    source = "namespace a::b { namespace { } __global__ void k(float *x) { x[0] = 1; } }"
    assert message(source) == 'k is in a namespace: its name is "a::b::k"'
    gpusim.RawModule(source).get_function("a::b::k")


def test_left_out_kernel_is_sought_between_if_and_endif():
    source = "#ifdef FAST\n__global__ void k() {}\n#endif\n__global__ void other() {}"
    assert message(source).startswith("the compiler did not see k: does it stand between #if or #ifdef and #endif?")
    gpusim.RawModule(source, options=("-DFAST",)).get_function("k")


def test_constant_memory_is_counted_in_bytes():
    said = message("__constant__ float c[16640];" + KERNEL.format("x[1] = c[n];"))
    assert "The __constant__ variables take 66560 bytes; a module may have 65536. Keep the rest" in said


def test_host_header_of_contests_is_passed_over():
    compiler.compile("#include <bits/stdc++.h>\n" + KERNEL.format(""), "k")


def test_raw_kernel_without_a_name_lists_the_kernels():
    with pytest.raises(gpusim.SimulatorError, match="the name of a kernel in it; this one has: k."):
        gpu.RawKernel(KERNEL.format(""))


def test_launch_without_arguments_says_what_they_are():
    kernel = gpusim.RawModule(KERNEL.format("")).get_function("k")
    with pytest.raises(errors.ArgumentError, match=r"a tuple of arguments, k\(\(…,\), \(…,\), \(x, n\)\)\."):
        kernel((1,), (32,))


@pytest.mark.parametrize("call", ["pow(x[1], 2.0)", "sqrt(n)", "std::fmod(x[1], 3.0)"])
def test_mixed_arguments_of_mathematics_get_advice(call):
    name = call.split("(")[0].removeprefix("std::")
    advice = message(KERNEL.format(f"x[2] = {call};"))
    assert f"has {name} for arguments of one type alone, float or double" in advice
    assert advice.rstrip().endswith("static_cast<float>(n) for an integer n.")


def test_arrays_at_one_address_are_warned_of():
    body = "extern __shared__ float a[]; extern __shared__ float b[]; a[n] = 1; b[n] = 2; x[1] = a[n];"
    kernel = gpusim.RawModule(KERNEL.format(body) + "extern __shared__ int c[];").get_function("k")
    x = np.zeros(4, np.float32)
    with pytest.warns(UserWarning, match="k has several arrays of dynamic shared memory, a and b: all"):
        kernel(1, 1, (x, np.int32(0)), shared_mem=64)


@pytest.mark.filterwarnings("error")
def test_one_dynamic_array_of_each_kernel_is_no_matter():
    use_of_array = "extern __shared__ float {0}[]; {0}[0] = 2; x[1] = {0}[0];"
    source = KERNEL.format(use_of_array.format("a")) + KERNEL.format(use_of_array.format("b")).replace(" k(", " other(")
    x = np.zeros(4, np.float32)
    gpusim.RawModule(source).get_function("k")(1, 1, (x, np.int32(0)), shared_mem=64)
    assert x[1] == 2
