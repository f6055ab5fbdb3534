"""Notebook 18: its numbers by hand and its claims are those of its kernels, its pictures and the recordings."""

import re
from itertools import pairwise

import numpy as np
import pytest

from helpers import recordings
from helpers.exercises import family, n18
from helpers.exercises.n18.pictures import ROWS_OF
from helpers.exercises.n18.questions import PRODUCTS, rivals_of
from helpers.exercises.transformer import Sizes, parts
from helpers.pictures.operands.facts import Member, moved
from helpers.pictures.scales import model
from tests.notebooks.support import H200, prose, said, sources

RECORDED = family.recorded(H200.name)
ROWS = recordings.raw(H200.name, PRODUCTS)["rows"]


def test_the_table_by_hand_says_where_elements_lie():
    memory = np.array(list("abc·def·") * 2)
    matrix = np.lib.stride_tricks.as_strided(memory, (2, 3), (4 * memory.itemsize, memory.itemsize))
    text = "\n".join(sources("18", "markdown"))
    assert "float      " + "  ".join(memory[:8]) in text
    elements_said = re.findall(r"\| (\w), at (\d+) \|", text)
    elements = (matrix[1, 0], matrix.T[1, 0], matrix[:, 1:][1, 0])
    places = (4, 1, 5)
    assert elements_said == [(element, str(at)) for element, at in zip(elements, places, strict=True)]
    assert all(memory[at] == element for element, at in zip(elements, places, strict=True))


def test_the_element_asked_for_lies_where_numpy_has_it():
    rows, width, first, last, row, column = said(
        "18",
        r"X has (\d+) rows of (\d+) floats, .* columns (\d+) to (\d+)\. .* of row (\d+) and column (\d+),",
    )
    X = np.arange(rows * width).reshape(rows, width)
    view = X[:, first : last + 1]
    assert n18.check_place(int(view[row, column] - view[0, 0])).passed


def test_padding_by_one_leaves_two_lanes_in_bank_0():
    for padding, meet in ((1, True), (2, False)):
        banks = [(x * (16 + padding) + y) % 32 for y in range(2) for x in range(16)]
        assert (len(set(banks)) < 32) is meet
    assert (15 * 17 + 1) % 32 == 0 and "lanes (0, 0) and (15, 1) meet in bank 0" in prose("18")


def test_the_explorer_shows_what_the_prose_promises():
    good, turned, gap = (
        moved(member).operands[1].request.sectors
        for member in (Member(op_b="T"), Member(op_b="T", along_memory=False), Member(op_b="T", gap=4))
    )
    assert (good, turned, gap) == (4, 16, 5)
    own, shared = (moved(Member(products=3, shared=is_shared)).loaded for is_shared in (False, True))
    assert own == shared and "one B for all products is loaded again by each of them" in prose("18")


@pytest.mark.parametrize("side", [16, 64])
def test_a_launch_from_python_takes_about_ten_microseconds(side):
    assert 7 < RECORDED.small[side][family.LOOP].median_ms < 13  # a thousand launches, in ms
    assert "a launch from Python takes about ten microseconds" in prose("18")


def test_a_graph_leaves_about_two_microseconds():
    assert 1.5 < RECORDED.small[16][family.GRAPH].median_ms < 2.5
    assert 3.5 < RECORDED.small[64][family.GRAPH].median_ms < 4.5  # "four in the second"
    times = RECORDED.small[256]
    assert times[family.GRAPH].median_ms > 2 * times[family.ONE_LAUNCH].median_ms


def recorded_rows(member, kind):
    """(shape) -> (what ours takes, what the rivals take, all ways), in ms."""
    rows = [row for row in ROWS if (row["member"], row["kind"]) == (member, kind)]
    return {
        tuple(row["shape"]): (row["ms"][next(iter(row["launches"]))], [row["ms"][way] for way in rivals_of(row)],
                              row["ms"]) for row in rows
    }  # fmt: skip


def test_fusing_pays_in_bfloat16_and_in_float32_at_k_256_alone():
    fused_wins = {
        kind: [shape for shape, (*_, ms) in recorded_rows("bias + GELU", kind).items()
               if ms["gemm, one launch"] < ms["gemm + second kernel"]] for kind in ("f32 NN", "bf16 NN")
    }  # fmt: skip
    assert fused_wins["f32 NN"] == [(8192, 8192, 256)] and len(fused_wins["bf16 NN"]) == 6


