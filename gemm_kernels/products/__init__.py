"""One tile, many products: `gemm` for any layout, format, batch and epilogue, and `conv2d` on the same kernel.

C = gemm(A, B)                                              # as A @ B, C in float32
gemm(A, B, C, op_b="T", alpha=2, beta=1)                    # C = 2 * A * B^T + C
gemm(X, W, epilogue=(epilogue.bias(b), epilogue.gelu()))    # a layer
gemm(Q, K, op_b="T")                                        # (batch, heads, T, D): a batch, with any strides
gemm([A0, A1], [B0, B1], [C0, C1])                          # products of different shapes, in one launch
gemm(X, W, batch=offsets)                                   # experts: rows offsets[e] … offsets[e + 1] times W[e]
gemm(A8, B8, scale_a=s, scale_b=t)                          # int8, or 8-bit floats, with scales

Arrays are CuPy's, or those of the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

from gemm_kernels.products import epilogue, formats, planning as plans
from gemm_kernels.products.epilogue import Step
from gemm_kernels.products.formats import FORMATS, Format
from gemm_kernels.products.planning import Device, Plan, Request
from gemm_kernels.products.views import View, broadcast_to, check_written, view_of, widest
from gemm_kernels.refused import Refused

__all__ = ["Plan", "conv2d", "epilogue", "gemm", "plan"]


def gemm(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    op_a: str = "N",
    op_b: str = "N",
    alpha: float = 1,
    beta: float = 0,
    batch: Any = None,
    epilogue: Sequence[Step] | Step = (),
    dtype: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    group: int = 0,
    tensor_cores: bool = True,
) -> Any:
    """C = epilogue(alpha · op(A) · op(B) + beta · C); returns C.

    One launch; of large products of float32, where that is expected to be faster, one of the ladder's kernels, with a
    launch before it for each copy of A or B that it needs, and one behind it for the epilogue.

    A, B: (…, M, K) and (…, K, N) after op, arrays of the device with any strides: slices, transposed views and
    broadcast ones are read where they lie. Axes before the last two are a batch, and are broadcast as NumPy's. Lists of
    as many matrices are products behind pointers, or of different shapes.
    C: what is written, with any strides but of distinct elements; None: a new array, of float32 (float64 for f64, int32
    for s8 without scales and epilogue). With beta = 0 it is never read.
    op_a, op_b: "N", or "T" for the transposed matrix.
    batch: offsets (E + 1,), int32: the rows of A and C from offsets[e] to offsets[e + 1] are multiplied by B[e]. They
    may lie on the device, and are not read by the host.
    epilogue: steps of `gemm_kernels.epilogue`, in their order.
    dtype: the format of A and B where their type does not say it: "bf16" of uint16, "e4m3" or "e5m2" of uint8.
    scale_a, scale_b: a number; or a vector, of A one for each row and of B for each column; or, with `group`, a matrix
    (M, K / group) and (K / group, N) of scales along k, float32.
    group: k of one scale, a multiple of 32 (of 16 for 16-bit formats).
    tensor_cores: False multiplies on CUDA cores.

    The same arguments give the same bits. Raises Refused, a ValueError, with a sentence.
    """
    return plan(
        A, B, C, op_a=op_a, op_b=op_b, alpha=alpha, beta=beta, batch=batch, epilogue=epilogue, dtype=dtype,
        scale_a=scale_a, scale_b=scale_b, group=group, tensor_cores=tensor_cores,
    )()  # fmt: skip


def plan(
    A: Any,
    B: Any,
    C: Any = None,
    *,
    op_a: str = "N",
    op_b: str = "N",
    alpha: float = 1,
    beta: float = 0,
    batch: Any = None,
    epilogue: Sequence[Step] | Step = (),
    dtype: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    group: int = 0,
    tensor_cores: bool = True,
    tile: int | None = None,
    several: bool | None = None,
) -> Plan:
    """What `gemm` launches, to be launched often: `plan(A, B, C)()`. The arguments are gemm's.

    tile: which of the candidates in `tiles`, the largest first; None: the one that suits the shape.
    several: whether a product of float32 may be one of the ladder's kernels with launches before it, which copy A or B
    row by row, and behind it, for the epilogue; None: where it saves time.
    """
    if isinstance(A, list | tuple):
        return _of_lists(
            A, B, C, op_a, op_b, alpha, beta, batch, epilogue, dtype, (scale_a, scale_b), tensor_cores, tile
        )
    device = plans.device_of("A", A)
    if plans.device_of("B", B).namespace is not device.namespace:
        raise Refused("A and B are arrays of different modules. Put both on the same device.")
    chosen = formats.named(dtype) if dtype is not None else None
    operand = formats.of_array("A", A, chosen)
    if formats.of_array("B", B, chosen) is not operand:
        raise Refused(f"A is {A.dtype.name} and B is {B.dtype.name}; both must have one format. Convert one of them.")
    view_a, view_b = _turned("op_a", op_a, view_of("A", A)), _turned("op_b", op_b, view_of("B", B))
    _check_inner(view_a, view_b)
    steps = _steps(epilogue)
    M, N = view_a.rows, view_b.cols
    offsets = _offsets(batch, device, view_a, view_b) if batch is not None else None
    sizes = _batch_sizes(view_a, view_b) if offsets is None else []
    scaled = scale_a is not None or scale_b is not None
    C = _result(C, device, operand, (*sizes, M, N), beta, scaled or bool(steps))
    target = view_of("C", C)
    if (target.rows, target.cols, [size for size, _ in target.batch]) != (M, N, sizes):
        raise Refused(f"C has the shape {C.shape}, and the product has {(*sizes, M, N)}.")
    check_written(target)
    for what, array in (("A", A), ("B", B)):
        if C.size and array.size and C.data.ptr == array.data.ptr:
            raise Refused(f"C begins where {what} does: it would be overwritten while it is read. Give another C.")
    request = Request(
        operand, formats.of_result("C", C, operand), _number("alpha", alpha), _number("beta", beta), steps,
        group=group, tensor_cores=tensor_cores, tile=tile,
    )  # fmt: skip
    request = _scaled(request, scale_a, scale_b, view_a, view_b, bool(sizes) or offsets is not None)
    _check_result(request)
    held = (A, B, C, scale_a, scale_b, *(step.array for step in steps))
    if offsets is not None:
        return plans.ragged(device, request, C, (view_a, view_b, target), offsets).holding(held)
    if target.row_step == 1 and target.col_step != 1 and not request.steps and request.scales is None:
        # C lies column by column: in its memory is the transposed C, row by row, the product B^T · A^T.
        view_a, view_b, target = view_b.turned, view_a.turned, target.turned
        A, B = B, A
    if 0 in (target.rows, target.cols):
        return Plan(None, C, device)
    if C.flags.c_contiguous or C.flags.f_contiguous:
        ladder = plans.plain(device, request, C, (A, B), (view_a, view_b, target), several)
        if ladder is not None:
            return ladder.holding(held)
    views = (broadcast_to(view_a, sizes), broadcast_to(view_b, sizes), target)
    return plans.batched(device, request, C, views).holding(held)


def conv2d(
    X: Any,
    W: Any,
    Y: Any = None,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    alpha: float = 1,
    beta: float = 0,
    epilogue: Sequence[Step] | Step = (),
    dtype: Any = None,
    tensor_cores: bool = True,
    tile: int | None = None,
) -> Any:
    """Y = epilogue(alpha · convolution(X, W) + beta · Y), one implicit product in one launch; returns Y.

    X: (n, h, w, c), an image in each n, channels last.  W: (f, r, s, c), a filter in each f.
    Y: (n, p, q, f), p = (h + 2 · padding − dilation · (r − 1) − 1) // stride + 1, and q likewise.
    stride, padding, dilation: along both axes, or (along h, along w).
    The matrix (n·p·q, r·s·c) of the product is nowhere in memory: each copy finds its element in X. As in all of deep
    learning W is not mirrored. Raises Refused, a ValueError, with a sentence.
    """
    return conv2d_plan(
        X, W, Y, stride=stride, padding=padding, dilation=dilation, alpha=alpha, beta=beta, epilogue=epilogue,
        dtype=dtype, tensor_cores=tensor_cores, tile=tile,
    )()  # fmt: skip


def conv2d_plan(
    X: Any,
    W: Any,
    Y: Any = None,
    *,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    alpha: float = 1,
    beta: float = 0,
    epilogue: Sequence[Step] | Step = (),
    dtype: Any = None,
    tensor_cores: bool = True,
    tile: int | None = None,
) -> Plan:
    """What `conv2d` launches; the arguments are its own."""
    device = plans.device_of("X", X)
    chosen = formats.named(dtype) if dtype is not None else None
    operand = formats.of_array("X", X, chosen)
    if X.ndim != 4 or W.ndim != 4:
        raise Refused(f"X is (n, h, w, c) and W is (f, r, s, c); found {X.shape} and {W.shape}.")
    if formats.of_array("W", W, chosen) is not operand:
        raise Refused(f"X is {X.dtype.name} and W is {W.dtype.name}; both must have one format. Convert one of them.")
    (n, h, w, c), (f, r, s, channels) = X.shape, W.shape
    if channels != c:
        raise Refused(f"X has {c} channels and W has {channels}: the last axes of both must be as long.")
    if 0 in (r, s):
        raise Refused(f"W has the shape {W.shape}: a filter has at least one row and one column.")
    (stride_h, stride_w) = _pair("stride", stride, 1)
    (pad_h, pad_w), (dil_h, dil_w) = _pair("padding", padding, 0), _pair("dilation", dilation, 1)
    p, q = (h + 2 * pad_h - dil_h * (r - 1) - 1) // stride_h + 1, (w + 2 * pad_w - dil_w * (s - 1) - 1) // stride_w + 1
    if n and (p < 1 or q < 1):
        raise Refused(
            f"the filter of {r} x {s}, dilated to {dil_h * (r - 1) + 1} x {dil_w * (s - 1) + 1}, does not fit into "
            f"images of {h} x {w} with a padding of {pad_h}, {pad_w}. Give more padding."
        )
    filters = _flat("W", W, 1).turned  # (r·s·c, f)
    steps = _steps(epilogue)
    Y = _result(Y, device, operand, (n, max(p, 0), max(q, 0), f), beta, bool(steps), "Y")
    if Y.shape != (n, max(p, 0), max(q, 0), f):
        raise Refused(f"Y has the shape {Y.shape}, and the convolution has {(n, p, q, f)}.")
    target = _flat("Y", Y, 3)
    check_written(target)
    request = Request(
        operand, formats.of_result("Y", Y, operand), _number("alpha", alpha), _number("beta", beta), steps,
        tensor_cores=tensor_cores, tile=tile,
    )  # fmt: skip
    _check_result(request)
    pixels = view_of("X", X)
    n_step, h_step = (step if size > 1 else 0 for size, step in pixels.batch)
    picture = dict(
        first=pixels.address, n_step=n_step, h_step=h_step, w_step=pixels.row_step, c_step=pixels.col_step,
        H=h, W=w, C=c, P=p, Q=q, S=s, stride_h=stride_h, stride_w=stride_w,
        pad_h=pad_h, pad_w=pad_w, dil_h=dil_h, dil_w=dil_w,
    )  # fmt: skip
    width = widest(pixels, c, (n_step, h_step, pixels.row_step), 16) if pixels.col_step == 1 else 1
    made = plans.image(device, request, Y, picture, width, filters, target)
    return made.holding((X, W, Y, *(step.array for step in steps)))


# --- reading the arguments --------------------------------------------------------------------------------------------


def _of_lists(
    A: Sequence, B: Any, C: Any, op_a: str, op_b: str, alpha: float, beta: float, batch: Any,
    epilogue: Any, dtype: Any, scales: tuple[Any, Any], tensor_cores: bool, tile: int | None,
) -> Plan:  # fmt: skip
    """The plan of lists of matrices."""
    if batch is not None:
        raise Refused("batch= has the offsets of the rows of one A; lists of matrices need none.")
    if any(scale is not None for scale in scales):
        raise Refused(
            "scale_a and scale_b belong to one product. Give alpha, or epilogue steps without arrays, to lists."
        )
    if not isinstance(B, list | tuple) or len(A) != len(B) or not A:
        given = f"{len(B)}" if isinstance(B, list | tuple) else f"a {type(B).__name__}"
        raise Refused(
            f"A is a list of {len(A)} matrices, and B is {given}; both must have the same number, at least one."
        )
    if C is not None and (not isinstance(C, list | tuple) or len(C) != len(A)):
        raise Refused(f"C must be a list of {len(A)} matrices as A and B are, or be left out.")
    device = plans.device_of("A[0]", A[0])
    chosen = formats.named(dtype) if dtype is not None else None
    operand = formats.of_array("A[0]", A[0], chosen)
    steps = _steps(epilogue)
    results, products, result = [], [], None
    for number, (a, b) in enumerate(zip(A, B, strict=True)):
        for what, array in ((f"A[{number}]", a), (f"B[{number}]", b)):
            plans.device_of(what, array)
            if formats.of_array(what, array, chosen) is not operand:
                raise Refused(f"{what} is {array.dtype.name} and A[0] is {A[0].dtype.name}; all must have one format.")
        view_a = _turned("op_a", op_a, view_of(f"A[{number}]", a))
        view_b = _turned("op_b", op_b, view_of(f"B[{number}]", b))
        if view_a.batch or view_b.batch:
            raise Refused(f"A[{number}] has the shape {a.shape}: the matrices of a list have two axes.")
        _check_inner(view_a, view_b)
        shape = (view_a.rows, view_b.cols)
        c = _result(None if C is None else C[number], device, operand, shape, beta, bool(steps), f"C[{number}]")
        target = view_of(f"C[{number}]", c)
        if (target.rows, target.cols) != shape:
            raise Refused(f"C[{number}] has the shape {c.shape}, and its product has {shape}.")
        check_written(target)
        result = result or formats.of_result(f"C[{number}]", c, operand)
        if formats.of_result(f"C[{number}]", c, operand) is not result:
            raise Refused(f"C[{number}] is {c.dtype.name} and C[0] another type; all must have one.")
        results.append(c)
        products.append((view_a, view_b, target))
    request = Request(
        operand, result, _number("alpha", alpha), _number("beta", beta), steps, tensor_cores=tensor_cores, tile=tile
    )
    _check_result(request)
    layouts = {tuple((view.rows, view.cols, view.row_step, view.col_step) for view in product) for product in products}
    make = plans.pointed if len(layouts) == 1 else plans.listed
    return make(device, request, results, products).holding((*A, *B, *results, *(step.array for step in steps)))


def _turned(name: str, op: str, view: View) -> View:
    if op not in ("N", "T"):
        raise Refused(f"{name} is {op!r}; it may be 'N', or 'T' for the transposed matrix.")
    return view if op == "N" else view.turned


def _check_inner(A: View, B: View) -> None:
    if A.cols != B.rows:
        raise Refused(
            f"{A.what} has {A.cols} columns and {B.what} has {B.rows} rows (after op): the k of both must be as long. "
            "Is one of them meant transposed? Try op_a='T' or op_b='T'."
        )


def _batch_sizes(A: View, B: View) -> list[int]:
    """The batch's axes as NumPy broadcasts them."""
    count = max(len(A.batch), len(B.batch))
    pairs = zip(
        *([1] * (count - len(operand.batch)) + [size for size, _ in operand.batch] for operand in (A, B)), strict=True
    )
    sizes = []
    for a, b in pairs:
        if a != b and 1 not in (a, b):
            raise Refused(
                f"the batch of A is {tuple(size for size, _ in A.batch)} and that of B "
                f"{tuple(size for size, _ in B.batch)}: each axis must be as long in both, or 1 in one."
            )
        sizes.append(b if a == 1 else a)
    return sizes


