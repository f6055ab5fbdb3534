"""Rows of control flow, calls, memory of every kind, and what kernels ask of the system."""

import numpy as np
import pytest

import gpusim
from gpusim import errors
from helpers import gpu
from tests.gpusim.foreign.rows import held, right

I32, U32, F32 = np.int32, np.uint32, np.float32


@right("printf")
def _(run, rng):
    x = np.array([1.25, -1, 33], F32)
    assert run.printed("says", 1, 3, x) == "0|  1.2|ok|ff|1099511627776|a\n2| 33.0|ok|fd|1099511627776|c\n"


@right("kernel_without_parameters")
def _(run, rng):
    assert run.printed("nothing_asked", 3, 1) == "block 0\nblock 1\nblock 2\n"


@right("assert_ok_and_fail")
def _(run, rng):
    x = rng.integers(0, 50, 40).astype(I32)
    before = x.copy()
    run("asserts", 1, 40, x, I32(50))
    assert (x == before + 1).all()
    with pytest.raises(errors.DeviceAssertion, match=r"x is too large(.|\n)*line 9") as caught:
        run("asserts", 1, 40, x, I32(int(x.max())))
    assert caught.value.thread == (int(np.argmax(x == x.max())), 0, 0)


@right("trap")
def _(run, rng):
    x = np.arange(32, dtype=I32)
    run("traps", 1, 32, x)
    assert (x == 2 * np.arange(32)).all()
    x[17] = -1
    with pytest.raises(gpusim.SimulatorError, match=r"thread \(17, 0, 0\).*__trap\(\)(.|\n)*line 14"):
        run("traps", 1, 32, x)


@right("clock64", "clock_32", "globaltimer_smid", "smid_only")
def _(run, rng):
    out = np.zeros((4, 5 * 64), np.int64)
    run("clocks", 5, 64, out, I32(5 * 64))
    assert (out[:3] > 0).all() and (out[0] < 10**7).all()  # __nanosleep may be as short as it likes
    sms = out[3].reshape(5, 64)
    assert (sms == sms[:, :1]).all() and len(set(sms[:, 0])) == 5  # five blocks on an empty device


@right("nanosleep")
def _(run, rng):
    x = np.zeros(32, I32)
    run("sleeps", 1, 32, x)
    assert (x == 6).all()


@right("local_array_dynamic", "local_char_short_double")
def _(run, rng):
    n = 70
    picks, out = rng.integers(0, 16, n).astype(I32), np.zeros((4, n), I32)
    run("own_arrays", 3, 32, picks, out, I32(n))
    for i, p in enumerate(picks.tolist()):
        own = [i * k for k in range(16)]
        for k in range(16):
            own[(k + p) & 15] += own[k]
        letters, shorts, wide = {}, {}, {}
        for k in range(8):
            letters[(k + i) & 7] = np.array(k * 40).astype(np.int8)
            shorts[(3 * k + i) & 7] = np.array(k * 9000).astype(np.int16)
        for k in range(4):
            wide[(k * i) & 3] = k + 0.5
        assert out[:, i].tolist() == [own[p], letters[p & 7], shorts[p & 7], 2 * wide[0] if i & 1 else 0]


@right("recursion_fib", "ackermann_hanoi_stack")
def _(run, rng):
    out = np.zeros((3, 64), I32)
    run("calls_itself", 2, 32, out, I32(64))

    def ackermann(m, n):
        return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))

    def hanoi(n, a, b, c):
        return 0 if n == 0 else hanoi(n - 1, a, c, b) * 3 + a * 5 + b + hanoi(n - 1, c, b, a)

    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21]
    for i in range(64):
        assert out[:, i].tolist() == [fibonacci[i % 9], ackermann(2, i % 4), hanoi(i % 6, 1, 3, 2)]


@right("recursion_quicksort")
def _(run, rng):
    x = rng.integers(-99, 99, (40, 12)).astype(I32)
    wanted = np.sort(x, axis=1)
    run("sorts_rows", 5, 8, x, I32(12))
    assert (x == wanted).all()


