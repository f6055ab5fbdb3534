"""CuPy's names beyond RawModule, as far as a learner meets them: arrays, and kernels from one expression.

Arrays are NumPy's in a dress of their own (`DeviceArray`), so that most of CuPy's functions are NumPy's. What CuPy has
in `cuda` is in `gpusim.cupy.runtime`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from gpusim import compiler
from gpusim.cupy import arrays, runtime
from gpusim.cupy.arrays import DeviceArray
from gpusim.cupy.expressions import ElementwiseKernel, ReductionKernel
from gpusim.cupy.raw_module import ATTRIBUTES, SETTABLE, DeviceRawModule
from gpusim.cupy.runtime import Names
from gpusim.errors import ArgumentError, SimulatorError

# Of NumPy's and CuPy's common names those that make an array, and those that compute with arrays.
_MAKING = (
    "arange", "diag", "eye", "full_like", "identity", "indices", "linspace", "logspace", "meshgrid", "ones_like", "tri",
    "zeros_like",
)  # fmt: skip
_COMPUTING = (
    "abs", "absolute", "add", "all", "allclose", "amax", "amin", "angle", "any", "append", "arccos", "arcsin", "arctan",
    "arctan2", "argmax", "argmin", "argsort", "argwhere", "around", "array_equal", "array_split", "ascontiguousarray",
    "atleast_1d", "atleast_2d", "average", "bincount", "bitwise_and", "bitwise_or", "bitwise_xor",
    "broadcast_to", "ceil", "clip", "column_stack", "concatenate", "conj", "copy", "cos", "cosh", "count_nonzero",
    "cross", "cumprod", "cumsum", "diagonal", "diff", "digitize", "divide", "dot", "einsum", "equal", "exp", "exp2",
    "expand_dims", "expm1", "flip", "fliplr", "flipud", "floor", "floor_divide", "fmod", "greater", "greater_equal",
    "histogram", "hstack", "hypot", "imag", "inner", "isclose", "isfinite", "isin", "isinf", "isnan", "kron", "less",
    "less_equal", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "max", "maximum", "mean", "median", "min", "minimum", "mod", "moveaxis", "multiply", "nan_to_num", "negative",
    "nonzero", "not_equal", "outer", "pad", "percentile", "power", "prod", "ptp", "ravel", "real", "reciprocal",
    "repeat", "reshape", "rint", "roll", "rot90", "round", "searchsorted", "sign", "sin", "sinh", "sort", "split",
    "sqrt", "square", "squeeze", "stack", "std", "subtract", "sum", "swapaxes", "take", "tan", "tanh", "tensordot",
    "tile", "trace", "transpose", "tril", "triu", "true_divide", "trunc", "unique", "unravel_index", "var", "vdot",
    "vstack", "where",
)  # fmt: skip
_LINALG = (
    "cholesky", "det", "eigh", "eigvalsh", "inv", "lstsq", "matrix_power", "matrix_rank", "norm", "pinv", "qr",
    "slogdet", "solve", "svd",
)  # fmt: skip
_TESTING = ("assert_allclose", "assert_array_almost_equal", "assert_array_equal", "assert_array_less")
_PLAIN = ("ndim", "shape", "size")  # that answer numbers of Python
_DRAWN = ("rand", "randn", "random", "random_sample", "standard_normal", "uniform", "normal")  # may be given a dtype
_CHOSEN = ("randint", "permutation", "choice")
_CONSTANTS = (
    "bool_", "complex64", "complex128", "dtype", "e", "float16", "float32", "float64", "inf", "int8", "int16", "int32",
    "int64", "intp", "nan", "newaxis", "pi", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip


def _made(what: str, make: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What NumPy makes, on the device. ArgumentError, in a sentence, where NumPy refuses."""
    try:
        return _placed(make(*args, **options))
    except arrays.OF_NUMPY as error:
        said = str(error).rstrip(".")
        raise ArgumentError(f"gpu.{what} cannot make this array: {said}. `gpu.{what}?` says what it takes.") from None


