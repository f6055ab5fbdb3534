"""Picture 1: kernels under the roof of a GPU."""

import pytest

from gemm_kernels import LADDER
from gpusim import devices
from helpers.pictures import page, theme
from helpers.pictures.roofline import figure as picture
from helpers.pictures.roofline.figure import KernelPoint, Roofline, roofline_figure, rooflines_figure, steps_figure
from helpers.pictures.roofline.model import ridge_point

H200 = devices.get("H200")
FLOPS = 2 * 4096**3


def point(name: str, intensity: float, gflops: float | None, blocks: int = 4096) -> KernelPoint:
    return KernelPoint(name, FLOPS / intensity, FLOPS, blocks, gflops, "recorded on a GPU")


def roof(*points: KernelPoint) -> Roofline:
    return Roofline(H200, (4096, 4096, 4096), points)


def said(data: Roofline, selected: str | None = None) -> str:
    return roofline_figure(data, selected).caption.replace("\u00a0", " ").replace("\u202f", " ")


def line(drawn, label: str):
    return next(line for line in drawn.axes[1].lines if line.get_label() == label)


def test_the_roof_bends_where_memory_and_arithmetic_meet():
    x, y = line(roofline_figure(roof()), "roof").get_data()
    assert x[1] == ridge_point(H200)
    assert y[0] == pytest.approx(x[0] * 4800)
    assert y[1] == y[2] == H200.peak_fp32_gflops


def test_kernel_stands_once_at_its_requested_intensity():
    drawn = roofline_figure(roof(point("k", 8, 9000)))
    assert line(drawn, "k").get_xydata().ravel() == pytest.approx([8, 9000])
    assert drawn.axes[1].get_xlabel() == "intensity: FLOP per byte fetched"
    assert said(roof(point("k", 8, 9000)), "k").startswith("k fetches ")
    assert roofline_figure(roof()).axes[1].get_xlabel() == "intensity: FLOP per byte moved"


def test_few_names_stand_beside_dots_and_many_beside_the_plot():
    few = roofline_figure(roof(*(point(f"k{number}", 8, 900.0 * number) for number in (1, 2, 3))))
    assert {"k1", "k2", "k3"} <= {text.get_text() for text in few.axes[1].texts}
    many = roofline_figure(roof(*(point(f"k{number}", 8, 900.0 * number) for number in (1, 2, 3, 4))))
    assert {"k1", "k2", "k3", "k4"} <= {text.get_text() for text in many.axes[0].texts}


def test_a_kernel_that_was_not_timed_stands_on_the_roof():
    drawn = roofline_figure(roof(point("k", 8, None)))
    assert line(drawn, "k roof").get_xydata().ravel() == pytest.approx([8, 8 * 4800])
    assert "It was not timed on this GPU at this shape" in said(roof(point("k", 8, None)), "k")


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (point("k", 8, 9000), "4.3 × below the memory roof and 7.4 × below the peak. Neither is its limit"),
        (point("k", 0.4, 6400), "3.3 × above the memory roof, so caches serve at least 70 % of these bytes"),
        (point("k", 1, 4400), "1.1 × below the memory roof, memory is its limit"),
        (point("k", 40, 60000), "1.1 × below the peak, arithmetic is its limit"),
        (point("k", 20, 100, blocks=4), "4 blocks for 132 SMs: the others have nothing to do"),
    ],
)
def test_caption_says_what_limits_the_kernel(kernel, words):
    assert words in said(roof(kernel), "k")


def test_without_a_kernel_the_caption_is_the_shapes_floor():
    assert said(roof()) == (
        "With every byte moved once it is 683 FLOP per byte, and arithmetic is the limit: at least 2.1 ms."
    )
    assert "memory is the limit" in said(Roofline(H200, (1, 4096, 4096), ()))


def test_names_keep_apart_and_inside_the_plot():
    heights = [300.0, 299.0, 298.0, 20.0, 12.0, 11.0]
    places = picture._apart(heights, 10.0, 310.0)
    assert all(lower - upper >= picture.NAMES_STEP - 1e-9 for lower, upper in zip(places, places[1:], strict=False))
    assert min(places) >= 10.0 and max(places) <= 310.0
    assert picture._apart([100.0, 50.0], 10.0, 310.0) == [100.0, 50.0]


def test_a_kernel_that_is_not_shown_cannot_be_explained():
    with pytest.raises(ValueError, match="no warp among the kernels of the picture: k"):
        roofline_figure(roof(point("k", 8, 9000)), "warp")


def test_shapes_side_by_side_each_have_their_intensity():
    drawn = rooflines_figure([Roofline(H200, shape, ()) for shape in ((1, 4096, 4096), (4096, 4096, 4096))], "two")
    assert drawn.caption.startswith(
        "Every byte moved once, β = 0 – 1×4096×4096: 0.5 FLOP/B, memory limits; 4096³: 683 FLOP/B"
    )
    with pytest.raises(ValueError, match="at least one"):
        rooflines_figure([], "none")


def test_measured_shape_says_its_part_of_the_limiting_roof():
    shapes = {(1, 4096, 4096): 1200.0, (128, 128, 128): 672.0, (4096, 4096, 4096): 53000.0}
    panels = [Roofline(H200, shape, (KernelPoint("k", 1.0, 1, 1, speed, "x"),)) for shape, speed in shapes.items()]
    drawn = rooflines_figure(panels, "three")
    assert "1×4096×4096: 0.5 FLOP/B, 50% of its roof (k);" in drawn.caption
    assert "128³: 21 FLOP/B, 1% of the peak (k), neither roof limits;" in drawn.caption
    assert drawn.caption.count("neither") == 1


def test_three_steps_are_memory_arithmetic_and_the_lower():
    drawn = steps_figure(H200, {"vector": (4096, 1, 4096), "matrix": (4096, 4096, 4096)})
    memory, arithmetic, both = drawn.axes[1:]
    ends = [
        next(line for line in axes.lines if line.get_label().startswith("shapes")).get_ydata()
        for axes in drawn.axes[1:]
    ]
    assert ends[0] == pytest.approx([2400, 3.28e6], rel=0.01)
    assert ends[1] == pytest.approx([H200.peak_fp32_gflops] * 2)
    assert ends[2] == pytest.approx([min(fed, peak) for fed, peak in zip(ends[0], ends[1], strict=True)])
    assert [text.get_text() for text in both.texts] == ["ridge 13.9", "vector", "matrix"]
    assert memory.get_ylabel() == "TFLOPS" and not arithmetic.texts
    assert "vector 2.4\u00a0TFLOPS at 0.5 FLOP per byte, matrix 66.9\u00a0TFLOPS at 683" in drawn.caption


def test_long_names_end_before_the_picture_the_ladders_are_whole():
    assert [name for kernel in LADDER if (name := kernel.name) != picture._fitted(name, theme.TEXT)] == []
    shown = picture._fitted("sgemm_shared_mem_block_of_somebody", theme.TEXT)
    assert shown.startswith("sgemm_share") and shown.endswith("…")
    assert picture.BOLDER * page.text_width(shown, theme.TEXT) < page.WIDTH - picture.NAMES_X
