"""Kernels with one planted mistake each, and correct ones that look alike: how each is launched, what is wrong.

The line to be found is marked in the source: `// BUG(kernel)`. Arguments are built through `helpers.gpu`, so that the
same launch runs on the simulator and, under compute-sanitizer, on a GPU (`record_verdicts.py`).
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

FOLDER = Path(__file__).parent
OPTIONS = ("-std=c++17", "-lineinfo")
Arguments = Callable[[ModuleType], tuple]
i32, f32 = np.int32, np.float32


@dataclass(frozen=True)
class Planted:
    """One launch: `kernel` of `file`, what is wrong with it (a kind of finding, "" for a correct kernel)."""

    kernel: str
    file: str
    kind: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: Arguments
    shared_mem: int = 0
    before: str = ""  # another kernel of the file that is launched first, with the first two arguments

    @property
    def key(self) -> str:
        """Changes if the kernel's text or its launch does: by that a recorded verdict is found."""
        text = re.sub(r"//[^\n]*", "", source(self.file))
        start = text.index(f" {self.kernel}(")
        stop = text.find('extern "C"', start)
        body = "".join(text[start : stop if stop > 0 else None].split())
        facts = (body, self.grid, self.block, self.shared_mem, self.before)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]

    @property
    def span(self) -> range:
        """The lines of the kernel in its file, from the one with its name."""
        text = source(self.file).splitlines()
        start = next(n for n, line in enumerate(text, 1) if f" {self.kernel}(" in line)
        following = (n for n, line in enumerate(text, 1) if n > start and line.startswith('extern "C"'))
        return range(start, next(following, len(text) + 1))

    @property
    def lines(self) -> frozenset[int]:
        """The marked lines."""
        marks = re.compile(rf"//.*\bBUG\({self.kernel}\)")
        return frozenset(n for n, line in enumerate(source(self.file).splitlines(), 1) if marks.search(line))


@cache
def source(file: str) -> str:
    """The text of one of the .cu files here."""
    return (FOLDER / file).read_text(encoding="utf-8")


def launch(planted: Planted, module, gpu: ModuleType) -> tuple:
    """Launch on whichever device `gpu` stands for; `module` is the compiled file. Returns the arguments."""
    arguments = planted.arguments(gpu)
    if planted.before:
        module.get_function(planted.before)(planted.grid, planted.block, arguments[:2])
    function = module.get_function(planted.kernel)
    function(planted.grid, planted.block, arguments, shared_mem=planted.shared_mem)
    return arguments


def _floats(*shape: int) -> np.ndarray:
    """Different values, none of them round."""
    return (np.arange(1, np.prod(shape) + 1, dtype=f32) * f32(0.37) % f32(5.0)).reshape(shape)