def _placed(made: Any) -> Any:
    """NumPy's answer on the device: an array, several of them, or a number, which CuPy has as an array without axes."""
    if isinstance(made, DeviceArray):
        return made
    if isinstance(made, np.ndarray):
        return made.view(DeviceArray)
    if isinstance(made, np.generic | bool):
        return np.array(made).view(DeviceArray)
    if isinstance(made, tuple | list):
        return (tuple if isinstance(made, tuple) else list)(map(_placed, made))
    return made


def _marked(made: DeviceArray, order: Any) -> DeviceArray:
    """An array that was asked for in columns, which launches take without a warning."""
    made.in_columns = isinstance(order, str) and order == "F"
    return made


def asfortranarray(host: Any, dtype: Any = None) -> DeviceArray:
    """A device array with the elements of another one that lies in memory column after column."""
    return _marked(_made("asfortranarray", np.asfortranarray, host, dtype), "F")


def array(
    host: Any, dtype: Any = None, copy: bool = True, order: str = "C", subok: bool = False, ndmin: int = 0
) -> DeviceArray:
    """Copy a host array (or a list) to the device."""
    order = "C" if isinstance(order, str) and order == "K" else order
    return _marked(_made("array", np.array, host, dtype=dtype, order=order, subok=False, ndmin=ndmin), order)


def asarray(host: Any, dtype: Any = None, order: str | None = None) -> DeviceArray:
    """The device array itself if it is one already, else a copy of the host array on the device."""
    if isinstance(host, DeviceArray):
        ordered = order is None or (
            isinstance(order, str) and (order in "AK" or (order in "CF" and host.flags[f"{order}_CONTIGUOUS"]))
        )
        if ordered and (dtype is None or host.dtype == _made("dtype", np.dtype, dtype)):
            return host
    return array(host, dtype, order="C" if order is None else order)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> DeviceArray:
    """A device array with every element equal to fill_value."""
    return _made("full", np.full, shape, fill_value, dtype)


def zeros(shape: Any, dtype: Any = float, order: str = "C") -> DeviceArray:
    """A device array of zeros."""
    return _marked(_made("zeros", np.zeros, shape, dtype, order), order)  # takes no memory before it is touched


def ones(shape: Any, dtype: Any = float, order: str = "C") -> DeviceArray:
    """A device array of ones."""
    return _marked(_made("ones", np.full, shape, 1, dtype, order), order)


def empty(shape: Any, dtype: Any = float, order: str = "C") -> DeviceArray:
    """A device array whose contents are not defined until they are written."""
    return _made("empty", arrays.empty, shape, dtype, order)


def empty_like(other: Any, dtype: Any = None) -> DeviceArray:
    """A device array of the same shape whose contents are not defined until they are written."""
    like = _made("empty_like", np.asarray, other)
    return empty(like.shape, like.dtype if dtype is None else dtype)


def asnumpy(device_array: Any, stream: Any = None, order: str = "C", out: np.ndarray | None = None) -> np.ndarray:
    """A copy of a device array on the host, in `out` if that is given."""
    return asarray(device_array).get(stream, order, out)