def _offsets(batch: Any, device: Device, A: View, B: View) -> Any:
    """Offsets on the device."""
    if A.batch or len(B.batch) != 1:
        raise Refused(
            f"batch= shares out the rows of A (T, K) among products with B (E, K, N); found batches of "
            f"{len(A.batch)} and {len(B.batch)} axes before the last two."
        )
    wanted = B.batch[0][0] + 1
    if isinstance(batch, list | tuple):
        ends = [*batch]
        if not all(isinstance(end, Integral) for end in ends) or ends != sorted(ends) or ends[:1] != [0]:
            raise Refused(f"batch is {batch!r:.60}; offsets begin with 0 and are whole numbers that never fall.")
        if ends[-1] != A.rows:
            raise Refused(f"batch ends with {ends[-1]}, and A has {A.rows} rows; the last offset is their number.")
        batch = device.namespace.asarray([int(end) for end in ends], dtype="int32")
    if not hasattr(batch, "dtype") or batch.dtype.name != "int32" or batch.ndim != 1 or not batch.flags.c_contiguous:
        raise Refused("batch must be a list of offsets, or an int32 array (E + 1,) of the device.")
    plans.device_of("batch", batch)
    if batch.size != wanted:
        raise Refused(f"batch has {batch.size} offsets, and B has {wanted - 1} matrices, which need {wanted}.")
    return batch