@right("virtual_functions")
def _(run, rng):
    x, out = rng.integers(-9, 9, 64).astype(F32), np.zeros(64, F32)
    run("areas", 1, 64, x, out)
    square, triangle, t = x * x, (x + 1) * 1.5, np.arange(64)
    assert out.tolist() == np.where(t % 2, triangle, np.where(t % 4, square, square + triangle)).tolist()


@right("function_pointers", "function_pointer_local_select", "function_pointer_divergent", "noinline_device_fn")
def _(run, rng):
    n = 64
    x, out, i = rng.integers(-9, 9, n).astype(F32), np.zeros((4, n), F32), np.arange(n)
    run("through_pointers", 2, 32, x, out, I32(n))
    assert out[0].tolist() == np.choose(i % 3, [2 * x, x * x, x - 1]).tolist()
    assert out[1].tolist() == np.where(x > 0, 2 * x, x - 1).tolist()
    assert out[2].tolist() == np.where(i % 2 == 0, -x, np.where(i % 4 == 1, x * x, 2 * x)).tolist()
    assert out[3].tolist() == x.tolist()


@right("switch_dense")
def _(run, rng):
    n = 96
    a, b = rng.integers(-9, 9, (2, n)).astype(F32)
    what, out = rng.integers(-2, 10, n).astype(I32), np.zeros(n, F32)
    run("switches", 3, 32, a, b, what, out, I32(n))
    cases = [a + b, a - b, a * b, -a, -a, np.minimum(a, b), 60 + 0 * a, np.arange(n) + 0 * a]
    assert out.tolist() == [cases[k][i] if 0 <= k < 8 else -1 for i, k in enumerate(what)]


@right("switch_calculator_4_cases")
def _(run, rng):
    symbols, out = np.frombuffer(b"+-*/?*-+/", np.int8).copy(), np.zeros(9, F32)
    run("calculator", 1, 9, F32(7), F32(2), symbols, out)
    assert out.tolist() == [9, 5, 14, 3.5, 0, 14, 5, 9, 3.5]


@right("goto", "irreducible_goto", "nested_divergent_break_continue")
def _(run, rng):
    n = 96
    x = rng.integers(0, 60, n).astype(I32)
    for name in ("jumps", "two_entries", "nested"):
        out = np.zeros(n, I32)
        run(name, 3, 32, x, out, I32(n))
        assert out.tolist() == [globals()[f"_{name}"](i, int(v)) for i, v in enumerate(x)], name


def _jumps(i, v):
    steps = 0
    while v > 1:
        steps += 1
        if v & 1:
            v = 3 * v + 1
        else:
            v //= 2
            if steps >= 100:
                break
    return steps


def _two_entries(i, v):
    a = b = 0
    if v & 1:
        b, v = 1, v - 2
        if v <= 0:
            return 1
    while True:
        a, b, v = a + 1, b + 1, v - 5
        if v <= 0:
            return 100 * a + b


def _nested(i, x):
    total = 0
    for j in range(20):
        if (j ^ i) % 3 == 0:
            continue
        for k in range(j, x + 1):
            if k % 4 == i % 4:
                continue
            total += k
            if total > 500:
                return total
        if j > x:
            break
    return total


@right("early_return_then_barrier")
def _(run, rng):
    x, out = rng.integers(-99, 99, 50).astype(I32), np.zeros(50, I32)
    run("leaves_early", 1, 64, x, out, I32(50))
    assert (out == x[::-1]).all()


@right("constant_dyn_index")
def _(run, rng):
    picks, out = rng.integers(0, 9, 64).astype(I32), np.zeros(64, I32)
    run("constants", 2, 32, picks, out, I32(64))
    table, octets, block = np.array([3, 1, 4, 1, 5, 9, 2, 6, 0]), np.array([250, 1, 77, *[0] * 6]), np.arange(64) // 32
    assert out.tolist() == (table[picks] + octets[picks] + octets[block] + 1000 * table[block + 3]).tolist()


