"""From arrays to a launch: what `gemm` and `conv2d` compile, and with which parameters they launch it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gemm_kernels import architecture
from gemm_kernels.by_shape import fastest
from gemm_kernels.choices import DEFAULT_GPU, NoChoice
from gemm_kernels.launch import OPTIONS, Arguments, Launch
from gemm_kernels.products import tiles
from gemm_kernels.products.epilogue import Step
from gemm_kernels.products.formats import FORMATS, Format, of_result
from gemm_kernels.products.tiles import Tile
from gemm_kernels.products.views import View, addresses, broadcast_to, merged, namespace_of, view_of, widest
from gemm_kernels.refused import Refused
from gemm_kernels.workspaces import Workspaces

FOLDER = Path(__file__).parents[1] / "cuda" / "products"
FILES = {tiles.FMA: "fma_tile", tiles.DMMA: "dmma_tile", tiles.WIDE: "dmma_tile", tiles.MMA: "mma_tile"}

# The structs of cuda/products/problems.cu, panels.cu and behind.cu, as NumPy lays them out.
_I4, _I8, _U8 = np.int32, np.int64, np.uint64
PANEL = np.dtype([("first", _U8), ("line", _I8), ("k", _I8), ("batch", _I8), ("outer", _I8)])
IMAGE = np.dtype(
    [("first", _U8), *((f"{axis}_step", _I8) for axis in "nhwc")]
    + [
        (name, _I4)
        for name in ("H", "W", "C", "P", "Q", "S", "stride_h", "stride_w", "pad_h", "pad_w", "dil_h", "dil_w")
    ]
)
TARGET = np.dtype([("first", _U8), ("row", _I8), ("col", _I8), ("batch", _I8), ("outer", _I8)])
SCALE = np.dtype([("first", _U8), ("line", _I8), ("k", _I8)])
BESIDE = np.dtype(
    [("first", _U8), ("row", _I8), ("col", _I8), ("batch", _I8), ("outer", _I8), ("number", np.float64), ("seed", _I8)]
    + [("wide", _I4), ("unused", _I4)]
)


def _problem_dtype(panel: np.dtype) -> np.dtype:
    sizes = [(name, _I4) for name in ("M", "N", "K", "inner")]
    return np.dtype([*sizes, ("A", panel), ("B", PANEL), ("C", TARGET), ("scale_A", SCALE), ("scale_B", SCALE)])


def _behind_dtype(steps: int) -> np.dtype:
    return np.dtype([("M", _I4), ("N", _I4), ("C", TARGET), ("beside", BESIDE, (steps,))])


def _parameters_dtype(problem: np.dtype, steps: int) -> np.dtype:
    return np.dtype(
        [("problem", problem), ("alpha", np.float64), ("beta", np.float64), ("list", _U8), ("first_tiles", _U8)]
        + [("count", _I4), ("tiles", _I4), ("beside", BESIDE, (max(steps, 1),))]
    )


@dataclass(frozen=True, eq=False)
class Device:
    """What a plan must know of the device of its arrays.

    namespace: the module that compiles, launches and makes arrays.  gpu: its name.  arch: "sm_90".
    """

    namespace: Any
    gpu: str
    arch: str
    sms: int
    shared_bytes: int


def device_of(what: str, array: Any) -> Device:
    """The device that an array lies on. Refused for an array of the host."""
    namespace = namespace_of(what, array)
    return _device(namespace, namespace.cuda.runtime.getDevice())


@lru_cache(maxsize=16)
def _device(namespace: Any, number: int) -> Device:
    attributes = namespace.cuda.Device(number).attributes
    name = namespace.cuda.runtime.getDeviceProperties(number)["name"].decode()
    capability = namespace.cuda.Device(number).compute_capability
    return Device(
        namespace,
        name,
        f"sm_{capability}",
        attributes["MultiProcessorCount"],
        attributes["MaxSharedMemoryPerBlockOptin"],
    )


@dataclass(frozen=True, eq=False)
class Plan:
    """One product, ready to be launched as often as one likes: `plan()`.

    launch: what is launched; None where C has no elements.  C: what it writes.  device: where.
    held: the arrays whose addresses are among its arguments, and which must live as long as it.
    before, behind: what is launched before it, copies of A or B, and behind it, the epilogue.
    """

    launch: Launch | None
    C: Any
    device: Device
    held: tuple[Any, ...] = field(default=(), repr=False)
    before: tuple[Plan, ...] = ()
    behind: tuple[Plan, ...] = ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        """All that is launched, in order."""
        own = () if self.launch is None else (self.launch,)
        around = [tuple(launch for plan in plans for launch in plan.launches) for plans in (self.before, self.behind)]
        return (*around[0], *own, *around[1])

    def holding(self, arrays: tuple[Any, ...]) -> Plan:
        """The same plan, which keeps these arrays alive, too."""
        return replace(self, held=(*self.held, *arrays))

    def __call__(self) -> Any:
        """Launch, and return C. Asynchronous on a GPU."""
        for plan_before in self.before:
            plan_before()
        if self.launch is None:
            return self.C
        function = _compiled(self.device, self.launch.source, self.launch.entry, self.launch.shared_bytes)
        namespace, given = self.device.namespace, self.launch.arguments.given
        with _workspaces(self.device, self.launch.entry, self.launch.workspace_bytes).current(
            lambda: namespace.cuda.get_current_stream().ptr, namespace.zeros
        ) as workspace:
            function(self.launch.grid, self.launch.block, (*given, *workspace), shared_mem=self.launch.shared_bytes)
        for plan_behind in self.behind:
            plan_behind()
        return self.C


@lru_cache(maxsize=256)
def _compiled(device: Device, source: str, entry: str, shared_bytes: int) -> Any:
    module = device.namespace.RawModule(code=source, options=OPTIONS, name_expressions=[entry])
    function = module.get_function(entry)
    if shared_bytes > function.max_dynamic_shared_size_bytes:
        function.max_dynamic_shared_size_bytes = shared_bytes
    return function


@lru_cache(maxsize=64)
def _workspaces(device: Device, entry: str, size: int | None) -> Workspaces:
    return Workspaces(size)


def source_of(kind: str) -> str:
    """The CUDA source of the products with one kind of tile."""
    return _joined("formats", "panels", "warp_tiles", FILES[kind], "problems", "epilogue", "gemm")


def _joined(*parts: str) -> str:
    return "\n".join(_text(name, (FOLDER / f"{name}.cu").stat().st_mtime_ns) for name in parts)


@lru_cache(maxsize=32)
def _text(name: str, modified: int) -> str:
    """A file's text; read again when it has changed."""
    return (FOLDER / f"{name}.cu").read_text(encoding="utf-8")


