"""What one block of a tiled kernel loads, phase by phase."""

from gemm_kernels import get
from helpers.analysis.tile_phases import phases_of


def test_a_tile_of_side_t_loads_each_element_a_tth_as_often_as_a_kernel_without_tiles():
    for side in (2, 4, 8, 16, 32):
        data = phases_of(get("shared_memory", T=side).launch(64, 64, 64))
        assert data.bytes_loaded() / len(data.tile) == 2 * 64 * 4 / side
        assert data.bytes_without_sharing / len(data.tile) == 2 * 64 * 4