def _steps(given: Sequence[Step] | Step) -> tuple[Step, ...]:
    steps = (given,) if isinstance(given, Step) else tuple(given)
    for step in steps:
        if not isinstance(step, Step):
            raise Refused(f"epilogue has {step!r:.60}; its steps are those of gemm_kernels.epilogue, such as gelu().")
    return steps


def _number(name: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool):
        raise Refused(f"{name} is {value!r:.60}; it must be a number.")
    return float(value)


def _pair(name: str, value: Any, least: int) -> tuple[int, int]:
    pair = value if isinstance(value, tuple) else (value, value)
    if len(pair) != 2 or not all(isinstance(number, Integral) and number >= least for number in pair):
        raise Refused(
            f"{name} is {value!r}; it must be a whole number of at least {least}, or two: (along h, along w)."
        )
    return int(pair[0]), int(pair[1])


def _result(
    C: Any, device: Device, operand: Format, shape: tuple[int, ...], beta: float, floats: bool, what: str = "C"
) -> Any:
    """C as given, or a new one."""
    if C is not None:
        if plans.device_of(what, C).namespace is not device.namespace:
            raise Refused(f"{what} is an array of another module than A. Put all on the same device.")
        return C
    if beta != 0:
        raise Refused(f"beta is {beta}, but no {what} was given: pass {what}, or leave out beta.")
    name = "f32" if operand.sums == "s32" and floats else operand.sums
    return device.namespace.empty(shape, FORMATS[name].stored[0])


