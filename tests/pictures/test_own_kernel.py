"""A learner's own kernel in every explorer: one that runs, on odd sizes, and what is said of those that do not."""

import html
import re

import numpy as np
import pytest

from gemm_kernels import OwnKernel, get
from helpers import plan, run
from helpers.pictures import own_kernel as own_kernels, theme
from helpers.pictures.bank_board import explorer as bank_board
from helpers.pictures.barriers import explorer as barriers
from helpers.pictures.coalescing import explorer as coalescing
from helpers.pictures.coalescing.facts import first_accesses
from helpers.pictures.diff import explorer as diff
from helpers.pictures.heat_source import explorer as heat_source
from helpers.pictures.hierarchy import explorer as hierarchy
from helpers.pictures.live import CannotShow
from helpers.pictures.occupancy import explorer as occupancy
from helpers.pictures.pipeline import explorer as pipeline
from helpers.pictures.register_tile import explorer as register_tile
from helpers.pictures.roofline import explorer as roofline
from helpers.pictures.thread_map import explorer as thread_map
from helpers.pictures.thread_map.facts import map_of
from helpers.pictures.tile_phases import explorer as tile_phases
from helpers.pictures.vector_width import explorer as vector_width
from helpers.tools.notebooks import form
from tests.pictures.driving import PNG, shown

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
    module.__name__.split(".")[-2]: module
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
    return roofline.explore(own, kernels=()) if name == "roofline" else EXPLORERS[name].explore(own)


def sentence(explorer) -> str:
    assert shown(explorer) == "sentence"
    return html.unescape(re.sub("<[^>]+>", "", explorer.stage.sentence.value))


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_kernel_with_tiles_is_shown_by_every_explorer(name):
    assert shown(explored(name, OwnKernel.of(TILED, shape=(24, 16, 24)))) == "picture"


# As kernels are often written: rows on blockIdx.x, a block in one dimension, whole tiles only, a type named uint.
ROWS_ON_X = """
#include <algorithm>
#include <cuda_runtime.h>

template <const int SIDE>
__global__ void rows_on_x(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
    __shared__ float As[SIDE * SIDE];
    __shared__ float Bs[SIDE * SIDE];
    const uint column = threadIdx.x % SIDE, row = threadIdx.x / SIDE;
    A += blockIdx.x * SIDE * K;
    B += blockIdx.y * SIDE;
    C += blockIdx.x * SIDE * N + blockIdx.y * SIDE;
    float sum = 0.0f;
    for (int step = 0; step < K; step += SIDE, A += SIDE, B += SIDE * N) {
        As[row * SIDE + column] = A[row * K + column];
        Bs[row * SIDE + column] = B[row * N + column];
        __syncthreads();
        for (int k = 0; k < SIDE; ++k) sum += As[row * SIDE + k] * Bs[k * SIDE + column];
        __syncthreads();
    }
    C[row * N + column] = alpha * sum + beta * C[row * N + column];
}
"""
SQUARE = """
__global__ void square(const float *d_A, const float *d_B, float *d_C, int width) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= width || col >= width) return;
    float sum = 0;
    for (int k = 0; k < width; k++) sum += d_A[row * width + k] * d_B[k * width + col];
    d_C[row * width + col] = sum;
}
"""
TRANSPOSE = """
__global__ void flip(const float *in, float *out, int rows, int columns) {
    __shared__ float tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * columns + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < rows && y < columns) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}
"""
SOFTMAX = """
__global__ void softmax(float *x, int columns, float scale) {
    float most = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 32) most = fmaxf(most, x[blockIdx.x * columns + i]);
    for (int lane = 16; lane; lane /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, lane));
    for (int i = threadIdx.x; i < columns; i += 32) sum += expf(scale * (x[blockIdx.x * columns + i] - most));
    for (int lane = 16; lane; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
    for (int i = threadIdx.x; i < columns; i += 32) {
        float *here = x + blockIdx.x * columns + i;
        *here = expf(scale * (*here - most)) / sum;
    }
}
"""
IN, OUT = (np.zeros(shape, np.float32) for shape in ((40, 48), (48, 40)))
FLIP = OwnKernel(TRANSPOSE, "flip", (16, 16), grid=(3, 3), args=(IN, OUT, 40, 48))
NO_PICTURE = {"barriers", "hierarchy", "pipeline", "register_tile", "roofline", "tile_phases"}  # of other kernels


