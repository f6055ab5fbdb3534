"""Rows for the sanitizer: correct programs that it may not blame, and broken ones whose line it must name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import EllipsisType

import numpy as np

import gpusim
from gpusim import devices, empty
from gpusim.errors import (
    AsyncCopyError,
    BarrierError,
    Misaligned,
    OutOfBounds,
    RaceError,
    StepLimitExceeded,
    UninitializedRead,
    WarpMaskError,
)
from tests.gpusim.foreign.rows import LEVELS, NotForThisArchitecture, Run

SOURCE = Path(__file__).with_suffix(".cu")
I32, U32, F32 = np.int32, np.uint32, np.float32


@dataclass(frozen=True)
class Program:
    """A launch of `kernel`, and the error that it must end with, by level; None where nothing may be found.

    `check` gets the arguments after a launch without a finding. `why` says what is behind a row that one would not
    expect.
    """

    name: str
    kernel: str
    error: dict[str, type[Exception] | None]
    grid: int
    block: int
    arguments: Callable[[], tuple]
    check: Callable[..., bool] | None = None
    shared_mem: int = 0
    why: str = ""
    any_line: bool = False  # of those that are marked
    # On another architecture it may end with this instead: there the compiler makes a loop of a recursion, and nothing
    # of an endless loop without effects; and lanes that went another way wait at its end, so that all wait for ever.
    elsewhere: type[Exception] | EllipsisType | None = ...

    @property
    def lines(self) -> set[int]:
        """The lines that are marked in the source."""
        mark = re.compile(rf"//.*\bBUG\({self.kernel}\)")
        return {n for n, line in enumerate(SOURCE.read_text(encoding="utf-8").splitlines(), 1) if mark.search(line)}

    def run(self, level: str, arch: str = devices.DEFAULT.arch) -> bool:
        """Whether the launch ended with an error. AssertionError if it does not end as it should."""
        arguments, expected = self.arguments(), (self.error[level],)
        if arch != devices.DEFAULT.arch and self.elsewhere is not ...:
            expected += (self.elsewhere,)
        try:
            Run(SOURCE, level, arch)(self.kernel, self.grid, self.block, *arguments, shared_mem=self.shared_mem)
        except gpusim.SimulatorError as error:
            assert type(error) in expected, f"{type(error).__name__}: {error}"
            lines = set(error.lines)
            assert self.lines & lines if self.any_line else self.lines <= lines, (self.lines, lines)
            assert self.lines
            return True
        assert None in expected, "nothing was found"
        assert self.check is None or self.check(*arguments)
        return False


PROGRAMS: dict[str, Program] = {}


def _add(name: str, kernel: str, error, grid: int, block: int, arguments, *, ptx=..., **facts) -> None:
    assert name not in PROGRAMS
    errors = {level: error for level in LEVELS} | ({} if ptx is ... else {"ptx": ptx})
    PROGRAMS[name] = Program(name, kernel, errors, grid, block, arguments, **facts)


def good(name: str, kernel: str, grid: int, block: int, arguments, check=None, **facts) -> None:
    _add(f"good_{name}", kernel, None, grid, block, arguments, check=check, **facts)


def bad(name: str, kernel: str, error: type[Exception] | None, grid: int, block: int, arguments, **facts) -> None:
    _add(f"bad_{name}", kernel, error, grid, block, arguments, **facts)


@cache
def numbers(n: int) -> np.ndarray:
    """Different ones, of which none is 0."""
    return (np.random.default_rng(n).permutation(n) + 3).astype(I32)


def z(*shape: int, dtype: type = I32) -> np.ndarray:
    return np.zeros(shape, dtype)


def x(n: int, dtype: type = I32) -> np.ndarray:
    return numbers(n).astype(dtype)


def xo(n: int = 64, out: int = 64, *more, dtype: type = I32) -> Callable[[], tuple]:
    """An input, an output, and what follows."""
    return lambda: (x(n, dtype), z(out, dtype=dtype), *more)


def reversed_(a: np.ndarray, o: np.ndarray, *_) -> bool:
    return o.tolist() == a[::-1].tolist()


good("warp_sync_reduce", "warp_reduce", 1, 64, xo(64, 1, dtype=F32), lambda a, o: o[0] == a.sum())
good(
    "warp_sync_reduce_guarded",
    "guarded_warp_reduce",
    1,
    64,
    xo(64, 1, I32(50), dtype=F32),
    lambda a, o, n: o[0] == a[:50].sum(),
)
good("double_buffer_one_barrier", "double_buffer", 1, 64, xo(320, 64, I32(5)),
     lambda a, o, n: o.tolist() == a.reshape(5, 64)[:, ::-1].sum(axis=0).tolist())  # fmt: skip
good("cp_async_3stage", "three_stages", 1, 64, xo(320, 64, I32(5)),
     lambda a, o, n: o.tolist() == a.reshape(5, 64)[:, ::-1].sum(axis=0).tolist())  # fmt: skip
good(
    "union_alias_shared",
    "alias",
    1,
    64,
    lambda: (x(64, F32), z(64, dtype=U32)),
    lambda a, o: (o.view(F32) == a[::-1]).all(),
)
good("uninit_padding_float4_copy", "four_of_padding", 1, 64, xo(256, 256, I32(2), dtype=F32),
     lambda a, o, n: (o.reshape(64, 4)[:, :2] == a.reshape(64, 4)[::-1, :2]).all())  # fmt: skip
good("same_value_stores", "same_value", 1, 64, lambda: (z(1), x(64), z(64)), lambda f, a, o: o.all() and f[0] == 7)
good(
    "global_two_phase_same_block_syncthreads", "two_phases", 1, 64, lambda: (z(64), z(64)), lambda d, o: reversed_(d, o)
)
good("inplace_stencil_registers", "stencil_in_place", 1, 64, lambda: (x(64, F32), I32(64)),
     lambda a, n: a.tolist() == (2 * x(64) + np.r_[0, x(64)[:-1]] + np.r_[x(64)[1:], 0]).tolist())  # fmt: skip
good("warp_shuffle_plus_shared_lane0", "shuffles_and_lane_0", 1, 64, xo(),
     lambda a, o: (o == a[:32].sum() + 1000 * a[32:].sum()).all())  # fmt: skip
_add("good_shared_exchange_through_shfl_sync_as_barrier", "exchange_by_shuffle", RaceError, 1, 32, xo(32, 32),
     why="by the guide __shfl_sync() orders no memory: __syncwarp() does")  # fmt: skip
good("atomic_flag_shared_broadcast", "flag_by_atomics", 1, 64, xo(), lambda a, o: (o == a.argmax()).all())
good("lock_per_row", "lock_per_row", 2, 48, lambda: (z(5), z(5), (x(96) % 5).astype(I32)),
     lambda locks, rows, which: rows.tolist() == [(r + 1) * (which == r).sum() for r in range(5)])  # fmt: skip
good(
    "atomicExch_publish_atomicAdd_read",
    "publishes_by_exchange",
    2,
    32,
    lambda: (z(1), z(1), z(1)),
    lambda d, f, o: o[0] == 42,
)
good("fetch_add_acq_rel_ptx", "counts_with_release", 6, 32, lambda: (z(6), z(1), z(1)), lambda p, c, o: o[0] == 21)
good("empty_array_fully_written_then_read", "fills_and_reads", 1, 64, lambda: (empty(64, I32), z(64)),
     lambda a, o: o.tolist() == [(t + 1) % 64 for t in range(64)])  # fmt: skip


def _written_by_the_host(values: np.ndarray) -> Callable[[], tuple]:
    def arguments() -> tuple:
        a = empty(64, I32)
        a.reshape(8, 8)[...] = values.reshape(8, 8)
        return a, z(64)

    return arguments


for name in ("host_writes_then_kernel_reads", "view_written_by_host_through_reshape"):
    good(f"empty_{name}", "copies", 1, 64, _written_by_the_host(x(64)), lambda a, o: o.tolist() == (x(64) + 1).tolist())
good("empty_host_writes_the_NaN_pattern", "copies", 1, 64, _written_by_the_host(np.full(64, np.array(empty(1,
     I32))[0])),
     lambda a, o: (o == np.array(empty(1, I32))[0] + 1).all())  # fmt: skip
good("empty_int8", "bytes", 1, 64, lambda: (empty(64, np.int8), empty(64, np.int8), z(16)),
     lambda a, b, w: w.view(np.int8).tolist() == [65 - t for t in range(64)])  # fmt: skip
for name in ("char_neighbours_different_threads", "char_into_int_array_bytes"):
    good(name, "bytes", 1, 64, lambda: (z(64, dtype=np.int8), z(64, dtype=np.int8), z(16)),
         lambda a, b, w: w.view(np.int8).tolist() == [65 - t for t in range(64)])  # fmt: skip
good("syncthreads_in_uniform_branch_and_loop", "uniform_branch", 1, 64, xo(64, 64, I32(5)),
     lambda a, o, n: o.tolist() == (a[::-1] + 4).tolist())  # fmt: skip
good("syncthreads_exited_warps", "exited_warps", 1, 128, xo(), reversed_)
good("syncthreads_in_both_branches_different_lines_per_warp", "barrier_in_both_branches", 1, 64, xo(),
     lambda a, o: (o == np.where(np.arange(64) < 32, 1, -1) * a[::-1]).all())  # fmt: skip
good("threadfence_block_flag_in_warp_pairs", "pairs_of_warps", 1, 64, xo(4, 1), lambda a, o: o[0] == a[0])
VOLTA = "since Volta lanes need not run in step: the guide asks for __syncwarp()"
_add("good_double_hash_volatile_warp", "warp_of_volatile", RaceError, 1, 64, xo(64, 1), why=VOLTA)

bad("missing_syncthreads", "no_barrier", RaceError, 1, 64, xo())
bad("missing_second_barrier_in_loop", "one_barrier_of_two", RaceError, 1, 64, xo(192, 64, I32(3)))
bad("missing_syncwarp_within_warp", "no_syncwarp", RaceError, 1, 32, xo(32, 32))
bad("missing_syncwarp_tree", "tree_without_syncwarp", RaceError, 1, 32, lambda: (x(32),))
bad("global_race_warps_of_block", "warps_in_global", RaceError, 1, 128, lambda: (z(128), z(128)))
bad("global_race_between_blocks_increment", "plain_count", RaceError, 3, 32, lambda: (z(1),))
bad("histogram_without_atomics", "plain_histogram", RaceError, 1, 64, lambda: (x(64) % 5, z(5)))
bad("race_between_waves_200_blocks_of_256", "many_blocks", RaceError, 200, 256, lambda: (z(40000),))
bad("fence_missing_last_block", "no_fence", RaceError, 5, 32, lambda: (z(5), z(1, dtype=U32), z(1)))
bad("wrong_atomic_variable_sync", "other_variable", RaceError, 2, 32, lambda: (z(1), z(2), z(1)))
bad("uninit_shared_read", "unwritten_shared", UninitializedRead, 1, 64, lambda: (z(64),))
bad(
    "uninit_local_array",
    "unwritten_local",
    UninitializedRead,
    1,
    32,
    lambda: ((np.arange(20, 52) % 32 + (np.arange(32) == 20) * 11).astype(I32), z(32)),
)
bad("uninit_global_empty", "reads_empty", UninitializedRead, 1, 32, lambda: (empty(32, F32), z(32, dtype=F32)))
bad(
    "uninit_global_empty_int8_and_half",
    "reads_empty_bytes",
    UninitializedRead,
    1,
    32,
    lambda: (z(32, dtype=np.int8), empty(32, np.int16), z(32)),
)
bad("uninit_accumulate_into_empty", "adds_to_empty", UninitializedRead, 1, 32, lambda: (empty(32, F32), x(32, F32)))
bad("partially_written_float4_shared", "three_of_four_shared", UninitializedRead, 1, 32, xo(32, 32, dtype=F32))
bad(
    "partially_written_float4_global_empty",
    "three_of_four_global",
    UninitializedRead,
    1,
    32,
    lambda: (empty(128, F32), z(32, dtype=F32)),
)
bad("oob_global_by_one", "one_too_far", OutOfBounds, 1, 64, xo(40, 40, I32(40), dtype=F32))
bad("oob_inside_parent_buffer_view", "beyond_view", OutOfBounds, 1, 32, lambda: (z(100)[20:52],))
bad("oob_row_overrun_inside_matrix", "beyond_row", None, 1, 16, xo(160, 16, I32(16), dtype=F32),
    check=lambda a, o, n: o.tolist() == a[49:65].tolist(), why="inside the array: no address is wrong")  # fmt: skip
bad("int_overflow_index", "overflows", OutOfBounds, 1, 32, xo(64, 32, I32(50000), I32(50000), dtype=F32))
bad("shared_beyond_static", "beyond_static", OutOfBounds, 1, 32, xo(32, 32))
bad("shared_overrun_into_neighbour_array", "into_neighbour", OutOfBounds, 1, 32, lambda: (np.r_[I32(2), x(31)], z(32)))
bad("shared_beyond_dynamic", "beyond_dynamic", OutOfBounds, 1, 64, xo(), shared_mem=128)
bad("shared_2d_row_overrun", "beyond_2d", OutOfBounds, 1, 64, xo())
bad("misaligned_float4", "misaligned", Misaligned, 1, 8, xo(64, 32, dtype=F32))
bad("misaligned_float4_view_offset", "misaligned", Misaligned, 1, 8, lambda: (x(70, F32)[2:], z(32, dtype=F32)))
bad("stack_overflow_recursion", "recurses", OutOfBounds, 1, 2, lambda: (z(2), I32(10**6)), any_line=True,
    elsewhere=StepLimitExceeded)  # fmt: skip
bad("recursion_depth_60_needs_16KB_stack", "recurses", OutOfBounds, 1, 2, lambda: (z(2), I32(200)), any_line=True,
    elsewhere=None)  # fmt: skip
_add("bad_local_array_oob", "beyond_local", None, 1, 32, lambda: (np.where(np.arange(16) == 9, 300,
     x(16)).astype(I32), z(32)),
     ptx=OutOfBounds, why="in the machine code the eight elements are registers, and no address is left")  # fmt: skip
bad("nonvolatile_spin", "spins_on_plain", StepLimitExceeded, 1, 96, lambda: (z(1), z(1)), elsewhere=None)
bad("barrier_in_divergence_half_warp_then_more_work", "barrier_of_some", BarrierError, 1, 64, xo())
bad("deadlock_barrier_in_divergence", "exited_lanes", None, 1, 32, xo(32, 32),
    check=lambda a, o: o[:16].tolist() == a[:16].tolist(), why="who has left counts as arrived")  # fmt: skip
bad("barrier_count_differs_in_loop", "uneven_barriers", None, 1, 96, xo(96, 96),
    why="warps come to different numbers of barriers before they end: a GPU runs it")  # fmt: skip
bad("deadlock_lock_order", "locks_in_two_orders", StepLimitExceeded, 2, 32, lambda: (z(2), z(1)))
bad("shfl_from_inactive_lane", "shuffles_from_absent", WarpMaskError, 1, 32, xo(32, 32))
bad("shfl_mask_names_missing_lanes", "mask_names_absent", WarpMaskError, 1, 32, xo(32, 32), elsewhere=BarrierError)
bad("shfl_wrong_mask_caller_not_in_mask", "caller_not_in_mask", WarpMaskError, 1, 32, xo(32, 32))
bad("syncwarp_mask_missing_lanes", "syncwarp_of_absent", WarpMaskError, 1, 32, xo(32, 32), elsewhere=BarrierError)
bad("cp_async_no_wait", "no_wait", AsyncCopyError, 1, 64, xo())
bad("cp_async_wait_without_barrier", "wait_without_barrier", RaceError, 1, 64, xo())
bad("cp_async_wait_group_too_many_left", "waits_for_too_few", AsyncCopyError, 1, 64, xo(128, 128))


def _read_only() -> tuple:
    a = x(32, F32)
    a.flags.writeable = False
    return (a,)


def _both() -> tuple:
    a = x(64)
    return a, a


bad("write_const_array", "writes", OutOfBounds, 1, 32, _read_only)
bad("nullptr", "writes", OutOfBounds, 1, 32, lambda: (np.uint64(0),))
bad("race_write_write_different_values_same_warp", "same_place", RaceError, 1, 32, lambda: (z(32),))
bad("restrict_readonly_cache_alias", "restricted", RaceError, 1, 64, _both)
bad("atomic_and_plain_mix_same_block", "atomic_and_plain", RaceError, 1, 64, lambda: (z(1), z(64)))
bad("volatile_shared_race_warps", "volatile_in_shared", RaceError, 1, 64, xo())
bad(
    "volatile_global_counter",
    "volatile_count",
    None,
    2,
    32,
    lambda: (z(1),),
    why="volatile accesses are no data race by the memory model",
)

HELD = {
    "good_last_block_fence_atomic":
        "test_each_piece_is_needed.py::test_the_whole_program_is_right",
    "good_histogram_private_then_reduce": "test_checks.py::test_a_correct_kernel_has_no_finding",
    "good_uninit_padding_struct_copy":
        "test_unused_values.py::test_struct_is_copied_with_padding_but_not_without_a_member",
    "good_partial_tile_unused_select":
        "test_unused_values.py::test_of_two_values_the_one_that_is_not_taken_may_be_anything",
    "bad_last_block_no_syncthreads_before_count":
        "test_each_piece_is_needed.py::test_without_one_piece_it_is_a_race",
    "good_cuda_atomic_release_acquire":
        "test_foreign_kernels.py::test_a_kernel_from_elsewhere_gives_what_the_table_says",
    "good_release_acquire_ptx_noatomic":
        "test_foreign_kernels.py::test_a_kernel_from_elsewhere_gives_what_the_table_says",
}  # fmt: skip
AS_EXPECTED = ("nothing found, right", "found at its line", "nothing to be found", "refused by the compiler")


def answer(program: Program, level: str, arch: str = devices.DEFAULT.arch) -> str:
    """What the sanitizer says of a program: one of AS_EXPECTED, or what is wrong."""
    try:
        findings = program.run(level, arch)
    except NotForThisArchitecture:
        return "refused by the compiler"
    except AssertionError as error:
        return f"WRONG: {str(error)[:200]!r}"
    if findings:
        return "found at its line"
    return "nothing to be found" if program.name.startswith("bad_") else "nothing found, right"
