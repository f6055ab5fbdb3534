"""A learner's first kernels, run by the simulator and compared with NumPy."""

import numpy as np
import pytest

import gpusim

F32, I32, U32 = np.float32, np.int32, np.uint32
RANDOM = np.random.default_rng(20)


def run(source: str, grid, block, *arguments, shared_mem: int = 0, name: str = "kernel"):
    gpusim.RawModule(code=source).get_function(name)(grid, block, arguments, shared_mem=shared_mem)


def kernel(parameters: str, body: str, before: str = "") -> str:
    return f'{before}\nextern "C" __global__ void kernel({parameters}) {{\n{body}\n}}\n'


def test_square_root_is_exact_and_exp_is_close():
    a = np.abs(RANDOM.normal(0, 5, 256)).astype(F32)
    result = np.zeros((4, 256), F32)
    body = "int i = threadIdx.x; r[i] = sqrtf(a[i]); r[256 + i] = expf(a[i]);"
    body += "r[512 + i] = logf(a[i]); r[768 + i] = sinf(a[i]);"
    run(kernel("float *a, float *r", body), 1, 256, a, result)
    assert (result[0] == np.sqrt(a)).all()
    np.testing.assert_allclose(result[1], np.exp(a.astype(float)), rtol=3e-7)
    np.testing.assert_allclose(result[2], np.log(a.astype(float)), rtol=3e-7, atol=1e-7)
    np.testing.assert_allclose(result[3], np.sin(a.astype(float)), rtol=3e-7, atol=1e-7)


def test_sine_of_large_arguments_takes_the_path_through_local():
    a = F32([1e5, -3e7, 1e20, 12345678])
    result = np.zeros(4, F32)
    run(kernel("float *a, float *r", "int i = threadIdx.x; r[i] = sinf(a[i]);"), 1, 4, a, result)
    np.testing.assert_allclose(result, np.sin(a.astype(float)), rtol=3e-7, atol=1e-7)


def test_runtime_indexed_local_array_belongs_to_each_thread():
    pick = RANDOM.integers(0, 8, 96, dtype=I32)
    result = np.zeros(96, I32)
    body = """int t = threadIdx.x; int own[8];
    for (int j = 0; j < 8; ++j) own[(j * 3 + t) & 7] = 100 * t + j;
    result[t] = own[pick[t]];"""
    run(kernel("int *pick, int *result", body), 1, 96, pick, result)
    expected = []
    for t in range(96):
        own = {(j * 3 + t) & 7: 100 * t + j for j in range(8)}
        expected.append(own[int(pick[t])])
    assert result.tolist() == expected


def test_loops_end_after_each_threads_own_number_of_trips():
    result = np.zeros(200, I32)
    body = """int n = blockIdx.x * blockDim.x + threadIdx.x + 1, steps = 0;
    while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; ++steps; }
    steps_of[blockIdx.x * blockDim.x + threadIdx.x] = steps;"""
    run(kernel("int *steps_of", body), 4, 50, result)

    def collatz(n):
        steps = 0
        while n != 1:
            n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
        return steps

    assert result.tolist() == [collatz(n) for n in range(1, 201)]


def test_break_and_continue_reach_the_right_threads():
    result = np.zeros(64, I32)
    body = """int t = threadIdx.x, sum = 0;
    for (int j = 0; j < 40; ++j) { if (j % 3 == t % 3) continue; if (j > t) break; sum += j; }
    result[t] = sum;"""
    run(kernel("int *result", body), 1, 64, result)
    expected = []
    for t in range(64):
        total = 0
        for j in range(40):
            if j % 3 == t % 3:
                continue
            if j > t:
                break
            total += j
        expected.append(total)
    assert result.tolist() == expected


def test_early_return_leaves_the_other_threads_alone():
    result = np.full(100, -1, I32)
    run(
        kernel("int *x, int n", "int i = threadIdx.x + blockIdx.x * 32; if (i >= n) return; x[i] = i;"),
        4,
        32,
        result,
        70,
    )
    assert result.tolist() == [*range(70), *[-1] * 30]


