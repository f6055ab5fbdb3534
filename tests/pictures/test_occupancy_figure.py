"""Picture 5: an SM filled block by block."""

import numpy as np
import pytest

from gpusim import devices
from gpusim.occupancy import DoesNotFit, occupancy
from helpers.pictures.occupancy import figure as picture
from helpers.pictures.occupancy.figure import filling, occupancy_figure

H200 = devices.get("H200")


def filled(threads: int, registers: int, shared_bytes: int, device: devices.Device = H200) -> picture.SmFilling:
    return filling(device, device.name, "a kernel", threads, registers, shared_bytes)


def used(drawn, resource: str) -> np.ndarray:
    """(blocks, 2) top and bottom in pixels of the blocks in one stack."""
    artist = next(a for a in drawn.axes[0].collections if a.get_label() == f"{resource} used")
    return np.array([(path.vertices[:, 1].min(), path.vertices[:, 1].max()) for path in artist.get_paths()])


def test_each_block_takes_its_share_of_every_stack():
    data = filled(256, 96, 8192)
    drawn = occupancy_figure(data)
    for resource, share in {
        "blocks": 1 / 32,
        "warps": 8 / 64,
        "registers": 24576 / 65536,
        "shared": 9216 / 233472,
    }.items():
        blocks = used(drawn, resource)
        assert len(blocks) == 2
        assert blocks[:, 1] - blocks[:, 0] == pytest.approx(share * picture.STACK_HEIGHT)
        assert blocks[:, 1].max() == picture.STACK_TOP + picture.STACK_HEIGHT


def test_only_the_limiting_stack_overflows():
    drawn = occupancy_figure(filled(256, 96, 8192))
    dashed = [a.get_label() for a in drawn.axes[0].collections if a.get_label().endswith("overflow")]
    assert dashed == ["registers overflow"]


def test_caption_names_limiter_and_next_better_register_count():
    data = filled(256, 96, 8192)
    caption = occupancy_figure(data).caption.replace("\u00a0", " ").replace("\u202f", " ")
    assert caption == (
        "Registers stop the third block: 2 blocks of 8 warps are 16 of 64 warps, 25 %. "
        "With 80 registers per thread or fewer it would be 37.5 %."
    )
    assert occupancy(H200, 256, 80, 8192).fraction == 0.375
    assert occupancy(H200, 256, 81, 8192).fraction == 0.25


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "said"),
    [
        (1024, 32, 0, "Warps and registers stop the third block"),
        (32, 32, 0, "Block slots stop the 33rd block"),
        (64, 32, 60_000, "Shared memory stops the fourth block"),
    ],
)
def test_every_limiter_has_its_sentence(threads, registers, shared, said):
    assert picture.caption(filled(threads, registers, shared)).startswith(said)


def test_a_full_sm_is_called_full():
    assert picture.caption(filled(1024, 32, 0)).endswith("100\u202f%. The SM is full.")


def test_the_staircase_is_the_model_at_every_number_of_registers():
    data = filled(256, 96, 8192)
    line = next(line for line in occupancy_figure(data).axes[1].lines if line.get_label() == "staircase")
    expected = [100 * occupancy(H200, 256, registers, 8192).fraction for registers in range(1, 256)]
    assert line.get_ydata().tolist() == expected
    here = next(line for line in occupancy_figure(data).axes[1].lines if line.get_label() == "here")
    assert (here.get_xdata()[0], here.get_ydata()[0]) == (96, 25.0)


def test_the_staircase_is_zero_where_a_block_does_not_fit():
    data = filled(1024, 64, 0)
    assert data.staircase[63] == 0.5
    assert data.staircase[64] == 0.0


def test_registers_that_are_left_in_pieces_are_mentioned():
    data = filled(32, 80, 0)  # 25.6 warps by division, 24 by the four parts of the register file
    assert data.result.blocks == 24
    assert any("pieces too small" in text.get_text() for text in occupancy_figure(data).axes[0].texts)
    assert not any("pieces" in text.get_text() for text in occupancy_figure(filled(256, 96, 8192)).axes[0].texts)


def test_block_that_does_not_fit_gets_the_models_sentence():
    with pytest.raises(DoesNotFit, match="registers run out"):
        filled(1024, 100, 0)


def test_ordinals():
    assert [picture.ordinal(n) for n in (1, 3, 11, 12, 21, 22, 33)] == [
        "first", "third", "11th", "12th", "21st", "22nd", "33rd"
    ]  # fmt: skip
