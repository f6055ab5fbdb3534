"""Copies in bulk: pieces in both directions, sums and other operations, barriers that count bytes, clusters."""

import functools

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.engine import compiled
from tests.simulator import kernel_launches
from tests.simulator.sass_goldens import kernel_of

LAUNCHES = {launch.name: launch for launch in kernel_launches.bulk()}
WAYS = ("machine code", "machine code in NumPy", "PTX")
HEAD = """typedef unsigned long long u64;
extern __shared__ __align__(128) unsigned char tile[];
__device__ unsigned place(const void *pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }
__device__ void init(u64 *barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(barrier)), "r"(arrivals) : "memory");
}
__device__ void arrive(u64 *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(barrier)) : "memory");
}
__device__ void expect(u64 *barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(barrier)), "r"(bytes) : "memory");
}
__device__ int try_wait(u64 *barrier, int parity) {
    int done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(place(barrier)), "r"(parity) : "memory");
    return done;
}
__device__ void wait(u64 *barrier, int parity) { while (!try_wait(barrier, parity)) {} }
__device__ void fetch(void *to, const void *from, int bytes, u64 *barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(place(to)), "l"(from), "r"(bytes), "r"(place(barrier)) : "memory");
}
__device__ void put(void *to, const void *from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 ::"l"(to), "r"(place(from)), "r"(bytes) : "memory");
}
__device__ void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void publish() { asm volatile("fence.proxy.async;" ::: "memory"); }
"""


@pytest.fixture(params=WAYS)
def level(request, monkeypatch):
    """Either level, and of machine code either engine."""
    if request.param == "machine code in NumPy":
        monkeypatch.setattr(compiled, "library", lambda: None)
    return "ptx" if request.param == "PTX" else "sass"


def run(name: str, level: str, checks: str = "off") -> tuple[list, list]:
    """The arguments of a launch before and after it."""
    launch = LAUNCHES[name]
    before, arguments = launch.make_arguments(), launch.make_arguments()
    with simulator.record(level=level, checks=checks):
        kernel_of(launch)(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    return before, arguments


def named(*beginnings: str) -> list[str]:
    """The launches whose names begin so."""
    return [name for name in LAUNCHES if name.startswith(beginnings)]


def some_pieces(beginning: str) -> list[str]:
    """A few launches of all sizes and places: the compiled engine runs every one for its counters."""
    return named(beginning)[::4]


@pytest.mark.parametrize("name", some_pieces("fetch "))
def test_pieces_of_all_sizes_come_to_shared_memory(name, level):
    (data, *_), (_, out, size, stride, first, _, copies, _) = run(name, level)
    expected = [np.concatenate([row[first + k * stride :][:size] for k in range(copies)]) for row in data]
    np.testing.assert_array_equal(out.view(np.uint8), expected)


@pytest.mark.parametrize("name", some_pieces("put "))
def test_pieces_of_all_sizes_go_to_global_memory_and_nothing_beside_them_changes(name, level):
    (data, expected, size, stride, _, first, copies, _), (_, out, *_) = run(name, level)
    for row, words in zip(expected, data.view(np.uint8), strict=True):
        for k in range(copies):
            row[first + k * stride :][:size] = words[k * size :][:size]
    np.testing.assert_array_equal(out, expected)


INTEGERS = {
    "add_u32": np.add, "add_s32": np.add, "add_u64": np.add, "min_u32": np.minimum, "max_s32": np.maximum,
    "min_s64": np.minimum, "max_u64": np.maximum, "and_b32": np.bitwise_and, "or_b32": np.bitwise_or,
    "xor_b32": np.bitwise_xor, "and_b64": np.bitwise_and, "xor_b64": np.bitwise_xor,
    "inc_u32": lambda new, old: np.where(old >= new, 0, old + 1),
    "dec_u32": lambda new, old: np.where((old == 0) | (old > new), new, old - 1),
}  # fmt: skip


@pytest.mark.parametrize("operation", INTEGERS)
def test_whole_numbers_are_combined_with_what_lies_there(operation, level):
    (new, old, _), (_, out, _) = run(f"reduce_{operation}", level)
    kind = operation.split("_")[1]
    type_ = f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}"
    expected = INTEGERS[operation](new.view(type_), old.view(type_))
    np.testing.assert_array_equal(out.view(type_), expected)


