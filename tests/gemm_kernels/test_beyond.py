"""The kernels after the ladder: right at every shape, with parts of tiles or without, and what their code promises."""

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gemm_kernels
from gemm_kernels import UPPER, get
from gemm_kernels.ladder import TRIED
from gemm_kernels.launch import OPTIONS
from gemm_kernels.rules import broken
from gemm_kernels.workspaces import Workspaces
from gpusim import compiler, devices
from helpers import gpu, recordings, run
from helpers.measure.problem import ALPHA, BETA, problem, verify
from helpers.pictures.register_file import model as register_banks
from helpers.recordings.measurement import geometric_mean
from helpers.recordings.suites import CHOICES, FASTEST, FASTEST_SQUARES, OTHERS, SQUARES, UNSEEN
from tests.measure.changed import CHANGED, changed_since

pytestmark = pytest.mark.usefixtures("on_the_simulator")

H100 = "NVIDIA H100 80GB HBM3"


@dataclass(frozen=True)
class Reached:
    """What `fastest` reached on a GPU: parts of the peak by size, the geometric mean over other shapes as a part of
    cuBLAS, and at most how many of the others and of the unseen shapes are lost, and by how much."""

    of_peak: dict[int, float]
    others: float
    others_lost: int
    others_least: float
    unseen_lost: int
    unseen_least: float


REACHED = {
    H100: Reached({2048: 0.82, 4096: 0.86, 6144: 0.88, 8192: 0.88}, 1.26, 0, 1.0, 1, 0.98),
    devices.DEFAULT.name: Reached({2048: 0.82, 4096: 0.86, 6144: 0.88, 8192: 0.87}, 1.26, 1, 0.98, 2, 0.88),
}
SMALL = {"BM": 32, "BN": 64, "BK": 8, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "SLICES": 2, "STAGES": 4, "BLOCKS": 1}
SHAPES = ((36, 68, 20), (35, 69, 51), (33, 70, 45), (1, 1, 1), (31, 61, 400))  # rows at 16 bytes, odd, at 8, tiny, deep
SETS = {  # of `persistent`: few workers with parts of tiles, wide patches, a row of lanes, no workers and a k of 40
    "parts": SMALL | {"WORKERS": 6},
    "groups of parts": SMALL | {"WORKERS": 24},
    "12 x 12": {"BM": 48, "BN": 192, "BK": 8, "WM": 24, "WN": 192, "TM": 12, "TN": 12, "SLICES": 2, "STAGES": 4,
                "BLOCKS": 1, "WORKERS": 5},
    "one lane down": {"BM": 8, "BN": 128, "BK": 64, "WM": 8, "WN": 128, "TM": 8, "TN": 4, "SLICES": 8, "STAGES": 3,
                      "BLOCKS": 1, "WORKERS": 3},
    "two lanes along, few sums": {"BM": 64, "BN": 8, "BK": 32, "WM": 64, "WN": 8, "TM": 4, "TN": 4, "SLICES": 4,
                                  "STAGES": 3, "BLOCKS": 2, "WORKERS": 11},
    "a block for every tile, k by 40": SMALL | {"BK": 40, "SLICES": 4, "STAGES": 3, "WORKERS": 0},
}  # fmt: skip

PRODUCERS = {  # of `producer`: slices and parts of tiles; more lanes that copy than rows, two stages, no workers
    "parts, one warp copies": SMALL | {"STAGES": 3, "PRODUCERS": 1, "WORKERS": 6},
    "more lanes than rows": {"BM": 8, "BN": 64, "BK": 8, "WM": 8, "WN": 64, "TM": 4, "TN": 4, "SLICES": 1, "STAGES": 2,
                             "PRODUCERS": 3, "BLOCKS": 2, "WORKERS": 0},
}  # fmt: skip


def machine_code(name):
    kernel = get(name)
    return compiler.disassemble(compiler.compile(kernel.source, kernel.entry, arch="sm_90", options=OPTIONS))


# The steps before it; where blocks share out work, more or fewer of them than there are tiles.
STEPS = {name: get(name, **SMALL) for name in ("pinned", "unmerged", "exchanged", "strips")} | {
    f"{name}, {workers} blocks": get(name, **SMALL, WORKERS=workers)
    for name in ("resident", "even_shares", "whole_first", "two_versions", "tall_patches")
    for workers in (1, 5, 24)
}
KERNELS = STEPS | {name: get("persistent", **params) for name, params in SETS.items()}
KERNELS |= {name: get("producer", **params) for name, params in PRODUCERS.items()}