def _check_result(request: Request) -> None:
    """Refuse a C whose elements its sums cannot become."""
    operand, result = request.operand.name, request.result.name
    if (operand == "f64") != (result == "f64"):
        raise Refused(f"A and B are {operand} and C is {result}: float64 goes with float64 alone.")
    if result == "s32":
        if request.operand.sums != "s32":
            raise Refused(f"A and B are {operand}, whose sums are floats, and C is int32. Give a float32 C.")
        if request.steps:
            raise Refused("the epilogue computes with floats, and C is int32. Give a float32 C.")
        if request.scales is not None:
            raise Refused("scales are floats, and C is int32. Give a float32 C.")
        if request.alpha != int(request.alpha) or request.beta != int(request.beta):
            raise Refused(
                f"C is int32, so that alpha and beta are whole numbers; found {request.alpha}, {request.beta}."
            )


def _scaled(request: Request, scale_a: Any, scale_b: Any, A: View, B: View, several: bool) -> Request:
    """The request with its scales: numbers go into alpha, vectors into the first steps, matrices into the loop."""
    if scale_a is None and scale_b is None:
        if request.group:
            raise Refused(
                f"group is {request.group} without scales: give scale_a (M, K / group) and scale_b (K / group, N)."
            )
        return request
    alpha, first, matrices = request.alpha, [], {}
    for name, scale, view in (("scale_a", scale_a, A), ("scale_b", scale_b, B)):
        if scale is None:
            continue
        if isinstance(scale, Real):
            alpha *= float(scale)
            continue
        plans.device_of(name, scale)
        if scale.dtype.name != "float32":
            raise Refused(f"{name} has elements of type {scale.dtype.name}; scales are float32.")
        if scale.ndim == 1:
            wanted = A.rows if name == "scale_a" else B.cols
            if scale.size != wanted:
                raise Refused(
                    f"{name} has {scale.size} elements and not one for each of {wanted} "
                    f"{'rows of A' if view is A else 'columns of B'}."
                )
            first.append(epilogue.row_scale(scale) if name == "scale_a" else epilogue.column_scale(scale))
        elif scale.ndim == 2:
            matrices[name] = view_of(name, scale)
        else:
            raise Refused(f"{name} has the shape {scale.shape}; it may be a number, a vector, or with group= a matrix.")
    if request.beta != 0 and first:
        raise Refused(
            "vectors of scales multiply what is stored, and beta adds the old C before. Add it by a residual."
        )
    request = replace(request, alpha=alpha, steps=(*first, *request.steps))
    if not matrices:
        if request.group:
            raise Refused(f"group is {request.group}, but the scales are no matrices: (M, K / group), (K / group, N).")
        return request
    if several:
        raise Refused("scales along k are for one product, and there is a batch.")
    return replace(request, scales=_along_k(request, matrices, A, B))