FILTER = np.dtype([("weights", F32, 5), ("shift", I32), ("last", np.int8)], align=True)


@right("constant_struct_param")
def _(run, rng):
    weights, x, y = rng.integers(-9, 9, 5), rng.integers(-9, 9, 64), np.zeros(64, F32)
    given = np.array((weights, 3, -7), FILTER)[()]
    run("struct_given", 2, 32, given, x.astype(F32), y, I32(64))
    assert y.tolist() == [-7 + sum(weights[(k + 3 + i) % 5] * x[(i + k) % 64] for k in range(5)) for i in range(64)]


@right("attr_grid_constant")
def _(run, rng):
    weights, z = rng.integers(-9, 9, 5), np.arange(32, dtype=I32)
    given = np.array((weights, 3, -7), FILTER)[()]
    run("constant_given", 1, 32, given, z)
    assert z.tolist() == [i + 6 + weights[i % 5] for i in range(32)]


@right("struct_of_pointers_param", "pointer_array_arg")
def _(run, rng):
    x, y = (gpu.asarray(rng.integers(-9, 9, 60).astype(F32)) for _ in range(2))
    vectors = np.array(
        (x.data.ptr, y.data.ptr, 60), np.dtype([("x", np.uint64), ("y", np.uint64), ("n", I32)], align=True)
    )
    run("struct_of_pointers", 2, 32, vectors[()])
    assert y.get().tolist() == (x.get()[::-1] + np.arange(60)).tolist()
    sums = gpu.zeros(3, F32)
    rows = gpu.asarray(np.array([x.data.ptr, y.data.ptr, x.data.ptr + 40], np.uint64))
    run("array_of_pointers", 1, 3, rows, sums, I32(50))
    assert sums.get().tolist() == [x.get()[:50].sum(), y.get()[:50].sum(), x.get()[10:].sum()]


@right("device_malloc_new")
def _(run, rng):
    x, out = rng.integers(0, 30, 40).astype(I32), np.zeros(40, I32)
    run("on_the_heap", 1, 40, x, out)
    assert (out == x * x + 5).all()


@right("memcpy_memset_device")
def _(run, rng):
    x, out = rng.integers(-99, 99, (20, 4)).astype(I32), np.zeros((20, 6), I32)
    run("copies_memory", 1, 20, x, out)
    assert out.tolist() == [[-1, *row, -1] for row in x.tolist()]


@right(
    "device_global_var", "device_var_shared_by_two_kernels", "device_var_two_kernels", "device_var_counter_reset_kernel"
)
def _(run, rng):
    run.fill("factor", np.array([2.5], F32))
    run.fill("turns", np.zeros(4, I32))
    x, out = np.ones(96, F32), np.zeros(4, I32)
    for _ in range(2):
        run("counts", 3, 32, x)
    run("resets", 1, 4, out)
    assert out.tolist() == [606, 606, 606, 600]
    assert run.read("turns", 4, I32).tolist() == [0] * 4 and run.read("calls", 1, I32).tolist() == [0]
    assert (x == 2.5**2).all()
    run("counts", 1, 96, x)
    assert (x == -(2.5**2)).all() and run.read("calls", 1, I32).tolist() == [1]
    run.fill("calls", np.zeros(1, I32))


held("device_var_two_modules_same_source_get",
     "test_raw_module.py::test_levels_share_variables_and_modules_of_one_source_do_not",
     "test_module_variables.py::"
     "test_initial_values_exist_before_compiling_one_per_module")  # fmt: skip


@right("static_shared_in_device_fn_and_templates")
def _(run, rng):
    x = rng.integers(0, 99, 64).astype(I32)
    before = x[:32].copy()
    run("static_in_functions", 1, 32, x)
    assert x.tolist() == (before[::-1] + 1000 * np.arange(32)).tolist() + [42] * 32


@right("two_dyn_shared_views")
def _(run, rng):
    n = 40
    x = rng.integers(-9, 9, n).astype(F32)
    before, t = x.copy(), np.arange(n)
    run("two_views", 1, n, x, I32(n), shared_mem=8 * n)
    assert x.tolist() == (before[(t + 1) % n] * (n - (t + 2) % n)).tolist()


