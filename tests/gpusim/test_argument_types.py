"""Arrays and numbers are compared with what the compiler makes of a parameter's type, by whatever name it is called."""

import numpy as np
import pytest

import gpusim
from gpusim import compiler, errors
from helpers import gpu

F32, U16 = np.float32, np.uint16
DECLARATIONS = """
typedef float real;
using index = long long;
using Vector = float4;
typedef __half2 pair_of_halves;
enum Colour { red, green };
struct Node { int key; float value; };
template <class T> struct Traits { typedef short type; };
"""
COPY = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n" + DECLARATIONS
# What a parameter is declared as, the array given for it, and the advice; None where it is right.
GIVEN = {
    "alias of float": ("real *", np.ones(8), r"reads it as float32. Convert it: x.astype\(numpy.float32\)"),
    "alias of long long": ("index *", np.ones(8, np.int32), "reads it as int64"),
    "type of a template": ("Traits<int>::type *", np.ones(8, np.int32), "reads it as int16"),
    "enumeration": ("Colour *", np.ones(8, F32), "reads it as int32"),
    "bfloat16": ("__nv_bfloat16 *", np.ones(8, F32), "as bfloat16, which NumPy does not have. Pass the bits, an array"),
    "bfloat16 as half": ("__nv_bfloat16 *", np.ones(8, np.float16), "as bfloat16"),
    "float4 of doubles": ("float4 *", np.ones(8), "reads it as float32, 4 of them as one value"),
    "alias of float4": ("Vector *", np.ones(8), "reads it as float32, 4 of them as one value"),
    "float2 of complex128": ("float2 *", np.ones(8, complex), r"astype\(numpy.complex64\)"),
    "half2 of floats": ("pair_of_halves *", np.ones(8, F32), r"astype\(numpy.float16\)"),
    "alias": ("real *", np.ones(8, F32), None),
    "bits": ("real *", np.ones(8, np.uint32), None),
    "other sign": ("index *", np.ones(8, np.uint64), None),
    "enumeration's numbers": ("Colour *", np.ones(8, np.int32), None),
    "bits of bfloat16": ("__nv_bfloat16 *", np.ones(8, U16), None),
    "numbers of a vector": ("Vector *", np.ones((2, 4), F32), None),
    "complex numbers": ("float2 *", np.ones(8, np.complex64), None),
    "complex in float4": ("float4 *", np.ones(8, np.complex64), None),
    "words of a vector": ("uchar4 *", np.ones(8, np.uint32), None),
    "bytes of a vector": ("char4 *", np.ones(32, np.int8), None),
    "structs": ("Node *", np.ones(8, [("key", "i4"), ("value", "f4")]), None),
    "floats of a struct": ("Node *", np.ones(8, F32), None),
    "structs of a vector": ("float2 *", np.ones(8, [("x", "f4"), ("y", "f4")]), None),
    "bytes without a type": ("void *", np.ones(8, np.int16), None),
    "one alias of a number": ("real ", F32(2), None),
    "one bfloat16": ("__nv_bfloat16 ", U16(2), None),
    "one float2": ("float2 ", np.complex64(2), None),
    "a Python number": ("index ", 7, None),
    "one number of another kind": ("real ", np.int32(2), r"Pass numpy.float32\(2\)"),
    "one double for a float2": ("float2 ", np.float64(2), "needs a NumPy scalar of 8 bytes"),
}


@pytest.fixture(scope="module")
def kernels():
    """One kernel for each type, all of one source: compiled once."""
    types = dict.fromkeys(type_ for type_, _, _ in GIVEN.values())
    names = {type_: f"k{number}" for number, type_ in enumerate(types)}
    source = COPY + "".join(f'extern "C" __global__ void {name}({type_}x) {{}}\n' for type_, name in names.items())
    module = gpusim.RawModule(code=source)
    return {type_: module.get_function(name) for type_, name in names.items()}


@pytest.mark.parametrize("case", GIVEN)
def test_type_by_any_name_is_compared(kernels, case):
    type_, given, advice = GIVEN[case]
    if advice is None:
        kernels[type_](1, 1, (given,))
    else:
        with pytest.raises(errors.ArgumentError, match=advice):
            kernels[type_](1, 1, (given,))


def test_kernel_of_the_branch_that_counts_is_asked():
    source = "#if 0\n{0}float *x) {{}}\n#else\n{0}double *x) {{}}\n#endif".format('extern "C" __global__ void k(')
    kernel = gpusim.RawModule(code=source).get_function("k")
    kernel(1, 1, (np.zeros(1),))
    with pytest.raises(errors.ArgumentError, match="the kernel reads it as float64"):
        kernel(1, 1, (np.zeros(1, F32),))


