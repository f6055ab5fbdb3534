"""The explorer of a kernel's lines and their lanes."""

import re

from gemm_kernels import OwnKernel, get
from helpers import recordings
from helpers.pictures import theme
from helpers.pictures.hot_lines import explorer as hot_lines
from helpers.pictures.hot_lines.facts import asked
from tests.pictures.driving import shown


def test_every_line_of_a_kernel_can_be_chosen_and_keeps_its_cost():
    explorer = hot_lines.explore()
    for _, line in explorer.line.options:
        explorer.line.value = line
        assert shown(explorer) == "picture"
        assert explorer.stage.note.value.startswith(f"Line {line.number}: ")


def test_another_kernel_brings_its_own_lines():
    explorer = hot_lines.explore()
    before = list(explorer.line.options)
    explorer.kernel.value = get("naive")
    assert shown(explorer) == "picture" and list(explorer.line.options) != before
    assert explorer.warp.max == 31


def test_another_tile_of_the_kernel_is_offered_with_its_sizes():
    explorer = hot_lines.explore()
    labels = [label for label, _ in explorer.kernel.options]
    assert "block_tile_2d, tile 64 × 64 × 8, patch 4 × 4" in labels and "block_tile_2d" in labels


def test_a_learners_kernel_comes_first():
    own = OwnKernel.of(get("shared_memory"))
    explorer = hot_lines.explore(own)
    assert explorer.kernel.value is own and shown(explorer) == "picture"


def test_lanes_of_a_broadcast_share_one_float():
    launch = hot_lines.shown(get("naive"))
    (request, *_) = asked(launch)[hot_lines.line_of(launch, "B[", array="B")]
    assert list(request.groups.values()) == [tuple(range(32))]
    assert "ask for 1 different float; 32 lanes share each" in hot_lines.picture_of(
        hot_lines.Choice(launch, hot_lines.line_of(launch, "B[", array="B"))
    ).caption.replace("\u00a0", " ")


def test_lines_time_stands_beside_its_kernels_speed():
    kernel = get("block_tile_2d")
    line = hot_lines.line_of(hot_lines.shown(kernel), "= Bs[k]")
    time = hot_lines.time_of(kernel, line).replace("\u202f", " ").replace("\u00a0", " ")
    speed = theme.thousands(recordings.gflops(kernel, 4096, 4096, 4096).gflops).replace("\u202f", " ")
    assert re.match(rf", \d+% of the predicted time\. {speed} GFLOPS at 4 096³, recorded on NVIDIA H200\.$", time)
    other = hot_lines.time_of(kernel.replace(BM=32, BN=32, TM=4, TN=4), line)
    assert other.endswith("predicted for NVIDIA H200.")