@dataclass(frozen=True, eq=False)
class Request:
    """Everything about a product that does not depend on how its matrices are found.

    alpha, beta, steps: of the epilogue.  scales: (of A, of B), (array, k of one scale) each, or None.
    tensor_cores: whether they may be used.  tile: that one of the candidates, by its place; None for the best.
    """

    operand: Format
    result: Format
    alpha: float
    beta: float
    steps: tuple[Step, ...]
    scales: tuple[View, View] | None = None
    group: int = 0
    tensor_cores: bool = True
    tile: int | None = None


def plain(
    device: Device,
    request: Request,
    C: Any,
    arrays: tuple[Any, Any],
    views: tuple[View, View, View],
    several: bool | None = None,
) -> Plan | None:
    """The ladder's fastest kernel, where the product is one of the ladder's, or becomes one by further launches that
    are worth their time: copies of A or B before it, and the epilogue behind it; None where it is none.

    several: whether there may be further launches; None: where they are worth it.
    """
    A, B, target = views
    if (request.operand.name, request.result.name) != ("f32", "f32") or request.tile is not None:
        return None
    if not target.is_plain or any(size != 1 for view in views for size, _ in view.batch) or A.cols == 0:
        return None
    M, N, K = target.rows, target.cols, A.cols
    whole = [_lies_whole(view, array) for view, array in zip((A, B), arrays, strict=True)]
    elements = sum(view.rows * view.cols for view, fits in zip((A, B), whole, strict=True) if not fits)
    beside = [_fitting(step, request, target) for step in request.steps]
    if any(view is not None and _overlap(view, target) for view in beside):
        return None  # the product would be written over what its epilogue has to read
    further = whole.count(False) + bool(beside)
    moved = 8 * (elements + M * N * bool(beside))
    if further and not (_worth_it(device, request, (M, N, K), further, moved) if several is None else several):
        return None
    try:
        kernel = fastest(M, N, K, device.gpu, device.shared_bytes)
    except NoChoice:
        kernel = fastest(M, N, K, DEFAULT_GPU, device.shared_bytes)
    if architecture.refused(kernel.source, device.arch):
        return None
    before = tuple(_packed(device, view) for view, fits in zip((A, B), whole, strict=True) if not fits)
    copies = iter(before)
    left, right = (
        _argument(array, view) if fits else next(copies).C
        for array, view, fits in zip(arrays, (A, B), whole, strict=True)
    )
    launch = kernel.launch(M, N, K)
    sizes = (np.int32(M), np.int32(N), np.int32(K))
    given = (*sizes, np.float32(request.alpha), left, right, np.float32(request.beta), _argument(C, target))
    behind = (_behind(device, request, C, target, beside),) if beside else ()
    return Plan(replace(launch, arguments=Arguments(given)), C, device, before=before, behind=behind)


