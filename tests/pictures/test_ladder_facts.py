"""The ladder's recorded speeds."""

import pytest

from gemm_kernels import LADDER, UPPER
from gpusim import devices
from helpers import recordings
from helpers.pictures.ladder.facts import ladder, ladder_of, shape_label
from tests.pictures.facts_data import Row


def test_shapes_of_equal_work_keep_their_own_place():
    rows = [Row(name, *shape, gflops, 10) for name in ("a", "b") for shape, gflops in (((4, 2, 8), 1), ((8, 4, 2), 2))]
    data = ladder(rows, "a GPU", 100)
    assert data.shapes == ((4, 2, 8), (8, 4, 2))
    assert [point.gflops for point in data.lines["b"]] == [1, 2]


def test_shape_labels():
    assert (shape_label((8, 8, 8)), shape_label((1, 2, 3))) == ("8", "1×2×3")


def test_the_lines_are_the_recordings():
    data = ladder_of("NVIDIA H200", "ladder")
    rows = [row for row in recordings.load("NVIDIA H200", "ladder") if row.kernel in data.lines]
    assert sum(map(len, data.lines.values())) == len(rows)
    assert list(data.lines) == [kernel.name for kernel in (*LADDER, UPPER[-1])]
    for row in rows[::7]:
        assert data.at((row.M, row.N, row.K))[row.kernel].gflops == row.gflops
    assert data.peak_gflops == devices.get("H200").peak_fp32_gflops


def test_the_kernels_come_in_the_ladders_order():
    names = list(ladder_of("NVIDIA H200", "ladder").lines)
    known = [kernel.name for kernel in LADDER if kernel.name in names]
    assert [name for name in names if name in known] == known


def test_no_measurements_make_no_ladder():
    with pytest.raises(ValueError, match="no measurement"):
        ladder([], "a GPU", 1)
