"""Predictions, questions and tables of notebook 18."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from gpusim import devices
from gpusim.devices import FLOAT_BYTES
from helpers import peaks, recordings
from helpers.exercises.framework.answers import Slip, Verdict, check_number
from helpers.exercises.framework.predict import Prediction, predict
from helpers.exercises.framework.questions import question
from helpers.exercises.n18 import pictures
from helpers.exercises.n18.members import T
from helpers.exercises.transformer import Sizes, parts
from helpers.pictures import theme
from helpers.pictures.operands.explorer import picture_of
from helpers.pictures.operands.facts import Member, Moved, moved
from helpers.pictures.scales import model
from helpers.pictures.tables import Table, not_recorded
from helpers.recordings.measurement import Timing, recorded_on

PEAKS = {"f32": "FP32", "tf32": "TF32", "f64": "FP64", "f16": "FP16", "bf16": "BF16", "s8": "INT8", "e4m3": "FP8"}
PRODUCTS = "products"  # the suite of every kind of product beside cuBLAS
FAMILY, SMALL, THOUSAND = "family", 64, 1000  # the suite of many small products, their side, how many
LARGE = 4096  # M = N of the question about bytes
VIEW = (512, 3072, 1024, 2, 5)  # rows and columns of X, the first column and the width of K; row and column asked for
LAYER = (56, 56, 64, 3)  # rows, columns, channels of images, and the side of the filters, of the question


# --- a view


@question("n18_place", "where an element of a view lies")
def check_place(answer: int | None) -> Verdict:
    """Floats from the first element of K to that of row 2 and column 5."""
    rows, width, first, row, column = VIEW
    return check_number(
        answer, row * width + column, unit="floats",
        because="The leading dimension of K is that of the array in which it lies.",
        slips=(
            Slip(row * first + column, "So it would be if K were an array of its own: its rows are X's, and as far "
                 "apart as those of X."),
            Slip(first + row * width + column, "That is counted from the first element of X."),
            Slip(column * width + row, "That is the element of row 5 and column 2, or of Kᵀ."),
            Slip(row * rows + column, "From one row to the next it is X's columns that lie between, not its rows."),
            Slip(row * width + column * rows, "Neighbours in a row are neighbours in memory."),
            Slip((row + 1) * width + column, "Rows are counted from 0: two of them lie before row 2."),
            Slip(4 * (row * width + column), "Those are bytes."),
            Slip(row * (width - first) + column, "The floats of a row that K leaves out lie between its rows, too."),
        ),
    )  # fmt: skip


# --- a transposed operand


def predict_turned() -> Prediction:
    """Sectors of a request, if the load of notebook 04 stays as it is and the index alone is turned."""
    b = moved(Member(op_b="T", along_memory=False)).operands[1]
    good = moved(Member(op_b="T")).operands[1]
    return predict(
        "B is stored as (N, K) now. Thread (x, y) still loads the element of row k0 + y and column x of the factor, "
        "and the index alone is turned: B[(first_col + x) * K + k0 + y]. A block has 16 × 16 threads. How many sectors "
        "does a load request of a warp touch?",
        reasons={
            good.request.sectors: "So it was with B as it is: 16 neighbours in x were neighbours in memory.",
            8: "That would be four floats of each sector. How far apart in memory are two neighbours in x?",
            b.request.sectors: "Neighbours in x are K floats apart, each in a sector of its own. The two rows of a "
            "warp are neighbours in k, and share sectors.",
            32: "So it would be if no two lanes shared a sector. Which lanes have the same x?",
        },
        answer=b.request.sectors,
        picture=lambda: picture_of(Member(op_b="T", along_memory=False)),
    )


# --- many small products


@cache
def _small() -> dict[str, Timing]:
    """way -> the recorded time of the thousand products of SMALL³."""
    rows = recordings.raw(devices.DEFAULT.name, FAMILY)["small"]
    return next({way: Timing(*time) for way, time in row["times"].items()} for row in rows if row["side"] == SMALL)


def predict_loop() -> Prediction:
    """How much longer a loop of launches takes than one launch, as recorded."""
    times = _small()
    loop, alone = times["a loop"], times["one launch"].median_ms
    factor = loop.median_ms / alone
    each = theme.median(*(1e3 * ms / THOUSAND for ms in (loop.lower_ms, loop.median_ms, loop.upper_ms)), digits=1)
    bounds = {"about as long": 0.0, "about 10 times": 5.0, "more than 100 times": 100.0, "more than 1000 times": 1000.0}
    answer = max((bound for bound in bounds if bounds[bound] < factor), key=bounds.__getitem__)
    reasons = {
        "about as long": "So it would be if a launch took no time, and if one product filled the GPU.",
        "about 10 times": f"A launch from Python takes longer than that: {each} millionths of a second, a thousand "
        "times.",
        "more than 100 times": f"A launch from Python takes {each} µs, and a thousand products in one launch take "
        f"{theme.number(1e3 * alone)} µs. So the GPU waits for launches, and then does one product at a "
        "time.",
        "more than 1000 times": "So it would be if one product took as long as a thousand.",
    }
    return predict(
        f"A thousand products of {SMALL} × {SMALL} × {SMALL}: your kernel in a loop of a thousand launches from "
        f"Python, or in one launch, on an {devices.DEFAULT.short}. How much longer does the loop take?",
        reasons=reasons,
        answer=answer,
    )


# --- an epilogue


def bytes_table() -> Table:
    """Bytes of sectors that a layer moves: in one kernel, and in two. Counted in the simulator."""
    rows = []
    for steps in (1, 2, 3):
        fused, apart = (moved(Member(epilogue=steps, fused=together)) for together in (True, False))
        saved = _total(apart) - _total(fused)
        rows.append((EPILOGUE_WORDS[steps], *(theme.thousands(_total(moved_bytes)) for moved_bytes in (fused, apart)),
                     theme.thousands(saved), theme.percent(saved / _total(apart), 0)))  # fmt: skip
    heads = ("epilogue", "one kernel, bytes", "two kernels, bytes", "saved", "of two kernels'")
    return Table(
        heads, tuple(rows), "C (32, 48) = A (32, 32) · B: bytes loaded and stored, counted", words=frozenset({0})
    )


EPILOGUE_WORDS = {1: "bias", 2: "bias, GELU", 3: "bias, GELU, residual"}


def _total(moved_bytes: Moved) -> int:
    return moved_bytes.loaded + moved_bytes.stored


@question("n18_saved", "bytes that a fused epilogue saves")
def check_saved(answer: int | None) -> Verdict:
    """The bytes that two kernels move more than one, with M = N = LARGE and float32."""
    elements = LARGE**2
    return check_number(
        answer, 2 * FLOAT_BYTES * elements, unit="bytes",
        because="C is stored once more and loaded once more; all else is the same.",
        slips=(
            Slip(FLOAT_BYTES * elements, "That is C once. The second kernel loads it, and stores it again."),
            Slip(3 * FLOAT_BYTES * elements, "C is stored once in any case: that one is not saved."),
            Slip(2 * elements, "So many floats they are. A float has 4 bytes."),
            Slip(4 * FLOAT_BYTES * elements, "Two kernels move C three times, and one kernel once."),
        ),
    )  # fmt: skip


# --- eight bits


def predict_scale() -> Prediction:
    """What a few large columns do to the others with one scale."""
    by = model.errors()
    most, least = by[model.INT8][model.TENSOR], by[model.INT8][model.COLUMN]
    options = {"about 1 %": 0.01, "about 5 %": 0.05, "about 30 %": 0.3, "more than 100 %": 1.5}
    answer = min(options, key=lambda option: abs(math.log(options[option] / most)))
    reasons = {
        "about 1 %": f"With a scale for each column it would be {theme.percent(least)}.",
        "about 5 %": "Count the whole numbers that are left for a column whose largest number is a fortieth of 127.",
        "about 30 %": "A small column has whole numbers from -3 to 3 left, so most of its digits are gone.",
        "more than 100 %": "Something is left: rounding to the nearest is wrong by half a step at most.",
    }
    return predict(
        f"Every {model.EVERY}th column of B has numbers {model.FACTOR:g} times as large as the others. Both matrices "
        "become INT8, with one scale each, so that their largest number is 127. How large is the error in the columns "
        "of small numbers, relative to what should be there?",
        reasons=reasons,
        answer=answer,
        picture=pictures.digits,
    )


# --- groups


@question("n18_tiles", "tiles of uneven experts")
def check_tiles(answer: int | None) -> Verdict:
    """Tiles of 16 rows for the rows of the drawn experts."""
    rows = pictures.ROWS_OF
    tiles = sum(-(-row // T) for row in rows)
    return check_number(
        answer, tiles, unit="tiles",
        because="Each expert's last tile may be partly empty, and one without rows has none.",
        slips=(
            Slip(-(-sum(rows) // T), "So it would be if all rows belonged to one expert."),
            Slip(sum(row // T for row in rows), "Those are whole tiles. What is left of an expert needs one, too."),
            Slip(sum(row // T + 1 for row in rows), "An expert with no rows, or with whole tiles, needs no more."),
            Slip(-(-sum(rows) // T) + len(rows), "That is the grid, which has room for the worst case."),
        ),
    )  # fmt: skip


# --- a convolution


def predict_patches() -> Prediction:
    """How many times as many bytes the stored matrix of patches moves, beside the images."""
    H, W, C, R = LAYER
    times = R * R
    return predict(
        f"Images of {H} × {W} pixels with {C} channels, filters of {R} × {R}, a border of 1. A kernel of its own "
        "first writes the matrix of the product, every pixel under every place of the filter, and a product reads it. "
        "How many bytes does this matrix have, beside the images?",
        reasons={
            "as many": "Each pixel lies under the filter at many places, and is written for each of them.",
            f"{R} times": "Along one axis that is right. The filter moves along two.",
            f"{times} times": f"{R} × {R} pixels lie under the filter at each place, and there are about as many "
            "places as pixels. It is written once and read once.",
            f"{times * C} times": "The channels are in the images, too.",
        },
        answer=f"{times} times",
    )


# --- recorded, of every kind of product


@cache
def _recorded() -> tuple[list[dict], str]:
    content = recordings.raw(devices.DEFAULT.name, PRODUCTS)
    return content["rows"], recorded_on(content["provenance"]["gpu"])


def _table(member: str, heads: tuple[str, ...], ways: tuple[str, ...], caption: str, kinds: tuple[str, ...]) -> Table:
    """The recorded rows of a member, with the µs of these ways, ours first, the best of the rivals over ours, and what
    the roof is of ours."""
    try:
        rows, label = _recorded()
    except recordings.NoRecording:
        return not_recorded(heads)
    lines = []
    for row in rows:
        if row["member"] == member and row["kind"] in kinds:
            times = row["ms"]
            cells = (theme.thousands(1e3 * times[way], 1) if way in times else "–" for way in ways)
            ratio = min(times[way] for way in rivals_of(row)) / times[ways[0]]
            share = roof_ms(row, devices.DEFAULT) / times[ways[0]]
            lines.append((row["kind"], " × ".join(map(str, row["shape"])), *cells, f"{ratio:.2f}", f"{share:.0%}"))
    return Table(heads, tuple(lines), f"{caption} ({label}); above 1 ours is faster", words=frozenset({0, 1}))


def rivals_of(row: Mapping[str, Any]) -> list[str]:
    """The ways of a recorded row that do all of its work and are not ours."""
    return [way for way in row["ms"] if way not in row["launches"] and way not in row.get("controls", ())]


def roof_ms(row: Mapping[str, Any], device: devices.Device) -> float:
    """The least time that a GPU's units and its memory allow a recorded row, milliseconds."""
    peak = peaks.of(device).tflops[PEAKS[row["kind"].split()[0]]]
    return max(row["work"] / peak / 1e9, row["bytes"] / device.memory_gb_per_s / 1e6)