@pytest.mark.table(keep=4)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_results_are_right_at_even_and_odd_shapes_with_any_beta(kernel):
    for shape in SHAPES:
        A, B, C = problem(*shape)
        verify(run.multiply(kernel, A, B, C.copy(), ALPHA, BETA), A, B, C, ALPHA, BETA)
        if shape in SHAPES[:3]:
            verify(run.multiply(kernel, A, B, None, ALPHA, 0.0), A, B, None, ALPHA)


def test_each_step_is_a_change_to_the_one_before_it():
    assert [kernel.after for kernel in UPPER] == ["sliced_k", *(kernel.name for kernel in UPPER[:-1])]


@pytest.mark.parametrize(
    "kernel", [STEPS["even_shares, 5 blocks"], STEPS["tall_patches, 5 blocks"], get("persistent", **SETS["parts"])]
)
def test_launch_finds_the_workspace_as_the_last_one_left_it(kernel):
    launch = run.load(kernel)
    A, B, C = problem(35, 69, 51)
    results = []
    for _ in range(3):
        results.append(C.copy())
        launch(35, 69, 51, ALPHA, A, B, BETA, results[-1])
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_streams_have_own_workspaces_and_a_failed_launch_none():
    workspaces = Workspaces(64)
    results = {}
    for stream in (1, 2, 1):
        with workspaces.current(lambda number=stream: number, np.zeros) as (workspace,):
            assert results.setdefault(stream, workspace) is workspace and workspace.size == 16
    assert results[1] is not results[2]
    with pytest.raises(RuntimeError), workspaces.current(lambda: 1, np.zeros) as (workspace,):
        workspace[:] = 7  # what a launch leaves that is aborted
        raise RuntimeError
    with workspaces.current(lambda: 1, np.zeros) as (workspace,):
        assert not workspace.any()


def test_a_kernel_without_a_workspace_is_given_none():
    with Workspaces(None).current(lambda: 0, np.zeros) as workspace:
        assert workspace == ()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"BM": 192, "WM": 48, "TM": 24},
        {"BM": 96, "BN": 512, "WM": 96, "WN": 64, "TM": 24},
        {"BM": 128, "BN": 384, "WM": 32, "WN": 192, "TM": 16, "TN": 12},
        {"BM": 64, "BN": 512, "WM": 64, "WN": 64, "TM": 16, "WORKERS": 0},
    ],
    ids=["16 x 8", "24 x 8", "24 x 8, wide", "16 x 12, wide", "16 x 8, wide"],
)
def test_the_large_tiles_spill_nothing(params):
    """Eight bytes in the loop cost a tenth of the speed: the log."""
    kernel = get("persistent", **params)
    built = compiler.compile(kernel.source, kernel.entry, arch="sm_90", options=OPTIONS)
    assert built.local_bytes == 0 and built.registers <= 255


def test_tall_patches_hold_192_sums_without_spilling():
    """The source of the step before it spills 8 bytes with such a tile (the log)."""
    kernel = get("tall_patches")
    built = compiler.compile(kernel.source, kernel.entry, arch="sm_90", options=OPTIONS)
    assert kernel.params["TM"] * kernel.params["TN"] == 192 and built.local_bytes == 0 and built.registers <= 255
    assert len(kernel.source.splitlines()) <= 400


@pytest.mark.parametrize("name", ["strips", *SETS])
def test_sums_are_staged_without_bank_conflicts(name):
    """A warp stores 512 bytes by one instruction, which are four wavefronts, however its lanes lie.

    Every block has one whole tile: parts of tiles are stored in other ways.
    """
    kernel = KERNELS[name]
    rows, columns = kernel.tile
    counted = run.record(kernel.launch(rows * (kernel.params.get("WORKERS") or 1), columns, 16)).counters
    stores = counted["smsp__sass_inst_executed_op_shared_st.sum"]
    assert counted["smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"] == 4 * stores > 0


def test_exchanged_sums_avoid_most_bank_conflict_cycles():
    """By the model of the banks, which tests/pictures holds against an H200: the prediction that the log has."""
    merged, exchanged = (register_banks.banks(machine_code(name)) for name in ("unmerged", "exchanged"))
    assert merged.fmas == exchanged.fmas and exchanged.lost < merged.lost / 3