def _bins(count: int, bins: int) -> np.ndarray:
    """Bin numbers; neighbours share one."""
    return (np.arange(count, dtype=i32) // 2 * 5 % bins).astype(i32)


def _xy(size: int, *before: int, out: int | None = None) -> Arguments:
    """(sizes…, x, y): an input and an output of `size` floats."""
    return lambda gpu: (
        *(i32(n) for n in before),
        gpu.asarray(_floats(size)),
        gpu.zeros(size if out is None else out, f32),
    )


def _histogram(count: int, bins: int, wrong: int | None = None) -> Arguments:
    """(count, bin numbers, histogram); `wrong` replaces the last bin number."""

    def arguments(gpu):
        numbers = _bins(count, bins)
        if wrong is not None:
            numbers[-1] = wrong
        return i32(count), gpu.asarray(numbers), gpu.zeros(bins, i32)

    return arguments


def _halves(size: int, *before: int, out: int, dtype: type = np.uint32) -> Arguments:
    """(sizes…, x, y): `size` float16 numbers as bits, and an output."""
    return lambda gpu: (
        *(i32(n) for n in before),
        gpu.asarray(_floats(size).astype(np.float16).view(np.uint16)),
        gpu.zeros(out, dtype),
    )


def _product(a: int, b: int, c: int) -> Arguments:
    """(A, B, C): A and B of so many float16 numbers as bits, C of so many floats."""
    return lambda gpu: (
        *(gpu.asarray(_floats(n).astype(np.float16).view(np.uint16)) for n in (a, b)),
        gpu.zeros(c, f32),
    )


OUT_OF_BOUNDS, MISALIGNED = "out of bounds", "misaligned"
UNWRITTEN_GLOBAL, UNWRITTEN_SHARED = "unwritten global memory", "unwritten shared memory"
SHARED_RACE, GLOBAL_RACE = "race in shared memory", "race in global memory"
BARRIER, ASYNC_COPY = "barrier", "asynchronous copy"
TENSOR = "tensor_cores.cu"

PLANTED: tuple[Planted, ...] = (
    # ---- out of bounds
    Planted("read_past_end", "out_of_bounds.cu", OUT_OF_BOUNDS, (3,), (32,), _xy(70, 70)),
    Planted("write_past_end", "out_of_bounds.cu", OUT_OF_BOUNDS, (3,), (32,), _xy(70, 70)),
    Planted("negative_index", "out_of_bounds.cu", OUT_OF_BOUNDS, (3,), (32,), _xy(96, 96)),
    Planted("one_too_many", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (32,), _xy(100, 100, out=32)),
    Planted(
        "missing_row_guard", "out_of_bounds.cu", OUT_OF_BOUNDS, (2, 2), (16, 16),
        lambda gpu: (i32(20), i32(24), i32(8), gpu.asarray(_floats(20, 8)), gpu.asarray(_floats(8, 24)),
                     gpu.zeros((20, 24), f32)),
    ),
    Planted(
        "wrong_pitch", "out_of_bounds.cu", OUT_OF_BOUNDS, (2, 1), (16, 16),
        lambda gpu: (i32(10), i32(30), gpu.asarray(_floats(10, 30)), gpu.zeros((30, 10), f32)),
    ),
    Planted("index_overflow", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (32,), _xy(1024, 40000, 65536, out=32)),
    Planted("vector_past_end", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (32,), _xy(126, 126, out=128)),
    Planted(
        "null_pointer", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (32,),
        lambda gpu: (i32(32), gpu.asarray(_floats(32)), np.uint64(0), gpu.zeros(32, f32)),
    ),
    Planted(
        "gather", "out_of_bounds.cu", OUT_OF_BOUNDS, (2,), (32,),
        lambda gpu: (i32(64), gpu.asarray(np.r_[np.arange(63), 6400].astype(i32)), gpu.asarray(_floats(64)),
                     gpu.zeros(64, f32)),
    ),
    Planted("atomic_past_end", "out_of_bounds.cu", OUT_OF_BOUNDS, (2,), (32,), _histogram(64, 16, wrong=16)),
    Planted("shared_past_end", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (64,), _xy(64)),
    Planted("dynamic_too_small", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (64,), _xy(64), shared_mem=128),
    Planted("into_next_array", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (64,), _xy(64)),
    Planted("tile_row_too_many", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (16, 16), _xy(256, 1)),
    Planted(
        "local_past_end", "out_of_bounds.cu", OUT_OF_BOUNDS, (1,), (32,),
        lambda gpu: (i32(4), gpu.asarray(i32([1, 2, 7, 8])), gpu.zeros(256, f32)),
    ),
    Planted("misaligned_vector", "out_of_bounds.cu", MISALIGNED, (1,), (32,), _xy(132, 132, out=32)),
    Planted("misaligned_padded_row", "out_of_bounds.cu", MISALIGNED, (1,), (64,), _xy(256, out=64)),
    Planted("misaligned_odd_width", "out_of_bounds.cu", MISALIGNED, (1,), (32,), _xy(32 * 33 + 2, 33, out=32)),
    # ---- memory that nobody wrote
    Planted(
        "beta_times_empty", "unwritten.cu", UNWRITTEN_GLOBAL, (2, 2), (16, 16),
        lambda gpu: (i32(20), i32(24), f32(1), gpu.asarray(_floats(20, 24)), f32(1), gpu.empty((20, 24), f32)),
    ),
    Planted(
        "accumulate_into_empty", "unwritten.cu", UNWRITTEN_GLOBAL, (3,), (32,),
        lambda gpu: (i32(96), gpu.asarray(_floats(96)), gpu.empty(96, f32)),
    ),
    Planted(
        "count_from_empty", "unwritten.cu", UNWRITTEN_GLOBAL, (3,), (32,),
        lambda gpu: (i32(96), gpu.asarray(_bins(96, 9)), gpu.empty(1, i32)),
    ),
    Planted(
        "read_all", "unwritten.cu", UNWRITTEN_GLOBAL, (3,), (32,),
        lambda gpu: (i32(96), gpu.empty(96, f32), gpu.empty(96, f32)), before="all_but_last",
    ),
    Planted("tile_without_zeros", "unwritten.cu", UNWRITTEN_SHARED, (2,), (64,), _xy(100, 100, out=2)),
    Planted("tree_of_48", "unwritten.cu", UNWRITTEN_SHARED, (1,), (48,), _xy(48, out=1)),
    Planted("halo_forgotten", "unwritten.cu", UNWRITTEN_SHARED, (3,), (64,), _xy(192, 192)),
    Planted("histogram_not_cleared", "unwritten.cu", UNWRITTEN_SHARED, (1,), (32,), _histogram(96, 32)),
    Planted("half_a_tile", "unwritten.cu", UNWRITTEN_SHARED, (1,), (16, 8), _xy(256, 16)),
    # ---- races in shared memory
    Planted("no_barrier_after_load", "shared_races.cu", SHARED_RACE, (1,), (128,), _xy(128)),
    Planted(
        "no_barrier_before_overwrite", "shared_races.cu", SHARED_RACE, (2, 2), (16, 16),
        lambda gpu: (i32(48), gpu.asarray(_floats(32, 48)), gpu.asarray(_floats(48, 32)), gpu.zeros((32, 32), f32)),
    ),
    Planted("tree_without_barrier", "shared_races.cu", SHARED_RACE, (1,), (256,), _xy(256, out=1)),
    Planted("last_warp_in_step", "shared_races.cu", SHARED_RACE, (1,), (128,), _xy(128, out=1)),
    Planted("lanes_swap", "shared_races.cu", SHARED_RACE, (1,), (32,), _xy(32)),
    Planted("histogram_without_atomics", "shared_races.cu", SHARED_RACE, (1,), (64,), _histogram(64, 16)),
    Planted("all_write_one_word", "shared_races.cu", SHARED_RACE, (1,), (64,), lambda gpu: (gpu.zeros(1, i32),)),
    Planted("two_warps_one_row", "shared_races.cu", SHARED_RACE, (1,), (64,), _xy(64)),
    Planted(
        "scan_in_place", "shared_races.cu", SHARED_RACE, (1,), (64,),
        lambda gpu: (gpu.asarray(_bins(64, 11)), gpu.zeros(64, i32)),
    ),
    Planted("transpose_without_barrier", "shared_races.cu", SHARED_RACE, (2, 2), (32, 8), _xy(4096, 64)),
    Planted("two_buffers_one_barrier", "shared_races.cu", SHARED_RACE, (1,), (64,), _xy(192, 3, out=64)),
    Planted("atomics_then_read", "shared_races.cu", SHARED_RACE, (1,), (64,), _histogram(192, 32)),
    Planted("clear_then_atomics", "shared_races.cu", SHARED_RACE, (1,), (64,), _histogram(192, 64)),
    Planted(
        "broadcast_without_barrier", "shared_races.cu", SHARED_RACE, (2,), (64,),
        lambda gpu: (gpu.asarray(i32([0, 64])), gpu.asarray(_floats(128)), gpu.zeros(128, f32)),
    ),
    Planted("barrier_too_early", "shared_races.cu", SHARED_RACE, (1,), (96,), _xy(96)),
    Planted("scalars_then_vector", "shared_races.cu", SHARED_RACE, (1,), (64,), _xy(256, out=64)),
    Planted(
        "flag_reset_too_early", "shared_races.cu", SHARED_RACE, (1,), (64,),
        lambda gpu: (i32(3), gpu.asarray(_bins(192, 40)), gpu.zeros(64, i32)),
    ),
    Planted(
        "bytes_overlap", "shared_races.cu", SHARED_RACE, (1,), (64,),
        lambda gpu: (gpu.asarray(np.arange(65, dtype=np.uint8)), gpu.zeros(64, np.uint8)),
    ),
    Planted(
        "syncwarp_misplaced", "shared_races.cu", SHARED_RACE, (1,), (32,),
        lambda gpu: (gpu.asarray(_bins(32, 11)), gpu.zeros(1, i32)),
    ),
    # ---- races in global memory
    Planted("blocks_add", "global_races.cu", GLOBAL_RACE, (3,), (64,), _xy(150, 150, out=1)),
    Planted("stencil_in_place", "global_races.cu", GLOBAL_RACE, (3,), (32,),
            lambda gpu: (i32(90), gpu.asarray(_floats(90)))),
    Planted("blocks_overlap", "global_races.cu", GLOBAL_RACE, (3,), (32,), _xy(90, 90)),
    Planted("global_histogram", "global_races.cu", GLOBAL_RACE, (3,), (32,), _histogram(90, 16)),
    Planted(
        "pass_on_in_global", "global_races.cu", GLOBAL_RACE, (2,), (64,),
        lambda gpu: (gpu.asarray(_floats(128)), gpu.empty(128, f32), gpu.zeros(128, f32)),
    ),
    Planted(
        "no_threadfence", "global_races.cu", GLOBAL_RACE, (5,), (32,),
        lambda gpu: (gpu.asarray(_floats(5)), gpu.empty(5, f32), gpu.zeros(1, np.uint32), gpu.zeros(1, f32)),
    ),
    Planted(
        "two_passes", "global_races.cu", GLOBAL_RACE, (3,), (32,),
        lambda gpu: (i32(96), gpu.asarray(_floats(96)), gpu.zeros(96, f32), gpu.zeros(96, f32)),
    ),
    Planted(
        "split_k", "global_races.cu", GLOBAL_RACE, (3,), (32,),
        lambda gpu: (i32(32), i32(9), gpu.asarray(_floats(32, 9)), gpu.asarray(_floats(9)), gpu.zeros(32, f32)),
    ),
    Planted(
        "plain_read_of_atomic", "global_races.cu", GLOBAL_RACE, (3,), (32,),
        lambda gpu: (gpu.asarray(_bins(96, 40)), gpu.zeros(1, i32), gpu.zeros(96, i32)),
    ),
    Planted("transpose_in_place", "global_races.cu", GLOBAL_RACE, (2, 2), (16, 16),
            lambda gpu: (i32(24), gpu.asarray(_floats(24, 24)))),
    # ---- barriers
    Planted("barrier_in_both_branches", "barriers.cu", BARRIER, (1,), (64,), _xy(64)),
    Planted("barrier_by_warps", "barriers.cu", BARRIER, (1,), (64,), _xy(64)),
    Planted("barrier_in_uneven_loop", "barriers.cu", BARRIER, (1,), (64,), lambda gpu: (gpu.zeros(64, i32),)),
    Planted("barrier_in_branch", "barriers.cu", BARRIER, (1,), (64,), _xy(64)),
    # ---- cp.async
    Planted("never_waited_before_read", "async_copies.cu", ASYNC_COPY, (1,), (64,), _xy(64)),
    Planted("own_copy_too_early", "async_copies.cu", ASYNC_COPY, (1,), (64,), _xy(64)),
    Planted("waits_for_too_few", "async_copies.cu", ASYNC_COPY, (1,), (64,), _xy(192, 3, out=64)),
    Planted("no_barrier_after_wait", "async_copies.cu", SHARED_RACE, (1,), (64,), _xy(64)),
    Planted("wait_after_barrier", "async_copies.cu", SHARED_RACE, (1,), (64,), _xy(64)),
    Planted("copy_over_readers", "async_copies.cu", SHARED_RACE, (1,), (64,), _xy(192, 3, out=64)),
    Planted("left_over", "async_copies.cu", ASYNC_COPY, (1,), (64,), _xy(128, out=64)),
    Planted("never_committed", "async_copies.cu", ASYNC_COPY, (1,), (64,), _xy(64)),
    Planted("store_over_copy", "async_copies.cu", ASYNC_COPY, (1,), (64,), _xy(64)),
    Planted("copy_misaligned", "async_copies.cu", MISALIGNED, (1,), (64,), _xy(132, out=64)),
    Planted("copy_past_end", "async_copies.cu", OUT_OF_BOUNDS, (2,), (64,), _xy(100, 100)),
    # ---- tensor cores
    Planted("matrices_before_barrier", TENSOR, SHARED_RACE, (1,), (64,), _halves(512, out=64)),
    Planted("tile_stored_over_readers", TENSOR, SHARED_RACE, (1,), (64,), _halves(768, 3, out=64)),
    Planted("row_of_every_lane", TENSOR, OUT_OF_BOUNDS, (1,), (32,), _halves(256, out=32)),
    Planted("rows_of_36_bytes", TENSOR, MISALIGNED, (1,), (32,), _halves(256, out=32)),
    Planted("half_a_chunk", TENSOR, MISALIGNED, (1,), (32,), _halves(256, out=32)),
    Planted("short_k_without_zeros", TENSOR, UNWRITTEN_SHARED, (1,), (32,), _halves(128, out=32)),
    Planted("padding_as_k", TENSOR, UNWRITTEN_SHARED, (1,), (32,), _halves(256, out=32)),
    Planted("swizzle_with_all_bits", TENSOR, OUT_OF_BOUNDS, (1,), (32,), _halves(1024, out=32)),
    Planted("room_for_one_stage", TENSOR, OUT_OF_BOUNDS, (1,), (32,), _halves(512, out=32), shared_mem=512),
    Planted("matrices_without_wait", TENSOR, ASYNC_COPY, (1,), (32,), _halves(256, out=32)),
    Planted("last_stage_not_awaited", TENSOR, ASYNC_COPY, (1,), (32,), _halves(768, 3, out=32)),
    Planted("fragments_ahead_of_wait", TENSOR, ASYNC_COPY, (1,), (32,), _halves(512, out=32)),
    Planted("others_copies", TENSOR, SHARED_RACE, (1,), (64,), _halves(512, out=64)),
    Planted("copy_over_matrices", TENSOR, SHARED_RACE, (1,), (64,), _halves(768, 3, out=64)),
    Planted("copies_past_the_end", TENSOR, ASYNC_COPY, (1,), (32,), _halves(768, 3, out=32)),
    Planted("stage_without_tile", TENSOR, UNWRITTEN_SHARED, (1,), (32,), _halves(256, 1, out=32)),
    Planted("copy_from_odd_rows", TENSOR, MISALIGNED, (1,), (32,), _halves(320, out=32)),
    Planted("pairs_of_odd_rows", TENSOR, MISALIGNED, (1,), (32,), _product(272, 64, 32)),
    Planted("rows_past_m", TENSOR, OUT_OF_BOUNDS, (1,), (32,), _product(192, 64, 32)),
    Planted("b_with_rows_of_k", TENSOR, OUT_OF_BOUNDS, (1,), (32,), _product(128, 128, 32)),
    Planted("pairs_of_sums", TENSOR, MISALIGNED, (1,), (32,), _product(128, 64, 144)),
    Planted(
        "sums_onto_empty_c", TENSOR, UNWRITTEN_GLOBAL, (1,), (32,),
        lambda gpu: (f32(0.5), *_product(128, 64, 1)(gpu)[:2], gpu.empty((16, 8), f32)),
    ),
    Planted("halves_of_k", TENSOR, GLOBAL_RACE, (2,), (32,), _product(256, 64, 128)),
    Planted("sums_through_shared", TENSOR, SHARED_RACE, (1,), (64,), _halves(128, out=256, dtype=np.uint16)),
    Planted("sums_over_the_tile", TENSOR, SHARED_RACE, (1,), (64,), _halves(256, out=256, dtype=np.uint16)),
    Planted("stored_rows_of_20_bytes", TENSOR, MISALIGNED, (1,), (32,), _halves(64, out=128, dtype=np.uint16)),
)  # fmt: skip

CORRECT: tuple[Planted, ...] = (
    Planted(
        "same_value", "correct.cu", "", (3,), (64,),
        lambda gpu: (i32(180), gpu.asarray(_bins(180, 9)), gpu.zeros(1, i32), gpu.empty(180, i32)),
    ),
    Planted("tree_with_syncwarp", "correct.cu", "", (2,), (128,), _xy(256, out=2)),
    Planted("sum_by_shuffles", "correct.cu", "", (3,), (128,), _xy(1000, 1000, out=1)),
    Planted("histogram", "correct.cu", "", (3,), (64,), _histogram(1000, 32)),
    Planted("scan", "correct.cu", "", (2,), (64,), lambda gpu: (gpu.asarray(_bins(128, 9)), gpu.empty(128, i32))),
    Planted(
        "last_block_sums", "correct.cu", "", (40,), (64,),
        lambda gpu: (gpu.asarray(_floats(40)), gpu.empty(40, f32), gpu.zeros(1, np.uint32), gpu.empty(1, f32)),
    ),
    Planted(
        "bytes_and_halves", "correct.cu", "", (1,), (64,),
        lambda gpu: (gpu.asarray(np.arange(64, dtype=np.uint8)), gpu.empty(64, np.uint8), gpu.empty(64, np.int16)),
    ),
    Planted("whole_blocks_return", "correct.cu", "", (4,), (64,), _xy(128, 128)),
    Planted("return_before_barrier", "correct.cu", "", (2,), (64,), _xy(100, 100)),
    Planted("warp_returns_before_barrier", "correct.cu", "", (1,), (96,), _xy(64)),
    Planted("barrier_before_the_end", "correct.cu", "", (1,), (64,), _xy(64)),
    Planted("barrier_for_one_warp", "correct.cu", "", (1,), (64,), _xy(64)),
    Planted("uneven_blocks", "correct.cu", "", (4,), (64,), _xy(256)),
    Planted(
        "private_columns", "correct.cu", "", (1,), (64,),
        lambda gpu: (i32(5), gpu.asarray(_bins(320, 8)), gpu.empty((8, 64), i32)),
    ),
    Planted(
        "in_place", "correct.cu", "", (2,), (64,),
        lambda gpu: (i32(300), f32(1.5), gpu.asarray(_floats(300)), gpu.asarray(_floats(300))),
    ),
    Planted("three_stages", "correct.cu", "", (1,), (64,), _xy(320, 5, out=64)),
    Planted(
        "maximum", "correct.cu", "", (2,), (64,),
        lambda gpu: (i32(100), gpu.asarray(_floats(100)), gpu.zeros(1, i32)),
    ),
    Planted("warp_transpose", "correct.cu", "", (2,), (64,), _xy(4096)),
    Planted(
        "write_then_read", "correct.cu", "", (2,), (64,),
        lambda gpu: (i32(100), gpu.asarray(_floats(100)), gpu.empty(100, f32), gpu.empty(100, f32)),
    ),
    Planted("tile_with_zeros", "correct.cu", "", (2,), (64,), _xy(100, 100, out=2)),
    Planted(
        "two_in_one", "correct.cu", "", (1,), (64,),
        lambda gpu: (i32(100), gpu.asarray(_floats(100)), gpu.asarray(np.arange(100)[::-1].astype(i32)),
                     gpu.empty(100, f32)),
        shared_mem=800,
    ),
)  # fmt: skip