@pytest.mark.parametrize("type_", [np.float32, np.float64, np.float16])
def test_floats_are_added_to_what_lies_there(type_, level):
    bits = 8 * np.dtype(type_).itemsize
    (new, old, _), (_, out, _) = run(f"reduce_add_f{bits}", level)
    with np.errstate(all="ignore"):
        expected = new.view(type_) + old.view(type_)
    known = ~np.isnan(expected)
    assert known.mean() > 0.9
    np.testing.assert_array_equal(np.isnan(out.view(type_)), ~known)
    np.testing.assert_array_equal(out.view(type_)[known], expected[known])


def test_each_lane_may_ask_for_a_copy_of_its_own(level):
    (data, expected, _), (_, out, _) = run("every_lane", level)
    lanes = np.arange(29)
    tile = np.empty_like(data)
    tile[(lanes * 5 + 3) % 29] = data
    for lane in lanes[::3]:
        expected[(lane * 5 + 3) % 29] = tile[lane]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", named("producer_gemm"))
def test_a_warp_fetches_for_the_others_of_its_block(name, level):
    _, (A, B, C, *_) = run(name, level)
    np.testing.assert_allclose(C, A.astype(np.float64) @ B.astype(np.float64), rtol=1e-5, atol=1e-5)


def test_threads_arrive_when_their_copies_have_come(level):
    (data, *_), (_, out) = run("copies_arrive", level)
    t = np.arange(96)
    other = (t * 7 + 1) % 96
    with np.errstate(over="ignore"):
        expected = data[other, 0] + 3 * data[(other * 7 + 1) % 96, 1]
    np.testing.assert_array_equal(out, expected)


def test_a_block_puts_numbers_into_the_shared_memory_of_the_next_one(level):
    (data, *_), (_, out, _) = run("to_the_next 1008", level)
    blocks = np.arange(8)
    np.testing.assert_array_equal(out, data[blocks // 4 * 4 + (blocks - 1) % 4])


def test_a_block_fetches_for_another_one(level):
    (data, *_), (_, out, _) = run("fetch_for_another 64", level)
    np.testing.assert_array_equal(out.view(np.uint8), data[[1, 0, 3, 2]])


@pytest.mark.parametrize("mask", [0b1111, 0b1010])
def test_what_a_block_fetches_comes_to_those_of_its_cluster_that_a_mask_names(mask, level):
    (data, *_), (_, out, *_) = run(f"fetch_for_all 64 {mask:04b}", level)
    for block, row in enumerate(out.view(np.uint8)):
        first = block // 4 * 4
        whole = data[first : first + 4].reshape(-1)
        np.testing.assert_array_equal(row, whole if mask >> block % 4 & 1 else 255)


@pytest.mark.parametrize("name", named("reduce_", "put_by_all", "prefetch", "with_policies", "barrier_states")[::3])
def test_both_engines_and_both_levels_answer_the_same(name, monkeypatch):
    results = [run(name, "sass")[1], run(name, "ptx")[1]]
    monkeypatch.setattr(compiled, "library", lambda: None)
    results.append(run(name, "sass")[1])
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(same).tobytes()


@functools.cache
def kernel(body: str, head: str = "") -> simulator.Kernel:
    """Of one block; it gets `in`, `out` and the number `n`."""
    source = f"""{HEAD}{head}
extern "C" __global__ void kernel(const int *in, int *out, int n) {{
    __shared__ u64 full, vacant;
    __shared__ __align__(16) int small[64];
    const int t = threadIdx.x;
    if (t == 0) {{ init(&full, 1); init(&vacant, 32); }}
    __syncthreads();
{body}
}}"""
    return simulator.RawModule(code=source, arch="sm_90").get_function("kernel")


FIRST_LINE = HEAD.count("\n") + 8  # of a kernel's own text


def launched(body: str, level: str, n: int = 64, threads: int = 64, size: int = 256, checks: str = "raise"):
    """(what went in, what came out)."""
    numbers, out = np.arange(1, size + 1, dtype=np.int32), np.zeros(size, np.int32)
    with simulator.record(level=level, checks=checks):
        kernel(body)((1,), (threads,), (numbers, out, np.int32(n)), shared_mem=4096)
    return numbers, out


def test_a_wait_that_is_given_up_tells_so_and_may_do_something_else(level):
    _, out = launched(
        "if (t == 0) { out[0] = 5 + try_wait(&full, 0); arrive(&full); out[1] = try_wait(&full, 0); }", level
    )
    assert out[:2].tolist() == [5, 1]


def test_bytes_may_come_before_they_are_expected(level):
    body = """    if (t == 0) {
        fetch(tile, in, n, &full);
        expect(&full, n);
        wait(&full, 0);
        out[0] = reinterpret_cast<int *>(tile)[3];
    }"""
    assert launched(body, level, checks="off")[1][0] == 4