def dealt_out(kernel, tiles, rounds, blocks):
    """(block that computes each round, block that its scheduler calls the owner), as the kernel's source has them."""
    source = re.search(r"struct Work \{.*?\n\};\n.*?struct Scheduler \{.*?\n\};\n", kernel.source, re.DOTALL)[0]
    code = (
        source
        + """
        extern "C" __global__ void shares(unsigned tiles, unsigned rounds, unsigned *given, unsigned *owned) {
            Scheduler scheduler(tiles, rounds);
            Work mine;
            while (scheduler.next(mine))
                for (unsigned i = 0; i < mine.count; ++i) {
                    const unsigned round = mine.tile * rounds + mine.first + i;
                    given[round] = blockIdx.x;
                    owned[round] = scheduler.owner(round);
                }
        }"""
    )
    shares = gpu.RawModule(code=code, options=("-std=c++17",), name_expressions=None).get_function("shares")
    given, owned = (gpu.full(tiles * rounds, 2**32 - 1, np.uint32) for _ in range(2))
    shares((blocks,), (1,), (np.uint32(tiles), np.uint32(rounds), given, owned))
    return gpu.asnumpy(given), gpu.asnumpy(owned)


@pytest.mark.parametrize(("tiles", "rounds", "blocks"), [(17, 13, 10), (3, 5, 40), (1, 1, 7), (8, 4, 4)])
def test_no_block_has_more_than_one_iteration_more_than_another(tiles, rounds, blocks):
    given, owned = dealt_out(get("even_shares"), tiles, rounds, blocks)
    counts = np.bincount(given, minlength=min(blocks, tiles * rounds))
    assert counts.max() - counts.min() <= 1 and len(counts) == min(blocks, tiles * rounds)
    assert np.array_equal(given, np.sort(given)) and np.array_equal(given, owned)


@pytest.mark.parametrize(
    ("tiles", "rounds", "blocks", "shared"), [(17, 13, 10, 7), (23, 13, 10, 13), (20, 5, 10, 0), (3, 5, 40, 3)]
)
def test_whole_tiles_come_in_turns_and_the_last_turn_is_shared(tiles, rounds, blocks, shared):
    """shared: tiles of an incomplete turn, and of one more if those are fewer than half of the blocks."""
    given, owned = dealt_out(get("whole_first"), tiles, rounds, blocks)
    counts = np.bincount(given, minlength=min(blocks, tiles * rounds))
    assert counts.max() - counts.min() <= 1
    parts, whole = np.split(given, [shared * rounds])
    assert np.array_equal(parts, owned[: len(parts)]) and np.array_equal(parts, np.sort(parts))
    assert np.array_equal(whole, np.repeat(np.arange(tiles - shared) % blocks, rounds))


def test_producer_warp_per_scheduler_leaves_12_by_8_sums_room():
    """Three warps of a scheduler have 168 registers each, with which 16 x 8 sums do not go."""
    kernel = get("producer", BM=96, WM=48, TM=12)
    built = compiler.compile(kernel.source, kernel.entry, arch="sm_90", options=OPTIONS)
    assert kernel.threads == 12 * 32 and built.local_bytes == 0 and built.registers <= 168


@pytest.mark.parametrize("kernel", UPPER, ids=lambda kernel: kernel.name)
def test_kernels_fit_the_shared_memory_of_every_gpu_since_ampere(kernel):
    since_ampere = [limits for limits in devices.LIMITS.values() if limits.compute_capability >= (8, 0)]
    least = min(limits.shared_bytes_per_block_optin for limits in since_ampere)
    assert least == 101_376
    smaller = kernel.within(least)
    assert smaller.shared_bytes <= least and (smaller == kernel) == (kernel.shared_bytes <= least)


def test_smaller_tiles_keep_the_rules_and_say_what_does_not_fit():
    for name in ("staged_epilogue", "rasterized", "autotuned", "stream_k"):
        smaller = get(name).within(101_376)
        assert smaller.shared_bytes <= 101_376 < get(name).shared_bytes and not broken(smaller.rules, smaller.params)
    assert get("rasterized").within(10**6) == get("rasterized")
    with pytest.raises(ValueError, match=r"sliced_k needs 38,400 bytes .* there are 100; .* Choose other parameters"):
        get("sliced_k").within(100)