@pytest.mark.parametrize("launch", [{"grid": (4, 2), "shape": (128, 64, 96)}, {"shape": (64, 32, 32)}])
@pytest.mark.parametrize("name", EXPLORERS)
def test_foreign_kernel_with_rows_on_x_is_shown_as_launched(name, launch):
    own = OwnKernel(ROWS_ON_X, "rows_on_x<32>", 1024, **launch)
    assert shown(explored(name, own)) == "picture"


def test_tile_row_axis_and_depth_follow_from_what_blocks_do():
    kernel = own_kernels.taken(OwnKernel(ROWS_ON_X, "rows_on_x<32>", 1024, shape=(128, 64, 96)))
    assert (kernel.tile, kernel.rows_along, kernel.depth) == ((32, 32), "x", 32)
    assert kernel.blocks(128, 64) == (4, 2, 1)
    with_tile = OwnKernel(ROWS_ON_X, "rows_on_x<32>", 1024, (64, 32), shape=(128, 64, 96))
    assert own_kernels.taken(with_tile) is with_tile


def test_thread_map_has_rows_on_blockidx_x_and_the_shapes_k():
    explorer = thread_map.explore(OwnKernel(ROWS_ON_X, "rows_on_x<32>", 1024, grid=(4, 2), shape=(128, 64, 96)))
    launch = explorer.choice.launch
    assert (launch.grid, launch.shape) == ((4, 2, 1), (128, 64, 96))
    owner = map_of(launch).owner_block
    assert owner[32, 0] == 1 and owner[0, 32] == 4 and (owner >= 0).all()


@pytest.mark.parametrize("name", EXPLORERS)
def test_one_size_kernel_with_own_names_is_shown_or_answered(name):
    own = OwnKernel(SQUARE, "square")
    if name in ("pipeline", "roofline"):
        with pytest.raises(CannotShow, match="square takes one size for M, N and K"):
            explored(name, own)
    elif name in NEEDS_TILES | NEEDS_SHARED:
        assert "shared memory" in sentence(explored(name, own))
    else:
        assert shown(explored(name, own)) == "picture"


@pytest.mark.parametrize("name", EXPLORERS)
def test_a_kernel_that_multiplies_nothing_is_shown_or_answered(name):
    for own in (FLIP, OwnKernel(SOFTMAX, "softmax", 32, grid=40, args=(IN, 48, 0.5))):
        if name in NO_PICTURE:
            with pytest.raises(CannotShow, match=f"{own.name} was given arguments of its own"):
                explored(name, own)
        elif name in NEEDS_SHARED and own is not FLIP:
            assert "makes no request to shared memory" in sentence(explored(name, own))
        else:
            assert shown(explored(name, own)) == "picture"


def test_transposition_is_mapped_by_stores_and_keeps_arrays():
    IN[:] = np.arange(IN.size).reshape(IN.shape)
    explorer = thread_map.explore(FLIP)
    assert explorer.controls == (explorer.block, explorer.thread) and explorer.block.max == 8
    mapped = map_of(explorer.choice.launch)
    assert (mapped.array, mapped.shape, mapped.uncomputed) == ("out", (48, 40), 0)
    assert mapped.owner_block[16, 0] == 1 and mapped.owner_block[0, 16] == 3
    loads = [access.name for access in first_accesses(run.record(explorer.choice.launch))]
    assert loads == ["load of in", "store of out"] and not OUT.any()


def test_unclear_signature_is_asked_for_its_arguments():
    said = sentence(coalescing.explore(OwnKernel(SOFTMAX, "softmax", 32)))
    assert said.startswith("softmax takes (float * x, int columns, float scale)") and "args=(" in said


@pytest.mark.parametrize("name", EXPLORERS)
def test_what_is_no_kernel_is_answered_by_a_sentence(name):
    for wrong, words in ((SOURCE, "the source of a kernel without its launch"), (7, "of type int"), ("naiv", "naiv")):
        with pytest.raises(CannotShow, match=words):
            explored(name, wrong)


@pytest.mark.parametrize("name", ["coalescing", "diff", "roofline"])
def test_a_kernel_of_the_ladder_may_be_given_by_its_name(name):
    assert shown(explored(name, "shared_memory")) == "picture"


@pytest.mark.parametrize("name", EXPLORERS)
def test_kernel_keeps_dynamic_shared_memory_in_every_explorer(name):
    assert "extern __shared__" in DYNAMIC.source and DYNAMIC.source.count("__shared__") == 1
    assert shown(explored(name, DYNAMIC)) == "picture"


