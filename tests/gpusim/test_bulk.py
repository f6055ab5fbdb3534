"""Copies in bulk: pieces in both directions, sums and other operations, barriers that count bytes, clusters."""

import functools
import re

import numpy as np
import pytest

import gpusim
from gpusim import errors
from gpusim.engine import compiled
from gpusim.engine.run import Launch
from helpers import cycles
from tests.gpusim import kernel_launches
from tests.gpusim.goldens import record
from tests.gpusim.sass_goldens import INSTRUCTIONS, PATCHED, compare_with_recorded, kernel_of

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


AGAIN = "record again on a GPU, with the commands of tests/gpusim/goldens/record.py and `bulk`"
# Nsight Compute slows a kernel down when it patches its code, so that who waits for a copy may have to look once more:
# an H100 lets a thread wait for some 7,760 cycles at a time.
WAITS_LONGER = (
    PATCHED, "smsp__sass_thread_inst_executed.sum", "smsp__sass_thread_inst_executed_pred_on.sum",
    *(f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("misc", "control")),
    "smsp__sass_inst_executed_op_branch.sum",
)  # fmt: skip
NOT_DECIDED = {  # why a counter of a launch is not compared
    "copies_arrive": ("smsp__sass_l1tex_tags_mem_global.sum",),  # leaves out the lines of copies that bypass the L1
}


@functools.cache
def bulk_goldens() -> dict[str, dict]:
    """The recorded launches by name."""
    return {row["name"]: row for row in record.read(record.BULK_GOLDENS)["launches"]}


@pytest.mark.parametrize("name", LAUNCHES)
def test_counters_and_results_of_copies_in_bulk_are_the_gpus(name):
    golden = bulk_goldens()[name]
    counters = golden["counters"]
    waited = counters[INSTRUCTIONS] != counters[PATCHED] or INSTRUCTIONS in golden.get("unsteady", {})
    excluded = (*NOT_DECIDED.get(name, ()), *(WAITS_LONGER if waited else ()), *golden.get("unsteady", {}))
    assert compare_with_recorded(LAUNCHES[name], bulk_goldens(), AGAIN, excluded).counters > 95


# What an H100 answered: the upper words of three states, for a number of threads and of bytes.
STATES = {
    (5, 256): [0x7FFFDBFF, 0x7FFFE000, 0x7FFFE800],
    (3, 4096): [0x7FFFEBFF, 0x7FFFF000, 0x7FFFF800],
    (9, 1024): [0x7FFFBBFF, 0x7FFFC000, 0x7FFFC800],
}


@pytest.mark.parametrize(("threads", "size"), STATES)
def test_mbarrier_state_counts_threads_and_bytes_as_on_the_gpu(threads, size, level):
    out = np.zeros(16, np.uint64)
    kernel = gpusim.RawModule(code=kernel_launches.source_of("bulk"), arch="sm_90").get_function("barrier_bits")
    with gpusim.record(level=level, checks="off"):
        kernel((1,), (1,), (out, np.int32(threads), np.int32(size)))
    assert (out[[3, 6, 8]] >> np.uint64(32)).tolist() == STATES[threads, size]


@pytest.mark.parametrize("thread", [0, 5, 37])
def test_mbarrier_is_made_by_the_thread_that_the_source_names(thread, level):
    source = f"""{HEAD}extern "C" __global__ void kernel(int *out) {{
        __shared__ u64 full;
        if (threadIdx.x == {thread}) init(&full, 1);
        if (threadIdx.x == ARRIVES) arrive(&full);
        __syncthreads();
        wait(&full, 0);
        out[threadIdx.x] = 1;
    }}"""
    for arrives in (thread, thread ^ 3):
        kernel = gpusim.RawModule(code=source.replace("ARRIVES", str(arrives)), arch="sm_90").get_function("kernel")
        with gpusim.record(level=level, checks="report") as recording:
            kernel((1,), (64,), (np.zeros(64, np.int32),))
        assert ["race" in str(report) for report in recording.reports] == [arrives != thread]


def test_every_launch_was_recorded_and_no_other():
    assert [*bulk_goldens()] == [*LAUNCHES], AGAIN