def _along_k(request: Request, matrices: dict[str, View], A: View, B: View) -> tuple[View, View]:
    """Matrices of scales along k, that of B turned, so that its lines are columns."""
    if set(matrices) != {"scale_a", "scale_b"}:
        raise Refused("scales along k come in pairs: scale_a (M, K / group) and scale_b (K / group, N).")
    step = 32 // request.operand.size
    if not isinstance(request.group, Integral) or request.group < step or request.group % step:
        raise Refused(f"group is {request.group!r}; of {request.operand.name} it must be a multiple of {step}.")
    groups = -(-A.cols // request.group)
    for name, view, wanted in (
        ("scale_a", matrices["scale_a"], (A.rows, groups)),
        ("scale_b", matrices["scale_b"], (groups, B.cols)),
    ):
        if (view.rows, view.cols) != wanted:
            raise Refused(
                f"{name} has the shape {(view.rows, view.cols)}; with group = {request.group} it must be {wanted}."
            )
    return matrices["scale_a"], matrices["scale_b"].turned


def _flat(what: str, array: Any, rows: int) -> View:
    """An array of four axes as a matrix, whose rows are the first axes and whose columns the others."""
    view = view_of(what, array)
    axes = [*view.batch, (view.rows, view.row_step), (view.cols, view.col_step)]

    def joined(part: list[tuple[int, int]]) -> tuple[int, int]:
        size, step = 1, 0
        for length, stride in reversed(part):
            if length == 1:
                continue
            if size > 1 and stride != size * step:
                raise Refused(
                    f"{what} has strides of {array.strides} bytes, so that its axes are not one axis of a matrix. "
                    f"Copy it: gpu.ascontiguousarray({what})."
                )
            step = step if size > 1 else stride
            size *= length
        return size, step

    (count, row_step), (width, col_step) = joined(axes[:rows]), joined(axes[rows:])
    return View(what, view.address, count, width, row_step, col_step, (), view.size)
