"""Where variables of shared memory lie: PTX is executed with the places that they have in the machine code."""

import numpy as np
import pytest

import gpusim

VARIABLES = "__shared__ volatile int f[2], g[4], h[6]; extern __shared__ int dynamic[];\n"
FUNCTION = "__noinline__ __device__ void {}(int t) {{\n {} }}\n"
KERNEL = """extern "C" __global__ void kernel(int *o) {{
    __shared__ volatile int a[7], b[3], c[5]; __shared__ volatile double d[2]; __shared__ volatile char e[3];
    int t = threadIdx.x;
    {} }}"""
ALL = "\n    ".join(f"{name}[t] = {value};" for value, name in enumerate("abcde"))
BY_POINTER = "__noinline__ __device__ void put(volatile int *p, int t) {\n p[t] = t; }\n"

PROGRAMS = {
    "of a kernel": KERNEL.format(ALL),
    "of the file, too": VARIABLES + KERNEL.format(f"{ALL}\n g[t] = 1;\n f[t] = 2;\n dynamic[t] = 3;"),
    "that a function accesses, too": VARIABLES
    + FUNCTION.format("first", "h[t] = 1;\n g[t] = 2;")
    + KERNEL.format(f"first(t);\n{ALL}\n g[t] = 3;\n f[t] = 4;"),
    "of functions in another order than they are called in": VARIABLES
    + FUNCTION.format("first", "f[t] = 1;")
    + FUNCTION.format("second", "g[t] = 2;\n dynamic[t] = 5;")
    + KERNEL.format("second(t);\n first(t);\n a[t] = 3;\n b[t] = 4;"),
    "of functions that call each other": VARIABLES
    + FUNCTION.format("inner", "g[t] = 1;")
    + FUNCTION.format("outer", "f[t] = 2;\n inner(t);")
    + KERNEL.format("outer(t);\n c[t] = 3;\n h[t] = 4;\n a[t] = 5;\n f[t] = 6;"),
    "that a function is given a pointer to": BY_POINTER + KERNEL.format(f"{ALL}\n put(b, t);"),
    "of which a function is given a pointer to two": BY_POINTER + KERNEL.format(f"{ALL}\n put(c, t);\n put(b, t);"),
}


def accessed(kernel: gpusim.Kernel, level: str) -> set[tuple[int, int]]:
    """(line, the first thread's address) of all accesses of shared memory."""
    with gpusim.record(level=level, checks=True) as recording:
        kernel((1,), (1,), (np.zeros(1, np.int32),), shared_mem=16)
    (launch,) = recording.launches
    return {
        (launch.program.instructions[trace.instruction].line, int(trace.addresses.ravel()[0]))
        for trace in launch.traces
        if trace.space == "shared"
    }


@pytest.mark.parametrize("options", [(), ("-G",)], ids=["optimised", "for a debugger"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_variables_lie_where_the_machine_code_has_them(name, options):
    kernel = gpusim.RawModule(code=PROGRAMS[name], options=options).get_function("kernel")
    expected = accessed(kernel, "sass")
    assert len(expected) >= 5
    assert accessed(kernel, "ptx") == expected


def test_a_function_may_wait_for_a_flag_and_another_may_raise_it(level):
    source = """
    __noinline__ __device__ void raise(volatile int *flag) {
        *flag = 1; }
    __noinline__ __device__ void await(volatile int *flag) {
        while (!*flag) { } }
    extern "C" __global__ void kernel(int *o) {
        __shared__ int value, flag;
        if (threadIdx.x == 0) flag = 0;
        __syncthreads();
        if (threadIdx.x == 0) { value = o[0] + 2; __threadfence_block(); raise(&flag); }
        if (threadIdx.x == 32) { await(&flag); __threadfence_block();
            o[1] = value; }
    }"""
    kernel, o = gpusim.RawModule(code=source).get_function("kernel"), np.array([5, 0], np.int32)
    with gpusim.record(level=level, checks=True):
        kernel((1,), (64,), (o,))
    assert o.tolist() == [5, 7]


def test_variables_stored_at_once_are_no_neighbours(level):
    source = """
    extern "C" __global__ void kernel(int *o) {
        __shared__ int head, tail;
        if (threadIdx.x == 0) {
            head = o[0];
            tail = o[1];
        }
        __syncthreads();
        atomicAdd(&head, 1); atomicAdd(&tail, 2);
        __syncthreads();
        if (threadIdx.x == 0) o[2] = head, o[3] = tail;
    }"""
    kernel, o = gpusim.RawModule(code=source).get_function("kernel"), np.array([5, 7, 0, 0], np.int32)
    with gpusim.record(level=level, checks="raise") as recording:
        kernel((1,), (64,), (o,))
    assert o.tolist() == [5, 7, 5 + 64, 7 + 128]
    stores = [opcode for opcode in recording.launches[0].program.opcodes if opcode.startswith("STS")]
    assert level == "ptx" or stores == ["STS.64"], "the test wants one store for both"