def test_most_waits_last_no_longer_under_nsight_compute():
    waited = [name for name, row in bulk_goldens().items() if row["counters"][INSTRUCTIONS] != row["counters"][PATCHED]]
    assert len(waited) < len(LAUNCHES) / 2


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
    with gpusim.record(level=level, checks=checks):
        kernel_of(launch)(launch.grid, launch.block, tuple(arguments), shared_mem=launch.shared_bytes)
    return before, arguments


def named(*beginnings: str) -> list[str]:
    """The launches whose names begin so."""
    return [name for name in LAUNCHES if name.startswith(beginnings)]


def some_pieces(beginning: str) -> list[str]:
    """A few launches of all sizes and places: the compiled engine runs every one for its counters."""
    return named(beginning)[::9]


@pytest.mark.parametrize("name", some_pieces("fetch "))
def test_pieces_of_all_sizes_come_to_shared_memory(name, level):
    (data, *_), (_, out, size, stride, first, _, copies, _) = run(name, level)
    expected = [np.concatenate([row[first + k * stride :][:size] for k in range(copies)]) for row in data]
    np.testing.assert_array_equal(out.view(np.uint8), expected)


@pytest.mark.parametrize("name", some_pieces("put "))
def test_bulk_copies_of_all_sizes_write_nothing_beside_them(name, level):
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


@pytest.mark.parametrize("name", named("producer_gemm")[::5])
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


