"""The ladder's table: names, parameters, launch geometry. No compiler and no GPU."""

import dataclasses

import pytest

import gemm_kernels
from gemm_kernels import LADDER, get
from gemm_kernels.ladder import SPECIALISTS

EVERY = LADDER + SPECIALISTS
SHAPES = [(1, 1), (1, 300), (300, 1), (33, 65), (128, 128), (1000, 129), (4096, 4095)]


def test_every_name_is_found_and_unique():
    names = [kernel.name for kernel in EVERY]
    assert len(set(names)) == len(names)
    assert all(get(name).name == name for name in names)


def test_an_unknown_name_is_answered_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"^there is no kernel 'naif'; there are naive, coalesced, .*, producer$"):
        get("naif")


def test_every_kernel_but_the_first_changes_an_earlier_one():
    before = []
    for kernel in LADDER:
        assert kernel.after in before or (kernel.after is None and not before)
        before.append(kernel.name)


def test_the_entry_names_a_function_of_the_source():
    for kernel in EVERY:
        assert f"{kernel.function}(int M, int N, int K, float alpha, const float *A" in kernel.source
        assert kernel.entry.startswith(kernel.function)


@pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: kernel.name)
def test_the_grid_covers_c_and_no_block_is_idle(kernel):
    for M, N in SHAPES:
        grid_x, grid_y, grid_z = kernel.grid(M, N)
        rows, columns = kernel.tile
        if kernel.family.columns:
            columns = kernel.family.columns(kernel.params, N)
        down, across = -(-M // rows), -(-N // columns)
        if kernel.family.blocks is None:  # a block for every tile
            assert grid_x * grid_y * grid_z == down * across
        else:
            assert (grid_x, grid_y, grid_z) == (kernel.family.blocks(kernel.params, down * across), 1, 1)
        assert rows * down >= M > rows * (down - 1)
        assert columns * across >= N > columns * (across - 1)


@pytest.mark.parametrize(
    ("workers", "tiles", "blocks"),
    [
        (0, 1, 1), (0, 1000, 1000),  # a block for every tile
        (132, 1000, 132), (132, 133, 132),  # all workers, however many tiles there are
        (132, 1, 132), (132, 4, 132), (132, 8, 128),  # the same number for every tile, …
        (132, 127, 127), (132, 100, 132), (6, 4, 6),  # … unless more than a tenth of the workers would be left out
    ],
)  # fmt: skip
def test_workers_share_few_tiles_out_evenly(workers, tiles, blocks):
    kernel = get("stream_k", WORKERS=workers)
    assert kernel.grid(128, 256 * tiles) == (blocks, 1, 1)


@pytest.mark.parametrize(("name", "rows", "columns"), [("vector_matrix", 1, 32), ("matrix_vector", 8, 1)])
def test_strips_of_a_vector_have_equal_workers_that_fit(name, rows, columns):
    kernel = get(name, WORKERS=10)
    tall = [kernel.grid(rows * tiles, columns)[0] for tiles in (1, 3, 4, 6, 10, 11, 40)]
    wide = [kernel.grid(rows, columns * tiles)[0] for tiles in (1, 3, 4, 6, 10, 11, 40)]
    assert tall == wide == [10, 9, 8, 6, 10, 11, 40]  # beyond WORKERS nobody shares


@pytest.mark.parametrize("kernel", EVERY, ids=lambda kernel: kernel.name)
def test_a_block_obeys_the_launch_limits(kernel):
    x, y, z = kernel.block
    assert (x <= 1024) and (y <= 1024) and (z <= 64)
    assert kernel.threads == x * y * z <= 1024


def test_x_runs_down_rows_in_naive_along_columns_in_coalesced():
    naive = get("naive").replace(block_x=64, block_y=4)
    coalesced = get("coalesced").replace(block_x=64, block_y=4)
    assert naive.block == coalesced.block == (64, 4, 1)
    assert (naive.tile, naive.grid(128, 8)) == ((64, 4), (2, 2, 1))
    assert (coalesced.tile, coalesced.grid(128, 8)) == ((4, 64), (1, 32, 1))


def test_replace_gives_a_new_kernel_and_leaves_the_old_one_alone():
    old = get("shared_memory")
    new = old.replace(T=8)
    assert (new.entry, new.block, new.grid(100, 20)) == ("sgemm_shared_memory<8>", (8, 8, 1), (3, 13, 1))
    assert old.entry == "sgemm_shared_memory<32>"
    assert new.source == old.source


def test_kernels_with_other_parameters_have_other_hashes():
    tile, again, other = get("stream_k"), get("stream_k"), get("stream_k", WORKERS=0)
    assert {tile: 1, other: 2}[again] == 1 and hash(tile) == hash(again) != hash(other)


def test_order_of_parameters_changes_neither_hash_nor_entry():
    tile = get("stream_k")
    turned = dataclasses.replace(tile, params=dict(reversed(tile.params.items())))
    assert [*turned.params] != [*tile.params] and turned == tile
    assert hash(turned) == hash(tile) and turned.entry == tile.entry


def test_get_takes_parameters_and_autotuned_those_of_a_search():
    assert get("shared_memory", T=8).entry == "sgemm_shared_memory<8>"
    kernel = get("autotuned", BM=128, BN=128, BK=16, WM=32, WN=64, TM=8, TN=8, SLICES=2, STAGES=2, BLOCKS=1)
    named = (
        ".BM = 128, .BN = 128, .BK = 16, .WM = 32, .WN = 64, .TM = 8, .TN = 8, .SLICES = 2, .STAGES = 2, .BLOCKS = 1"
    )
    assert kernel.entry == f"sgemm_sliced_k<Params{{{named}}}>"
    assert kernel.source == get("sliced_k").source
    with pytest.raises(ValueError, match="WM / TM"):
        get("sliced_k", TM=16)


def test_parameters_cannot_be_changed_in_place():
    kernel = get("shared_memory")
    with pytest.raises(TypeError):
        kernel.params["T"] = 8
    with pytest.raises(dataclasses.FrozenInstanceError):
        kernel.params = {"T": 8}


@pytest.mark.parametrize(
    ("name", "params", "sentence"),
    [
        ("shared_memory", {"T": 64}, r"shared_memory: T \* T must be at most 1024, .* Found T = 64."),
        ("shared_memory", {"T": 0}, "shared_memory: T must be at least 1. Found T = 0."),
        ("shared_memory", {"BM": 64}, "shared_memory has no parameter BM; it has T"),
        ("shared_memory", {"T": 8.0}, "shared_memory: T = 8.0 is not a whole number"),
        ("naive", {"block_x": 64, "block_y": 64}, "at most 1024, .* Found block_x = 64, block_y = 64."),
        ("coalesced", {"block_y": 0}, "coalesced: block_x and block_y must be at least 1."),
    ],
)
def test_a_broken_rule_is_answered_with_its_sentence(name, params, sentence):
    with pytest.raises(ValueError, match=sentence):
        get(name).replace(**params)


def test_matrix_without_rows_or_grid_too_tall_gets_a_sentence():
    with pytest.raises(ValueError, match="M = 0, but a matrix has at least one row"):
        get("naive").grid(0, 5)
    with pytest.raises(ValueError, match="needs 100000 blocks along y, and a grid has at most 65535"):
        get("naive").replace(block_x=256, block_y=1).grid(1, 100_000)


def test_naive_and_coalesced_differ_in_the_row_and_col_lines():
    def body(name):
        lines = get(name).source.splitlines()
        return lines[next(i for i, line in enumerate(lines) if line.lstrip().startswith("// 1.")) :]

    naive, coalesced = body("naive"), body("coalesced")
    assert len(naive) == len(coalesced)
    changed = [(a, b) for a, b in zip(naive, coalesced, strict=True) if a != b]
    assert [a.split()[2] for a, _ in changed] == ["row", "col"]
    axes_traded = [a.replace(".x", ".#").replace(".y", ".x").replace(".#", ".y") for a, _ in changed]
    assert [b for _, b in changed] == axes_traded


def test_the_package_offers_the_table_and_get():
    by_shape = {"at_shape", "autotuned", "fastest", "stream_k"}
    own, products = {"Launch", "OwnKernel", "launch_of"}, {"conv2d", "epilogue", "gemm"}
    table = {"UPPER", "LADDER", "SPECIALISTS", "Kernel", "Rule", "get"}
    assert set(gemm_kernels.__all__) == table | by_shape | own | products
