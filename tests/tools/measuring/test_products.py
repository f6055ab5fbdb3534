"""The suite of all products: operands are what their bits say, and a tile's times a line through two depths."""

import contextlib
import json

import numpy as np
import pytest

from gemm_kernels.products import tiles
from gemm_kernels.products.formats import FORMATS
from helpers import gpu, recordings
from helpers.exercises.n18.questions import rivals_of
from helpers.measure import timing
from helpers.tools.measuring import instructions, products


def test_a_tiles_times_are_those_of_a_line_through_two_depths(monkeypatch):
    rounds, each = (
        np.array([3e-6, 4e-6, 9e-6, 2e-6]),
        np.array([2e-9, 3e-9, 8e-9, 1e-9]),
    )  # full, one more, later, alone
    milliseconds = [1e3 * (rounds[i] + each[i] * K) for i in range(4) for K in products.DEPTHS]
    monkeypatch.setattr(timing, "interleave", lambda *given: np.array([milliseconds, milliseconds]))
    times = products.tile_times([(1, K, None) for _ in rounds for K in products.DEPTHS])
    later = np.array([9e-6 - 3e-6, 8e-9 - 2e-9]) / (products.ROUNDS - 1)
    expected = {"": (3e-6, 2e-9), "more_": (1e-6, 1e-9), "later_": later, "alone_": (2e-6, 1e-9)}
    assert list(times) == [name + what for name in expected for what in ("round", "k")]
    assert np.allclose(list(times.values()), np.concatenate(list(expected.values())))


def test_all_tiles_of_a_row_are_timed_and_the_chosen_one_named(cupy_of_the_course, monkeypatch, tmp_path):
    monkeypatch.setattr(products, "compile_all", lambda launches: None)
    monkeypatch.setattr(products, "cublas", lambda *given: lambda: None)
    monkeypatch.setattr("helpers.measure.provenance.provenance", dict)
    monkeypatch.setattr(timing, "interleave", lambda launches, *given: np.arange(1.0, 1 + len(launches))[None])
    products.compare_tiles(tmp_path / "tiles.json", [("single", "f64", (64, 64, 64))])
    (row,) = json.loads((tmp_path / "tiles.json").read_text())["rows"]
    operand = FORMATS["f64"]
    all_tiles = tiles.candidates(operand, True, 0)
    assert row["ms"] == {tile.key(operand): number for number, tile in enumerate(all_tiles, 1)}
    assert row["rival"] == [1 + len(all_tiles)]
    assert row["chosen"] == tiles.chosen(all_tiles, operand, [(64, 64)], 64, 132, 232_448).key(operand)


def test_every_tile_has_measured_times():
    kinds = (
        ("f32", True, 0), ("f64", True, 0), ("f64", False, 0), ("bf16", True, 0), ("s8", True, 0), ("e5m2", True, 0),
        ("e4m3", True, 32), ("f16", False, 0),
    )  # fmt: skip
    for name, tensor_cores, group in kinds:
        for tile in tiles.candidates(FORMATS[name], tensor_cores, group):
            times = tiles.measured()[tile.key(FORMATS[name])]
            assert 0 < times.alone_k <= 1.05 * times.k and times.round > 0, "one block is no slower than many"
            assert 0.7 * times.k < times.later_k < 1.5 * times.k, "as many again take about as long again"


def test_the_operands_numbers_are_those_of_their_bits(cupy_of_the_course):
    assert products.values(gpu.asarray(np.array([0x3F80, 0xC040], np.uint16)), "bf16").tolist() == [1.0, -3.0]
    bits = np.array([0x38, 0xB8, 0x01, 0x7E, 0x40], np.uint8)
    assert products.values(gpu.asarray(bits), "e4m3").tolist() == [1.0, -1.0, 2.0**-9, 448.0, 2.0]
    for name in ("f32", "f64", "f16", "bf16", "e4m3"):
        numbers = products.values(products.drawn(1, name, 50, 40), name).get()
        assert np.abs(numbers).max() <= 2 and abs(numbers.mean()) < 0.1 and numbers.std() > 0.1