def test_gemm_with_epilogue_leads_cublas_in_float32_alone():
    for kind in ("f32 NN", "bf16 NN"):
        rows = recorded_rows("bias + GELU", kind).values()
        assert {ours < min(rivals) for ours, rivals, _ in rows} == {kind == "f32 NN"}
        assert all(ms["cublasLt, one launch"] < ms["cublas + second kernel"] for *_, ms in rows) is (kind == "bf16 NN")
        # What it takes is the faster of its two ways, or at most 3 % slower.
        assert all(ours < 1.035 * min(ms["gemm, one launch"], ms["gemm + second kernel"]) for ours, _, ms in rows)
    assert "In float32 it is ahead of cuBLAS" in prose("18")


def test_a_second_kernel_keeps_the_ladders_last_kernel():
    kernels = [row["launches"]["gemm"] for row in ROWS if (row["member"], row["kind"]) == ("bias + GELU", "f32 NN")]
    behind = [kernel for kernel in kernels if kernel.startswith("sgemm_")]
    assert (len(behind), len(kernels)) == (3, 6)
    assert all(kernel.startswith("gemm<FmaTile<") for kernel in set(kernels) - set(behind))


def test_conv2d_is_ahead_where_channels_are_few():
    rows = recorded_rows("convolution", "f16")
    channels = {ours < min(rivals): [] for ours, rivals, _ in rows.values()}
    for (_, _, _, c, _, r), (ours, rivals, ms) in rows.items():
        if r > 1:
            channels[ours < 0.99 * min(rivals)].append(c)
            assert ms["cublas alone"] < ours, "cuBLAS's product of the stored matrix"
    assert max(channels[True]) < min(channels[False])


def test_small_columns_have_hardly_a_number_left():
    given = model.operands()
    scale = model.scales(given.B, model.INT8, model.TENSOR, 0)[0, 1]
    left = np.unique(model.rounded(given.B[:, 1] / scale, model.INT8))
    assert (left.min(), left.max()) == (-3, 3)
    assert "from -3 to 3" in n18.predict_scale().reasons["about 30 %"]


def test_the_rows_of_the_experts_are_those_of_the_picture():
    (text,) = re.findall(r"six experts have ([\d, ]+) rows", prose("18"))
    assert tuple(map(int, text.split(", "))) == ROWS_OF


def test_an_epilogue_behind_its_product_puts_the_layer_ahead():
    rows = [(row[0], float(row[-1])) for row in family.layer_table().rows]
    pairs = {name: (ours, same) for (name, ours), (mark, same) in pairwise(rows) if mark == "the same"}
    assert set(pairs) == {"output", "gate, up", "down"} and dict(rows)[family.WHOLE] > 1
    assert all(same < 1 < ours for ours, same in pairs.values())
    assert "in one launch each, has the slower tile of step 6, and is behind cuBLAS" in prose("18")
    layer = RECORDED.layer
    roofs = {part.name: part.roof_ms(H200.peak_fp32_gflops / 1e3, H200.memory_gb_per_s) for part in parts(Sizes())}
    shares = {name: roof / layer[name][family.OURS].median_ms for name, roof in roofs.items()}
    assert all(0.4 < shares[name] < 0.6 for name in ("scores", "values"))


def test_float32_beats_the_library_and_fewer_bits_do_not():
    ratios = {row[0]: float(row[4]) for row in n18.formats_table().rows}
    assert ratios["f32 NN"] > 1 and 0.9 < ratios["f64 NN"] < 1
    assert all(ratios[kind] < 0.7 for kind in ("bf16 NN", "f16 TN", "s8 NT", "e4m3 NT"))


def test_cublas_is_faster_than_mma_sync_alone():
    for row in n18.formats_table().rows:
        ours, rival, _, alone = (cell.replace("\u202f", "") for cell in row[2:])
        if row[0] in ("bf16 NN", "f16 TN", "s8 NT"):
            assert int(ours) > int(alone) > int(rival)


@pytest.mark.parametrize("table", [n18.fused_table, n18.grouped_table, n18.convolution_table])
def test_tables_of_times_have_the_share_of_the_roof(table):
    shares = [int(row[-1].rstrip("%")) for row in table().rows]
    assert table().header[-1] == "of the roof" and all(0 < share < 90 for share in shares)