# What the ladder's kernels, memory and one more launch reach on an H200 (helpers/recordings/nvidia-h200/products.json).
LADDER_FLOPS, COPIED_BYTES, STARTS = 57e12, 3e12, 3e-6


def _worth_it(device: Device, request: Request, shape: tuple[int, int, int], further: int, moved: int) -> bool:
    """Whether the ladder's kernel is expected to be done before the best tile, with further launches that move so many
    bytes."""
    M, N, K = shape
    tile = _tile(device, request, [(M, N)], K)
    times = tiles.measured()
    by_tile = tiles.expected(tile, request.operand, {(M, N): 1}, K, device.sms, times)
    own = 4 * (M * K + K * N + M * N)
    by_ladder = tiles.shortest(times) + max(2 * M * N * K / LADDER_FLOPS, own / COPIED_BYTES)
    return by_ladder + STARTS * further + moved / COPIED_BYTES < by_tile


def _lies_whole(view: View, array: Any) -> bool:
    """Whether a kernel of the ladder finds the matrix at the beginning of its array, row by row.

    A transposed view of one row or column is whole, too, in whichever order its array is.
    """
    return view.is_plain and (array.flags.c_contiguous or array.flags.f_contiguous)


def _argument(array: Any, view: View) -> Any:
    """An array as a launch takes it; of a transposed one only where it begins."""
    return array if array.flags.c_contiguous else np.uint64(view.address)


def _overlap(view: View, other: View) -> bool:
    """Whether the ranges of memory in which two views lie have bytes in common."""
    (low, high), (other_low, other_high) = map(_range, (view, other))
    return low < other_high and other_low < high


def _range(view: View) -> tuple[int, int]:
    reach = [(view.rows - 1) * view.row_step, (view.cols - 1) * view.col_step]
    first, last = (view.address + view.size * sum(end(step, 0) for step in reach) for end in (min, max))
    return first, last + view.size


