"""Kernels from a line of C++, as CuPy makes them: for each element, and to add up (or else combine) many elements."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpusim.cupy import arrays
from gpusim.cupy.raw_module import Kernel, RawModule
from gpusim.errors import SimulatorError

BLOCK = 128  # threads of a block
_TYPES = {
    "float16": "__half", "float32": "float", "float64": "double", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
    "uint64": "unsigned long long", "bool": "bool", "complex64": "complex<float>", "complex128": "complex<double>",
}  # fmt: skip
_NUMPY = {name: np.dtype(name) for name in _TYPES}


def _parameters(text: str, what: str) -> list[tuple[str, str, bool]]:
    """[(type, name, raw)] of 'float32 x, raw int32 y'. SimulatorError for what cannot be read."""
    parameters = []
    if not isinstance(text, str):
        raise SimulatorError(f"the {what} are a text such as 'float32 x, float32 c', and this is {text!r}.")
    for part in filter(None, (declaration.strip() for declaration in text.split(","))):
        read = re.fullmatch(r"(raw )?(\w+) (\w+)", part)
        if read is None:
            raise SimulatorError(f"{part!r} among the {what} is no parameter such as 'float32 x' or 'raw float32 x'.")
        parameters.append((read[2], read[3], bool(read[1])))
    return parameters


@dataclass(frozen=True)
class _Given:
    """The arguments of a call: numbers and arrays of the parameters' `types`, by their names in the expression."""

    inputs: Sequence[Any]
    outputs: Sequence[Any]
    types: Mapping[str, np.dtype]


@dataclass
class _Expression:
    """What kernels from an expression have in common: parameters, and a compiled kernel for each set of types."""

    inputs: list[tuple[str, str, bool]]
    outputs: list[tuple[str, str, bool]]
    name: str
    options: tuple[str, ...]
    preamble: str
    _kernels: dict[str, Kernel] = field(default_factory=dict, repr=False)

    def given(self, args: Sequence[Any]) -> _Given:
        """The arguments by what they are for. SimulatorError if there are too many or too few of them."""
        wanted = len(self.inputs)
        if len(args) not in (wanted, wanted + len(self.outputs)):
            raise SimulatorError(
                f"{self.name} takes {wanted} inputs, and behind them its {len(self.outputs)} outputs or none; "
                f"got {len(args)}."
            )
        types = dict(_NUMPY)
        for arg, (type_, name, _) in zip(args, (*self.inputs, *self.outputs), strict=False):
            if type_ not in types:
                if len(type_) > 1:
                    raise SimulatorError(
                        f"{type_!r}, the type of {name}, is none of {', '.join(_TYPES)} or one letter."
                    )
                types[type_] = np.asarray(arg).dtype
        return _Given(args[:wanted], args[wanted:], types)

    def parameters(self, given: _Given) -> tuple[list[str], list[str]]:
        """(the kernel's parameters, what gives those that are not raw their names for element `i`)."""
        parameters, before = [], []
        for argument, (type_, name, raw) in zip(given.inputs, self.inputs, strict=True):
            spelled = _TYPES[given.types[type_].name]
            if not isinstance(argument, np.ndarray):
                parameters.append(f"{spelled} {name}")
            else:
                parameters.append(f"const {spelled} *{name if raw else f'_{name}'}")
                before += [] if raw else [f"const {spelled} {name} = _{name}[i];"]
        return parameters, before

    def compiled(self, given: _Given, source: str) -> Kernel:
        """The kernel for arguments of these types."""
        text = f"{self.preamble}\n{source}"
        text = f"#include <cupy/complex.cuh>\n{text}" if "complex<" in text else text
        if text not in self._kernels:
            self._kernels[text] = RawModule(code=text, options=self.options).get_function(self.name)
        return self._kernels[text]


def _passed(argument: Any, type_: np.dtype, shape: tuple[int, ...] | None) -> Any:
    """An argument as a kernel takes it: a number of its type, or an array, of a shape if that is given."""
    if not isinstance(argument, np.ndarray):
        return type_.type(argument)
    whole = argument if shape is None or argument.shape == shape else np.broadcast_to(argument, shape)
    return whole if whole.flags.c_contiguous else np.ascontiguousarray(whole)