def fused_table() -> Table:
    """`gemm` with bias and GELU, in one launch and with a second kernel, beside the same two of cuBLAS."""
    heads = ("operands", "M × N × K", "gemm, µs", "fused", "with a kernel", "cuBLASLt, fused", "cuBLAS + kernel",
             "ratio", "of the roof")  # fmt: skip
    ways = ("gemm", "gemm, one launch", "gemm + second kernel", "cublasLt, one launch", "cublas + second kernel")
    return _table("bias + GELU", heads, ways, "bias and GELU; ratio: the faster of cuBLAS's two", ("f32 NN", "bf16 NN"))


def grouped_table() -> Table:
    """Rows shared out among experts beside cuBLAS's grouped product."""
    heads = ("operands", "experts × rows × N × K", "gemm, µs", "cuBLAS grouped, µs", "ratio", "of the roof")
    return _table("experts", heads, ("gemm", "cublas grouped"), "one launch for all experts", ("f32 NN",))


def convolution_table() -> Table:
    """Convolutions without the matrix of patches beside those with it."""
    heads = ("operands", "images × H × W × C × N × R", "conv2d, µs", "patches + cuBLAS", "cuBLAS alone", "ratio",
             "of the roof")  # fmt: skip
    ways = ("conv2d", "patches + cublas", "cublas alone")
    return _table("convolution", heads, ways, "convolutions", ("f16",))


