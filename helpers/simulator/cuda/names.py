"""CuPy's names beyond RawModule, as far as a learner meets them: arrays, streams, events, kernels from one expression.

Arrays are NumPy's in a dress of their own (`DeviceArray`), so that most of CuPy's functions are NumPy's. What has to do
with time or with other parts of a GPU is answered by a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from helpers import devices
from helpers.sentences import NotSimulated
from helpers.simulator.cuda import arrays, textures
from helpers.simulator.cuda.arrays import DeviceArray
from helpers.simulator.cuda.raw_module import ATTRIBUTES, RawModule
from helpers.simulator.errors import ArgumentError, SimulatorError

# Of NumPy's and CuPy's common names those that make an array, and those that compute with arrays.
_MAKING = ("arange", "linspace", "eye", "zeros_like", "ones_like", "full_like")
_COMPUTING = (
    "abs", "add", "all", "allclose", "any", "argmax", "argmin", "array_equal", "clip", "concatenate", "cos", "dot",
    "exp", "isfinite", "isnan", "log", "matmul", "max", "maximum", "mean", "min", "minimum", "prod", "reshape", "sin",
    "sqrt",
    "stack", "std", "sum", "tanh", "transpose", "where",
)  # fmt: skip
_DRAWN = ("rand", "randn", "random", "random_sample", "standard_normal", "uniform", "normal")  # may be given a dtype
_CHOSEN = ("randint", "permutation", "choice")
_CONSTANTS = (
    "bool_", "float16", "float32", "float64", "inf", "int8", "int16", "int32", "int64", "nan", "newaxis", "pi", "uint8",
    "uint16", "uint32", "uint64",
)  # fmt: skip
NO_TIME = (
    "The simulator counts, it does not measure time: {what} has none to give. Counters come from simulator.record(); "
    "speeds that were recorded on a GPU from helpers.measure."
)
BLOCK = 128  # threads of a block, for kernels made from an expression


def _made(what: str, make: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What NumPy makes, on the device if it is an array. ArgumentError, in a sentence, where NumPy refuses."""
    try:
        made = make(*args, **options)
    except (ValueError, TypeError, MemoryError) as error:
        told = str(error).rstrip(".")
        raise ArgumentError(f"gpu.{what} cannot make this array: {told}. `gpu.{what}?` says what it takes.") from None
    return made if isinstance(made, DeviceArray) or not isinstance(made, np.ndarray) else made.view(DeviceArray)


def array(host: Any, dtype: Any = None) -> DeviceArray:
    """Copy a host array (or a list) to the device."""
    return _made("array", np.array, host, dtype=dtype, order="C", subok=False)


