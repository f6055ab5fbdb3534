"""A learner's own kernel in every explorer: one that runs, on odd sizes, and what is said of those that do not."""

import html
import re

import pytest

from gemm_kernels import OwnKernel, get
from helpers import plan
from helpers.authoring.notebooks import form
from helpers.draw import theme
from helpers.explore import (
    bank_board,
    barriers,
    coalescing,
    diff,
    heat_source,
    hierarchy,
    occupancy,
    pipeline,
    register_tile,
    roofline,
    thread_map,
    tile_phases,
    vector_width,
)
from tests.explore.driving import PNG, shown

SOURCE = """
extern "C" __global__ void mine(int M, int N, int K, float alpha, const float *A, const float *B, float beta,
                                float *C) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
        C[row * N + col] = alpha * acc + (beta == 0.0f ? 0.0f : beta * C[row * N + col]);
    }
}
"""
OUTSIDE = SOURCE.replace("A[row * K + k]", "A[row * K + k + (1 << 28)]")
TILED = get("shared_memory").replace(T=8)
# The shared-memory kernel with its tiles in dynamic shared memory, more of it than a launch may have unasked.
DYNAMIC_BYTES = 60_000
DYNAMIC = OwnKernel(
    TILED.source.replace(
        "__shared__ float As[T][T];", "extern __shared__ float tiles[];\n    float(*As)[T] = (float(*)[T])tiles;"
    )
    .replace("__shared__ float Bs[T][T];", "float(*Bs)[T] = (float(*)[T])(tiles + T * T);"),
    TILED.entry, (8, 8), depth=8, shape=(24, 16, 24), shared_bytes=DYNAMIC_BYTES,
)  # fmt: skip
EXPLORERS = {
    module.__name__.rsplit(".", 1)[-1]: module
    for module in (
        bank_board, barriers, coalescing, diff, heat_source, hierarchy, occupancy, pipeline, register_tile, roofline,
        thread_map, tile_phases, vector_width,
    )
}  # fmt: skip
NEEDS_TILES = {"barriers", "register_tile", "tile_phases"}  # "is there a tile to show?"
NEEDS_SHARED = {"bank_board"}


@pytest.fixture(autouse=True)
def _no_png(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are drawn, but not made into a PNG, which takes longest and is the same for all."""
    monkeypatch.setattr(theme.Figure, "png", lambda drawn: PNG)


def explored(name: str, own: OwnKernel):
    return roofline.explore(kernels=(), own=own) if name == "roofline" else EXPLORERS[name].explore(own=own)


def sentence(explorer) -> str:
    assert shown(explorer) == "sentence"
    return html.unescape(re.sub("<[^>]+>", "", explorer.stage.sentence.value))


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_kernel_with_tiles_is_shown_by_every_explorer(name):
    assert shown(explored(name, OwnKernel.of(TILED, shape=(24, 16, 24)))) == "picture"


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_kernel_keeps_its_dynamic_shared_memory_in_every_explorer(name):
    assert "extern __shared__" in DYNAMIC.source and DYNAMIC.source.count("__shared__") == 1
    assert shown(explored(name, DYNAMIC)) == "picture"


def test_the_sanitizer_launches_a_kernel_with_its_dynamic_shared_memory():
    explorer = barriers.explore(DYNAMIC)
    explorer.removed.value = 1
    assert shown(explorer) == "picture"


@pytest.mark.parametrize("shape", [(33, 17, 9), (1, 1, 1)])
@pytest.mark.parametrize("name", EXPLORERS)
def test_odd_and_tiny_launches_are_shown_or_answered(name, shape):
    explorer = explored(name, OwnKernel(SOURCE, "mine", (7, 3), shape=shape))
    if name in NEEDS_TILES:
        assert sentence(explorer) == "The kernel stores nothing to shared memory, so there is no tile to show."
    elif name in NEEDS_SHARED:
        assert sentence(explorer).startswith("Warp 0 of mine makes no request to shared memory.")
    else:
        assert shown(explorer) == "picture"


@pytest.mark.parametrize("name", EXPLORERS)
def test_what_does_not_compile_is_the_compilers_sentence(name):
    said = sentence(explored(name, OwnKernel(SOURCE.replace("float acc", "flot acc"), "mine")))
    assert 'kernel.cu:6: error: identifier "flot" is undefined' in said and "^" in said


@pytest.mark.parametrize("name", sorted(EXPLORERS.keys() - {"occupancy"}))  # which launches nothing
def test_an_access_outside_of_an_array_names_the_thread_and_the_line(name):
    said = sentence(explored(name, OwnKernel(OUTSIDE, "mine")))
    assert re.match(r"mine: thread \(0, 0, 0\) of block \(\d, \d, 0\) read 4 bytes outside the arrays", said)
    assert "line 7: for (int k = 0; k < K; ++k)" in said


def test_a_block_that_no_gpu_takes_is_answered_in_a_sentence():
    assert "64 × 64 × 1 = 4096 threads" in sentence(coalescing.explore(OwnKernel(SOURCE, "mine", (64, 64))))


def test_a_kernel_is_its_own_name_block_and_tile_unless_told_otherwise():
    own = OwnKernel(TILED.source, "sgemm_shared_memory<8>", (8, 8))
    assert (own.name, own.block, own.tile, own.threads) == ("sgemm_shared_memory", (8, 8, 1), (8, 8), 64)
    assert own.grid(17, 30) == (4, 3, 1)
    assert OwnKernel.of(TILED).tile == TILED.tile and OwnKernel.of(TILED).depth == 8


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"source": ""}, "source is ''; it must be the text of a CUDA C++ program."),
        ({"entry": None}, "entry is None; it must be the text of a kernel's name"),
        ({"block": (0, 4)}, "block is (0, 4); 0 is no whole number of at least 1."),
        ({"block": (1, 1, 1, 1)}, "block is (1, 1, 1, 1); it must be one to three sizes along x, y, z, as (32, 8)."),
        ({"tile": 16}, "tile is 16; it must be (rows, columns) of C that a block computes, as (64, 64)."),
        ({"shape": (4, 4)}, "shape is (4, 4); it must be (M, N, K), as (100, 70, 33)."),
        ({"shape": (4, 4.5, 1)}, "shape is (4, 4.5, 1); 4.5 is no whole number of at least 1."),
        ({"shared_bytes": -1}, "shared_bytes is -1; -1 is no whole number of at least 0."),
    ],
)
def test_what_can_be_no_launch_is_refused_in_a_sentence(given, words):
    with pytest.raises(ValueError) as refused:
        OwnKernel(**{"source": SOURCE, "entry": "mine", **given})
    assert str(refused.value).startswith(words)


def test_the_kernel_that_notebook_03_offers_to_try_runs_as_it_stands_there():
    path = plan.course().notebook("03").path
    cells = form.read(path.read_text(encoding="utf-8")).cells
    (text,) = (cell.source for cell in cells if cell.cell_type == "markdown" and "OwnKernel" in cell.source)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names = {"get": get, "coalescing": coalescing}
    *lines, last = code.strip().splitlines()
    exec("\n".join(lines), names)
    assert names["mine"] != get("coalesced").source
    assert shown(eval(last, names)) == "picture"