@pytest.mark.parametrize(("grid", "block"), [((2, 3, 2), (4, 2, 3)), ((5,), (33,)), ((1, 7), (3, 5))])
def test_indices_of_one_two_and_three_dimensions(grid, block):
    whole_grid, whole_block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
    blocks, threads = int(np.prod(whole_grid)), int(np.prod(whole_block))
    result = np.zeros((blocks, threads, 6), I32)
    body = """int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int *r = x + 6 * (b * blockDim.x * blockDim.y * blockDim.z + t);
    r[0] = blockIdx.x; r[1] = blockIdx.y; r[2] = blockIdx.z;
    r[3] = threadIdx.x; r[4] = threadIdx.y; r[5] = threadIdx.z;"""
    run(kernel("int *x", body), grid, block, result)
    for b in range(blocks):
        for t in range(threads):
            indices = [*np.unravel_index(b, whole_grid[::-1])[::-1], *np.unravel_index(t, whole_block[::-1])[::-1]]
            assert result[b, t].tolist() == indices


def test_shared_memory_reverses_each_block_static_and_dynamic():
    data = np.arange(96, dtype=I32)
    body = """extern __shared__ int every[]; __shared__ int fixed[32];
    int t = threadIdx.x, i = blockIdx.x * 32 + t; fixed[t] = x[i]; every[t] = 10 * x[i]; __syncthreads();
    x[i] = fixed[31 - t] + every[t ^ 1];"""
    run(kernel("int *x", body), 3, 32, data, shared_mem=128)
    old = np.arange(96).reshape(3, 32)
    assert (data.reshape(3, 32) == old[:, ::-1] + 10 * old[:, np.arange(32) ^ 1]).all()


def test_atomics_count_and_return_old_values():
    values = RANDOM.integers(0, 10, 300, dtype=I32)
    counts, tickets = np.zeros(10, I32), np.zeros(300, I32)
    best = np.array([-1], I32)
    body = """int i = blockIdx.x * 100 + threadIdx.x; tickets[i] = atomicAdd(&counts[values[i]], 1);
    atomicMax(best, values[i] * 1000 + i);"""
    run(kernel("int *values, int *counts, int *tickets, int *best", body), 3, 100, values, counts, tickets, best)
    assert counts.tolist() == np.bincount(values, minlength=10).tolist()
    for value in range(10):
        assert sorted(tickets[values == value]) == list(range(counts[value]))
    assert best[0] == (values.astype(int) * 1000 + np.arange(300)).max()


def test_compare_and_swap_builds_a_lock_free_float_maximum():
    data = RANDOM.normal(size=128).astype(F32)
    result = np.full(1, -np.inf, F32)
    body = """float v = x[threadIdx.x]; int *cell = (int *)best; int old = *cell;
    while (__int_as_float(old) < v) {
        int seen = atomicCAS(cell, old, __float_as_int(v)); if (seen == old) break; old = seen; }"""
    run(kernel("float *x, float *best", body), 1, 128, data, result)
    assert result[0] == data.max()


def test_constants_and_device_variables_have_initial_values():
    result = np.zeros(4, F32)
    before = "__constant__ float weights[4] = {0.5f, 1.5f, -2.0f, 8.0f}; __device__ int offset = 3;"
    run(kernel("float *x", "x[threadIdx.x] = weights[threadIdx.x] + offset;", before), 1, 4, result)
    assert result.tolist() == [3.5, 4.5, 1.0, 11.0]


def test_subnormal_numbers_are_flushed_as_cupy_compiles_kernels():
    a = F32([1e-40, 1e-38, 2e-38, -1e-40])
    result = np.zeros(4, F32)
    run(kernel("float *a, float *r", "int i = threadIdx.x; r[i] = a[i] * 0.75f;"), 1, 4, a, result)
    assert result.tolist() == [0.0, 0.0, float(F32(2e-38) * F32(0.75)), 0.0]
    assert np.signbit(result).tolist() == [False, False, False, True]


def test_a_view_of_an_array_is_a_pointer_into_it():
    whole = np.arange(24, dtype=F32).reshape(6, 4)
    run(kernel("float *x", "x[threadIdx.x] += 100.0f;"), 1, 8, whole[2:4])
    assert (whole[2:4] >= 100).all() and (whole[:2] < 100).all() and (whole[4:] < 100).all()


def test_a_structure_is_passed_by_value():
    point = np.dtype([("x", F32), ("n", I32)])
    result = np.zeros(1, F32)
    source = kernel("Point p, float *r", "r[0] = p.x * p.n;", "struct Point { float x; int n; };")
    run(source, 1, 1, np.array((2.5, 4), point)[()], result)
    assert result[0] == 10


def test_a_template_kernel_is_asked_for_by_its_instantiation():
    source = "template <int N> __global__ void fill(int *x) { x[threadIdx.x] = N; }"
    result = np.zeros(4, I32)
    module = gpusim.RawModule(code=source, name_expressions=["fill<7>"])
    module.get_function("fill<7>")((1,), (4,), (result,))
    assert result.tolist() == [7] * 4
    with pytest.raises(gpusim.SimulatorError, match="fill<8> is not among name_expressions"):
        module.get_function("fill<8>")