def asarray(host: Any, dtype: Any = None) -> DeviceArray:
    """The device array itself if it is one already, else a copy of the host array on the device."""
    if isinstance(host, DeviceArray) and (dtype is None or host.dtype == np.dtype(dtype)):
        return host
    return array(host, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> DeviceArray:
    """A device array with every element equal to fill_value."""
    return _made("full", np.full, shape, fill_value, dtype)


def zeros(shape: Any, dtype: Any = float) -> DeviceArray:
    """A device array of zeros."""
    return _made("zeros", np.zeros, shape, dtype)  # takes no memory before it is touched


def ones(shape: Any, dtype: Any = float) -> DeviceArray:
    """A device array of ones."""
    return _made("ones", np.full, shape, 1, dtype)


def empty(shape: Any, dtype: Any = float) -> DeviceArray:
    """A device array whose contents are not defined until somebody writes them."""
    return _made("empty", arrays.empty, shape, dtype)


def empty_like(other: Any, dtype: Any = None) -> DeviceArray:
    """A device array of the same shape whose contents are not defined until somebody writes them."""
    return empty(np.shape(other), np.asarray(other).dtype if dtype is None else dtype)


def asnumpy(device_array: Any) -> np.ndarray:
    """A copy of a device array on the host."""
    return np.array(device_array, subok=False)


def _on_device(function: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function with its arrays on the device; a scalar result stays one."""

    def called(*args: Any, **options: Any) -> Any:
        host = [arg.view(np.ndarray) if isinstance(arg, DeviceArray) else arg for arg in args]
        return _made(function.__name__, function, *host, **options)

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    return called


def _drawn(name: str) -> Callable[..., Any]:
    """NumPy's function that draws numbers, on the device, and as by CuPy of another type where `dtype` is given."""
    function = getattr(np.random, name)

    def called(*args: Any, dtype: Any = None, **options: Any) -> Any:
        drawn = function(*args, **options)
        return drawn if dtype is None else np.asarray(drawn, dtype)

    called.__name__, called.__doc__ = f"random.{name}", function.__doc__
    return _on_device(called)


class Stream:
    """A queue of launches. In the simulator every launch has ended when its call returns."""

    null: ClassVar[Stream]  # the one that is current where a program asks for no other
    done = True

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        self.non_blocking = non_blocking

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to leave: launches go to the one device in any case."""

    def use(self) -> Stream:
        """Make it the current stream."""
        return self

    def synchronize(self) -> None:
        """All launches have ended."""

    def record(self, event: Event | None = None) -> Event:
        """An event behind the launches so far."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """All launches before the event have ended."""


Stream.null = Stream(null=True)


class Event:
    """A mark in a stream. It knows that it was passed, and not when."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.done = True

    def record(self, stream: Stream | None = None) -> None:
        """Passed at once."""

    def synchronize(self) -> None:
        """Passed already."""


def get_elapsed_time(start: Event, stop: Event) -> float:
    """Milliseconds between two events on a GPU. Raises SimulatorError: here no time passes."""
    raise SimulatorError(NO_TIME.format(what="an event"))


class Device:
    """`cupy.cuda.Device`: the one that is simulated, whose limits are those of the default GPU."""

    def __init__(self, device: int = 0) -> None:
        self.id = device

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        """There is no other one to go back to."""

    def use(self) -> Device:
        """Make it the current device."""
        return self

    def synchronize(self) -> None:
        """All launches have ended."""

    @property
    def compute_capability(self) -> str:
        """Such as "90"."""
        return "".join(map(str, devices.DEFAULT.compute_capability))

    @property
    def attributes(self) -> dict[str, int]:
        """What CUDA calls attributes, as far as it says what a launch may have."""
        one = devices.DEFAULT
        major, minor = one.compute_capability
        axes = [f"Max{what}Dim{axis}" for what in ("Block", "Grid") for axis in "XYZ"]
        return dict(zip(axes, (*one.max_block, *one.max_grid), strict=True)) | {
            "MultiProcessorCount": one.sms, "WarpSize": devices.WARP, "ComputeCapabilityMajor": major,
            "ComputeCapabilityMinor": minor, "MaxThreadsPerBlock": one.max_threads_per_block,
            "MaxThreadsPerMultiProcessor": one.threads_per_sm, "MaxBlocksPerMultiprocessor": one.blocks_per_sm,
            "MaxRegistersPerBlock": one.registers_per_block, "MaxRegistersPerMultiprocessor": one.registers_per_sm,
            "MaxSharedMemoryPerBlock": one.shared_bytes_per_block,
            "MaxSharedMemoryPerBlockOptin": one.carve_outs[-1] - one.reserved_shared_bytes_per_block,
            "MaxSharedMemoryPerMultiprocessor": one.carve_outs[-1], "L2CacheSize": one.l2_bytes,
            "ClockRate": 1000 * one.clock_mhz, "CooperativeLaunch": 1,
        }  # fmt: skip


class Generator:
    """`cupy.random.Generator`: NumPy's, whose arrays are on the device."""

    def __init__(self, seed: Any = None) -> None:
        generator = np.random.default_rng(seed)
        for name in ("random", "standard_normal", "integers", "uniform", "normal"):
            setattr(self, name, _on_device(getattr(generator, name)))


class RawKernel:
    """`cupy.RawKernel`: one kernel of a source, compiled at its first launch.

    Args: `code` the source, `name` the kernel's or a template instantiation, `options` the compiler's.
    """

    def __init__(self, code: str, name: str, options: Sequence[str] = (), **others: Any) -> None:
        self.code, self.name = code, name
        self._module = RawModule(code=code, options=options, name_expressions=[name] if "<" in name else None, **others)

    @property
    def kernel(self) -> Any:
        """The compiled kernel, with `num_regs`, `shared_size_bytes` and so on. Raises CompileError."""
        return self._module.get_function(self.name)

    def compile(self) -> None:
        """Compile it now. Raises CompileError."""
        _ = self.kernel

    def __getattr__(self, name: str) -> Any:
        """What the compiler says of the kernel, `attributes` and each of these, such as `num_regs`."""
        if name == "attributes" or name in ATTRIBUTES:
            return getattr(self.kernel, name)
        raise AttributeError(f"'RawKernel' object has no attribute {name!r}")

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """The most dynamic shared memory that a launch may ask for; may be set."""
        return self.kernel.max_dynamic_shared_size_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        self.kernel.max_dynamic_shared_size_bytes = size

    def __call__(self, grid: Any, block: Any, args: Sequence[Any], *, shared_mem: int = 0, **others: Any) -> None:
        """Launch, as a function of RawModule does."""
        self.kernel(grid, block, args, shared_mem=shared_mem, **others)


_TYPES = {
    "float16": "__half", "float32": "float", "float64": "double", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "int32": "int", "uint32": "unsigned int", "int64": "long long",
    "uint64": "unsigned long long", "bool": "bool",
}  # fmt: skip
_NUMPY = {name: np.dtype(name) for name in _TYPES}


def _parameters(text: str, what: str) -> list[tuple[str, str, bool]]:
    """[(type, name, raw)] of 'float32 x, raw int32 y'. SimulatorError for what cannot be read."""
    found = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        read = re.fullmatch(r"(raw )?(\w+) (\w+)", part)
        if read is None:
            raise SimulatorError(f"{part!r} among the {what} is no parameter such as 'float32 x' or 'raw float32 x'.")
        found.append((read[2], read[3], bool(read[1])))
    return found


class ElementwiseKernel:
    """`cupy.ElementwiseKernel`: an operation for each element, from one line of C++.

        scaled = ElementwiseKernel("float32 x, float32 c", "float32 y", "y = c * x", "scaled")
        y = scaled(x, np.float32(3))

    In the operation `i` is the element's number, and a raw parameter is indexed: `x[i]`. A type of one letter (T) is
    that of the first array given for it.
    """

    def __init__(self, in_params: str, out_params: str, operation: str, name: str = "kernel", **others: Any) -> None:
        self.inputs, self.outputs = _parameters(in_params, "inputs"), _parameters(out_params, "outputs")
        self.operation, self.name, self.others = operation, name, others
        self._kernels: dict[tuple[str, ...], Any] = {}

    def __call__(self, *args: Any, size: int | None = None) -> Any:
        """The outputs for these inputs, broadcast to one shape; outputs may be given behind them."""
        wanted = len(self.inputs)
        if len(args) not in (wanted, wanted + len(self.outputs)):
            raise SimulatorError(
                f"{self.name} takes {wanted} inputs, and behind them its {len(self.outputs)} outputs or none; "
                f"got {len(args)}."
            )
        given = args[:wanted]
        elements = [one for one, (_, _, raw) in zip(given, self.inputs, strict=True) if not raw]
        arrays = [one for one in elements if isinstance(one, np.ndarray)]
        if not arrays and size is None:
            raise SimulatorError(f"{self.name} has no array to take its size from: give size=….")
        shape = np.broadcast_shapes(*(one.shape for one in arrays)) if arrays else (size,)
        types = self._types(given, args[wanted:])
        outputs = args[wanted:] or [empty(shape, types[type_]) for type_, _, _ in self.outputs]
        passed: list[Any] = [np.int32(np.prod(shape, dtype=np.int64))]
        for one, (type_, _, raw) in zip((*given, *outputs), (*self.inputs, *self.outputs), strict=True):
            if not isinstance(one, np.ndarray):
                passed.append(types[type_].type(one))
            else:
                whole = one if raw or one.shape == shape else np.broadcast_to(one, shape)
                passed.append(np.ascontiguousarray(whole) if not whole.flags.c_contiguous else whole)
        scalars = tuple(not isinstance(one, np.ndarray) for one in given)
        self._kernel(types, scalars)((-(-int(passed[0]) // BLOCK),), (BLOCK,), tuple(passed))
        return outputs[0] if len(self.outputs) == 1 else tuple(outputs)

    def _types(self, given: Sequence[Any], outputs: Sequence[Any]) -> dict[str, np.dtype]:
        """NumPy's types of the parameters' types; a single letter stands for that of its first argument."""
        types = dict(_NUMPY)
        for one, (type_, name, _) in zip((*given, *outputs), (*self.inputs, *self.outputs), strict=False):
            if type_ not in types:
                if len(type_) > 1:
                    raise SimulatorError(
                        f"{type_!r}, the type of {name}, is none of {', '.join(_TYPES)} or one letter."
                    )
                types[type_] = np.asarray(one).dtype
        return types

    def _kernel(self, types: Mapping[str, np.dtype], scalars: tuple[bool, ...]) -> Any:
        key = (*(types[type_].name for type_, _, _ in (*self.inputs, *self.outputs)), *map(str, scalars))
        if key not in self._kernels:
            parameters, before = ["int _size"], []
            for (type_, name, raw), scalar in zip(self.inputs, scalars, strict=True):
                spelled = _TYPES[types[type_].name]
                if scalar:
                    parameters.append(f"{spelled} {name}")
                else:
                    parameters.append(f"const {spelled} *{name if raw else f'_{name}'}")
                    before += [] if raw else [f"const {spelled} {name} = _{name}[i];"]
            for type_, name, raw in self.outputs:
                spelled = _TYPES[types[type_].name]
                parameters.append(f"{spelled} *{name if raw else f'_{name}'}")
                before += [] if raw else [f"{spelled} &{name} = _{name}[i];"]
            source = (
                f'extern "C" __global__ void {self.name}({", ".join(parameters)}) {{\n'
                "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                f"    if (i >= _size) return;\n    {' '.join(before)}\n    {self.operation};\n}}\n"
            )
            self._kernels[key] = RawModule(code=source).get_function(self.name)
        return self._kernels[key]


class ReductionKernel:
    """`cupy.ReductionKernel`: not simulated; the message says what to write in its place."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise SimulatorError(
            "ReductionKernel is not simulated: it is a whole program that CuPy writes. Write the reduction as a kernel "
            "of your own, with a tile in shared memory, and launch it by RawModule; or take the function sum."
        )


class Names:
    """Some names of CuPy's that belong together: `gpu.cuda`. Another one is answered by a sentence."""

    def __init__(self, within: str, **known: Any) -> None:
        self.__dict__.update(known, _within=within)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        here = ", ".join(sorted(one for one in vars(self) if one != "_within"))
        raise NotSimulated(
            f"gpu.{self._within}.{name} is not simulated. Here are {here}; with a GPU there is all of CuPy."
        )


def names() -> dict[str, Any]:
    """CuPy's name → its counterpart here."""
    made: tuple[Callable[..., Any], ...] = (array, asarray, full, zeros, ones, asnumpy, empty, empty_like)
    found: dict[str, Any] = {function.__name__: function for function in made}
    found |= {name: _on_device(getattr(np, name)) for name in (*_MAKING, *_COMPUTING)}
    found |= {name: getattr(np, name) for name in _CONSTANTS}
    random = {name: _drawn(name) for name in _DRAWN} | {name: _on_device(getattr(np.random, name)) for name in _CHOSEN}
    found["random"] = Names("random", **random, seed=np.random.seed, default_rng=Generator, Generator=Generator)
    runtime = Names(
        "cuda.runtime", **textures.RUNTIME, deviceSynchronize=lambda: None, getDeviceCount=lambda: 1,
        getDevice=lambda: 0, setDevice=lambda _: None,
    )  # fmt: skip
    found["cuda"] = Names(
        "cuda", Stream=Stream, Event=Event, get_elapsed_time=get_elapsed_time, Device=Device, runtime=runtime,
        get_current_stream=lambda: Stream.null, texture=Names("cuda.texture", **textures.NAMES),
        is_available=lambda: True,
    )  # fmt: skip
    return found | {
        "RawModule": RawModule, "RawKernel": RawKernel, "ElementwiseKernel": ElementwiseKernel,
        "ReductionKernel": ReductionKernel, "ndarray": DeviceArray,
    }  # fmt: skip