def _on_device(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function with its arrays on the device."""

    def called(*args: Any, **options: Any) -> Any:
        host = [arg.view(np.ndarray) if isinstance(arg, DeviceArray) else arg for arg in args]
        return _made(name, function, *host, **options)

    called.__name__, called.__doc__ = name, function.__doc__
    return called


def _drawn(name: str) -> Callable[..., Any]:
    """NumPy's function that draws numbers, on the device, and as by CuPy of another type where `dtype` is given."""
    function = getattr(np.random, name)

    def called(*args: Any, dtype: Any = None, **options: Any) -> Any:
        drawn = function(*args, **options)
        return drawn if dtype is None else np.asarray(drawn, dtype)

    called.__doc__ = function.__doc__
    return _on_device(f"random.{name}", called)


class Generator:
    """`cupy.random.Generator`: NumPy's, whose arrays are on the device."""

    def __init__(self, seed: Any = None) -> None:
        generator = np.random.default_rng(seed)
        for name in ("random", "standard_normal", "integers", "uniform", "normal"):
            setattr(self, name, _on_device(f"random.Generator.{name}", getattr(generator, name)))


class RawKernel:
    """`cupy.RawKernel`: one kernel of a source, compiled at its first launch.

    Args: `code` the source, `name` the kernel's or a template instantiation, `options` the compiler's.
    """

    def __init__(self, code: str, name: str = "", options: Sequence[str] = (), **others: Any) -> None:
        compiler.check_texts(code)
        if isinstance(name, str) and not name:
            known = compiler.kernel_names(code)
            has = f"this one has: {', '.join(known)}" if known else "this one has no __global__ function"
            raise SimulatorError(f"RawKernel takes a source and the name of a kernel in it; {has}.")
        compiler.check_texts(code, (name,))
        self.name = name
        self._module = DeviceRawModule(
            code=code, options=options, name_expressions=[name] if "<" in name else None, **others
        )

    @property
    def kernel(self) -> Any:
        """The compiled kernel, with `num_regs`, `shared_size_bytes` and so on. Raises CompileError."""
        return self._module.get_function(self.name)

    def compile(self, log_stream: Any = None) -> None:
        """Compile it now; the compiler's warnings are written to `log_stream`. Raises CompileError."""
        log = self.kernel.compiled.log
        if log_stream is not None:
            log_stream.write(log)

    def __getattr__(self, name: str) -> Any:
        """What was given, such as `options`, and what the compiler says: `attributes` and each of these."""
        if name in ("backend", "code", "enable_cooperative_groups", "options"):
            return getattr(self._module, name)
        if name == "attributes" or name in ATTRIBUTES or name in SETTABLE:
            return getattr(self.kernel, name)
        raise AttributeError(f"'RawKernel' object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """`max_dynamic_shared_size_bytes`, the most dynamic shared memory of a launch, and what else may be set."""
        if name in SETTABLE:
            setattr(self.kernel, name, value)
        else:
            super().__setattr__(name, value)

    def __call__(
        self,
        grid: Any = None,
        block: Any = None,
        args: Sequence[Any] | None = None,
        *,
        shared_mem: int = 0,
        **others: Any,
    ) -> None:
        """Launch, as a function of RawModule does."""
        self.kernel(grid, block, args, shared_mem=shared_mem, **others)


def names() -> dict[str, Any]:
    """CuPy's name → its counterpart here."""
    made: tuple[Callable[..., Any], ...] = (
        array,
        asarray,
        asfortranarray,
        full,
        zeros,
        ones,
        asnumpy,
        empty,
        empty_like,
    )
    served: dict[str, Any] = {function.__name__: function for function in made}
    served |= {name: _on_device(name, getattr(np, name)) for name in (*_MAKING, *_COMPUTING)}
    served |= {name: getattr(np, name) for name in (*_CONSTANTS, *_PLAIN)}
    functions = {name: _on_device(f"linalg.{name}", getattr(np.linalg, name)) for name in _LINALG}
    served["linalg"] = Names("linalg", **functions)
    served["testing"] = Names("testing", **{name: getattr(np.testing, name) for name in _TESTING})
    random = {name: _drawn(name) for name in _DRAWN}
    random |= {name: _on_device(f"random.{name}", getattr(np.random, name)) for name in _CHOSEN}
    served["random"] = Names("random", **random, seed=np.random.seed, default_rng=Generator, Generator=Generator)
    served["cuda"] = runtime.names()
    served["get_default_memory_pool"] = served["get_default_pinned_memory_pool"] = runtime.MemoryPool
    return served | {
        "RawModule": DeviceRawModule, "RawKernel": RawKernel, "ElementwiseKernel": ElementwiseKernel,
        "ReductionKernel": ReductionKernel, "ndarray": DeviceArray,
    }  # fmt: skip


@cache
def module() -> Names:
    """What stands for CuPy's module where arrays are asked for it: `names` as attributes."""
    return Names("module", **names())
