"""A convolution's implicit matrix: which pixel an element is, and what a recorded warp loads of it."""

import pytest

from helpers import run
from helpers.exercises import n18
from helpers.exercises.n18 import pictures
from helpers.pictures import CannotTell
from helpers.pictures.implicit.facts import Convolution

SIZES = Convolution(H=6, W=6, C=4, R=3, S=3, P=6, Q=6, stride=1, pad=1)


@pytest.mark.parametrize(
    ("row", "k", "pixel"),
    [
        (0, 0, (0, -1, -1, 0)),  # the corner of the border
        (0, 16, (0, 0, 0, 0)),  # the middle of the filter
        (7, 35, (0, 2, 2, 3)),
        (36, 16, (1, 0, 0, 0)),  # the next image
    ],
)
def test_an_element_of_the_matrix_is_a_pixel(row, k, pixel):
    assert SIZES.pixel(row, k) == pixel


def test_patches_of_numpy_are_those_pixels():
    problem, case = n18.IMPLICIT.problem, n18.IMPLICIT.problem.cases[2]
    images, H, W, C, R, S, _, stride, pad = case.sizes.values()
    X, matrix = problem.images(case), problem.patches(case)
    P, Q = (H + 2 * pad - R) // stride + 1, (W + 2 * pad - S) // stride + 1
    sizes = Convolution(H, W, C, R, S, P, Q, stride, pad)
    assert matrix.shape == (images * P * Q, R * S * C)
    for row, k in ((0, 0), (3, 5), (len(matrix) - 1, R * S * C - 1), (7, 6)):
        image, h, w, c = sizes.pixel(row, k)
        assert matrix[row, k] == (X[image, h, w, c] if sizes.inside(h, w) else 0)


def test_a_warp_loads_what_lies_inside_the_image():
    kernel = run.simulated(n18.IMPLICIT.solved, "convolution")
    warp = pictures.warp_of_image(kernel, n18.IMPLICIT.problem)
    assert (len(warp.wanted), warp.loads, warp.sectors, warp.k0) == (32, 28, 3, 16)
    assert all(element.loaded == warp.sizes.inside(*element.pixel[1:3]) for element in warp.wanted)


def test_another_pixel_is_said():
    slip = next(slip for slip in n18.IMPLICIT.wrong if slip.version == "no_pad")
    kernel = run.simulated(n18.IMPLICIT.wrong_source(slip), "convolution")
    with pytest.raises(CannotTell, match="Lane 0 of warp 0 does not load"):
        pictures.warp_of_image(kernel, n18.IMPLICIT.problem)