def test_sanitizer_launches_with_the_dynamic_shared_memory():
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
def test_access_outside_an_array_names_thread_and_line(name):
    said = sentence(explored(name, OwnKernel(OUTSIDE, "mine")))
    assert re.match(r"mine: thread \(0, 0, 0\) of block \(\d, \d, 0\) read 4 bytes outside the arrays", said)
    assert "line 7: for (int k = 0; k < K; ++k)" in said


def test_a_block_that_no_gpu_takes_is_answered_in_a_sentence():
    assert "64 × 64 × 1 = 4096 threads" in sentence(coalescing.explore(OwnKernel(SOURCE, "mine", (64, 64))))


def test_kernel_has_its_own_name_block_and_tile_by_default():
    own = OwnKernel(TILED.source, "sgemm_shared_memory<8>", (8, 8))
    assert (own.name, own.block, own.tile, own.threads) == ("sgemm_shared_memory", (8, 8, 1), (8, 8), 64)
    assert own.blocks(17, 30) == (4, 3, 1)
    assert OwnKernel.of(TILED).tile == TILED.tile and OwnKernel.of(TILED).depth == 8


FIRST, TWO = (
    f"__global__ void __launch_bounds__(32) {name}(float *x) {{ x[0] = sqrtf(1.0f); }}" for name in ("one", "two")
)


def test_only_kernel_needs_no_name_and_declarations_do_not_count():
    assert OwnKernel(f"__global__ void two(float *x);\n__device__ int g() {{ return 1; }}\n{FIRST}").entry == "one"


def test_ladder_kernel_keeps_the_axis_that_runs_down_its_rows():
    for kernel in (get("naive"), get("coalesced")):
        assert OwnKernel.of(kernel).launch(64, 128, 8).grid == kernel.launch(64, 128, 8).grid


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"source": ""}, "source is ''; it must be the text of a CUDA C++ program."),
        ({"entry": None}, "entry is None; it must be the text of a kernel's name"),
        ({"source": f"{FIRST}{TWO}", "entry": ""}, "entry was left out, and the source has one, two: say which one"),
        ({"source": "int f(int x) { return x; }", "entry": ""}, "entry was left out, and the source shows no kernel"),
        (
            {"source": f"template <int T>{FIRST}", "entry": ""},
            "one is a template: say its arguments, too, as in entry='one<",
        ),
        ({"block": (0, 4)}, "block is (0, 4); 0 is no whole number of at least 1."),
        ({"block": (1, 1, 1, 1)}, "block is (1, 1, 1, 1); it must be one to three sizes along x, y, z, as (32, 8)."),
        ({"tile": 16}, "tile is 16; it must be (rows, columns) of C that a block computes, as (64, 64)."),
        ({"shape": (4, 4)}, "shape is (4, 4); it must be (M, N, K), as (100, 70, 33)."),
        ({"shape": (4, 4.5, 1)}, "shape is (4, 4.5, 1); 4.5 is no whole number of at least 1."),
        ({"grid": (2, 0)}, "grid is (2, 0); 0 is no whole number of at least 1."),
        ({"args": (1, 2)}, "args without a grid: say how many blocks are launched, as grid=(4, 4)."),
        ({"args": 3, "grid": 1}, "args is 3; it must be a tuple of arrays and numbers, as (x, y, 64)."),
        ({"shared_bytes": -1}, "shared_bytes is -1; -1 is no whole number of at least 0."),
    ],
)
def test_what_can_be_no_launch_is_refused_in_a_sentence(given, words):
    with pytest.raises(ValueError) as refused:
        OwnKernel(**{"source": SOURCE, "entry": "mine", **given})
    assert str(refused.value).startswith(words)
    assert refused.value._render_traceback_() == [f"OwnKernel: {refused.value}"]


def test_notebook_03s_sample_kernel_runs_as_it_stands():
    path = plan.course().notebook("03").path
    cells = form.read(path.read_text(encoding="utf-8")).cells
    (text,) = (cell.source for cell in cells if cell.cell_type == "markdown" and "OwnKernel" in cell.source)
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    first = next(cell.source for cell in cells if "from helpers import course," in cell.source)
    imports = "\n".join(re.findall(r"^from (?:gemm_kernels|helpers) import .*", first, re.MULTILINE))
    *lines, last = code.strip().splitlines()
    names = {}
    exec("\n".join((imports, *lines)), names)
    assert names["mine"] != get("coalesced").source
    assert shown(eval(last, names)) == "picture"