def test_block_writes_into_the_shared_memory_of_the_next_one(level):
    (data, *_), (_, out, _) = run("to_the_next 1008", level)
    blocks = np.arange(8)
    np.testing.assert_array_equal(out, data[blocks // 4 * 4 + (blocks - 1) % 4])


def test_a_block_fetches_for_another_one(level):
    (data, *_), (_, out, _) = run("fetch_for_another 64", level)
    np.testing.assert_array_equal(out.view(np.uint8), data[[1, 0, 3, 2]])


@pytest.mark.parametrize("mask", [0b1111, 0b1010])
def test_multicast_reaches_the_blocks_of_the_cluster_in_its_mask(mask, level):
    (data, *_), (_, out, *_) = run(f"fetch_for_all 64 {mask:04b}", level)
    for block, row in enumerate(out.view(np.uint8)):
        first = block // 4 * 4
        whole = data[first : first + 4].reshape(-1)
        np.testing.assert_array_equal(row, whole if mask >> block % 4 & 1 else 255)


@pytest.mark.parametrize("name", named("reduce_", "put_by_all", "prefetch", "with_policies")[::3])
def test_both_engines_and_both_levels_answer_the_same(name, monkeypatch):
    results = [run(name, "sass")[1], run(name, "ptx")[1]]
    monkeypatch.setattr(compiled, "library", lambda: None)
    results.append(run(name, "sass")[1])
    for other in results[1:]:
        for array, same in zip(results[0], other, strict=True):
            assert np.asarray(array).tobytes() == np.asarray(same).tobytes()


BY_THE_HEADERS = """#include <cuda/barrier>
#include <cuda/ptx>
extern "C" __global__ void twice_and_back(int *numbers, int count) {
    __shared__ alignas(16) int part[256];
    __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
    const int t = threadIdx.x;
    if (t == 0) {
        init(&arrived, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    if (t == 0) cuda::memcpy_async(part, numbers, cuda::aligned_size_t<16>(4 * count), arrived);
    arrived.arrive_and_wait();
    for (int i = t; i < count; i += blockDim.x) part[i] = 2 * part[i] + 1;
    cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    __syncthreads();
    if (t == 0) {
        cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, numbers + count, part, 4 * count);
        cuda::ptx::cp_async_bulk_commit_group();
        cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
    }
}"""


@pytest.mark.parametrize("way", ["sass", "ptx"])
def test_the_headers_of_libcudacxx_copy_in_bulk(way):
    numbers = np.arange(512, dtype=np.int32)
    module = gpusim.RawModule(code=BY_THE_HEADERS, arch="sm_90", options=("-std=c++17",))
    with gpusim.record(level=way, checks="raise") as recording:
        module.get_function("twice_and_back")((1,), (64,), (numbers, np.int32(256)))
    np.testing.assert_array_equal(numbers, np.r_[np.arange(256), 2 * np.arange(256) + 1])
    assert way == "ptx" or recording.counters["smsp__sass_inst_executed_op_tma.sum"] == 2


BY_SEVERAL_THREADS = """#include <cuda/barrier>
constexpr int SIDE = 16;
// The tiles of cuda-samples' MatrixMulAsyncCopyLargeChunkAWBarrier: a quarter of the threads copy four numbers each.
extern "C" __global__ void multiplies(const float *A, const float *B, float *C, int K, int N) {
    __shared__ alignas(16) float As[SIDE][SIDE], Bs[SIDE][SIDE];
    __shared__ cuda::barrier<cuda::thread_scope_block> full;
    const int x = threadIdx.x, y = threadIdx.y, chunk = 4 * x;
    if (x == 0 && y == 0) init(&full, SIDE * SIDE);
    __syncthreads();
    const auto four = cuda::aligned_size_t<alignof(float4)>(sizeof(float4));
    float sum = 0;
    for (int k = 0; k < K; k += SIDE) {
        if (chunk < SIDE) {
            cuda::memcpy_async(&As[y][chunk], &A[(blockIdx.y * SIDE + y) * K + k + chunk], four, full);
            cuda::memcpy_async(&Bs[y][chunk], &B[(k + y) * N + blockIdx.x * SIDE + chunk], four, full);
        }
        full.arrive_and_wait();
        for (int i = 0; i < SIDE; ++i) sum += As[y][i] * Bs[i][x];
        full.arrive_and_wait();
    }
    C[(blockIdx.y * SIDE + y) * N + blockIdx.x * SIDE + x] = sum;
}"""


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_several_threads_copy_behind_one_barrier(arch, level):
    A, B = (np.random.default_rng(seed).integers(-4, 5, (48, 48)).astype(np.float32) for seed in (36, 37))
    C = np.zeros_like(A)
    module = gpusim.RawModule(code=BY_SEVERAL_THREADS, arch=arch, options=("-std=c++17",))
    with gpusim.record(level=level, checks="raise", max_instructions=100_000):
        module.get_function("multiplies")((3, 3), (16, 16), (A, B, C, np.int32(48), np.int32(48)))
    np.testing.assert_array_equal(C, A @ B)


@functools.cache
def kernel(body: str, head: str = "") -> gpusim.Kernel:
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
    return gpusim.RawModule(code=source, arch="sm_90").get_function("kernel")


def launched(body: str, level: str, n: int = 64, threads: int = 64, size: int = 256, checks: str = "raise"):
    """(what went in, what came out)."""
    numbers, out = np.arange(1, size + 1, dtype=np.int32), np.zeros(size, np.int32)
    with gpusim.record(level=level, checks=checks):
        kernel(body)((1,), (threads,), (numbers, out, np.int32(n)), shared_mem=4096)
    return numbers, out


def test_abandoned_wait_reports_failure_and_code_goes_on(level):
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


# ---- what is wrong is said in words

WRONG = {
    "a size of no whole units": (
        "if (t == 0) { expect(&full, 20); fetch(tile, in, n / 3, &full); }\n wait(&full, 0);",
        errors.Misaligned, r"copies 21 bytes in bulk, which is not a multiple of 16(.|\n)*5 bytes, one by one",
    ),
    "from between": (
        "if (t == 0) fetch(tile, in + 1, n, &full);", errors.Misaligned,
        r"thread \(0, 0, 0\) of block \(0, 0, 0\) copies 64 bytes in bulk from an address that is not a multiple of 16 "
        r"\(byte 4 of in, index 1 of in(.|\n)*line \d+: if \(t == 0\) fetch\(tile, in \+ 1, n, &full\);",
    ),
    "to between": (
        "if (t == 0) fetch(tile + 8, in, n, &full);", errors.Misaligned,
        r"copies 64 bytes in bulk to an address that is not a multiple of 16(.|\n)*__align__\(16\)",
    ),
    "beyond the end": (
        "if (t == 0) fetch(tile, in + 252, n, &full);", errors.OutOfBounds,
        r"copies 64 bytes in bulk from index 252 of in, which has 256 elements, of which only 16 are inside of in",
    ),
    "nowhere": ("if (t == 0) fetch(tile, in + (n << 20), n, &full);", errors.OutOfBounds, r"far from every array"),
    "beyond shared memory": (
        "if (t == 0) fetch(tile + 4080, in, n, &full);", errors.OutOfBounds,
        r"copies 64 bytes in bulk to byte \d+ of shared memory, which has \d+ bytes",
    ),
    "beyond its array": (
        "if (t == 0) fetch(small + 56, in, n, &full);", errors.OutOfBounds,
        r"copies 64 bytes in bulk to .*small\[56\], of which only 32 are inside of small",
    ),
    "put beyond the end": (
        "small[t] = t; publish(); __syncthreads(); if (t == 0) put(out + 248, small, n);", errors.OutOfBounds,
        r"copies 64 bytes in bulk to index 248 of out, which has 256 elements, of which only 32 are inside of out",
    ),
    "half a barrier": (
        "if (t == 0) fetch(tile, in, n, reinterpret_cast<u64 *>(reinterpret_cast<char *>(&full) + 4));",
        errors.Misaligned, r"names an mbarrier at byte \d+ of shared memory, which is not a multiple of 8",
    ),
    "more is expected than comes": (
        "if (t == 0) { expect(&full, n + 16); fetch(tile, in, n, &full); }\n if (t < 40) wait(&full, 0);",
        errors.BarrierError,
        r"thread \(0, 0, 0\) of block \(0, 0, 0\) and 39 more of its block at line 16, for 16 bytes to come at the "
        r"mbarrier full(.|\n)*line \d+: if \(t < 40\) wait\(&full, 0\)(.|\n)*Do the sizes of the copies add up",
    ),
    "less is expected than comes": (
        "if (t == 0) { expect(&full, n - 16); fetch(tile, in, n, &full); }\n wait(&full, 0);", errors.BarrierError,
        r"for 16 bytes to be expected that have come already at the mbarrier full",
    ),
    "nobody arrives": (
        "if (t < 10) arrive(&vacant);\n wait(&vacant, 0);", errors.BarrierError,
        r"for 22 threads to arrive at the mbarrier vacant",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("way", ["sass", "ptx"])
def test_what_is_wrong_with_a_copy_is_said_with_line_and_thread(name, way):
    body, error, text = WRONG[name]
    if name == "a size of no whole units" and way == "sass":  # which the machine code has cut already
        error, text = errors.BarrierError, r"for 4 bytes to come(.|\n)*takes whole multiples of 16 bytes"
    with pytest.raises(error, match=text):
        launched(f"    {body}\n    out[t] = tile[t] + small[0];", way, checks="off")


def pipeline() -> str:
    """The multiplication alone, with the functions that it calls."""
    source = kernel_launches.source_of("bulk")
    functions, rest = source.split("// One thread fetches `copies` pieces")
    return functions + rest[rest.index("// C = A B for") : rest.index("// Each thread copies 16 bytes")]


PIPELINE = pipeline()
EARLY, OVER = "has not waited for the copy in bulk into it", "a copy in bulk does not wait for who uses Bs"
PLANTED = {  # what is changed in the multiplication, and what is said of it, in the error or in what came before it
    "nobody waits for the rows": ("        wait(&full[stage], step / STAGES % 2);\n", "", f"{EARLY}|{OVER}"),
    "nothing is expected": ("arrive_and_expect(&full[stage], rows * bytes)", "arrive(&full[stage])", EARLY),
    "a row too much is expected": (
        "arrive_and_expect(&full[stage], rows * bytes)", "arrive_and_expect(&full[stage], (rows + 1) * bytes)",
        r"bytes to come at the mbarrier full\[0\]",
    ),
    "rows come too early": (
        "if (step >= STAGES) wait(&vacant[stage], (step / STAGES - 1) % 2);", "", f"{EARLY}|{OVER}",
    ),
    "the parity is the other one": ("(step / STAGES - 1) % 2", "step / STAGES % 2", f"{EARLY}|{OVER}|wait for ever"),
    "only some say that they are done": (
        "        arrive(&vacant[stage]);", "        if (threadIdx.x % 2) arrive(&vacant[stage]);",
        r"64 threads to arrive at the mbarrier vacant\[0\]|for one thread to arrive at the mbarrier full",
    ),
    "they say so before": (
        "        wait(&full[stage], step / STAGES % 2);\n",
        "        wait(&full[stage], step / STAGES % 2);\n        arrive(&vacant[stage]);\n", f"{EARLY}|{OVER}",
    ),
}  # fmt: skip


def multiply(source: str, level: str) -> None:
    """Run the multiplication of a source with all checks."""
    launch = LAUNCHES["producer_gemm<3, 8> 70x132x45"]
    module = gpusim.RawModule(code=source, name_expressions=[launch.entry], arch="sm_90")
    with gpusim.record(level=level, checks="raise"):
        module.get_function(launch.entry)(launch.grid, launch.block, tuple(launch.make_arguments()))


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("way", ["sass", "ptx"])
def test_an_error_in_a_pipeline_is_found(name, way):
    old, new, text = PLANTED[name]
    source = PIPELINE.replace(old, new)
    if name == "they say so before":
        last = source.rindex("        arrive(&vacant[stage]);\n    }")
        source = source[:last] + source[last:].replace("        arrive(&vacant[stage]);\n", "", 1)
    assert source != PIPELINE
    with pytest.raises(gpusim.SimulatorError) as caught:
        multiply(source, way)
    said = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert re.search(text, said), said


@pytest.mark.parametrize("way", ["sass", "ptx"])
def test_a_pipeline_without_an_error_gives_no_alarm(way):
    multiply(PIPELINE, way)


DECIDED = [
    *some_pieces("fetch "), *some_pieces("put "), *named("producer_gemm")[::5], "reduce_add_u32", "to_the_next 1008",
    "fetch_for_another 64", "fetch_for_all 64 1111", "fetch_for_all 64 1010",
]  # fmt: skip


@pytest.mark.parametrize("name", DECIDED)
def test_what_is_right_is_decided_by_the_compiled_engine(name, monkeypatch):
    def refuse(launch):
        raise AssertionError(f"{launch.program.name} was executed by the engine in NumPy")

    monkeypatch.setattr(Launch, "run", refuse)
    run(name, "sass", "raise")


@pytest.mark.parametrize("name", ["to_the_next 1008", "fetch_for_another 64", "fetch_for_all 64 1111"])
def test_reader_of_another_blocks_copy_must_wait_for_it(name):
    launch = LAUNCHES[name]
    start = (source := kernel_launches.source_of("bulk")).index(f" {launch.entry}(")
    without = source[:start] + source[start:].replace("    wait(&full, 0);\n", "", 1)
    kernel = gpusim.RawModule(code=without, arch="sm_90", options=("-std=c++17",)).get_function(launch.entry)
    with (
        pytest.raises(errors.AsyncCopyError, match=EARLY),
        gpusim.record(level="sass", checks="raise"),
    ):
        kernel(launch.grid, launch.block, tuple(launch.make_arguments()), shared_mem=launch.shared_bytes)


ASK = "small[t] = t; publish(); __syncthreads(); if (t == 0) { put(out, small, 256); commit();"
PUTS = {
    "right": (ASK + " waits; } __syncthreads(); small[t] = 7;", None, ""),
    "no wait": (ASK + " } __syncthreads(); small[t] = 7;", errors.AsyncCopyError, "may still read it"),
    "no barrier before": (
        ASK.replace("__syncthreads();", "") + " waits; }", errors.RaceError, r"fence.proxy.async and then __syncthr",
    ),
    "no barrier behind": (ASK + " waits; } small[t] = 7;", errors.AsyncCopyError, "may still read it"),
}  # fmt: skip


@pytest.mark.parametrize("way", ["sass", "ptx"])
def test_bulk_reduction_happens_once_under_the_sanitizer_too(way):
    (new, old, _), (_, out, _) = run("reduce_add_u32", way, "raise")
    np.testing.assert_array_equal(out.view(np.uint32), new.view(np.uint32) + old.view(np.uint32))


@pytest.mark.parametrize("name", PUTS)
@pytest.mark.parametrize("way", ["sass", "ptx"])
def test_bulk_store_source_is_written_before_and_kept_until_read(name, way):
    body, error, text = PUTS[name]
    body = "    " + body.replace("waits", 'asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory")')
    if error is None:
        launched(body, way)
        return
    with pytest.raises(error, match=text):
        launched(body, way)


def test_no_time_is_predicted_for_copies_in_bulk():
    launch = LAUNCHES["put_by_all"]
    with gpusim.record(level="sass") as recording:
        kernel_of(launch)(launch.grid, launch.block, tuple(launch.make_arguments()), shared_mem=launch.shared_bytes)
    with pytest.raises(gpusim.SimulatorError, match="put_by_all cannot be predicted: it copies in bulk"):
        cycles.predict(recording)