def test_no_recorded_product_failed_or_beat_the_peak():
    recording = recordings.raw("NVIDIA H200", "products")
    assert not recording["failed"]
    assert {row["member"] for row in recording["rows"]} == {
        "single", "batch", "pointers", "experts", "bias + GELU", "convolution",
    }  # fmt: skip
    for row in recording["rows"]:
        assert max(row["errors"].values()) < 0.02, "the last bit of bfloat16, where C has that format"
        assert max(row["work"] / ms / 1e9 for ms in row["ms"].values()) < 1979  # TFLOPS of 8 bits


def test_recorded_members_are_as_fast_as_was_reached():
    ratios = {}
    for row in recordings.raw("NVIDIA H200", "products")["rows"]:
        ours = row["ms"][next(iter(row["launches"]))]
        best = min(row["ms"][rival] for rival in rivals_of(row))
        ratios.setdefault((row["member"], row["kind"]), {})[tuple(row["shape"])] = best / ours
    for ops in ("NN", "NT", "TN", "TT"):
        single = list(ratios["single", f"f32 {ops}"].values())
        assert np.exp(np.log(single).mean()) >= 1 and min(single) >= 0.95
    assert np.exp(np.log(list(ratios["single", "f64 NN"].values())).mean()) >= 0.93
    assert all(ratios["batch", "f32 NN"][1000, side, side, side] >= 0.98 for side in (64, 128, 256))
    assert ratios["bias + GELU", "f32 NN"][4096, 4096, 512] >= 1.05


@pytest.fixture
def cublas_on_host(cupy_of_the_course, monkeypatch):
    def cublas(format_, ops, A, B, C):
        def launch():
            left, right = (gpu.asnumpy(products.values(matrix, format_)) for matrix in (A, B))
            C[...] = gpu.asarray((left @ (right.T if ops[1] == "T" else right)).astype(np.float32))

        return launch

    monkeypatch.setattr(products, "cublas", cublas)


@pytest.mark.parametrize("shape", [(2, 5, 4, 8, 16, 3), (1, 4, 4, 16, 8, 1)])
def test_a_convolution_and_its_rival_are_that_of_float64(cublas_on_host, shape):
    row = products.convolution("f16", shape)
    row.ours["conv2d"]()
    assert max(row.check().values()) < 1e-5
    assert len(row.controls) == (shape[-1] > 1), "one pixel is its own patch: nothing is copied"


@contextlib.contextmanager
def _no_algorithm(*shape):
    yield []


def test_a_layer_in_two_launches_is_checked_without_cublaslt(cublas_on_host, monkeypatch, capsys):
    monkeypatch.setattr(products, "algorithms_with_bias_and_gelu", _no_algorithm)
    with contextlib.ExitStack() as stack:
        row = products.fused("bf16", (20, 24, 16), stack)
    row.ours["gemm"]()
    errors = row.check()
    assert set(errors) == {"gemm", "gemm, one launch", "cublas + second kernel", "gemm + second kernel"}
    assert max(errors.values()) < 1e-5
    assert "no cublasLt, one launch at (20, 24, 16)" in capsys.readouterr().out


def test_a_row_measured_again_takes_the_place_of_the_old_one():
    old = [{"member": "batch", "kind": "f32 NN", "shape": [1, 2]}, {"member": "single", "kind": "f32 NN", "shape": [3]}]
    new = old[0] | {"shape": (1, 2), "ms": {}}
    assert products.with_row(old, new) == [new, old[1]]
    assert products.with_row(old, new | {"kind": "bf16 NN"}) == [*old, new | {"kind": "bf16 NN"}]


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [("f16", np.float16), ("tf32", np.float32), ("bf16", np.uint16), ("s8", np.int8), ("e4m3", np.uint8)],
)
def test_mma_sync_multiplies_random_numbers_of_its_format(kind, numbers):
    words = instructions.words(kind)
    assert words.dtype == np.uint32 and words.size == instructions.OPERANDS
    drawn = words.view(numbers)
    if kind == "bf16":
        drawn = (drawn.astype(np.uint32) << 16).view(np.float32)
    if kind in ("f16", "tf32", "bf16"):
        assert np.abs(drawn).max() <= 1 and abs(drawn.mean()) < 0.02 and drawn.std() > 0.5
    else:
        assert len(np.unique(drawn)) == (256 if kind == "s8" else 128), "E4M3 below 2, which leaves its NaNs out"
