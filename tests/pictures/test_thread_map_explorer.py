"""The explorer of threads and indices."""

from dataclasses import replace

from gemm_kernels import OwnKernel, get
from helpers import recordings
from helpers.pictures.thread_map import explorer as thread_map
from helpers.pictures.thread_map.facts import map_of
from tests.pictures.driving import drive, shown

OWN = OwnKernel(
    """
extern "C" __global__ void swapped(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                   float *C) {
    const int col = blockIdx.y * blockDim.y + threadIdx.y, row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) C[row * N + col] = beta;
}
""",
    "swapped",
    (8, 4),
    shape=(16, 16, 1),
    name="transposed store",
)


def test_settings_show_picture_or_sentence_and_free_figures(monkeypatch):
    explorer = thread_map.explore()
    seen = drive(explorer, monkeypatch)
    assert seen["picture"] > 20 and seen["sentence"] > 2


def test_grid_follows_the_block_until_the_learner_chooses():
    explorer = thread_map.explore(block=(16, 16), shape=(64, 64))
    assert explorer.choice.launch.grid == (4, 4, 1)
    explorer.dims[0].value = 32
    assert explorer.choice.launch.grid == (2, 4, 1)
    explorer.grid_y.value = 3
    assert explorer.choice.launch.grid == (2, 3, 1)
    assert thread_map.picture_of(explorer.choice).caption.endswith("grid too small.")


def test_the_naive_kernel_gets_its_grid_along_the_other_axes():
    explorer = thread_map.explore(block=(32, 8), shape=(40, 48))
    for (_, launch), name in zip(explorer.kernel.options, ("coalesced", "naive"), strict=True):
        explorer.kernel.value = launch
        shown_launch = explorer.choice.launch
        assert (shown_launch.name, shown_launch.grid) == (name, get(name, block_x=32, block_y=8).grid(40, 48))


def test_a_block_that_is_too_large_is_answered_in_a_sentence():
    explorer = thread_map.explore()
    explorer.dims[0].value = explorer.dims[1].value = 64
    assert shown(explorer) == "sentence"
    assert "more than the 1024" in explorer.stage.sentence.value
    explorer.dims[0].value = 16
    assert shown(explorer) == "picture"


def test_a_learners_kernel_is_drawn_from_its_own_stores():
    explorer = thread_map.explore(OWN)
    launch = OWN.launch(16, 16, thread_map.DEPTH)
    assert (launch.block, launch.grid) == ((8, 4, 1), (2, 4, 1))
    data = map_of(launch)
    found_out = replace(launch, tile=(8, 4), rows_along="x")  # from its stores; the learner named neither
    assert explorer.choice == thread_map.Choice(found_out)
    assert data.elements(0, 1).tolist() == [[1, 0]]  # lane 1 is a row below lane 0


def test_learners_tiled_kernel_gets_the_grid_its_tiles_cover():
    explorer = thread_map.explore(OwnKernel.of(get("block_tile_1d").replace(BM=32, BN=32, BK=8, TM=8), (70, 40, 8)))
    assert (explorer.grid_x.value, explorer.grid_y.value) == (2, 3) and shown(explorer) == "picture"
    assert map_of(explorer.choice.launch).uncomputed == 0


def test_the_picture_fits_the_stage():
    explorer = thread_map.explore()
    assert thread_map.picture_of(explorer.choice).css_size()[1] == thread_map.FIGURE_HEIGHT


def test_the_static_twin_names_both_directions():
    caption = thread_map.small_multiples().caption
    assert "coalesced (32, 8): 1\u00a0float;" in caption and "naive (32, 8): 64\u00a0floats" in caption


def test_the_speed_of_the_block_stands_beside_the_picture():
    explorer = thread_map.explore(block=(16, 16))
    row = recordings.gflops(get("coalesced").replace(block_x=16, block_y=16), 2048, 2048, 2048)
    gflops = f"{row.gflops:,.0f}".replace(",", "\u202f")
    speed = f"coalesced with block (16, 16) at 2\u202f048³: {gflops} GFLOPS, recorded on NVIDIA H200."
    assert explorer.stage.note.value == explorer.later()() == speed


def test_three_dimensional_block_is_not_predicted_as_a_flat_one():
    explorer = thread_map.explore(block=(4, 4, 4))
    assert explorer.stage.note.value == "Block (4, 4, 4) was not recorded on a GPU."
    assert "GFLOPS, predicted for NVIDIA H200" in explorer.later()()