def test_too_much_shared_memory_is_answered_by_a_sentence(monkeypatch):
    monkeypatch.setattr(gpu, "shared_bytes_per_block", lambda: 101_376)
    with pytest.raises(run.LaunchFailed, match=r"unmerged needs 131,072 bytes .* at most 101,376\. .*within\(101376\)"):
        run.launcher(get("unmerged"), SimpleNamespace(max_dynamic_shared_size_bytes=49_152))


@pytest.mark.parametrize(
    "kernel", gemm_kernels.LADDER + gemm_kernels.SPECIALISTS + UPPER + TRIED, ids=lambda kernel: kernel.name
)
def test_no_launch_leaves_anything_to_another(kernel):
    """Variables of a module would be the same for all streams: what blocks leave each other is in the workspace."""
    assert "static __device__" not in kernel.source
    assert (kernel.workspace_bytes is not None) == ("float *workspace)" in kernel.source)


def test_what_was_measured_is_this_code_or_known_to_be_older():
    for name in recordings.gpus(suites=(CHOICES,)):
        content = recordings.raw(name, CHOICES)
        assert changed_since(name, content["provenance"]["code_sha256"]) == CHANGED.get(name, set())


def test_deep_products_are_won_by_blocks_that_all_add():
    """On an H100 `reduce_scatter` is the fastest at the deep shapes that cuBLAS won before it was there."""
    rows = {row.shape: row for row in recordings.fastest(H100)}
    for shape in ((256, 256, 8192), (512, 512, 8192), (128, 128, 16_384)):
        assert rows[shape].kernel == "reduce_scatter" and rows[shape].of_cublas > 1.05


def recorded(gpu, group):
    return [row for row in recordings.fastest(gpu) if row.group == group]


@pytest.mark.parametrize("name", REACHED)
def test_squares_beat_cublas_and_cublaslt_large_ones_near_peak(name):
    squares = {row.M: row for row in recorded(name, SQUARES)}
    assert tuple(squares) == FASTEST_SQUARES
    assert all(row.of_cublas > 1.08 for row in squares.values())
    assert geometric_mean([row.of_cublas for row in squares.values()]) > 1.25
    assert geometric_mean([row.of_best for row in squares.values()]) > 1.20
    for size, least in REACHED[name].of_peak.items():
        assert squares[size].of_peak > least


@pytest.mark.parametrize("name", REACHED)
def test_other_shapes_beat_cublas_on_average_log_names_the_rest(name):
    others = recorded(name, OTHERS)
    assert len(others) >= 60
    assert geometric_mean([row.of_cublas for row in others]) > REACHED[name].others
    assert geometric_mean([row.of_best for row in others]) > 1.10
    lost = [row.of_cublas for row in others if row.of_cublas < 1]
    assert len(lost) <= REACHED[name].others_lost and min(lost, default=1) >= REACHED[name].others_least


@pytest.mark.parametrize("name", REACHED)
def test_the_estimate_holds_at_shapes_that_nothing_was_chosen_by(name):
    unseen = recorded(name, UNSEEN)
    assert len(unseen) >= 40 and geometric_mean([row.of_cublas for row in unseen]) > 1.15
    assert geometric_mean([row.of_best for row in unseen]) > 1.05
    lost = [row.of_cublas for row in unseen if row.of_cublas < 1]
    assert len(lost) <= REACHED[name].unseen_lost and min(lost, default=1) >= REACHED[name].unseen_least


def test_fastest_was_recorded_on_these_gpus():
    assert [*REACHED] == recordings.gpus(suites=(FASTEST,))


def test_the_logs_table_says_what_was_recorded():
    rows = recordings.raw(devices.DEFAULT.name, "variants")["rows"]
    text = (Path(gemm_kernels.__file__).parent / "cuda/stream_k.md").read_text(encoding="utf-8")
    columns = ("stream_k", "stream_k, unmerged lanes", "stream_k, unmerged lanes, 24 x 8 sums for each thread")
    for size in (2048, 4096, 6144, 8192):
        cells = [cell.strip(" *") for cell in re.search(rf"^\| {size} \|(.* / .*)\|$", text, re.M)[1].split("|")]
        for what, cell in zip(columns, cells, strict=False):
            speeds = [f"{2 * size**3 / row['ms'] / 1e9:.1f}" for row in rows if (row["what"], row["N"]) == (what, size)]
            assert cell == " / ".join(speeds)