class ElementwiseKernel:
    """`cupy.ElementwiseKernel`: an operation for each element, from one line of C++.

        scaled = ElementwiseKernel("float32 x, float32 c", "float32 y", "y = c * x", "scaled")
        y = scaled(x, np.float32(3))

    In the operation `i` is the element's number, `_ind.size()` how many there are, and a raw parameter is indexed:
    `x[i]`. A type of one letter (T) is that of the first array given for it. `preamble` stands before the kernel,
    `loop_prep` before an element's operation and `after_loop` behind it; with `no_return` a call answers None.
    """

    def __init__(
        self, in_params: str, out_params: str, operation: str, name: str = "kernel", reduce_dims: bool = True,
        preamble: str = "", no_return: bool = False, return_tuple: bool = False, *, options: Sequence[str] = (),
        loop_prep: str = "", after_loop: str = "",
    ) -> None:  # fmt: skip
        inputs, outputs = _parameters(in_params, "inputs"), _parameters(out_params, "outputs")
        self._expression = _Expression(inputs, outputs, name, tuple(options), preamble)
        self.name, self.operation = name, operation
        self.no_return, self.return_tuple = no_return, return_tuple
        self._around = loop_prep, after_loop

    def __call__(self, *args: Any, size: int | None = None, stream: Any = None, block_size: int = BLOCK) -> Any:
        """The outputs for these inputs, broadcast to one shape; outputs may be given behind them."""
        expression = self._expression
        given = expression.given(args)
        elements = [each for each, (_, _, raw) in zip(given.inputs, expression.inputs, strict=True) if not raw]
        elements += [each for each, (_, _, raw) in zip(given.outputs, expression.outputs, strict=False) if not raw]
        with_shape = [each for each in elements if isinstance(each, np.ndarray)]
        if not with_shape and size is None:
            raise SimulatorError(f"{self.name} has no array to take its size from: give size=….")
        shape = np.broadcast_shapes(*(each.shape for each in with_shape)) if with_shape else (size,)
        outputs = given.outputs or [arrays.empty(shape, given.types[type_]) for type_, _, _ in expression.outputs]
        count = int(np.prod(shape, dtype=np.int64))
        passed: list[Any] = [np.int32(count)]
        for each, (type_, _, raw) in zip(
            (*given.inputs, *outputs), (*expression.inputs, *expression.outputs), strict=True
        ):
            passed.append(_passed(each, given.types[type_], None if raw else shape))
        self._kernel(given)((-(-count // block_size),), (block_size,), tuple(passed))
        if self.no_return:
            return None
        return outputs[0] if len(outputs) == 1 and not self.return_tuple else tuple(outputs)

    def _kernel(self, given: _Given) -> Kernel:
        parameters, before = self._expression.parameters(given)
        for type_, name, raw in self._expression.outputs:
            spelled = _TYPES[given.types[type_].name]
            parameters.append(f"{spelled} *{name if raw else f'_{name}'}")
            before += [] if raw else [f"{spelled} &{name} = _{name}[i];"]
        prepared, after = self._around
        return self._expression.compiled(
            given,
            f'extern "C" __global__ void {self.name}({", ".join(["int _size", *parameters])}) {{\n'
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
            "    const struct { int count; __device__ int size() const { return count; } } _ind = {_size};\n"
            f"    {prepared};\n    if (i < _ind.size()) {{ {' '.join(before)}\n    {self.operation};\n    }}\n"
            f"    {after};\n}}\n",
        )


def _axes(name: str, axis: Any, count: int) -> list[int]:
    """The axes that are reduced, of `count`, from 0. SimulatorError for what names none."""
    if axis is None:
        return list(range(count))
    try:
        axes = [operator.index(axis)] if not isinstance(axis, Sequence) else [operator.index(number) for number in axis]
    except TypeError:
        axes = [count]
    if not all(-count <= number < count for number in axes):
        raise SimulatorError(f"{name} was given axis={axis!r}: the array has {count}, numbered from 0.")
    return [number % count for number in axes]


class ReductionKernel:
    """`cupy.ReductionKernel`: many elements become one, all of them or those along an axis.

        length = ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "length")
        length(matrix, axis=1)

    `map_expr` is what an element gives, `reduce_expr` makes one of two of these, `a` and `b`, and `post_map_expr` the
    output of the last `a`. `identity` is what no elements give, and `reduce_type` the type of `a` and `b`.
    """

    def __init__(
        self, in_params: str, out_params: str, map_expr: str, reduce_expr: str, post_map_expr: str, identity: Any,
        name: str = "reduce_kernel", reduce_type: str | None = None, reduce_dims: bool = True, preamble: str = "",
        options: Sequence[str] = (),
    ) -> None:  # fmt: skip
        inputs, outputs = _parameters(in_params, "inputs"), _parameters(out_params, "outputs")
        self._expression = _Expression(inputs, outputs, name, tuple(options), preamble)
        if identity is None:
            raise SimulatorError(f"{name} has no identity, what no elements give: write it, '0' for a sum.")
        self.name, self.identity, self.reduce_type = name, identity, reduce_type
        self.map_expr, self.reduce_expr, self.post_map_expr = map_expr, reduce_expr, post_map_expr

    def __call__(
        self, *args: Any, out: Any = None, axis: int | Sequence[int] | None = None, keepdims: bool = False,
        stream: Any = None,
    ) -> Any:  # fmt: skip
        """The output for these inputs, broadcast to one shape, of which the axes are reduced, all if none are named."""
        expression = self._expression
        given = expression.given(args if out is None else (*args, out))
        elements = [
            each
            for each, (_, _, raw) in zip(given.inputs, expression.inputs, strict=True)
            if isinstance(each, np.ndarray) and not raw
        ]
        if not elements:
            raise SimulatorError(f"{self.name} has no array to take its size from.")
        shape = np.broadcast_shapes(*(each.shape for each in elements))
        reduced = _axes(self.name, axis, len(shape))
        kept = [each for each in range(len(shape)) if each not in reduced]
        sizes = tuple(1 if each in reduced else shape[each] for each in range(len(shape)) if keepdims or each in kept)
        outputs = given.outputs or [arrays.empty(sizes, given.types[type_]) for type_, _, _ in expression.outputs]
        count = int(np.prod([shape[each] for each in reduced], dtype=np.int64))
        passed: list[Any] = [np.int32(count)]
        for each, (type_, _, raw) in zip(given.inputs, expression.inputs, strict=True):
            whole = isinstance(each, np.ndarray) and not raw
            in_order = np.broadcast_to(each, shape).transpose(*kept, *reduced) if whole else each
            passed.append(_passed(in_order, given.types[type_], None))
        blocks = int(np.prod(sizes, dtype=np.int64))
        self._kernel(given)((blocks,), (BLOCK,), (*passed, *outputs))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _kernel(self, given: _Given) -> Kernel:
        parameters, before = self._expression.parameters(given)
        results = []
        for type_, name, _ in self._expression.outputs:
            spelled = _TYPES[given.types[type_].name]
            parameters.append(f"{spelled} *_{name}")
            results.append(f"{spelled} &{name} = _{name}[blockIdx.x];")
        first = self._expression.outputs[0][0]
        reduced = _TYPES.get(self.reduce_type or given.types[first].name, self.reduce_type)
        return self._expression.compiled(
            given,
            f'extern "C" __global__ void {self.name}({", ".join(["int _count", *parameters])}) {{\n'
            f"    typedef {reduced} _type;\n    __shared__ _type _found[{BLOCK}];\n"
            f"    _type _so_far = {self.identity};\n"
            f"    for (int _each = threadIdx.x; _each < _count; _each += {BLOCK}) {{\n"
            "        const long long i = (long long)blockIdx.x * _count + _each;\n"
            f"        {' '.join(before)}\n"
            f"        const _type a = _so_far, b = {self.map_expr};\n        _so_far = {self.reduce_expr};\n    }}\n"
            "    _found[threadIdx.x] = _so_far;\n"
            f"    for (int _step = {BLOCK // 2}; _step > 0; _step /= 2) {{\n        __syncthreads();\n"
            "        if (threadIdx.x < _step) {\n"
            "            const _type a = _found[threadIdx.x], b = _found[threadIdx.x + _step];\n"
            f"            _found[threadIdx.x] = {self.reduce_expr};\n        }}\n    }}\n"
            f"    if (threadIdx.x == 0) {{\n        const _type a = _found[0];\n        {' '.join(results)}\n"
            f"        {self.post_map_expr};\n    }}\n}}\n",
        )
