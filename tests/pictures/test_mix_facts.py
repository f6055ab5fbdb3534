"""A kernel's instructions by pipe and by name, per FMA of its product."""

import pytest

from gemm_kernels import get
from helpers.measure.states import states
from helpers.pictures.mix.facts import OTHER, PIPES, by_name, mix
from helpers.pictures.mix.figure import mix_figure


def test_the_parts_add_up_to_the_instructions_that_were_issued():
    counted, recorded = mix("block_tile_2d"), states("block_tile_2d", 2048)
    fmas = 2048**3 / 32
    assert list(counted.parts) == [*PIPES, OTHER] and min(counted.parts.values()) >= 0
    assert counted.parts["lsu"] == recorded.metrics["smsp__inst_executed_pipe_lsu.sum"] / fmas
    issued = recorded.issuing * recorded.metrics["smsp__cycles_active.avg"] * 4 * 132 / fmas
    assert counted.total == pytest.approx(issued)


def test_each_tiled_fma_is_one_ffma_and_each_element_adds_one():
    counted = by_name(get("block_tile_2d").launch(256, 256, 64), ("FFMA", "LDS"))
    assert counted == {"FFMA": 1 + 1 / 64, "LDS": 32 / 512}  # C = alpha * sum + beta * C


def test_the_bars_are_as_long_as_the_parts():
    drawn = mix_figure([mix(name) for name in ("shared_memory", "block_tile_2d")], "A title")
    assert "shared_memory executes 1.38 loads and stores, block_tile_2d 0.09" in drawn.caption
    with pytest.raises(ValueError):
        mix_figure([], "A title")
