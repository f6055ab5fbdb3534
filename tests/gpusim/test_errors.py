"""What the simulator says when something is wrong, word for word, and that everything works on afterwards."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.symbols.source_lines import line_of_access, proven_calls

F32, I32 = np.float32, np.int32
SOURCE = """extern "C" __global__ void scale(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}

struct pair { int left; float right; };
extern "C" __global__ void differences(pair p, float *y) { y[threadIdx.x] = p.left - p.right; }

extern "C" __global__ void __launch_bounds__(64) bounded(float *y) { y[threadIdx.x] = 1; }

extern "C" __global__ void copy2d(int pitch, const float *A, float *C) {
    C[blockIdx.x * pitch + threadIdx.x] = A[blockIdx.x * pitch + threadIdx.x];
}

extern "C" __global__ void copy4(int first, const float *x, float4 *y) {
    y[threadIdx.x] = *reinterpret_cast<const float4 *>(&x[4 * threadIdx.x + first]);
}

extern "C" __global__ void into_shared(int shift, float *y) {
    __shared__ float tile[4][9], other[8];
    other[threadIdx.x] = 0;
    tile[threadIdx.y + shift][threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = tile[0][threadIdx.x] + other[threadIdx.x];
}

extern "C" __global__ void from_shared4(int first, float4 *y) {
    __shared__ alignas(16) float tile[40];
    for (int i = threadIdx.x; i < 40; i += blockDim.x) tile[i] = i;
    __syncthreads();
    y[threadIdx.x] = *reinterpret_cast<float4 *>(&tile[4 * threadIdx.x + first]);
}

extern "C" __global__ void dynamic(float *y) {
    extern __shared__ float buffer[];
    buffer[threadIdx.x] = threadIdx.x;
    y[threadIdx.x] = buffer[threadIdx.x];
}

extern "C" __global__ void private_bins(const int *which, int *y) {
    int bins[4] = {};
    for (int i = 0; i < 8; ++i) bins[which[i]] += i;
    y[threadIdx.x] = bins[0] + bins[threadIdx.x % 4];
}

extern "C" __global__ void two_barriers(int *y) {
    if (threadIdx.x < 40) __syncthreads();
    else {
        y[threadIdx.x] = 1;
        __syncthreads();
    }
    y[threadIdx.x] = 2;
}

extern "C" __global__ void around_a_barrier(int *y) {
    int value = 1;
    if (threadIdx.x % 2) {
        __syncthreads();
        value = y[threadIdx.x] + 1;
    }
    y[threadIdx.x] = value;
}

extern "C" __global__ void endless(volatile int *flag) {
    while (*flag == 0) { }
}

__device__ __forceinline__ float look_up(const float *x, int i) {
    return x[i];
}
extern "C" __global__ void inlined(int shift, const float *x, float *y) {
    y[threadIdx.x] = look_up(x, threadIdx.x + shift);
}

extern "C" __global__ void checked(int *y) {
    assert(y[threadIdx.x] > 0);
    y[threadIdx.x] = 0;
}

extern "C" __global__ void trapped(int *y) {
    if (y[threadIdx.x] < 0) __trap();
}

extern "C" __global__ void talking(const int *count) {
    printf("thread %d of %s: %5.2f|%-4d|%c%%\\n", threadIdx.x, "the block", 0.5f * threadIdx.x, *count, 'x');
}
"""
GUARD = "Compare the index with the size before the access, for example `if (index < N)`."
GUARD_2D = GUARD.replace("index < N", "row < M && col < N")


@pytest.fixture(scope="module")
def module() -> gpusim.RawModule:
    compiled = gpusim.RawModule(code=SOURCE)
    compiled.compile()
    return compiled


def x(count: int = 8) -> np.ndarray:
    return np.arange(count, dtype=F32)


def refuse(module, error: type[Exception], launch, name: str = "scale") -> str:
    """The message of a launch that must fail; afterwards the kernel and the module must work."""
    with pytest.raises(error) as caught:
        launch(module.get_function(name))
    given, y = x(), np.zeros(8, F32)
    module.get_function("scale")((2,), (4,), (I32(8), F32(3), given, y))
    assert (y == 3 * given).all()
    return str(caught.value)


# ---- arguments

ARGUMENTS = {
    "too few": (
        (I32(8), F32(1), x()),
        "scale takes 4 arguments (int n, float a, const float * x, float * y), but 3 were given.",
    ),
    "no tuple": (x(), "scale takes its arguments as one tuple: kernel(grid, block, (…,)); found ndarray."),
    "float64 array": (
        (I32(8), F32(1), x().astype(np.float64), x()),
        "Argument 3 of scale (const float * x) is an array of float64, but the kernel reads it as float32. "
        "Convert it: x.astype(numpy.float32).",
    ),
    "int32 array": (
        (I32(8), F32(1), np.arange(8, dtype=I32), x()),
        "Argument 3 of scale (const float * x) is an array of int32, but the kernel reads it as float32. "
        "Convert it: x.astype(numpy.float32).",
    ),
    "not contiguous": (
        (I32(4), F32(1), x()[::2], x()),
        "Argument 3 of scale (const float * x) is an array whose elements do not lie side by side (shape (4,), strides "
        "(8,) bytes); a kernel gets only a pointer. Pass numpy.ascontiguousarray(…).",
    ),
    "Python float": (
        (I32(8), 1.5, x(), x()),
        "Argument 2 of scale (float a) got the Python float 1.5 (CuPy passes it as 8 bytes), whose bytes are not those "
        "of a float. Pass numpy.float32(1.5).",
    ),
    "float64": (
        (I32(8), np.float64(1.5), x(), x()),
        "Argument 2 of scale (float a) got numpy.float64(1.5), whose bytes are not those of a float. "
        "Pass numpy.float32(1.5).",
    ),
    "float for int": (
        (8.0, F32(1), x(), x()),
        "Argument 1 of scale (int n) got the Python float 8.0 (CuPy passes it as 8 bytes); pass numpy.int32(…).",
    ),
    "too large": (
        (2**40, F32(1), x(), x()),
        "Argument 1 of scale (int n) got 1099511627776, which does not fit into int32.",
    ),
    "array for a number": (
        (np.array([8]), F32(1), x(), x()),
        "Argument 1 of scale (int n) is one number, but an array of shape (1,) was given.",
    ),
    "list": (
        (I32(8), F32(1), [1.0] * 8, x()),
        "Argument 3 of scale (const float * x) is a pointer: pass an array, not a list.",
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_a_wrong_argument_is_named_with_what_to_pass(module, case):
    arguments, message = ARGUMENTS[case]
    assert refuse(module, errors.ArgumentError, lambda kernel: kernel(1, 8, arguments)) == message


def test_a_struct_needs_a_structured_scalar(module):
    message = refuse(module, errors.ArgumentError, lambda kernel: kernel(1, 8, (3, x())), "differences")
    assert message == (
        "Argument 1 of differences (pair p) needs a NumPy scalar of 8 bytes (for a struct, of a structured dtype); "
        "found the Python int 3 (CuPy passes it as 8 bytes)."
    )
    pair = np.array([(3, 0.5)], dtype=[("left", I32), ("right", F32)])[0]
    y = x()
    module.get_function("differences")(1, 8, (pair, y))
    assert (y == 2.5).all()


def test_unsigned_bits_may_stand_for_floats(module):
    y = np.zeros(8, F32)
    module.get_function("scale")(1, 8, (I32(8), F32(2), x().view(np.uint32), y))
    assert (y == 2 * x()).all()


def test_bytes_read_as_words_come_with_how_to_pass_words():
    source = """extern "C" __global__ void dot(const int *packed, int *out) {
        out[threadIdx.x] = __dp4a(packed[threadIdx.x], 0x01010101, 0);
    }"""
    dot = gpusim.RawModule(code=source).get_function("dot")
    eights, out = np.arange(32, dtype=np.int8), np.zeros(8, I32)
    with pytest.raises(errors.ArgumentError, match=r"; where it reads 4 of them as one, x\.view\(numpy\.int32\)\.$"):
        dot(1, 8, (eights, out))
    dot(1, 8, (eights.view(I32), out))
    assert out.tolist() == eights.reshape(8, 4).sum(axis=1).tolist()


# ---- launches

LAUNCHES = {
    "threads": (
        (1, (64, 32), {}),
        "scale was not launched: a block of 64 × 32 × 1 = 2048 threads is more than the 1024 that sm_90 allows; "
        "try (32, 32).",
    ),
    "block z": (
        (1, (1, 1, 128), {}),
        "scale was not launched: the block's z is 128, more than the 64 that sm_90 allows.",
    ),
    "grid y": (
        ((1, 70000), 8, {}),
        "scale was not launched: the grid's y is 70000, more than the 65535 that sm_90 allows; only x may be larger "
        "(up to 2147483647).",
    ),
    "grid 0": (
        ((0,), 8, {}),
        "scale was not launched: the grid's x is 0; every dimension is at least 1, so that there is something to run.",
    ),
    "too many threads": (
        ((10**9,), 64, {}),
        "scale was not launched: a grid of (1000000000, 1, 1) blocks of (64, 1, 1) threads has 64,000,000,000 threads, "
        "which a GPU would take; the simulator executes each of them, and takes at most 1,073,741,824. Try a smaller "
        "problem, or let each thread work on several elements, in a loop.",
    ),
    "four dimensions": (
        ((1, 1, 1, 1), 8, {}),
        "scale was not launched: the grid is (1, 1, 1, 1); expected a tuple of one to three whole numbers, such as "
        "(64, 64).",
    ),
    "division": (
        ((1.5,), 8, {}),
        "scale was not launched: the grid's x is 1.5 of type float; expected a whole number. A division rounded up is "
        "written (n + b - 1) // b.",
    ),
    "shared memory": (
        (1, 8, {"shared_mem": 100000}),
        "scale was not launched: 100000 bytes of dynamic shared memory are more than the 49152 that this kernel may "
        "use; allow more first: kernel.max_dynamic_shared_size_bytes = bytes.",
    ),
}


@pytest.mark.parametrize("case", LAUNCHES)
def test_a_launch_outside_the_limits_is_refused_with_the_limit(module, case):
    (grid, block, options), message = LAUNCHES[case]
    arguments = (I32(8), F32(1), x(), x())
    assert refuse(module, errors.LaunchError, lambda kernel: kernel(grid, block, arguments, **options)) == message


def test_launch_bounds_are_kept(module):
    message = refuse(module, errors.LaunchError, lambda kernel: kernel(1, 128, (x(128),)), "bounded")
    assert message == (
        "bounded was not launched: a block of 128 × 1 × 1 = 128 threads is more than the 64 that the kernel was "
        "compiled for (__launch_bounds__); try (64,), or compile it for more."
    )


# ---- addresses


def test_an_index_outside_a_vector(module):
    arguments = (I32(9), F32(1), x(), x(16))
    assert refuse(module, errors.OutOfBounds, lambda kernel: kernel(3, 4, arguments)) == (
        "scale: thread (0, 0, 0) of block (2, 0, 0) read 4 bytes outside the arrays: index 8 of x, which has 8 "
        f"elements.\n  line 3: if (i < n) y[i] = a * x[i];\n{GUARD}"
    )


def test_an_index_outside_a_matrix_is_given_as_row_and_column(module):
    A, C = np.zeros((3, 5), F32), np.zeros((4, 5), F32)
    message = refuse(module, errors.OutOfBounds, lambda kernel: kernel(4, 5, (I32(5), A, C)), "copy2d")
    assert message == (
        "copy2d: thread (0, 0, 0) of block (3, 0, 0) read 4 bytes outside the arrays: index 15 of A, as row 3, column "
        "0; A has shape 3 × 5, its last index is 14.\n"
        f"  line 12: C[blockIdx.x * pitch + threadIdx.x] = A[blockIdx.x * pitch + threadIdx.x];\n{GUARD_2D}"
    )


def test_an_address_far_from_all_arrays(module):
    message = refuse(module, errors.OutOfBounds, lambda kernel: kernel(2, 4, (I32(1 << 29), x(), x())), "copy2d")
    assert message.startswith(
        "copy2d: thread (0, 0, 0) of block (1, 0, 0) read 4 bytes outside the arrays: address 0x7f"
    )
    assert message.endswith(
        ", which is far from every array of this launch.\n"
        "  line 12: C[blockIdx.x * pitch + threadIdx.x] = A[blockIdx.x * pitch + threadIdx.x];\n"
        "The pointer is none to an array, or what was added to it is far too large, or negative."
    )


@pytest.mark.parametrize("nothing", (None, 0, np.uint64(0)))
def test_a_null_pointer(module, nothing):
    message = refuse(module, errors.OutOfBounds, lambda kernel: kernel(1, 8, (I32(8), F32(1), nothing, x())))
    assert message == (
        "scale: thread (0, 0, 0) of block (0, 0, 0) read 4 bytes outside the arrays: address 0x0: a null pointer, "
        "or close to one.\n  line 3: if (i < n) y[i] = a * x[i];"
    )


def test_a_read_only_array(module):
    y = x()
    y.setflags(write=False)
    message = refuse(module, errors.OutOfBounds, lambda kernel: kernel(1, 8, (I32(8), F32(1), x(), y)))
    assert message == (
        "scale: thread (0, 0, 0) of block (0, 0, 0) wrote to y, a read-only array.\n"
        "  line 3: if (i < n) y[i] = a * x[i];\nPass a writable copy: numpy.array(x)."
    )


@pytest.mark.parametrize(("change", "verb"), [("y[7] = 1", "wrote to"), ("atomicAdd(&y[7], 1)", "updated")])
def test_the_thread_that_changes_a_read_only_array_is_named(change, verb):
    source = f"""extern "C" __global__ void k(float *y) {{
        if (threadIdx.x == 5 && blockIdx.x == 2) {change};
    }}"""
    y = np.zeros(64, F32)
    y.setflags(write=False)
    with pytest.raises(
        errors.OutOfBounds, match=rf"thread \(5, 0, 0\) of block \(2, 0, 0\) {verb} y, a read-only array"
    ):
        gpusim.RawModule(code=source).get_function("k")(4, 32, (y,))


def test_a_misaligned_vector_in_global_memory(module):
    y = np.zeros((8, 4), F32)
    message = refuse(module, errors.Misaligned, lambda kernel: kernel(1, 4, (I32(2), x(40), y.reshape(-1))), "copy4")
    assert message == (
        "copy4: thread (0, 0, 0) of block (0, 0, 0) accessed 16 bytes at an address that is not a multiple of 16 "
        "(byte 8 of x, index 2 of x, which has 40 elements).\n"
        "  line 16: y[threadIdx.x] = *reinterpret_cast<const float4 *>(&x[4 * threadIdx.x + first]);\n"
        "A 16-byte access needs 16-byte alignment."
    )


def test_a_misaligned_vector_in_shared_memory(module):
    message = refuse(module, errors.Misaligned, lambda kernel: kernel(1, 4, (I32(1), x(16))), "from_shared4")
    assert message == (
        "from_shared4: thread (0, 0, 0) of block (0, 0, 0) accessed 16 bytes at an address that is not a multiple of "
        "16 (byte 4 of shared memory, in tile[1]).\n"
        "  line 31: y[threadIdx.x] = *reinterpret_cast<float4 *>(&tile[4 * threadIdx.x + first]);\n"
        "A 16-byte access needs 16-byte alignment."
    )


def test_an_index_that_leaves_its_shared_array(module):
    message = refuse(module, errors.OutOfBounds, lambda kernel: kernel(1, (8, 4), (I32(1), x())), "into_shared")
    assert message == (
        "into_shared: thread (0, 3, 0) of block (0, 0, 0) wrote 4 bytes outside tile: tile[4][0], but tile has 4 × 9 "
        "elements (that byte is part of other[0]).\n"
        "  line 22: tile[threadIdx.y + shift][threadIdx.x] = 1;"
    )


def test_dynamic_shared_memory_that_the_launch_does_not_give(module):
    message = refuse(module, errors.OutOfBounds, lambda kernel: kernel(1, 8, (x(),), shared_mem=16), "dynamic")
    assert message == (
        "dynamic: thread (4, 0, 0) of block (0, 0, 0) wrote 4 bytes at byte 16 of shared memory, which has 16 bytes.\n"
        "  line 36: buffer[threadIdx.x] = threadIdx.x;\n"
        "Dynamic shared memory has the size that shared_mem=… in the launch gives it."
    )


def test_an_index_outside_a_thread_s_own_array(module):
    which = I32([0, 1, 2, 3, 4, 0, 0, 0])
    message = refuse(module, errors.OutOfBounds, lambda kernel: kernel(1, 8, (which, np.zeros(8, I32))), "private_bins")
    assert message == (
        "private_bins: thread (0, 0, 0) of block (0, 0, 0) read 4 bytes outside bins: bins[4], but bins has 4 "
        "elements.\n  line 42: for (int i = 0; i < 8; ++i) bins[which[i]] += i;"
    )


def test_a_fault_in_an_inlined_function_names_the_call_too(module):
    with pytest.raises(errors.OutOfBounds) as caught:
        module.get_function("inlined")(1, 8, (I32(1), x(), x()))
    assert str(caught.value) == (
        "inlined: thread (7, 0, 0) of block (0, 0, 0) read 4 bytes outside the arrays: index 8 of x, which has 8 "
        "elements.\n  line 69: return x[i];\n"
        f"    called from line 72: y[threadIdx.x] = look_up(x, threadIdx.x + shift);\n{GUARD}"
    )
    assert caught.value.line == 69 and caught.value.lines == (69, 72)
    assert (caught.value.kernel, caught.value.block, caught.value.thread) == ("inlined", (0, 0, 0), (7, 0, 0))


# ---- barriers and loops

BARRIER = errors.BY_ALL_THREADS


def test_threads_that_wait_at_different_barriers(module):
    y = np.zeros(64, I32)
    message = refuse(module, errors.BarrierError, lambda kernel: kernel(3, 64, (y,)), "two_barriers")
    assert message == (
        "two_barriers: the threads of block (0, 0, 0) wait at different barriers: 40 threads (the first is (0, 0, 0)) "
        "at line 47; 24 threads (the first is (40, 0, 0)) at line 50.\n"
        "  line 47: if (threadIdx.x < 40) __syncthreads();\n"
        f"  line 50: __syncthreads();\n{BARRIER}"
    )


def test_a_barrier_that_separates_the_threads_of_a_warp(module):
    y = np.zeros(32, I32)
    with gpusim.record(level="ptx"):  # the machine code has the barrier twice, and nobody waits for ever
        message = refuse(module, errors.BarrierError, lambda kernel: kernel(1, 32, (y,)), "around_a_barrier")
    assert message == (
        "around_a_barrier: a barrier separates the threads of a warp of block (0, 0, 0): 16 threads (the first is "
        "(1, 0, 0)) at line 58; 16 threads (the first is (0, 0, 0)) beyond it. On a GPU that is not defined, and may "
        f"hang.\n  line 58: __syncthreads();\n{BARRIER}"
    )


def test_an_endless_loop_is_stopped(module):
    flag = np.zeros(1, I32)
    with gpusim.sanitize(), gpusim.record(max_instructions=1000):
        message = refuse(module, errors.StepLimitExceeded, lambda kernel: kernel(2, 32, (flag,)), "endless")
    assert message == (
        "endless: thread (0, 0, 0) of block (0, 0, 0) is still running after 1,000 instructions.\n"
        "  line 65: while (*flag == 0) { }\n"
        "Does the loop end? If the work is really that long, use a smaller problem, or "
        "gpusim.record(max_instructions=…)."
    )


# ---- assert, trap, printf, what is not known


def test_a_false_assertion(module):
    message = refuse(module, errors.DeviceAssertion, lambda kernel: kernel(1, 4, (I32([1, 2, 0, 3]),)), "checked")
    assert message == (
        "checked: thread (2, 0, 0) of block (0, 0, 0) failed the assertion `y[threadIdx.x] > 0`.\n"
        "  line 76: assert(y[threadIdx.x] > 0);\nPrint the values in it with printf to see why it is false."
    )


def test_a_trap(module):
    message = refuse(module, errors.DeviceAssertion, lambda kernel: kernel(1, 4, (I32([1, -2, 0, 3]),)), "trapped")
    assert message == (
        "trapped: thread (1, 0, 0) of block (0, 0, 0) stopped the kernel with __trap().\n"
        "  line 81: if (y[threadIdx.x] < 0) __trap();\n"
        "__trap() marks what must not happen: look at the condition that leads to it."
    )


def test_a_trap_of_the_compiler_is_not_the_learners():
    module = gpusim.RawModule(code='extern "C" __global__ void lost(int i) {\n    float *room;\n    room[i] = 0.0f;\n}')
    with pytest.raises(errors.DeviceAssertion, match="a trap that the compiler put there") as error:
        module.get_function("lost")((1,), (1,), (np.int32(0),))
    assert "a pointer that is never set" in str(error.value) and "__trap" not in str(error.value)


def test_printf_prints_as_c_does(module, capsys):
    module.get_function("talking")(1, 3, (I32([42]),))
    assert capsys.readouterr().out == (
        "thread 0 of the block:  0.00|42  |x%\n"
        "thread 1 of the block:  0.50|42  |x%\n"
        "thread 2 of the block:  1.00|42  |x%\n"
    )


def test_an_instruction_that_is_not_known():
    source = 'extern "C" __global__ void when(int *x) {\n    asm volatile("mov.u32 %0, %%pm0;" : "=r"(x[0]));\n}'
    with pytest.raises(errors.UnsupportedInstruction) as caught:
        gpusim.RawModule(code=source).get_function("when")(1, 1, (np.zeros(1, np.int32),))
    assert str(caught.value) == (
        "when can be executed neither as machine code nor as PTX.\n"
        "when: the sm_90 machine instruction `CS2R.32 R5, SR_PM0` (line 2 of your source) is not modelled by the "
        "simulator: the special register SR_PM0.\n"
        "The PTX instruction `mov.u32 %r1, %pm0` (line 2 of your source) is not modelled by the simulator: the "
        "special register %pm0. "
        "Write it with ordinary arithmetic and loads.\n"
        "On a machine with a GPU the same cell runs this kernel."
    )


# ---- recording


def test_a_recording_says_what_it_does_not_have(module):
    kernel, arguments = module.get_function("scale"), (I32(8), F32(1), x(), x())

    def recorded(**options) -> gpusim.Recording:
        with gpusim.record(**options) as recording:
            kernel(2, 4, arguments)
        return recording

    def message(action) -> str:
        with pytest.raises(gpusim.SimulatorError) as caught:
            action()
        return str(caught.value)

    assert message(lambda: recorded(level="cubin")) == "level='cubin': choose 'auto', 'sass' or 'ptx'."
    assert message(lambda: recorded(blocks="some")) == "blocks='some': name blocks as [(x, y), …], or say 'all'."
    assert message(lambda: recorded(blocks=[(5,)])) == (
        "record(blocks=…) names block (5, 0, 0), but scale was launched with grid (2, 1, 1)."
    )
    assert message(lambda: recorded(blocks=[(0,)]).requests(block=(1, 0))) == (
        "The addresses of block (1, 0, 0) were not kept. Name it when recording: gpusim.record(blocks=[(1, 0, 0)])."
    )
    with gpusim.record() as nothing:
        pass
    assert message(lambda: nothing.counters) == (
        "Nothing was recorded: no kernel was launched inside `with gpusim.record(...)`."
    )
    assert message(lambda: nothing.checks) == (
        "The sanitizer was off, or nothing was launched, inside `with gpusim.record(...)`."
    )


def test_a_template_must_be_named_before():
    source = "template <int N> __global__ void fill(float *x) { x[threadIdx.x] = N; }"
    module = gpusim.RawModule(code=source, name_expressions=["fill<1>"])
    with pytest.raises(gpusim.SimulatorError) as caught:
        module.get_function("fill<2>")
    assert str(caught.value) == (
        "fill<2> is not among name_expressions=['fill<1>']: name it there, so that the compiler instantiates the "
        "template."
    )


def test_a_barrier_of_the_grid_is_answered_by_what_it_needs():
    source = """#include <cooperative_groups.h>
extern "C" __global__ void meet(int *y) {
    y[threadIdx.x] = 1;
    cooperative_groups::this_grid().sync();
}"""
    function = gpusim.RawModule(code=source).get_function("meet")
    with pytest.raises(errors.DeviceAssertion, match="enable_cooperative_groups=True") as caught:
        function((2,), (32,), (np.zeros(32, np.int32),))
    assert 4 in caught.value.lines


def test_elements_of_a_shared_array_of_structs_are_counted(level):
    source = """struct Node { int a; float b; };
    extern "C" __global__ void k(float *x, int n) {
        __shared__ Node nodes[8];
        nodes[threadIdx.x].a = n;
        __syncthreads();
        x[threadIdx.x] = nodes[threadIdx.x + n].a;
    }"""
    message = r"outside nodes: nodes\[8\], but nodes has 8 elements"
    with gpusim.record(level=level), pytest.raises(errors.OutOfBounds, match=message):
        gpusim.RawModule(code=source).get_function("k")(1, 8, (np.zeros(8, F32), I32(8)))


# The load is the same in every round: the compiler moves it out of the loop, and gives it no line.
MOVED = """extern "C" __global__ void dot(int K, const float *a, const float *b, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += a[i * K] * b[k];
    y[i] = sum;
}"""


def test_a_load_moved_out_of_its_loop_has_the_line_that_reads(level):
    with gpusim.record(level=level), pytest.raises(errors.OutOfBounds) as caught:
        gpusim.RawModule(code=MOVED).get_function("dot")(1, 8, (I32(4), x(8), x(4), x(8)))
    assert caught.value.line == 4 and "  line 4: for (int k" in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "line", "expected_line"),
    [
        (("int i = x * y;", "s += a[i];"), 1, 2),
        (("int i = x * y;", "s += a[i];", "t += a[i];"), 1, 1),  # one of two
        (("s = *p;", "s += a[i];"), 1, 1),
        (("s = look_up(p);", "s += a[i];"), 1, 1),
        (("s = b[0];", "s += a[i];"), 1, 1),
        (("const float *p = a;", "s += a[i];"), 1, 1),
        (("int i = 0;", "}", "void g() {", "s += a[i];"), 1, 1),  # in another function
        (("for (int i = 0; i < n; ++i)", "s += a[i];  // b[i]"), 1, 2),
        (("__shared__ float s[4];", "q = a[i];", "s[i] = q;"), 3, 2),
        (("__shared__ float s[4];", "q = a[i];", "*reinterpret_cast<float *>(&s[i]) = q;"), 3, 2),
        (("t = a[0];", ";", ";", ";", "__shared__ float s[4];", "q = a[i];", "s[i] = q;"), 7, 6),  # the nearest of two
    ],
)
def test_line_without_an_access_gives_way_to_the_one_with_it(lines, line, expected_line):
    source = ("void f() {", *lines, "}")
    assert line_of_access(source, line + 1, "a") == expected_line + 1
    assert line_of_access(source, line + 1, "") == line + 1


def test_a_barrier_in_two_branches_is_in_no_loop():
    source = """__device__ void meet() { __syncthreads(); }
    extern "C" __global__ void k(float *x) {
        if (threadIdx.x < 16) { meet(); x[threadIdx.x] = 1; } else { meet(); x[threadIdx.x] = 2; }
    }"""
    with pytest.raises(errors.BarrierError) as caught:
        gpusim.RawModule(code=source).get_function("k")(1, 32, (np.zeros(32, F32),))
    assert "at line 1 together: 16 threads (the first is " in str(caught.value)
    assert "apart from 16 threads" in str(caught.value) and "loop" not in str(caught.value)


@pytest.mark.parametrize(
    ("array", "where"),
    [
        ("x", "are inside x: they begin at x[6, 4]."),
        ("y", "are inside y: they begin at index 40 of y, which has 42 elements."),
        ("s", "are inside s: they begin at s[40], but s has 42 elements."),
    ],
)
def test_a_wide_access_may_be_half_inside_its_array(array, where):
    source = f"""extern "C" __global__ void k(float *x, float *y) {{
        __shared__ alignas(16) float s[42];
        s[threadIdx.x] = 1;
        __syncthreads();
        ((float4 *){array})[threadIdx.x] = make_float4(1, 2, 3, 4);
        __syncthreads();
        y[threadIdx.x] += s[threadIdx.x];
    }}"""
    with pytest.raises(errors.OutOfBounds) as caught:
        gpusim.RawModule(code=source).get_function("k")(1, 11, (np.zeros((7, 6), F32), np.zeros(42, F32)))
    assert f"thread (10, 0, 0) of block (0, 0, 0) wrote 16 bytes, of which only 8 {where}" in str(caught.value)


def test_static_arrays_are_not_said_to_need_room_at_the_launch():
    source = """extern "C" __global__ void k(float *x, int n) {
        __shared__ float s[8], t[8];
        s[threadIdx.x] = t[threadIdx.x] = 1;
        __syncthreads();
        const float *p = x[0] > 0 ? s : t;
        x[threadIdx.x] = p[threadIdx.x + n];
    }"""
    with pytest.raises(errors.OutOfBounds) as caught:
        gpusim.RawModule(code=source).get_function("k")(1, 8, (np.zeros(8, F32), I32(100)))
    assert "of shared memory, which has 64 bytes" in str(caught.value)
    assert "shared_mem" not in str(caught.value)


def test_a_call_is_named_only_where_the_function_has_no_other():
    source = ["__device__ void load(float *to, const float *from) {", "    to[0] = from[0];", "}", "load(As, A);"]
    assert proven_calls(source, (4,)) == (4,)
    assert proven_calls([*source, "load(Bs, B);"], (4,)) == ()