def test_counters_of_a_copy_are_those_of_the_definition():
    source = kernel(
        "float *a, float *b, int n", "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i];"
    )
    a, b = np.ones(1000, F32), np.zeros(1000, F32)
    function = gpusim.RawModule(code=source).get_function("kernel")
    with gpusim.record(blocks=[(3, 0, 0)]) as recording:
        function((4,), (256,), (a, b, 1000))
    assert recording.counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 32
    assert recording.counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 125
    assert recording.total("lanes", "global", "st") == 1000
    assert recording.total("tags", array="a") == 32
    last = recording.requests(space="global", op="ld", block=(3,), warp=7)
    assert last["active"].sum() == 8 and last["sectors"].tolist() == [1] and last["array"].tolist() == ["a"]
    assert last["offset"][0, :8].tolist() == [4 * i for i in range(992, 1000)]
    assert [line.text.strip()[:3] for line in recording.by_line() if line.total("requests")] == ["int"]


def test_addresses_of_an_untraced_block_are_refused():
    source = kernel("float *a", "a[blockIdx.x] = 1.0f;")
    function = gpusim.RawModule(code=source).get_function("kernel")
    with gpusim.record() as recording:
        function((4,), (1,), (np.zeros(4, F32),))
    with pytest.raises(gpusim.SimulatorError, match=r"block \(2, 0, 0\) were not kept"):
        recording.requests(block=(2,))


def test_only_traced_blocks_are_executed_when_asked_for():
    source = kernel("float *a", "a[blockIdx.x] = 1.0f;")
    result = np.zeros(4, F32)
    function = gpusim.RawModule(code=source).get_function("kernel")
    with gpusim.record(blocks=[(1,), (3,)], only_traced=True) as recording:
        function((4,), (1,), (result,))
    assert result.tolist() == [0, 1, 0, 1]
    assert recording.total("requests") == 2


# ---- two arrays on one source line

ON_ONE_LINE = """extern "C" __global__ void kernel(const unsigned *a, unsigned *out) {
    __shared__ unsigned s[128], q[128]; const int t = threadIdx.x; unsigned r[4]; ROW
}"""
THROUGH_FRAGMENTS = ON_ONE_LINE.replace(
    "ROW",
    "for (int i = 0; i < 4; ++i) s[4 * t + i] = a[4 * t + i]; __syncwarp();"
    ' asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]),'
    ' "=r"(r[2]), "=r"(r[3]) : "r"((unsigned)__cvta_generic_to_shared(s + 4 * t)) : "memory");'
    ' asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"((unsigned)'
    '__cvta_generic_to_shared(q + 4 * t)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory"); __syncwarp();'
    " for (int i = 0; i < 4; ++i) out[4 * t + i] = q[4 * t + i];",
)
BY_COPIES = ON_ONE_LINE.replace(
    "ROW",
    'for (int i = t; i < 128; i += 32) s[i] = 1; asm volatile("cp.async.ca.shared.global [%0], [%1], 16;'
    ' cp.async.wait_all;" :: "r"((unsigned)__cvta_generic_to_shared(q + 4 * t)), "l"(a + 4 * t) : "memory");'
    " __syncthreads(); for (int i = 0; i < 4; ++i) out[4 * t + i] = q[4 * t + i] * s[127 - 4 * t - i];",
)


@pytest.mark.parametrize("source", [THROUGH_FRAGMENTS, BY_COPIES], ids=["fragments", "copies"])
def test_inline_asm_may_reach_another_array_of_its_line(source, level):
    a, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    with gpusim.record(level=level, checks="raise"):
        gpusim.RawModule(code=source).get_function("kernel")((1,), (32,), (a, out))
    np.testing.assert_array_equal(out, a)


def test_a_row_outside_is_said_of_the_lane_that_names_it(level):
    source = THROUGH_FRAGMENTS.replace("s + 4 * t", "s + 4 * t + (t == 20 ? 256 : 0)")
    a, out = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    function = gpusim.RawModule(code=source).get_function("kernel")
    said = r"thread \(20, 0, 0\) of block \(0, 0, 0\) read 16 bytes"
    with gpusim.record(level=level), pytest.raises(gpusim.errors.OutOfBounds, match=said):
        function((1,), (32,), (a, out))