def _behind(device: Device, request: Request, C: Any, target: View, beside: Sequence[View | None]) -> Plan:
    """The epilogue of a C whose rows lie side by side, as a launch that reads and writes it."""
    M, N = target.rows, target.cols
    quads = -(-N // 4)
    across = min(64, 1 << (quads - 1).bit_length())  # threads along a row: a power of two, so that blocks have 256
    down = 256 // across
    wide = N % 4 == 0 and target.address % 16 == 0
    parameters = np.zeros((), _behind_dtype(len(beside)))
    parameters["M"], parameters["N"], parameters["C"] = M, N, (target.address, N, 1, 0, 0)
    for index, (step, view) in enumerate(zip(request.steps, beside, strict=True)):
        parameters["beside"][index] = _slot(step, view, (0, 0))
    entry = f"behind<{', '.join((_output(request, wide), *_step_types(request, beside)))}>"
    rows = 4 * down  # four groups of rows, as the kernel has them
    blocks = -(-quads // across) * -(-M // rows)
    launch = Launch(
        "behind", _joined("formats", "problems", "epilogue", "behind"), entry, (across, down, 1), (blocks, 1, 1), 0,
        (M, N, 1), (rows, 4 * across), arguments=Arguments((parameters,)),
    )  # fmt: skip
    return Plan(launch, C, device)


def _output(request: Request, wide: bool) -> str:
    return f"Target<{request.result.cpp}, {str(wide).lower()}>"


def _step_types(request: Request, beside: Sequence[View | None]) -> list[str]:
    """The structs of the steps. beside: the arrays that they read."""
    return [
        step.cpp.format(FORMATS[of_result("an epilogue's array", step.array, request.operand).name].cpp)
        if view is not None
        else step.cpp
        for step, view in zip(request.steps, beside, strict=True)
    ]


def _packed(device: Device, view: View) -> Plan:
    """A copy of a matrix whose rows lie side by side."""
    to = device.namespace.empty((view.rows, view.cols), "float32")
    along_rows = view.row_step == 1 and view.col_step != 1
    blocks = -(-view.rows // 32) * -(-view.cols // 32)
    given = (
        np.int32(view.rows), np.int32(view.cols), np.uint64(view.address), np.int64(view.row_step),
        np.int64(view.col_step), to,
    )  # fmt: skip
    launch = Launch(
        "pack", _joined("pack"), f"pack<{str(along_rows).lower()}>", (32, 8, 1), (blocks, 1, 1), 0,
        (view.rows, view.cols, 1), (32, 32), arguments=Arguments(given),
    )  # fmt: skip
    return Plan(launch, to, device)


def batched(device: Device, request: Request, C: Any, views: tuple[View, View, View]) -> Plan:
    """Products of one shape at distances that views have, or, where no two distances say where they are, behind
    pointers."""
    A, B, target = views
    M, N = target.rows, target.cols
    sizes = [size for size, _ in target.batch]
    count = math.prod(sizes)
    if 0 in (M, N, count):
        return Plan(None, C, device)
    beside = [_fitting(step, request, target) for step in request.steps]
    every = [A, B, target, *(array for array in beside if array is not None)]
    axes = merged(every)
    if len(axes[0]) > 2:
        if len(every) > 3:
            raise Refused(
                f"the batch of shape {tuple(sizes)} does not become two axes with its strides, and the epilogue has "
                "arrays. Copy one of them, so that it lies in one piece: gpu.ascontiguousarray(A)."
            )
        return pointed(device, request, C, [(A, B, target)])
    steps = [_batch_steps(axis) for axis in axes]
    inner = axes[0][-1][0] if axes[0] else 1
    flat = dict(zip(map(id, every), steps, strict=True))
    tile = _tile(device, request, [(M, N)] * count, A.cols)
    described = _Described(device, request, tile)
    problem, panels, wide = described.problem([(A, B, target)], [flat[id(A)], flat[id(B)], flat[id(target)]])
    problem["inner"] = inner
    slots = [_slot(step, array, flat.get(id(array), (0, 0))) for step, array in zip(request.steps, beside, strict=True)]
    return described.plan(C, "Batched", problem, panels, wide, slots, beside, tile_count=count, count=count)


def pointed(device: Device, request: Request, C: Any, products: Sequence[tuple[View, View, View]]) -> Plan:
    """Products of one shape whose matrices lie anywhere: the kernel finds them behind pointers."""
    _check_alone(request, "behind pointers")
    M, N = products[0][2].rows, products[0][2].cols
    table = [row for product in products for row in addresses(product, math.prod(size for size, _ in product[2].batch))]
    if 0 in (M, N, len(table)):
        return Plan(None, C, device)
    tile = _tile(device, request, [(M, N)] * len(table), products[0][0].cols)
    described = _Described(device, request, tile)
    problem, panels, wide = described.problem(products, [(0, 0)] * 3)
    pointers = device.namespace.asarray(np.array(table, _U8))
    slots = [_slot(step, None, (0, 0)) for step in request.steps]
    return described.plan(
        C, "Pointed", problem, panels, wide, slots, [None] * len(slots), tile_count=len(table), count=len(table),
        listed=pointers,
    )  # fmt: skip


def listed(device: Device, request: Request, C: Any, products: Sequence[tuple[View, View, View]]) -> Plan:
    """Products of different shapes in one launch."""
    _check_alone(request, "of different shapes")
    if not any(target.rows and target.cols for _, _, target in products):
        return Plan(None, C, device)
    mean = sum(A.cols for A, _, _ in products) // len(products)
    tile = _tile(device, request, [(target.rows, target.cols) for _, _, target in products], mean)
    described = _Described(device, request, tile)
    first, panels, wide = described.problem(products, [(0, 0)] * 3)
    problems = np.zeros(len(products), first.dtype)
    BM, BN, _ = tile.size
    first_tiles = [0]
    for index, product in enumerate(products):
        problems[index] = described.product(product, panels, [(0, 0)] * 3)
        problems[index]["inner"] = 1
        first_tiles.append(first_tiles[-1] + -(-product[2].rows // BM) * -(-product[2].cols // BN))
    asarray = device.namespace.asarray
    table = asarray(np.frombuffer(problems.tobytes(), _I8).copy())
    begins = asarray(np.array(first_tiles, _I4))
    slots = [_slot(step, None, (0, 0)) for step in request.steps]
    return described.plan(
        C, "Listed", first, panels, wide, slots, [None] * len(slots), tile_count=0, count=len(products),
        listed=table, first_tiles=begins, blocks=first_tiles[-1],
    )  # fmt: skip


def ragged(device: Device, request: Request, C: Any, views: tuple[View, View, View], offsets: Any) -> Plan:
    """One A whose rows are shared out among products, each with a B of its own: offsets (count + 1,) int32."""
    A, B, target = views
    ((count, _),) = B.batch
    N = target.cols
    if 0 in (target.rows, N, count):
        return Plan(None, C, device)
    whole = View(
        target.what, target.address, target.rows, N, target.row_step, target.col_step, ((count, 0),), target.size
    )
    beside = [_fitting(step, request, whole) for step in request.steps]
    mean = -(-target.rows // count)
    tile = _tile(device, request, [(mean, N)] * count, A.cols)
    described = _Described(device, request, tile)
    problem, panels, wide = described.problem([(A, B, target)], [(0, 0), (B.batch[0][1], 0), (0, 0)], ragged=True)
    problem["inner"] = max(count, 1)
    slots = [
        _slot(step, array, (0, 0) if array is None else (array.batch[0][1], 0))
        for step, array in zip(request.steps, beside, strict=True)
    ]
    BM, BN, _ = tile.size
    blocks = (target.rows // BM + count) * -(-N // BN)  # each product has at most one tile that is not whole
    return described.plan(
        C, f"Ragged<{BM}, {BN}>", problem, panels, wide, slots, beside, tile_count=0, count=count, listed=offsets,
        blocks=blocks,
    )  # fmt: skip


def image(device: Device, request: Request, Y: Any, picture: dict[str, int], width: int, B: View, target: View) -> Plan:
    """A convolution as a product whose A is found in an image. picture: the fields of IMAGE."""
    if 0 in (target.rows, target.cols):
        return Plan(None, Y, device)
    beside = [_fitting(step, request, target) for step in request.steps]
    tile = _tile(device, request, [(target.rows, target.cols)], B.rows)
    described = _Described(device, request, tile)
    line = View("X", picture["first"], target.rows, B.rows, 0, 0, (), request.operand.size)
    problem, panels, wide = described.problem([(line, B, target)], [(0, 0)] * 3, picture=picture, width=width)
    slots = [_slot(step, array, (0, 0)) for step, array in zip(request.steps, beside, strict=True)]
    return described.plan(Y, "Batched", problem, panels, wide, slots, beside, tile_count=1, count=1)


# --- parts of a plan --------------------------------------------------------------------------------------------------


def _tile(device: Device, request: Request, shapes: list[tuple[int, int]], K: int) -> Tile:
    options = tiles.candidates(request.operand, request.tensor_cores, request.group)
    if request.group and options[0].kind != tiles.MMA:
        raise Refused(
            f"scales along k are for formats of tensor cores, such as s8 or e4m3; A is {request.operand.name}."
        )
    if request.operand.name in ("e4m3", "e5m2") and options[0].kind != tiles.MMA:
        raise Refused(f"{request.operand.name} is multiplied by tensor cores alone. Leave out tensor_cores=False.")
    if options[0].kind == tiles.MMA and int(device.arch[3:]) < request.operand.since:
        raise Refused(
            f"{request.operand.name} needs a GPU of compute capability {request.operand.since / 10} or newer; "
            f"{device.gpu} is {device.arch}. Convert A and B to float16."
        )
    if request.tile is not None:
        return options[request.tile]
    return tiles.chosen(options, request.operand, shapes, K, device.sms, device.shared_bytes)


def _batch_steps(axes: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """(inner, outer) steps of a batch with at most two axes."""
    inner = axes[-1][1] if axes else 0
    return inner, axes[0][1] if len(axes) == 2 else 0


def _check_alone(request: Request, how: str) -> None:
    """Refuse an epilogue with matrices beside C, which have no place for each of many products."""
    for step in request.steps:
        if step.array is not None and not step.is_result:
            raise Refused(
                f"epilogue.{step.name} has an array, which products {how} cannot share. Launch them as a batch of one "
                "array, or leave the step out."
            )
    if request.scales is not None:
        raise Refused(f"scales along k are for one product, and these are many {how}.")


def _fitting(step: Step, request: Request, target: View) -> View | None:
    """The array of a step as a view of C's shape; None for a step without one."""
    if step.array is None:
        return None
    if request.result.name == "s32":
        raise Refused(f"epilogue.{step.name} computes with floats, and C is int32. Give a float32 C.")
    if step.is_result:
        return None
    view = view_of(f"the array of epilogue.{step.name}", step.array)
    return broadcast_to(view, [size for size, _ in target.batch], target.rows, target.cols)


def _slot(step: Step, view: View | None, batch: tuple[int, int]) -> np.ndarray:
    slot = np.zeros((), BESIDE)
    slot["number"], slot["seed"] = step.number, step.seed
    if step.is_result:
        slot["first"] = step.array.data.ptr
    if view is not None:
        wide = view.col_step == 1 and widest(view, 4, (view.row_step, *batch), max(16, 4 * view.size)) % 4 == 0
        wide = wide and view.address % min(16, 4 * view.size) == 0
        for name, value in zip(
            ("first", "row", "col", "batch", "outer", "wide"),
            (view.address, view.row_step, view.col_step, *batch, wide), strict=True,
        ):  # fmt: skip
            slot[name] = value
    return slot


@dataclass(frozen=True)
class _Panel:
    """How a tile copies A or B."""

    along_k: bool
    width: int


class _Described:
    """The parameters of a launch, made step by step for one tile."""

    def __init__(self, device: Device, request: Request, tile: Tile) -> None:
        self.device, self.request, self.tile = device, request, tile

    def problem(
        self,
        products: Sequence[tuple[View, View, View]],
        batch: Sequence[tuple[int, int]],
        *,
        ragged: bool = False,
        picture: dict[str, int] | None = None,
        width: int = 1,
    ) -> tuple[np.ndarray, tuple[_Panel, _Panel], bool]:
        """The first product as parameters, how panels are copied in all of them, and whether C is written by fours."""
        panels_a = [self._panel(A, ragged) for A, _, _ in products]
        panels_b = [self._panel(B.turned, False) for _, B, _ in products]
        image_panel = _Panel(True, 1 if self.tile.kind == tiles.FMA else width)
        panels = (_common(panels_a) if picture is None else image_panel, _common(panels_b))
        wide = all(self._wide(target) for _, _, target in products)
        return self.product(products[0], panels, batch, picture), panels, wide

    def product(
        self,
        product: tuple[View, View, View],
        panels: tuple[_Panel, _Panel],
        batch: Sequence[tuple[int, int]],
        picture: dict[str, int] | None = None,
    ) -> np.ndarray:
        """A product as parameters."""
        A, B, target = product
        problem = np.zeros((), _problem_dtype(PANEL if picture is None else IMAGE))
        problem["M"], problem["N"], problem["K"], problem["inner"] = target.rows, target.cols, A.cols, 1
        if picture is None:
            problem["A"] = (A.address, A.row_step, A.col_step, *batch[0])
        else:
            problem["A"] = tuple(picture[name] for name in IMAGE.names)
        problem["B"] = (B.address, B.col_step, B.row_step, *batch[1])
        problem["C"] = (target.address, target.row_step, target.col_step, *batch[2])
        if self.request.scales is not None:
            for name, view in zip(("scale_A", "scale_B"), self.request.scales, strict=True):
                problem[name] = (view.address, view.row_step, view.col_step)
        return problem

    def _panel(self, view: View, ragged: bool) -> _Panel:
        """A panel whose lines are the rows of `view`. ragged: it begins at any line."""
        batch = [step for _, step in view.batch]
        if view.col_step != 1 and view.row_step == 1:
            if self.tile.kind != tiles.MMA and view.size not in (4, 8):
                return _Panel(False, 1)
            return _Panel(False, 1 if ragged else widest(view, view.rows, (view.col_step, *batch), 16))
        if view.col_step == 1 and self.tile.kind != tiles.FMA:
            return _Panel(True, widest(view, view.cols, (view.row_step, *batch), 16))
        return _Panel(abs(view.col_step) <= abs(view.row_step), 1)

    def _wide(self, target: View) -> bool:
        if target.col_step != 1:
            return False
        steps = (target.row_step, *(step for _, step in target.batch))
        aligned = target.address % min(16, 4 * target.size) == 0
        return aligned and math.gcd(4, *map(abs, steps)) == 4

    def plan(
        self,
        C: Any,
        how: str,
        problem: np.ndarray,
        panels: tuple[_Panel, _Panel],
        wide: bool,
        slots: Sequence[np.ndarray],
        beside: Sequence[View | None],
        *,
        tile_count: int,
        count: int,
        listed: Any = None,
        first_tiles: Any = None,
        blocks: int | None = None,
    ) -> Plan:
        """The launch. tile_count: problems of one shape, whose tiles are all blocks, where `blocks` is None."""
        request, tile = self.request, self.tile
        parameters = np.zeros((), _parameters_dtype(problem.dtype, len(slots)))
        BM, BN, BK = tile.size
        M, N, K = int(problem["M"]), int(problem["N"]), int(problem["K"])
        each = -(-M // BM) * -(-N // BN)
        parameters["problem"] = problem
        parameters["alpha"], parameters["beta"] = request.alpha, request.beta
        parameters["list"] = 0 if listed is None else listed.data.ptr
        parameters["first_tiles"] = 0 if first_tiles is None else first_tiles.data.ptr
        parameters["count"], parameters["tiles"] = count, each
        for index, slot in enumerate(slots):
            parameters["beside"][index] = slot
        blocks = each * tile_count if blocks is None else blocks
        if blocks > 2**31 - 1:
            raise Refused(
                f"the products need {blocks:,} blocks, and a grid has at most {2**31 - 1:,}. Launch fewer at once."
            )
        kind = "Image" if problem.dtype["A"] == IMAGE else "Strided"
        types = [
            f"{name}<{request.operand.cpp}, {str(panel.along_k).lower()}, {panel.width}>"
            for name, panel in zip((kind, "Strided"), panels, strict=True)
        ]
        output, steps = _output(request, wide), _step_types(request, beside)
        entry = f"gemm<{', '.join((tile.cpp(*types), how, output, *steps))}>"
        launch = Launch(
            "gemm", source_of(tile.kind), entry, (tile.threads, 1, 1), (blocks, 1, 1),
            tile.shared_bytes(request.operand), (M, N, K), (BM, BN), BK, tile.stages,
            arguments=Arguments((parameters,)),
        )  # fmt: skip
        return Plan(launch, C, self.device, tuple(table for table in (listed, first_tiles) if table is not None))


def _common(panels: Sequence[_Panel]) -> _Panel:
    """What suits all products of a launch."""
    if len({panel.along_k for panel in panels}) > 1:
        return _Panel(True, 1)
    return _Panel(panels[0].along_k, math.gcd(*(panel.width for panel in panels)))