def test_name_of_a_header_may_mean_another_type():
    kernel = gpusim.RawModule(code="typedef double half; __global__ void k(half *x) {}").get_function("k")
    kernel(1, 1, (np.zeros(1),))
    with pytest.raises(errors.ArgumentError, match="the kernel reads it as float64"):
        kernel(1, 1, (np.zeros(1, np.float16),))


def test_alias_of_a_pointer_is_one():
    kernel = gpusim.RawModule(code="using In = const float *; __global__ void k(In x) {}").get_function("k")
    kernel(1, 1, (None,))
    with pytest.raises(errors.ArgumentError, match="float32"):
        kernel(1, 1, (np.zeros(1),))


def test_python_objects_are_refused():
    kernel = gpusim.RawModule(code="__global__ void k(void *x) {}").get_function("k")
    with pytest.raises(errors.ArgumentError, match="an array of Python objects"):
        kernel(1, 1, (np.array([None, {}]),))


def test_compiler_is_not_asked_for_plain_types(monkeypatch):
    monkeypatch.setattr("gpusim.compiler.build._asked_types", None)
    source = "#include <cuda_bf16.h>\n__global__ void k(const float *__restrict__ x, float4 *y, size_t n, bool b) {}"
    kernel = compiler.compile(source, "k")
    types = [kernel.parameter_type(index) for index in range(4)]
    assert [(parameter.pointers, parameter.number, parameter.count) for parameter in types] == [
        (1, "f4", 1), (1, "f4", 4), (0, "u8", 1), (0, "b1", 1),
    ]  # fmt: skip


def test_text_and_compiler_agree_on_types():
    from gpusim.compiler import parameter_types

    names = [*parameter_types._OF_LANGUAGE, *parameter_types._OF_HEADERS, *parameter_types._VECTORS]
    source = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void k({}) {{}}".format(
        ", ".join(f"const {name} *" for name in names)
    )
    kernel = compiler.compile(source, "k")
    assert [kernel._types_by_compiler[index] for index in range(len(names))] == list(kernel._types_by_text)


COLUMNS = 'extern "C" __global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }'
ROWS = np.arange(6, dtype=F32).reshape(2, 3)
TRANSPOSED = {
    "view": lambda: ROWS.T, "of the device": lambda: gpu.asarray(ROWS).T, "swapped axes": lambda: ROWS.swapaxes(0, 1),
    "of an array of its own": lambda: np.ones((2, 3), F32).T,
}  # fmt: skip
IN_ORDER = {
    "copied": (lambda: gpu.ascontiguousarray(ROWS.T), [0, 3, 1, 4, 2, 5]),
    "of Fortran": (lambda: gpu.asfortranarray(ROWS), [0, 3, 1, 4, 2, 5]),
    "made in columns": (lambda: gpu.asarray(ROWS, order="F"), [0, 3, 1, 4, 2, 5]),
    "twice": (lambda: ROWS.T.T, [0, 1, 2, 3, 4, 5]),
    "a column": (lambda: np.arange(6, dtype=F32).reshape(6, 1).T, [0, 1, 2, 3, 4, 5]),
}


@pytest.mark.parametrize("case", TRANSPOSED)
def test_transposed_view_is_refused(case):
    kernel, y = gpusim.RawModule(code=COLUMNS).get_function("k"), np.zeros(6, F32)
    with pytest.raises(errors.ArgumentError, match=r"CuPy passes it without a word. Pass gpu\.ascontiguousarray"):
        kernel(1, 6, (TRANSPOSED[case](), y))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", IN_ORDER)
def test_array_that_was_made_in_columns_is_passed(case):
    make, expected = IN_ORDER[case]
    y = np.zeros(6, F32)
    gpusim.RawModule(code=COLUMNS).get_function("k")(1, 6, (make(), y))
    assert y.tolist() == expected


@pytest.mark.parametrize("make", (lambda: np.asfortranarray(ROWS), lambda: ROWS.T + 0, lambda: gpu.asarray(ROWS).T + 0))
def test_array_of_its_own_in_columns_is_passed_with_a_warning(make):
    kernel, x, y = gpusim.RawModule(code=COLUMNS).get_function("k"), make(), np.zeros(6, F32)
    with pytest.warns(UserWarning, match="lies in memory column after column, and so the kernel reads it; CuPy"):
        kernel(1, 6, (x, y))
    assert y.tolist() == np.asarray(x).T.ravel().tolist()


def test_kernel_fills_an_array_made_in_columns():
    y = gpu.empty((2, 3), F32, order="F")
    gpusim.RawModule(code=COLUMNS).get_function("k")(1, 6, (np.arange(6, dtype=F32), y))
    assert y.get().tolist() == [[0, 2, 4], [1, 3, 5]]