@right("generic_pointer_mixed")
def _(run, rng):
    x = np.r_[rng.integers(-9, 9, 32), np.zeros(32)].astype(I32)
    run("any_pointer", 1, 32, x)
    wanted = [[x[t] + 2000, 1100 + t, (t, -5)[t % 2]][t % 3] for t in range(32)]
    assert x[32:].tolist() == wanted


@right("struct_float3_unaligned", "bitfields_unions")
def _(run, rng):
    x, out = rng.normal(size=(32, 3)).astype(F32), np.zeros((32, 3), F32)
    packed, bits = rng.integers(0, 2**32, 32).astype(U32), np.zeros(32, U32)
    before = packed.copy()
    run("layouts", 1, 32, x, out, packed, bits)
    assert (out == x[::-1][:, [2, 0, 1]]).all()
    middle = ((before >> 5 & 0x7FF) + (before & 31)) & 0x7FF
    assert packed.tolist() == (before & 0xFFFF001F | middle << 5).tolist()
    assert bits.view(F32).tolist() == (-x[:, 0]).tolist()


@right("3d_grid_z_dims")
def _(run, rng):
    out = np.zeros((4, 2, 3, 3, 5, 2), I32)
    run("places", (3, 2, 4), (2, 5, 3), out)
    bz, by, bx, tz, ty, tx = np.indices(out.shape)
    assert (out == bz * 100000 + by * 10000 + bx * 1000 + tz * 100 + ty * 10 + tx).all()


@right("uniform_branch_kernel_param_loop_shfl_width", "loop_carried_uniform_regs")
def _(run, rng):
    n, i = 96, np.arange(96)
    x = rng.integers(-99, 99, n).astype(I32)
    for rounds, step in ((12, 3), (6, 1), (7, 5), (0, 1)):
        out, wanted = np.zeros(n, I32), np.zeros(n, int)
        run("uniform_loops", 3, 32, x, out, I32(rounds), I32(step), I32(n))
        for k in range(0, rounds, step):
            if rounds > 7:
                wanted += x[i // 8 * 8 + k % 8]
            else:
                wanted -= x[_xor_of_4(i, k)]
            for block in range(3):
                wanted[32 * block : 32 * block + 32] += sum(j * int(x[(j + k) % n]) for j in range(block, step))
        assert out.tolist() == wanted.tolist(), (rounds, step)


def _xor_of_4(lanes, k):
    """The lane that shfl.xor of width 4 reads: its own where the other one is beyond its four (PTX ISA, shfl)."""
    other = lanes ^ k
    return np.where(other % 32 <= (lanes % 32 | 3), other, lanes)


@right("division_by_zero_int")
def _(run, rng):
    """Undefined in C++; what a GPU answers is in the goldens of instructions."""
    x, out, rest = np.array([5, -5, 0], I32), np.zeros(3, I32), np.zeros(3, I32)
    run("divides_by_zero", 1, 3, x, out, rest)
    assert (out == -1).all() and (rest == -1).all()


@right(
    "attr_launch_bounds2",
    "attr_launch_bounds3",
    "attr_maxnreg",
    "attr_block_size",
    "attr_cluster_dims",
    "attr_restrict",
)
def _(run, rng):
    x = np.zeros(128, I32)
    run("bounded", 1, 64, x)
    run("bounded_thrice", 1, 128, x)
    run("few_registers", 1, 128, x)
    run("of_64", 1, 64, x)
    run("in_clusters", 2, 64, x)
    assert x.tolist() == [15] * 64 + [10] * 64
    y = np.zeros(32, I32)
    run("restricted", 1, 32, np.arange(32, dtype=I32) ** 2, y)
    assert y.tolist() == [t * t + (t // 2) ** 2 for t in range(32)]
    for name in ("bounded", "bounded_thrice"):
        with pytest.raises(errors.LaunchError, match="128"):
            run(name, 1, 160, x)