def formats_table() -> Table:
    """One product in every format at M = N = K = LARGE: ours, cuBLAS."""
    heads = ("operands", "name", "gemm, µs", "cuBLAS, µs", "ratio", "mma.sync alone, µs")
    try:
        rows, label = _recorded()
        alone = recordings.raw(devices.DEFAULT.name, PRODUCTS)["mma_sync"]
    except recordings.NoRecording:
        return not_recorded(heads)
    lines = []
    for kind, name in NAMES.items():
        for row in rows:
            if (row["member"], row["kind"], row["shape"]) == ("single", kind, [LARGE] * 3):
                rival = next(library for library in ("cublas", "cublasLt") if library in row["ms"])
                ours, theirs = row["ms"]["gemm"], row["ms"][rival]
                at_most = alone.get(kind.split()[0])
                least = theme.thousands(1e6 * row["work"] / at_most["rate"]) if at_most else "–"
                times = (theme.thousands(1e3 * ms) for ms in (ours, theirs))
                lines.append((kind, name, *times, f"{theirs / ours:.2f}", least))
    return Table(heads, tuple(lines), f"M = N = K = {LARGE} ({label}); above 1 ours is faster", words=frozenset({0, 1}))


NAMES = {
    "f32 NN": "SGEMM",
    "f64 NN": "DGEMM",
    "bf16 NN": "bfloat16, sums in float32",
    "f16 TN": "half, sums in float32",
    "s8 NT": "INT8, sums in int32",
    "e4m3 NT": "FP8 (E4M3), sums in float32",
}


def layer_parts() -> Table:
    """The products of a transformer's layer, and what each of them has that the ladder's kernels have not."""
    sizes = Sizes()
    rows = tuple(
        (part.name, f"{part.count} × " * (part.count > 1) + " × ".join(map(str, part.shape)), part.member)
        for part in parts(sizes)
    )
    return Table(("product", "M × N × K", "what is special"), rows, f"A layer for {sizes.rows} tokens of {sizes.width}",
                 words=frozenset({0, 1, 2}))  # fmt: skip
